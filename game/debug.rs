//! Debug lines: what the solver works with, as lists of lines that any renderer can draw.
//!
//! [`SwingDebugPlugin`] adds the resource [`SwingDebug`] and, behind the frame, the system [`list_debug_lines`]. Reads what
//! an actor shows and the state that it is stored with; writes [`SwingDebug::lines`] in world space. Nothing here draws:
//! a renderer reads the list after it was made, each line with the colour of its kind. While it is not active it costs
//! nothing.
//!
//! Bones and the colliders on them are drawn in the pose shown, static colliders on the animated pose of the same frame,
//! so that all of it stands where a mesh does. Contacts are those of the frame's last substep, up to 1/60 s away. `[T2]`

use bevy_app::{App, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use super::swing::SwingBones;
use crate::crowd::{Crowds, Seat};
use crate::pose::{LocalPose, ModelTransform};
use crate::systems::motion::WorldFromActor;
use crate::systems::plugin::{FlounceSystems, in_schedule};

mod view;
mod wire;

use view::{View, pose_both};
pub use wire::{CIRCLE_SEGMENTS, CROSS, PATCH};
use wire::{Circle, Wire};

/// Length of the line along the normal of a contact, metres.
pub const NORMAL: f32 = 0.05;

/// What is drawn of all actors, and the lines themselves.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use flounce::game::debug::SwingDebug;
/// # fn draw_line(from: bevy_math::Vec3, to: bevy_math::Vec3, color: [f32; 4]) {}
/// fn show(mut debug: ResMut<SwingDebug>) {
///     debug.active = true;
///     debug.limits = false;
/// }
/// fn draw(debug: Res<SwingDebug>) {
///     for line in &debug.lines {
///         draw_line(line.from, line.to, line.kind.color());
///     }
/// }
/// ```
#[derive(Resource, Clone, Debug, PartialEq, Reflect)]
#[reflect(Resource, Debug, Default, PartialEq, Clone)]
pub struct SwingDebug {
    /// Whether lines are listed at all; without it the list is empty. Default no.
    pub active: bool,
    /// Bones from where they start to their particles, and a cross at each particle. Default yes.
    pub bones: bool,
    /// Static colliders, and those of swing joints: balls and lines, for no other shape on a particle hits. Default yes. `[X3]`
    pub colliders: bool,
    /// Where colliders of swing joints were hit in the last substep, with the normal. Default yes.
    pub contacts: bool,
    /// How far bones may turn from rest, and joints slide. Default yes.
    pub limits: bool,
    /// Links of chain layers. Default yes.
    pub rings: bool,
    /// What there is to draw, actor by actor in the order of their entities; made anew in every frame, in the same memory.
    #[reflect(ignore)]
    pub lines: Vec<DebugLine>,
}

impl Default for SwingDebug {
    fn default() -> Self {
        Self {
            active: false,
            bones: true,
            colliders: true,
            contacts: true,
            limits: true,
            rings: true,
            lines: Vec::new(),
        }
    }
}

/// A line in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DebugLine {
    /// World space and units, finite.
    pub from: Vec3,
    /// World space and units, finite.
    pub to: Vec3,
    /// What it belongs to.
    pub kind: DebugKind,
    /// Whose it is.
    pub actor: Entity,
}

/// What a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DebugKind {
    /// A bone, from the joint to its particle; of a slide joint, from its parent.
    Bone,
    /// The cross at a particle.
    Particle,
    /// The collider of a swing joint.
    SwingCollider,
    /// A collider that moves with the animated pose, or stands still.
    StaticCollider,
    /// The normal of a hit, from where it left the particle.
    Contact,
    /// The interval of a limit.
    Limit,
    /// A link of a chain layer.
    Link,
    /// A link that was hit in the last substep.
    HitLink,
}

impl DebugKind {
    /// The colour of its lines: red, green, blue, opacity, linear, 0 to 1.
    pub const fn color(self) -> [f32; 4] {
        match self {
            Self::Bone => [0.9, 0.9, 0.9, 1.0],
            Self::Particle => [1.0, 0.75, 0.05, 1.0],
            Self::SwingCollider => [0.1, 0.6, 1.0, 1.0],
            Self::StaticCollider => [0.1, 0.8, 0.2, 1.0],
            Self::Contact => [1.0, 0.05, 0.05, 1.0],
            Self::Limit => [0.6, 0.3, 0.9, 0.6],
            Self::Link => [0.05, 0.8, 0.8, 1.0],
            Self::HitLink => [1.0, 0.3, 0.05, 1.0],
        }
    }
}

/// Adds [`SwingDebug`] and lists its lines between [`FlounceSystems::Write`] and [`FlounceSystems::Last`].
#[derive(Clone, Debug)]
pub struct SwingDebugPlugin {
    schedule: InternedScheduleLabel,
}

in_schedule!(SwingDebugPlugin);

impl Plugin for SwingDebugPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<SwingDebug>();
        let list = list_debug_lines.after(FlounceSystems::Write);
        app.add_systems(self.schedule, list.before(FlounceSystems::Last));
    }
}

/// What [`list_debug_lines`] keeps between frames: memory.
#[derive(Debug, Default)]
pub struct DebugScratch {
    actors: Vec<Entity>,
    circle: Circle,
    shown: Vec<ModelTransform>,
    animated: Vec<ModelTransform>,
}

/// Lists the lines of all actors that sit in a crowd.
pub fn list_debug_lines(
    mut debug: ResMut<SwingDebug>,
    crowds: Option<Res<Crowds>>,
    actors: Query<(
        Entity,
        &Seat,
        &LocalPose,
        &WorldFromActor,
        Option<&SwingBones>,
    )>,
    mut scratch: Local<DebugScratch>,
) {
    if !debug.active {
        // Looking at it does not count as a change.
        if !debug.lines.is_empty() {
            debug.lines.clear();
        }
        return;
    }
    let debug = &mut *debug;
    let mut lines = core::mem::take(&mut debug.lines);
    lines.clear();
    let DebugScratch {
        actors: order,
        circle,
        shown,
        animated,
    } = &mut *scratch;
    order.clear();
    order.extend(actors.iter().map(|(actor, ..)| actor));
    order.sort_unstable();
    for &actor in &*order {
        let (Some(crowds), Ok((_, &seat, local, placed, bones))) = (&crowds, actors.get(actor))
        else {
            continue;
        };
        let crowd = &crowds.0[seat.crowd];
        let slot = crowds.slot(seat);
        if !pose_both(&crowd.plan, slot, local, [shown, animated]) {
            continue;
        }
        let view = View {
            plan: &crowd.plan,
            slot,
            state: crowds.actor(seat),
            shown,
            animated,
        };
        let mut wire = Wire {
            lines: &mut lines,
            circle,
            actor,
            metres_from_model: placed.rigid(),
            // Without a scene the world is in metres.
            metres_per_world: bones
                .and_then(|bones| bones.metres_per_world)
                .unwrap_or(1.0),
        };
        view.draw(debug, &mut wire);
    }
    debug.lines = lines;
}
