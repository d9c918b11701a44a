//! Settings: one field of a profile or of a scene's rules, changed by text as people type it: `delta=current`,
//! `properties.swing_power=1.2`, `actors[0].start=0.5`.
//!
//! A value is taken apart by serde, has the field replaced, and is put together again: what serde refuses is said in
//! the words of the other files. Ranges are those of a scene.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::Error;
use super::scene::{Scene, SceneRules, check_profile};
use super::text::{Faults, FieldPath, did_you_mean, one_of, quoted};
use crate::profile::SwingProfile;

mod words;

use words::explain;

/// A field and the value it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where: field names with `.`, elements of lists with `[n]`.
    pub path: String,
    /// A number, a word, `true`, `(x, y, z)`; whatever JSON can say as well.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

/// `PATH=VALUE` in two.
///
/// # Errors
/// A sentence that says what is missing.
pub fn split(text: &str) -> Result<Setting, String> {
    let (path, value) = text.split_once('=').unwrap_or((text, ""));
    let (path, value) = (path.trim(), value.trim());
    if path.is_empty() || value.is_empty() {
        let found = quoted(text);
        return Err(format!(
            "found {found}, expected a key and a value: delta=current"
        ));
    }
    Ok(Setting {
        path: path.to_owned(),
        value: value.to_owned(),
    })
}

/// `KEY=VALUE` for a profile: the key is one of its fields, the value of the field's kind. Ranges, and switches that
/// need each other, are checked when all are known: by [`set_profile`].
///
/// # Errors
/// A sentence with the key, what was found and what was expected.
pub fn profile_setting(text: &str) -> Result<Setting, String> {
    let setting = split(text)?;
    set(&SwingProfile::default(), &setting)?;
    Ok(setting)
}

/// `profile` with `settings`, the later over the earlier.
///
/// # Errors
/// [`Error::Request`] with everything that is wrong: keys, kinds of values, ranges.
pub fn set_profile(profile: &SwingProfile, settings: &[Setting]) -> Result<SwingProfile, Error> {
    let mut changed = *profile;
    for setting in settings {
        changed = set(&changed, setting).map_err(Error::Request)?;
    }
    if settings.is_empty() {
        return Ok(changed);
    }
    let mut faults = Faults::default();
    check_profile(&changed, &FieldPath::default(), &mut faults);
    let faults = faults.messages();
    if faults.is_empty() {
        return Ok(changed);
    }
    Err(Error::Request(faults.join("; ")))
}

/// `scene` with `settings` on its profile.
///
/// # Errors
/// As [`set_profile`].
pub fn set_scene_profile(scene: &Scene, settings: &[Setting]) -> Result<Scene, Error> {
    let profile = set_profile(&scene.profile(), settings)?;
    let rules = SceneRules {
        profile,
        ..scene.rules().clone()
    };
    scene.with_rules(rules)
}

/// `rules` with one field changed; ranges are not checked.
///
/// # Errors
/// A sentence with the path, what was found and what was expected.
pub fn set_rules(rules: &SceneRules, setting: &Setting) -> Result<SceneRules, String> {
    set(rules, setting)
}

