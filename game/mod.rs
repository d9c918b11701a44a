//! A game: flounce in a Bevy `App`, by [`FlouncePlugins`].
//!
//! A character is an entity with [`swing::Swing`] whose joints are entities below it: what a glTF scene is when it is
//! spawned.
//!
//! ```
//! use bevy_app::prelude::*;
//! use bevy_asset::{AssetPlugin, AssetServer};
//! use bevy_ecs::prelude::*;
//! use flounce::game::{FlouncePlugins, Swing};
//!
//! fn spawn_hero(mut commands: Commands, assets: Res<AssetServer>) {
//!     // With the scene: `WorldAssetRoot(assets.load("hero.glb#Scene0"))`.
//!     commands.spawn(Swing::rig(assets.load("hair.ron")));
//! }
//!
//! let mut app = App::new();
//! // In a game: `DefaultPlugins`.
//! app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default()));
//! app.add_plugins(FlouncePlugins::default());
//! app.add_systems(Startup, spawn_hero).update();
//! ```
//!
//! Each frame, in `PostUpdate` between animation and transform propagation:
//!
//! ```text
//! FlounceSystems::First      yours
//! FlounceSystems::Read       binding → Transform → AnimatedPose, WorldFromActor; Time → FrameClock
//! FlounceSystems::Simulate   the frame's stages, the same as everywhere
//! FlounceSystems::Write      LocalPose → Transform, of bones that changed
//! FlounceSystems::Last       yours; the lines of `SwingDebug` are there
//! ```

use bevy_app::{PluginGroup, PluginGroupBuilder, PostUpdate};
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleLabel};

pub mod binding;
pub mod clock;
pub mod debug;
mod fitting;
mod joints;
mod noticing;
pub mod reflection;
pub mod rig_asset;
pub mod shared_rigs;
pub mod swing;
pub mod transforms;

pub use binding::SwingBindingPlugin;
pub use clock::SwingClockPlugin;
pub use debug::{SwingDebug, SwingDebugPlugin};
pub use reflection::SwingReflectPlugin;
pub use rig_asset::{RigAsset, RigLoader, SwingRigPlugin};
pub use shared_rigs::SharedRigs;
pub use swing::{Attachment, JointScope, RestTransform, Swing, SwingBones, SwingStatus};
pub use transforms::SwingTransformPlugin;

use crate::systems::plugin::FlouncePlugin;

/// Everything a game needs: [`FlouncePlugin`], [`SwingClockPlugin`], [`SwingRigPlugin`], [`SwingBindingPlugin`],
/// [`SwingTransformPlugin`], [`SwingDebugPlugin`] and [`SwingReflectPlugin`]. Parts can be left out: `FlouncePlugins::default().build().disable::<SwingClockPlugin>()`.
///
/// Needs Bevy's `AssetPlugin` before it, and its `TransformPlugin` and `TimePlugin` to be of use.
#[derive(Clone, Debug)]
pub struct FlouncePlugins {
    schedule: InternedScheduleLabel,
}

impl Default for FlouncePlugins {
    /// In `PostUpdate`.
    fn default() -> Self {
        Self::new(PostUpdate)
    }
}

impl FlouncePlugins {
    /// In `schedule`: `FixedPostUpdate` for characters that move in steps of the fixed clock.
    ///
    /// Bevy's own animation runs in `PostUpdate`. In another schedule the swing is a frame behind it, and a clip that has tracks
    /// for bones that swing wins over the swing: such characters belong in `PostUpdate`.
    pub fn new(schedule: impl ScheduleLabel) -> Self {
        Self {
            schedule: schedule.intern(),
        }
    }
}

impl PluginGroup for FlouncePlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(FlouncePlugin::new(self.schedule))
            .add(SwingClockPlugin::new(self.schedule))
            .add(SwingRigPlugin)
            .add(SwingBindingPlugin::new(self.schedule))
            .add(SwingTransformPlugin::new(self.schedule))
            .add(SwingDebugPlugin::new(self.schedule))
            .add(SwingReflectPlugin)
    }
}
