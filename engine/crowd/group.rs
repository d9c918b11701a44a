//! Groups: the memory of actors side by side in lanes.

use core::ops::Range;
use std::sync::Arc;

use super::{Aligned, PLACED, RIGID, particle, property, result, waiting};
use crate::lane::{Lane, Vec3x};
use crate::plan::Plan;
use crate::pose::Rigid;
use crate::swing::ActorProperties;
use crate::wind::WindField;

/// State in lanes: of one actor per lane, or of one actor's chains.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// How many lanes.
    pub lanes: usize,
    /// `[swing joint][`[`particle`]`][lane]`
    pub particles: Aligned,
    /// Velocities under [`crate::profile::ForcePolicy::VelocityAdd`] and `VelocityReplace`, `[swing joint][x y z][lane]`;
    /// beside the particles, which most profiles then read without them. `[S7]`
    pub velocities: Aligned,
    /// What joints that wait for others are resolved from, `[swing joint][`[`waiting`]`][lane]`; empty where none waits.
    pub waiting: Aligned,
    /// Results of the last substep, `[swing joint][`[`result`]`][lane]`.
    pub results: Aligned,
    /// Results of the substep before.
    pub results_before: Aligned,
    /// Placed static colliders, `[collider][`[`super::placed`]`][lane]`.
    pub statics: Aligned,
    /// `[`[`property`]`][lane]`
    pub properties: Aligned,
    /// Animated transforms against the parents, scaled and rigid: `[pose][joint][t x y z, r x y z w][lane]`.
    pub locals: Aligned,
    /// Animated model transforms, likewise.
    pub models: Aligned,
    /// Bake weights `[pose][swing joint][lane]`; empty where no actor has any. `[V4]`
    pub bake: Vec<f32>,
    /// 1 for joints that are held at rest because an ancestor is scaled to nothing, `[pose][swing joint][lane]`; empty
    /// where none is.
    pub held: Vec<f32>,
    /// Hits of the chain layers' links in the last pass, `[link][lane]`. `[X6]`
    pub links: Vec<f32>,
    /// A ring before it is smoothed: scratch. `[M1]`
    pub ring: Vec<f32>,
    /// Motion of the actors since the last frame, `[part][`[`super::motion`]`][lane]`; empty when nobody moved. `[S2]`
    pub motion: Vec<f32>,
    /// The wind of each lane, in model space; empty where the air is still everywhere. `[W1]`
    pub winds: Vec<Option<Arc<WindField>>>,
    /// When each lane's wind is asked in each substep of the frame, on the host's clock, seconds, `[substep][lane]`; empty
    /// where the air is still everywhere. `[W1]`
    pub times: Vec<f64>,
    /// hips of `[S1]` at the last frame, `[x y z][lane]`, metres.
    pub last_hips: Aligned,
    /// How far they went in this one, likewise.
    pub hips_moved: Aligned,
    /// 1 for the lanes whose turn it is, see [`crate::lane::Pen`]; empty where it is everybody's.
    pub active: Vec<f32>,
    /// Numbers of joints in lanes whose turn it is not, while the others move: scratch.
    pub kept: Aligned,
    /// Products of the scales from the roots down to each joint in the pose in work, `[joint][x y z][lane]`: scratch.
    pub scales: Aligned,
    /// Where the lanes are the chains of one actor, what it has in one number each: its poses, and scratch of its chain
    /// layers.
    pub single: Option<Box<Self>>,
    /// Particles that were not finite in this frame and were put at rest: `(lane, place)`. `[V8]`
    pub restored: Vec<(usize, usize)>,
}

impl Group {
    /// Room for `lanes` actors of `plan`.
    pub fn new(plan: &Plan, lanes: usize) -> Self {
        let swings = plan.swings.len();
        Self {
            lanes,
            particles: Aligned::zeros(swings * particle::COMPONENTS * lanes),
            velocities: Aligned::zeros(swings * 3 * lanes),
            waiting: Aligned::zeros(if plan.waits() {
                swings * waiting::COMPONENTS * lanes
            } else {
                0
            }),
            results: Aligned::zeros(swings * result::COMPONENTS * lanes),
            results_before: Aligned::zeros(swings * result::COMPONENTS * lanes),
            statics: Aligned::zeros(plan.statics.len() * PLACED * lanes),
            properties: Aligned::zeros(property::COMPONENTS * lanes),
            locals: Aligned::default(),
            models: Aligned::default(),
            bake: Vec::new(),
            held: Vec::new(),
            links: vec![0.0; plan.links() * lanes],
            ring: Vec::new(),
            motion: Vec::new(),
            winds: Vec::new(),
            times: Vec::new(),
            last_hips: Aligned::zeros(3 * lanes),
            hips_moved: Aligned::zeros(3 * lanes),
            active: Vec::new(),
            kept: Aligned::default(),
            scales: Aligned::default(),
            single: None,
            restored: Vec::new(),
        }
    }

    /// Makes room for `poses` animated poses of `joints` joints.
    pub fn reserve_poses(&mut self, poses: usize, joints: usize) {
        let needed = poses * joints * RIGID * self.lanes;
        if self.locals.len() < needed {
            self.locals.resize(needed);
            self.models.resize(needed);
        }
        let needed = joints * 3 * self.lanes;
        if self.scales.len() < needed {
            self.scales.resize(needed);
        }
    }

    /// Writes one actor's properties into `lanes`; gravity and force are in model space already.
    pub fn set_properties(&mut self, lanes: Range<usize>, of: &ActorProperties) {
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
            let own = &mut self.properties[component * self.lanes..];
            own[lanes.clone()].fill(value);
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
