//! The port: the same mechanics the way one would write them for a single game, with `bevy_math`.
//!
//! What the engine is compared with. Chain after chain, a struct per joint, angles by arcsine and arctangent, the
//! platform's own trigonometry. It has every advantage of knowing the workload: no root correction (which is zero in S),
//! no other shapes or motions, no record of the hits, no blends between frames.

use bevy_math::{Quat, Vec3};
use flounce::collider::Shape;
use flounce::pose::JointTransform;
use flounce::rig::Rig;

use super::workload::{CHAINS, JOINT_RADIUS, JOINTS, LINKS};

/// The factor of all forces in a substep of 1/60 s.
const STEP: f32 = 40.0 / 60.0;

/// Constants of a joint.
struct JointConstants {
    inertia: f32,
    stiffness: f32,
    pendulum: f32,
    range: f32,
    weight: f32,
    length: f32,
    axis: Vec3,
    local: JointTransform,
    /// Radians.
    low: Vec3,
    high: Vec3,
}

/// A tapered capsule on the hips.
struct Capsule {
    ends: [Vec3; 2],
    radius: [f32; 2],
    inverse_length_squared: f32,
    bounds: f32,
}

/// What all characters share.
pub struct Character {
    joints: Vec<JointConstants>,
    capsules: Vec<Capsule>,
}

/// A joint that moves.
#[derive(Clone, Copy)]
pub struct JointState {
    /// Its particle, metres.
    pub position: Vec3,
    previous: Vec3,
    /// The rotation to write.
    pub local: Quat,
}

/// A capsule where the hips have it.
#[derive(Clone, Copy)]
struct Placed {
    start: Vec3,
    axis: Vec3,
    middle: Vec3,
}

impl Character {
    /// Reads the numbers of S.
    pub fn new(rig: &Rig) -> Self {
        let joints = rig.swing.iter().map(|swing| {
            let limit = swing.limit.unwrap();
            let local = rig.joints[swing.joint].rest;
            let step = rig
                .joints
                .get(swing.joint + 1)
                .filter(|j| j.parent == Some(swing.joint));
            let step = step.map_or(rig.joints[swing.joint].rest.translation, |j| {
                j.rest.translation
            });
            JointConstants {
                inertia: (1.0 - swing.damping) * (1.0 - swing.damping),
                stiffness: swing.stiffness,
                pendulum: swing.pendulum,
                range: swing.pendulum_range,
                weight: swing.mass * 0.01,
                length: step.length(),
                axis: step.normalize(),
                local,
                low: limit.low.map(f32::to_radians),
                high: limit.high.map(f32::to_radians),
            }
        });
        let capsules = rig.colliders.iter().map(|c| capsule(&c.collider.shape));
        Self {
            joints: joints.collect(),
            capsules: capsules.collect(),
        }
    }

    /// All joints at rest, the hips at `hips`.
    pub fn at_rest(&self, hips: &JointTransform) -> Vec<JointState> {
        let mut states = Vec::with_capacity(JOINTS);
        for chain in self.joints.chunks_exact(LINKS) {
            let (mut at, mut turn) = (hips.translation, hips.rotation);
            for joint in chain {
                at += turn * joint.local.translation;
                turn *= joint.local.rotation;
                let position = at + turn * (joint.axis * joint.length);
                states.push(JointState {
                    position,
                    previous: position,
                    local: joint.local.rotation,
                });
            }
        }
        states
    }

    /// One substep of one character.
    pub fn step(&self, hips: &JointTransform, states: &mut [JointState]) {
        let mut placed = [Placed::NOWHERE; 32];
        for (placed, capsule) in placed.iter_mut().zip(&self.capsules) {
            *placed = capsule.place(hips);
        }
        let placed = &placed[..self.capsules.len()];
        for chain in 0..CHAINS {
            let range = chain * LINKS..(chain + 1) * LINKS;
            self.step_chain(
                hips,
                &self.joints[range.clone()],
                placed,
                &mut states[range],
            );
        }
    }

    fn step_chain(
        &self,
        hips: &JointTransform,
        joints: &[JointConstants],
        placed: &[Placed],
        states: &mut [JointState],
    ) {
        let mut anchor = hips.translation + hips.rotation * joints[0].local.translation;
        let mut parent = hips.rotation;
        for (joint, state) in joints.iter().zip(states) {
            let rest = parent * joint.local.rotation;
            let moved = joint.integrate(rest * joint.axis, state);
            let moved = joint.keep_length(moved, anchor);
            let moved = self.collide(joint, placed, anchor, moved);
            let deviation = joint.limit(joint.deviation(rest, moved - anchor));
            let resolved = rest * deviation;
            state.local = joint.local.rotation * deviation;
            state.previous = state.position;
            state.position = anchor + resolved * joint.axis * joint.length;
            anchor = state.position;
            parent = resolved;
        }
    }

