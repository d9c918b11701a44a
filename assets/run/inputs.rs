//! Inputs: the files of a scene, read once for as many runs as are wanted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assets::Error;
use crate::assets::container::Container;
use crate::assets::import::{self, Model};
use crate::assets::library::Library;
use crate::assets::rig_file;
use crate::assets::scene::Scene;
use crate::assets::state_hash::{self, StateHash};
use crate::rig::Rig;

/// The model of a scene with its rig on it.
pub struct Inputs {
    pub(super) model: Model,
    pub(super) container: Arc<Container>,
    pub(super) rig: Rig,
    pub(super) library: Library,
    pub(super) hashes: Vec<(PathBuf, StateHash)>,
    pub(super) warnings: Vec<String>,
}

impl Inputs {
    /// Reads the files of `scene`.
    ///
    /// # Errors
    /// Those of reading the model and the rig file, and of putting the one on the other.
    pub fn read(scene: &Scene) -> Result<Self, Error> {
        let (mut model, container) = import::read_model(&scene.model())?;
        let mut rig = model.rig.clone();
        let mut warnings = model.warnings.clone();
        let mut hashes = vec![hashed(scene.file())?, hashed(&scene.model())?];
        if let Some(file) = scene.rig() {
            hashes.push(hashed(&file)?);
            let rules = rig_file::read(&file)?;
            warnings.extend(rules.put_on(&mut rig)?.warnings);
            rules.apply_to_clips(&rig, &mut model.clips)?;
        }
        // After the bake weights, which are tracks of the model's clips.
        let mut library = Library::new(&model);
        for rule in &scene.rules().clip_files {
            let file = library.add(rule, scene.folder(), &rig)?;
            hashes.push(hashed(&file)?);
        }
        warnings.append(&mut library.warnings);
        Ok(Self {
            library,
            model,
            container: Arc::new(container),
            rig,
            hashes,
            warnings,
        })
    }
}

pub(super) fn hashed(file: &Path) -> Result<(PathBuf, StateHash), Error> {
    let bytes = std::fs::read(file).map_err(|source| Error::io(file, "read", source))?;
    Ok((file.to_path_buf(), state_hash::of_bytes(&bytes)))
}