/// The keys of a profile, their defaults and what they may be: `("delta", "carried", "carried, rest or …")`.
pub fn profile_keys() -> Vec<(String, String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(SwingProfile::default()) else {
        return Vec::new();
    };
    let row = |(key, value): (String, Value)| {
        let shown = match &value {
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let choices = choices(&key);
        (key, shown, choices)
    };
    fields.into_iter().map(row).collect()
}

/// What may be written for a key of a profile: asked of serde with a value that no key has.
fn choices(key: &str) -> String {
    const NO_VALUE: &str = "?";
    let value = Value::Object(Map::from_iter([(
        key.to_owned(),
        Value::String(NO_VALUE.to_owned()),
    )]));
    let refused = serde_json::from_value::<SwingProfile>(value).err();
    refused.map_or_else(String::new, |refused| {
        words::expected(&refused.to_string()).replace('`', "")
    })
}

/// `whole` with one field changed.
fn set<T: Serialize + DeserializeOwned>(whole: &T, setting: &Setting) -> Result<T, String> {
    let Setting { path, value } = setting;
    let put = |value: Value| -> Result<Result<T, serde_json::Error>, String> {
        let mut parts = serde_json::to_value(whole)
            .map_err(|error| format!("{path}: cannot be changed: {error}"))?;
        *place(&mut parts, path)? = value;
        Ok(serde_json::from_value(parts))
    };
    let refused = match put(read_value(value))? {
        Ok(changed) => return Ok(changed),
        Err(refused) => refused,
    };
    // A name may look like a number: `clip=3`.
    match put(Value::String(value.clone()))? {
        Ok(changed) => Ok(changed),
        Err(as_word) => {
            let refusals = [refused, as_word].map(|refused| refused.to_string());
            Err(explain(path, value, &refusals))
        }
    }
}

/// What people type for a value: JSON, `(x, y, z)` as in RON, and words without quotes.
fn read_value(text: &str) -> Value {
    let inside = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let json = inside.map_or_else(|| text.to_owned(), |inside| format!("[{inside}]"));
    if let Ok(value) = serde_json::from_str(&json) {
        return value;
    }
    // `.5` and `+1` are no JSON.
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The field at `path` below `whole`, made where the file leaves it to its default.
fn place<'v>(whole: &'v mut Value, path: &str) -> Result<&'v mut Value, String> {
    let mut at = whole;
    for name in path.split('.') {
        let (name, indices) = name.split_at(name.find('[').unwrap_or(name.len()));
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(fields) = at else {
            return Err(format!(
                "{path}: found {}, expected a path that ends before it: there are no fields inside",
                quoted(name)
            ));
        };
        at = fields.entry(name).or_insert(Value::Null);
        if !indices.is_empty() && !indices.ends_with(']') {
            return Err(no_index(path));
        }
        for index in indices.split_terminator(']') {
            at = element(at, index.strip_prefix('['), path)?;
        }
    }
    Ok(at)
}

fn element<'v>(
    list: &'v mut Value,
    index: Option<&str>,
    path: &str,
) -> Result<&'v mut Value, String> {
    let Some(index) = index.and_then(|index| index.parse::<usize>().ok()) else {
        return Err(no_index(path));
    };
    let Value::Array(elements) = list else {
        return Err(format!("{path}: found [{index}] on what is no list here"));
    };
    let count = elements.len();
    elements
        .get_mut(index)
        .ok_or_else(|| format!("{path}: found [{index}], expected a number below {count}"))
}

