//! Rig files as assets: `assets.load("hair.ron")` gives a handle, saving the file again reloads it.

use std::path::PathBuf;

use bevy_app::{App, Plugin};
use bevy_asset::io::Reader;
use bevy_asset::{Asset, AssetApp, AssetLoader, LoadContext};
use bevy_reflect::TypePath;
use thiserror::Error;

use crate::assets::rig_file::{self, RigFile};

/// A rig file that was loaded, or made in code and added to `Assets<RigAsset>`.
#[derive(Asset, TypePath, Clone, Debug, PartialEq)]
pub struct RigAsset(pub RigFile);

/// Reads [`RigAsset`]s. The asset server picks it by the type that is asked for, or by the ending `.rig.ron`.
#[derive(TypePath, Clone, Copy, Debug, Default)]
pub struct RigLoader;

/// Makes rig files assets.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwingRigPlugin;

impl Plugin for SwingRigPlugin {
    fn build(&self, app: &mut App) {
        app.init_asset::<RigAsset>()
            .register_asset_loader(RigLoader);
    }
}

/// Why a rig file could not be loaded.
#[derive(Debug, Error)]
pub enum RigLoadError {
    /// The bytes could not be had.
    #[error("{}: cannot read: {source}", file.display())]
    Io {
        /// The asset's path.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// They are no rig file: with line, column and field path.
    #[error(transparent)]
    Rig(#[from] crate::assets::Error),
}

impl AssetLoader for RigLoader {
    type Asset = RigAsset;
    type Settings = ();
    type Error = RigLoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _settings: &(),
        load_context: &mut LoadContext<'_>,
    ) -> Result<RigAsset, RigLoadError> {
        let file = PathBuf::from(load_context.path().to_string());
        let mut bytes = Vec::new();
        if let Err(source) = reader.read_to_end(&mut bytes).await {
            return Err(RigLoadError::Io { file, source });
        }
        Ok(RigAsset(rig_file::decode(&file, bytes)?))
    }

    fn extensions(&self) -> &[&str] {
        &["rig.ron"]
    }
}
