//! Reflection: what inspectors, scenes and remote tools may see and edit.
//!
//! The types derive `Reflect` where they are declared; [`register_types`] makes them known to an `App`. A type's path is
//! where it is declared, `flounce::swing::SwingJoint`, and part of what scenes are stored with.

use bevy_app::{App, Plugin};

use super::debug::SwingDebug;
use super::swing::{Attachment, RestTransform, Swing, SwingStatus};
use crate::chain::{ChainLayer, ChainReadout};
use crate::channel::ChannelPose;
use crate::collider::StaticCollider;
use crate::driver::Driver;
use crate::foot::{FootAnchors, FootReadout, FootRecord};
use crate::pose::{AnimatedPose, LocalPose, PoseHealth};
use crate::profile::SwingProfile;
use crate::rig::{Joint, RigParts};
use crate::substep::{ActorClock, FrameClock, SwingPaused, TimeScale};
use crate::swing::{ActorProperties, BakeWeights, SwingJoint, SwingReadout};
use crate::systems::motion::{ActorMotion, Reset, Teleport, WorldFromActor};
use crate::systems::preparation::Actor;
use crate::wind::Wind;

/// Makes flounce's types known to inspectors, see [`register_types`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SwingReflectPlugin;

impl Plugin for SwingReflectPlugin {
    fn build(&self, app: &mut App) {
        register_types(app);
    }
}

/// Registers the components, resources and events that can be reflected, with all that is in their fields.
///
/// Editing a reflected component is editing the component: a rig whose [`SwingJoint`] changes is compiled anew before the
/// next frame. [`Actor`] and [`RigParts`] map the entities they name when a scene or a clone gives these others.
///
/// Left out, because another World or an inspector could do nothing with them:
///
/// | type | why |
/// |---|---|
/// | [`crate::systems::preparation::Seat`], [`crate::systems::preparation::CompiledRig`], [`crate::systems::preparation::Plans`], [`crate::crowd::Crowds`], [`crate::systems::substeps::Workers`], [`crate::instruction_set::InstructionSet`] | caches and settings of the running solver, made from the components that are registered |
/// | [`crate::clip::ClipPlayer`], [`crate::layer::Layers`] | hold shared clips, actions and masks, which are read from files, and keep an order that only their own functions hold |
/// | [`crate::pose::ModelPose`] | composed of [`LocalPose`] in every frame, of transforms in lanes |
/// | [`crate::layer::LayerReadout`], [`crate::account::Explanation`] | reports of one frame, with words of their own for terms and actions |
///
/// Of [`FootReadout`] the rotations of the frame before, and of [`SwingDebug`] the lines themselves, are passed over.
pub fn register_types(app: &mut App) {
    register_rig(app);
    register_actor(app);
    app.register_type::<Swing>()
        .register_type::<SwingStatus>()
        .register_type::<RestTransform>()
        .register_type::<Attachment>()
        .register_type::<FrameClock>()
        .register_type::<SwingDebug>()
        .register_type::<Teleport>()
        .register_type::<Reset>();
}

/// What a rig and its parts carry.
fn register_rig(app: &mut App) {
    app.register_type::<RigParts>()
        .register_type::<Joint>()
        .register_type::<SwingJoint>()
        .register_type::<StaticCollider>()
        .register_type::<ChainLayer>()
        .register_type::<Driver>();
}

/// What an actor carries.
fn register_actor(app: &mut App) {
    app.register_type::<Actor>()
        .register_type::<ActorProperties>()
        .register_type::<SwingProfile>()
        .register_type::<ActorClock>()
        .register_type::<TimeScale>()
        .register_type::<SwingPaused>()
        .register_type::<ActorMotion>()
        .register_type::<WorldFromActor>()
        .register_type::<PoseHealth>()
        .register_type::<AnimatedPose>()
        .register_type::<LocalPose>()
        .register_type::<ChannelPose>()
        .register_type::<BakeWeights>()
        .register_type::<Wind>()
        .register_type::<FootAnchors>()
        .register_type::<SwingReadout>()
        .register_type::<ChainReadout>()
        .register_type::<FootReadout>()
        .register_type::<FootRecord>();
}