    fn collide(
        &self,
        joint: &JointConstants,
        placed: &[Placed],
        anchor: Vec3,
        mut particle: Vec3,
    ) -> Vec3 {
        for (capsule, placed) in self.capsules.iter().zip(placed) {
            let reach = capsule.bounds + JOINT_RADIUS * 1.1;
            if (particle - placed.middle).length_squared() > reach * reach {
                continue;
            }
            let t = placed.axis.dot(particle - placed.start) * capsule.inverse_length_squared;
            let t = t.clamp(0.0, 1.0);
            let nearest = placed.start + placed.axis * t;
            let radius = capsule.radius[0] + (capsule.radius[1] - capsule.radius[0]) * t;
            let reach = radius + JOINT_RADIUS;
            let offset = particle - nearest;
            let squared = offset.length_squared();
            if squared > reach * reach {
                continue;
            }
            let pushed = nearest + offset * (reach / squared.max(1e-10).sqrt());
            particle = joint.keep_length(pushed, anchor);
        }
        particle
    }
}

impl JointConstants {
    fn integrate(&self, direction: Vec3, state: &JointState) -> Vec3 {
        let (x, before) = (state.position, state.previous);
        let cosine = x.dot(before).abs() / (x.length_squared() * before.length_squared()).sqrt();
        let loss = (cosine - (1.0 - self.range)).max(0.0) / self.range * self.pendulum;
        let force = (x - before) * self.inertia
            + direction * ((self.stiffness - loss) * 0.01)
            + Vec3::NEG_Y * self.weight;
        x + force * STEP
    }

    fn keep_length(&self, particle: Vec3, anchor: Vec3) -> Vec3 {
        let offset = particle - anchor;
        anchor + offset * (self.length / offset.length_squared().max(1e-10).sqrt())
    }

    /// The shortest arc from the axis to the particle, in the joint's own frame.
    fn deviation(&self, rest: Quat, offset: Vec3) -> Quat {
        let direction = rest.conjugate() * (offset / offset.length_squared().sqrt());
        let w = 1.0 + self.axis.dot(direction);
        if w < 1e-6 {
            let side = self.axis.any_orthonormal_vector();
            return Quat::from_xyzw(side.x, side.y, side.z, 0.0);
        }
        let side = self.axis.cross(direction);
        Quat::from_xyzw(side.x, side.y, side.z, w).normalize()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a game would call the platform's functions: the faster ones are compared with"
    )]
    fn limit(&self, q: Quat) -> Quat {
        let [x, y, z, w] = q.to_array();
        let angles = Vec3::new(
            (2.0 * (w * x - y * z)).clamp(-1.0, 1.0).asin(),
            (2.0 * (w * y + x * z)).atan2(1.0 - 2.0 * (x * x + y * y)),
            (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (x * x + z * z)),
        );
        let held = angles.clamp(self.low, self.high);
        if held == angles {
            return q;
        }
        let half = held * 0.5;
        let ((sx, cx), (sy, cy), (sz, cz)) = (half.x.sin_cos(), half.y.sin_cos(), half.z.sin_cos());
        Quat::from_xyzw(
            (cy * cz) * sx + (sy * sz) * cx,
            (sy * cz) * cx - (cy * sz) * sx,
            (cy * sz) * cx - (sy * cz) * sx,
            (cy * cz) * cx + (sy * sz) * sx,
        )
    }
}

impl Placed {
    const NOWHERE: Self = Self {
        start: Vec3::ZERO,
        axis: Vec3::ZERO,
        middle: Vec3::ZERO,
    };
}

impl Capsule {
    fn place(&self, hips: &JointTransform) -> Placed {
        let [start, end] = self.ends.map(|end| hips.translation + hips.rotation * end);
        Placed {
            start,
            axis: end - start,
            middle: start + (end - start) * 0.5,
        }
    }
}

fn capsule(shape: &Shape) -> Capsule {
    let &Shape::Capsule {
        offset_a,
        offset_b,
        radius_a,
        radius_b,
    } = shape
    else {
        panic!("S has capsules only");
    };
    let axis = offset_b - offset_a;
    Capsule {
        ends: [offset_a, offset_b],
        radius: [radius_a, radius_b],
        inverse_length_squared: 1.0 / axis.length_squared(),
        bounds: (axis.length() * 0.5 + radius_a.max(radius_b)) * 1.1,
    }
}
