//! Crowds: the state of the actors that share a plan, laid out in lanes.
//!
//! Memory of a group is `[joint][component][lane]`: one actor per lane. With one lane it is an actor's own block.
//! A slot is given to an actor when it appears and taken back when it goes; nobody else moves.

use std::collections::VecDeque;
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::resource::Resource;
use bevy_math::Quat;

use crate::account::Account;
use crate::foot::Footing;
use crate::lane::{Lane, Vec3x};
use crate::layer::LayerWork;
use crate::plan::Plan;
use crate::pose::{JointTransform, ModelTransform, Rigid};
use crate::profile::SwingProfile;
use crate::substep::FrameSchedule;
use crate::swing::ActorProperties;
use crate::uniform::PoseRows;
use crate::wind::WindField;

/// Components of a particle, as offsets to be multiplied by the number of lanes.
pub mod particle {
    /// Position in shifted space, x y z, metres. `[S1]`
    pub const POSITION: usize = 0;
    /// Position one substep before.
    pub const PREVIOUS: usize = 3;
    /// Origin of the joint in model space: t0.
    pub const ORIGIN: usize = 6;
    /// Rest rotation of the joint in model space: r0.
    pub const REST: usize = 9;
    /// Rotation resolved last in model space.
    pub const ROTATION: usize = 13;
    /// The actor's root correction for this joint: rc. `[S1]`
    pub const CORRECTION: usize = 17;
    /// Euler angles of the deviation resolved last, radians; kept only for reference joints. `[V2]`
    pub const ANGLES: usize = 20;
    /// Number of hits in the last substep. `[X5]`
    pub const HITS: usize = 23;
    /// Normal of the last hit.
    pub const HIT_NORMAL: usize = 24;
    /// Where the last hit left the particle, true model space.
    pub const HIT_POSITION: usize = 27;
    /// Of a slide joint, in the place of the angles that it does not have: the origin of its parent in model space.
    pub const PARENT: usize = ANGLES;
    /// Number of components.
    pub const COMPONENTS: usize = 30;
}

/// Components of a joint's result after a substep.
pub mod result {
    /// Local rotation to be written, x y z w, in the parent's model frame.
    pub const ROTATION: usize = 0;
    /// Particle in true model space, metres.
    pub const POSITION: usize = 4;
    /// Local translation to be written, in the parent's model frame, metres; slide joints only. `[V3]`
    pub const TRANSLATION: usize = 7;
    /// Number of components.
    pub const COMPONENTS: usize = 10;
}

/// Components of an actor's motion since the last frame, or of a part of it. `[S2]`
pub mod motion {
    /// 1 where the particles are to be carried, 0 where the actor stood still or was teleported.
    pub const CARRIES: usize = 0;
    /// Δ: translation x y z, rotation x y z w.
    pub const MOVED: usize = 1;
    /// Number of components.
    pub const COMPONENTS: usize = 8;
}

/// Components of an actor's properties, in model space.
pub mod property {
    /// `[V5]`
    pub const WEIGHT: usize = 0;
    /// `[S7]`
    pub const POWER: usize = 1;
    /// a of `[S1]`
    pub const ROOT_HORIZONTAL: usize = 2;
    /// b of `[S1]`
    pub const ROOT_VERTICAL: usize = 3;
    /// Unit, x y z.
    pub const GRAVITY: usize = 4;
    /// x y z.
    pub const FORCE: usize = 7;
    /// Number of components.
    pub const COMPONENTS: usize = 10;
}

/// Components of a placed static collider, in true model space, metres.
pub mod placed {
    /// First end, x y z.
    pub const END_A: usize = 0;
    /// Second end, x y z.
    pub const END_B: usize = 3;
    /// Centre of the bounds, x y z. `[X2]`
    pub const CENTRE: usize = 6;
    /// Radius of the bounds, the factor of `[X2]` applied.
    pub const REACH: usize = 9;
    /// Of a capsule or line, from the centre to the second end, x y z.
    pub const HALF: usize = 10;
    /// Square of the length of [`HALF`].
    pub const HALF_SQUARED: usize = 13;
    /// Of a capsule or line, the larger radius.
    pub const WIDTH: usize = 14;
}

/// Numbers per joint of a rigid transform.
pub const RIGID: usize = 7;
/// Numbers of a placed static collider: both ends and its bounds, see [`placed`].
pub const PLACED: usize = 15;

