//! Spring bones of a VRM: a viewer would simulate them on top of the baked motion.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::assets::Error;
use crate::assets::patch::splice::Document;

/// VRM 1.0: the extension, and the prefix of those that live inside it.
const SPRING_BONE: &str = "VRMC_springBone";
/// What VRM 0.x writers write for a model without springs; some readers want the member.
const NO_SPRINGS_VRM0: &str = r#"{"boneGroups":[],"colliderGroups":[]}"#;

/// The springs of VRM 1.0.
#[derive(Deserialize)]
struct SpringBone {
    #[serde(default)]
    springs: Vec<IgnoredAny>,
}

/// The springs of VRM 0.x.
#[derive(Deserialize)]
struct SecondaryAnimation {
    #[serde(default, rename = "boneGroups")]
    bone_groups: Vec<IgnoredAny>,
}

/// Warns of spring bones, or takes them out when `strip` is set.
pub(super) fn treat(
    document: &mut Document<'_>,
    strip: bool,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let Some(extensions) = document.top.get("extensions") else {
        return Ok(());
    };
    let extensions = document.object("/extensions", extensions)?;
    let vrm1 = extensions.get(SPRING_BONE);
    let vrm0 = match extensions.get("VRM") {
        Some(vrm) => document
            .object("/extensions/VRM", vrm)?
            .get("secondaryAnimation"),
        None => None,
    };
    if strip {
        if let Some(secondary) = vrm0 {
            document.replace(secondary, NO_SPRINGS_VRM0.to_owned());
        }
        return strip_spring_bone(document);
    }
    let springs = vrm1.map_or(0, |text| {
        serde_json::from_str(text).map_or(1, |it: SpringBone| it.springs.len())
    });
    let groups = vrm0.map_or(0, |text| {
        serde_json::from_str(text).map_or(1, |it: SecondaryAnimation| it.bone_groups.len())
    });
    for (count, what) in [
        (springs, "springs of VRMC_springBone"),
        (groups, "bone groups of VRM secondaryAnimation"),
    ] {
        if count > 0 {
            warnings.push(format!(
                "the output keeps the model's {count} {what}: a viewer that simulates them moves baked joints twice"
            ));
        }
    }
    Ok(())
}

/// Takes `VRMC_springBone` and its relatives out, and with it lists and objects that would be left empty.
fn strip_spring_bone(document: &mut Document<'_>) -> Result<(), Error> {
    let is_spring = |key: &str| key.starts_with(SPRING_BONE);
    let mut emptied = Vec::new();
    if let Some(text) = document.top.get("extensions") {
        let extensions = document.object("/extensions", text)?;
        if extensions
            .members
            .iter()
            .all(|member| is_spring(&member.key))
        {
            emptied.push("extensions");
        } else {
            document.remove(&extensions, is_spring);
        }
    }
    for key in ["extensionsUsed", "extensionsRequired"] {
        let Some(text) = document.top.get(key) else {
            continue;
        };
        let names: Vec<String> = document.typed(&format!("/{key}"), text)?;
        let list = document.array(&format!("/{key}"), text)?;
        let kept = names
            .iter()
            .zip(&list.elements)
            .filter(|(name, _)| !is_spring(name));
        let kept: Vec<&str> = kept.map(|(_, &text)| text).collect();
        if kept.is_empty() {
            emptied.push(key);
        } else if kept.len() < names.len() {
            document.replace(text, format!("[{}]", kept.join(",")));
        }
    }
    document.remove_top(|key| emptied.contains(&key));
    Ok(())
}