fn no_index(path: &str) -> String {
    format!("{path}: expected the number of an element in brackets: actors[0].start")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::scene;
    use crate::profile::{DeltaPolicy, JointOrder};
    use std::path::Path;

    fn profile(texts: &[&str]) -> Result<SwingProfile, String> {
        let settings: Result<Vec<Setting>, String> =
            texts.iter().map(|text| profile_setting(text)).collect();
        set_profile(&SwingProfile::default(), &settings?).map_err(|error| error.to_string())
    }

    fn rules(fields: &str) -> SceneRules {
        let text = format!("(version: 1, model: \"m.glb\", seconds: 2, {fields})");
        let scene = scene::parse(Path::new("a.ron"), &text);
        scene
            .unwrap_or_else(|error| panic!("{error}"))
            .rules()
            .clone()
    }

    fn setting(text: &str) -> Setting {
        split(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_setting_changes_its_field_and_no_other() {
        let set = profile(&[
            "delta=current",
            "prewarm=0",
            "world_inertia=.5",
            "split_motion=true",
        ]);
        let expected = SwingProfile {
            delta: DeltaPolicy::Current,
            prewarm: 0,
            world_inertia: 0.5,
            split_motion: true,
            ..SwingProfile::default()
        };
        assert_eq!(set, Ok(expected));
    }

    #[test]
    fn every_key_takes_its_own_default() {
        let keys = profile_keys();
        assert!(keys.len() >= 16, "{keys:?}");
        for (key, default, choices) in keys {
            let same = profile(&[&format!("{key}={default}")]);
            assert_eq!(same, Ok(SwingProfile::default()), "{key}");
            assert!(!choices.is_empty(), "{key}");
        }
    }

    #[test]
    fn the_later_setting_wins() {
        let set = profile(&["prewarm=1", "prewarm=2"]).map(|profile| profile.prewarm);
        assert_eq!(set, Ok(2));
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_was_expected() {
        for (text, expected) in [
            ("delta", "found \"delta\", expected a key and a value"),
            ("=rest", "expected a key and a value"),
            ("delta=", "expected a key and a value"),
            (
                "delt=rest",
                "delt: found unknown key \"delt\", expected `substeps`, `delta`, `root`,",
            ),
            ("delt=rest", "did you mean \"delta\"?"),
            (
                "delta=currant",
                "delta: found \"currant\", expected `carried`, `rest`, `current` or `carried_pairs`",
            ),
            ("delta=currant", "did you mean \"current\"?"),
            ("delta=3", "delta: found \"3\", expected `carried`"),
            (
                "prewarm=many",
                "prewarm: found \"many\", expected a whole number, not negative",
            ),
            (
                "prewarm=-1",
                "prewarm: found \"-1\", expected a whole number, not negative",
            ),
            (
                "prewarm=0.5",
                "prewarm: found \"0.5\", expected a whole number, not negative",
            ),
            (
                "world_inertia=half",
                "world_inertia: found \"half\", expected a number",
            ),
            (
                "world_inertia=nan",
                "world_inertia: found \"nan\", expected a number",
            ),
            (
                "split_motion=yes",
                "split_motion: found \"yes\", expected true or false",
            ),
            ("delta.x=1", "delta.x: found \"x\""),
            ("delta[0]=1", "delta[0]: found [0] on what is no list"),
        ] {
            let found = profile(&[text]).map_or_else(|error| error, |_| "accepted".to_owned());
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn ranges_and_company_are_those_of_a_scene() {
        for (texts, expected) in [
            (
                &["velocity_damping=2"][..],
                "velocity_damping: found 2, expected 0 to 1",
            ),
            (
                &["max_substeps=0"],
                "max_substeps: found 0, expected 1 to 1000",
            ),
            (&["order=joint_major"], "order: found joint_major"),
        ] {
            let found = profile(texts).map_or_else(|error| error, |_| "accepted".to_owned());
            assert!(found.contains(expected), "{found}");
        }
        let both = profile(&["order=joint_major", "substeps=frame"]);
        assert_eq!(both.map(|p| p.order), Ok(JointOrder::JointMajor));
    }

    #[test]
    fn paths_reach_into_scenes_also_where_the_file_says_nothing() {
        let rules = rules("actors: [(clip: \"Walk\"), ()]");
        let set = |text: &str| set_rules(&rules, &setting(text)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(set("rate_hz=30").rate_hz, 30.0);
        assert_eq!(
            set("properties.swing_power=1.5").properties.swing_power,
            Some(1.5)
        );
        assert_eq!(set("actors[1].clip=3").actors[1].clip.as_deref(), Some("3"));
        assert_eq!(set("profile.delta=rest").profile.delta, DeltaPolicy::Rest);
        for gravity in ["(0, 0, -1)", "[0, 0, -1]"] {
            let set = set(&format!("properties.gravity={gravity}"));
            assert_eq!(set.properties.gravity, Some([0.0, 0.0, -1.0]));
        }
        assert_eq!(set("rig=null").rig, None);
    }

    #[test]
    fn paths_to_nowhere_are_refused() {
        let rules = rules("");
        for (text, expected) in [
            (
                "rate=30",
                "rate: found unknown key \"rate\", expected `version`, `model`,",
            ),
            (
                "profil.delta=rest",
                "profil.delta: found unknown key \"profil\"",
            ),
            (
                "actors[1].start=1",
                "actors[1].start: found [1], expected a number below 1",
            ),
            ("actors[x].start=1", "expected the number of an element"),
            ("actors[0=1", "expected the number of an element"),
            ("rate_hz.x=1", "rate_hz.x: found \"x\""),
            (
                "properties.gravity=(0, 1)",
                "properties.gravity: found \"(0, 1)\", expected 3 values",
            ),
        ] {
            let found = set_rules(&rules, &setting(text));
            let found = found.map_or_else(|error| error, |_| "accepted".to_owned());
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn what_is_not_changed_stays_bit_for_bit() {
        let rules = rules(
            "rate_hz: 59.94, rig: \"r.ron\", profile: (delta: rest, world_inertia: 0.1), properties: (gravity: (0.1, -0.3, 1e-7)), \
             actors: [(clip: \"a\", start: 0.1, count: 3)], outputs: [trace(file: \"a.csv\")], \
             expectations: [lengths_kept(within: 1e-5), tip_at(joint: \"b\", time: 0.1, position: (0.1, 0.2, 0.3), within: 0.7)]",
        );
        let same = set_rules(&rules, &setting("version=1"));
        assert_eq!(same, Ok(rules));
    }
}