/// What a group holds: one actor per lane.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// How many lanes.
    pub lanes: usize,
    /// `[swing joint][`[`particle`]`][lane]`
    pub particles: Vec<f32>,
    /// Velocities under [`crate::profile::ForcePolicy::VelocityAdd`] and `VelocityReplace`, `[swing joint][x y z][lane]`;
    /// beside the particles, which most profiles then read without them. `[S7]`
    pub velocities: Vec<f32>,
    /// Results of the last substep, `[swing joint][`[`result`]`][lane]`.
    pub results: Vec<f32>,
    /// Results of the substep before.
    pub results_before: Vec<f32>,
    /// Placed static colliders, `[collider][`[`placed`]`][lane]`.
    pub statics: Vec<f32>,
    /// `[`[`property`]`][lane]`
    pub properties: Vec<f32>,
    /// Animated transforms against the parents, scaled and rigid: `[pose][joint][t x y z, r x y z w][lane]`.
    pub locals: Vec<f32>,
    /// Animated model transforms, likewise.
    pub models: Vec<f32>,
    /// Bake weights `[pose][swing joint][lane]`; empty where no actor has any. `[V4]`
    pub bake: Vec<f32>,
    /// 1 for joints that are held at rest because an ancestor is scaled to nothing, `[pose][swing joint][lane]`; empty
    /// where none is.
    pub held: Vec<f32>,
    /// Hits of the chain layers' links in the last pass, `[link][lane]`. `[X6]`
    pub links: Vec<f32>,
    /// A ring before it is smoothed: scratch. `[M1]`
    pub ring: Vec<f32>,
    /// Motion of the actors since the last frame, `[part][`[`motion`]`][lane]`; empty when nobody moved. `[S2]`
    pub motion: Vec<f32>,
    /// The wind of each lane, in model space; empty where the air is still everywhere. `[W1]`
    pub winds: Vec<Option<WindField>>,
    /// hips of `[S1]` at the last frame, `[x y z][lane]`, metres.
    pub last_hips: Vec<f32>,
    /// Particles that were not finite in this frame and were put at rest: `(lane, place)`. `[V8]`
    pub restored: Vec<(usize, usize)>,
}

impl Group {
    /// Room for `lanes` actors of `plan`.
    pub fn new(plan: &Plan, lanes: usize) -> Self {
        let swings = plan.swings.len();
        Self {
            lanes,
            particles: vec![0.0; swings * particle::COMPONENTS * lanes],
            velocities: vec![0.0; swings * 3 * lanes],
            results: vec![0.0; swings * result::COMPONENTS * lanes],
            results_before: vec![0.0; swings * result::COMPONENTS * lanes],
            statics: vec![0.0; plan.statics.len() * PLACED * lanes],
            properties: vec![0.0; property::COMPONENTS * lanes],
            locals: Vec::new(),
            models: Vec::new(),
            bake: Vec::new(),
            held: Vec::new(),
            links: vec![0.0; plan.links() * lanes],
            ring: Vec::new(),
            motion: Vec::new(),
            winds: Vec::new(),
            last_hips: vec![0.0; 3 * lanes],
            restored: Vec::new(),
        }
    }

    /// Makes room for `poses` animated poses of `joints` joints.
    pub fn reserve_poses(&mut self, poses: usize, joints: usize) {
        let needed = poses * joints * RIGID * self.lanes;
        if self.locals.len() < needed {
            self.locals.resize(needed, 0.0);
            self.models.resize(needed, 0.0);
        }
    }

    /// Writes one actor's properties into `lane`; gravity and force are in model space already.
    pub fn set_properties(&mut self, lane: usize, of: &ActorProperties) {
        let gravity = of.gravity.to_array();
        let force = of.global_force.to_array();
        let values = [
            of.weight,
            of.swing_power,
            of.root_horizontal_weight,
            of.root_vertical_weight,
            gravity[0],
            gravity[1],
            gravity[2],
            force[0],
            force[1],
            force[2],
        ];
        for (component, value) in values.into_iter().enumerate() {
            self.properties[component * self.lanes + lane] = value;
        }
    }

    /// Offset of the first lane of joint `joint` in pose `pose` in [`Group::locals`] and [`Group::models`].
    #[inline(always)]
    pub fn pose_offset(&self, pose: usize, joint: usize, joints: usize) -> usize {
        (pose * joints + joint) * RIGID * self.lanes
    }

    /// A joint's animated transform against its parent; `joints` is the plan's number of joints.
    #[inline(always)]
    pub fn local<L: Lane>(&self, pose: usize, joint: usize, joints: usize) -> Rigid<L> {
        self.rigid(&self.locals, pose, joint, joints)
    }

    /// A joint's animated model transform; `joints` is the plan's number of joints.
    #[inline(always)]
    pub fn model<L: Lane>(&self, pose: usize, joint: usize, joints: usize) -> Rigid<L> {
        self.rigid(&self.models, pose, joint, joints)
    }

