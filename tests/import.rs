//! Reading real files: what a file says is what the model holds.

use std::path::{Path, PathBuf};

use flounce::assets::import::{Model, read_model};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

#[test]
fn outside() {
    let Some(root) = std::env::var_os("FLOUNCE_CORPUS_DIR") else {
        return;
    };
    for name in [
        "SpringTestRig_2025",
        "Fox",
        "CesiumMan",
        "RobotExpressive",
        "KayKit_Mage",
        "RecursiveSkeletons",
    ] {
        let file = Path::new(&root).join(format!("characters/{name}.glb"));
        let t = std::time::Instant::now();
        let (model, _): (Model, _) = read_model(&file).unwrap();
        eprintln!(
            "{name} {:?} joints {} clips {} tracks {} warnings {:?}",
            t.elapsed(),
            model.rig.joints.len(),
            model.clips.len(),
            model.clips.iter().map(|c| c.tracks.len()).sum::<usize>(),
            model.warnings
        );
    }
    let _ = data("");
}