    #[inline(always)]
    fn rigid<L: Lane>(&self, of: &[f32], pose: usize, joint: usize, joints: usize) -> Rigid<L> {
        debug_assert_eq!(self.lanes, L::LANES, "a group is read at its own width");
        let offset = (pose * joints + joint) * RIGID * L::LANES;
        Rigid::load(&of[offset..][..RIGID * L::LANES])
    }

    /// One property of all lanes.
    #[inline(always)]
    pub fn property<L: Lane>(&self, component: usize) -> L {
        L::load(&self.properties[component * L::LANES..])
    }

    /// Three properties of all lanes.
    #[inline(always)]
    pub fn property_vector<L: Lane>(&self, component: usize) -> Vec3x<L> {
        Vec3x::load(&self.properties[component * L::LANES..])
    }
}

/// Scratch of sampling.
#[derive(Debug, Default)]
pub struct SamplingScratch {
    /// A clip that fades in.
    pub pose: Vec<JointTransform>,
    /// The channels of a clip that fades in.
    pub channels: Vec<f32>,
    /// A clip in rows.
    pub rows: PoseRows,
}

/// One actor's place.
#[derive(Debug, Default)]
pub struct Slot {
    /// Whose it is; `None` when free.
    pub actor: Option<Entity>,
    /// State of the actor: a group of one lane.
    pub group: Group,
    /// What the running frame asks of it.
    pub schedule: FrameSchedule,
    /// The switches it runs with.
    pub profile: SwingProfile,
    /// Poses of the frame's substeps, `[pose][joint]`; only the joints the plan needs are up to date.
    pub poses: Vec<JointTransform>,
    /// Model transforms of the pose in work, in joint order: scratch.
    pub scales: Vec<ModelTransform>,
    /// The animated pose to be shown, in joint order.
    pub shown: Vec<JointTransform>,
    /// The channels to be shown, see [`crate::channel::ChannelLayout`].
    pub channels: Vec<f32>,
    /// Scratch of sampling.
    pub sampling: SamplingScratch,
    /// The memory of its layers.
    pub layers: LayerWork,
    /// The host's bake weights of the last frame, per swing joint of the rig.
    pub last_bake: Vec<f32>,
    /// The host's input pose of the last frame, in joint order.
    pub last_input: Vec<JointTransform>,
    /// For each swing joint of the plan, whether it was scaled to nothing in the last pose; empty where none was.
    pub hidden: Vec<bool>,
    /// For each driver of the plan, its reference's rotations in the last frames, newest last, as many as it lags.
    pub lagged: Vec<VecDeque<Quat>>,
    /// The swing joint, as an index of the rig's, whose substeps are to be explained, and what was noted of them.
    pub watched: Option<(usize, Vec<Account>)>,
    /// What the feet stand on.
    pub footing: Footing,
    /// Whether the actor was put somewhere else since the last frame, which is no motion. `[S2]`
    pub teleported: bool,
    /// Joints whose animated transform was not finite in this frame, ascending.
    pub invalid: Vec<usize>,
}

/// The actors of one plan.
#[derive(Debug)]
pub struct Crowd {
    /// What they share.
    pub plan: Arc<Plan>,
    /// Their places.
    pub slots: Vec<Slot>,
}

impl Crowd {
    /// Whether no slot has an actor; free slots hold nothing of the plan.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.actor.is_none())
    }

    /// Gives `actor` a free slot, or a new one, at rest; returns its index.
    pub fn seat(&mut self, actor: Entity) -> usize {
        let free = self.slots.iter().position(|slot| slot.actor.is_none());
        let index = free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[index] = Slot {
            actor: Some(actor),
            group: Group::new(&self.plan, 1),
            ..Slot::default()
        };
        index
    }
}

/// All crowds of a World; one without actors is taken over by the next plan that needs one.
#[derive(Resource, Debug, Default)]
pub struct Crowds(pub Vec<Crowd>);

impl Crowds {
    /// The crowd of `plan`, made if there is none; returns its index.
    pub fn of_plan(&mut self, plan: &Arc<Plan>) -> usize {
        let known = self
            .0
            .iter()
            .position(|crowd| Arc::ptr_eq(&crowd.plan, plan));
        let known = known.or_else(|| {
            let empty = self.0.iter().position(Crowd::is_empty)?;
            self.0[empty].plan = Arc::clone(plan);
            Some(empty)
        });
        known.unwrap_or_else(|| {
            self.0.push(Crowd {
                plan: Arc::clone(plan),
                slots: Vec::new(),
            });
            self.0.len() - 1
        })
    }

    /// Takes the slot of `actor` back; true if it had one.
    pub fn leave(&mut self, actor: Entity) -> bool {
        let slots = self.0.iter_mut().flat_map(|crowd| &mut crowd.slots);
        let mut own = slots.filter(|slot| slot.actor == Some(actor));
        own.next().map(|slot| *slot = Slot::default()).is_some()
    }
}
