//! Legs: two bones turned so that a sole meets a point. `[Q4]`
//!
//! Pure functions on positions and rotations in model space, and a leg compiled for them. Nothing is stretched: a leg
//! that cannot reach its point aims at it and says so. [`crate::systems::footing`] runs it on every animated pose.
//!
//! ```text
//! H, K, F   hip, knee and ankle as animated      T   where the ankle has to be      a = |K − H|   b = |F − K|
//! d = clamp(|T − H|, |a − b|, a + b)             e = (T − H)/|T − H|
//! cos α = (a² + d² − b²)/2ad                     sin α = 2A/ad, A the triangle's area by Heron's formula
//! K' = H + a·(e·cos α + g·sin α)                 F' = H + d·e
//! ```
//!
//! g is the side to which the knee bends, across e: the animated one, carried along by the shortest turn from F − H to
//! e; for a straight leg the pole's.

use bevy_math::Vec3;
#[cfg(feature = "bevy")]
use bevy_reflect::Reflect;

use crate::lane::{Lane, Vec3x};
use crate::pose::{JointTransform, ModelTransform};
use crate::rig::Rig;
use crate::rotation::{self, Rotation};

/// A leg of a rig: two bones and a foot. `[Q4]`
///
/// Joints between `upper` and `lower` or between `lower` and `foot` keep their local transforms, as does what is below
/// the foot.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct LegChain {
    /// What people call it: "left".
    pub name: String,
    /// Index of the joint at the hip.
    pub upper: usize,
    /// Index of the joint at the knee, below `upper`.
    pub lower: usize,
    /// Index of the joint at the ankle, below `lower`. It keeps its animated rotation in model space.
    pub foot: usize,
    /// The point of the foot that meets anchors, in the foot's joint space and units (metres unless scaled).
    pub sole: Vec3,
    /// The side to which a straight leg bends, a direction in the space of `upper`'s parent; any length but 0. `None`:
    /// that of the rest pose, or forward (+Z of the model) where the leg is straight there too.
    pub pole: Option<Vec3>,
}

/// How a leg came to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The sole is there.
    Reached,
    /// The point is farther than the leg is long: it is stretched out towards it.
    TooFar,
    /// The point is nearer than the folded leg comes: it is folded towards it.
    TooNear,
}

/// Why a leg was left as it was animated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub enum Refusal {
    /// The point or the leg's pose is not finite, or so far away that the leg's would not be, or the weight is no number
    /// from 0 to 1.
    NotFinite,
    /// A bone has no length, as below a joint that is scaled to nothing.
    NoBone,
    /// The ankle would have to be where the hip is, which leaves every direction open.
    OnHip,
}

/// A bone shorter than this, metres, or an ankle nearer to the hip, has no direction.
const COINCIDENT: f32 = 1e-6;
/// Farther than this share of the leg's length beyond its reach is out of reach: below is rounding.
const BEYOND: f32 = 1e-6;
/// How far the knee stands off the line from hip to ankle, in upper bones: below the first the leg counts as straight and
/// its pole decides; above the second its animation does; between, both. A knee of 0.6° has a direction that rounding of
/// keys decides; one of 6° is meant.
const STRAIGHT: f32 = 0.005;
const BENT: f32 = 0.05;
/// A direction across the leg that is shorter than this, of 1, is along it.
const ALONG: f32 = 1e-3;

/// Where the joints of a leg are, in model space, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limb {
    /// Origin of the upper joint.
    pub hip: Vec3,
    /// Origin of the lower joint.
    pub knee: Vec3,
    /// Origin of the foot joint.
    pub ankle: Vec3,
}

/// How a leg has to turn, in model space: `turned = turn * animated`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LegTurns {
    /// Of the upper joint and what moves with it.
    pub upper: Rotation<f32>,
    /// Of the lower joint and what moves with it.
    pub lower: Rotation<f32>,
    /// Whether that brings the ankle to its place.
    pub reach: Reach,
}

impl Limb {
    /// How this leg has to turn to bring its ankle to `target`; a straight leg bends to the side of `pole`. `[Q4]`
    ///
    /// `target` is in model space, metres; `pole` is a direction there, unit.
    ///
    /// # Errors
    /// [`Refusal`] for what has no answer.
    pub fn solve(&self, target: Vec3, pole: Vec3) -> Result<LegTurns, Refusal> {
        let (upper, lower) = (self.knee - self.hip, self.ankle - self.knee);
        let (a, b) = (upper.length(), lower.length());
        let away = target - self.hip;
        let distance = away.length();
        if !(a.is_finite() && b.is_finite() && distance.is_finite()) {
            return Err(Refusal::NotFinite);
        }
        if a <= COINCIDENT || b <= COINCIDENT {
            return Err(Refusal::NoBone);
        }
        if distance <= COINCIDENT {
            return Err(Refusal::OnHip);
        }
        let (nearest, farthest) = ((a - b).abs(), a + b);
        let reach = if distance > farthest * (1.0 + BEYOND) {
            Reach::TooFar
        } else if distance < nearest - farthest * BEYOND {
            Reach::TooNear
        } else {
            Reach::Reached
        };
        let to = away / distance;
        let swing =
            direction(self.ankle - self.hip).map_or(Rotation::identity(), |from| arc(from, to));
        let carried = turn(swing, upper);
        let d = distance.clamp_to(nearest.max(COINCIDENT), farthest);
        let (cos, sin) = corner(a, b, d);
        let bend = bend_side(carried / a, to, pole);
        // Unit to rounding also where the area lost its digits.
        let aim = to * cos + bend * sin;
        let aim = aim / aim.length();
        let upper_turn = arc(carried / a, aim) * swing;
        let shin = to * d - aim * a;
        let carried = turn(upper_turn, lower / b);
        let lower_turn = direction(shin).map_or(upper_turn, |aim| arc(carried, aim) * upper_turn);
        let (upper, lower) = (upper_turn.normalized(), lower_turn.normalized());
        if !(upper.finite() && lower.finite()) {
            // Bones so long that squares of their lengths are no numbers.
            return Err(Refusal::NotFinite);
        }
        Ok(LegTurns {
            upper,
            lower,
            reach,
        })
    }
}

/// Cosine and sine of the angle at the hip of a triangle with sides `a` (upper), `b` (lower) and `d`.
fn corner(a: f32, b: f32, d: f32) -> (f32, f32) {
    let half = (a + b + d) * 0.5;
    // The root of 1 − cos² has no digits left where the leg is nearly straight; the product of the excesses does.
    let area_squared = half * (half - a) * (half - b) * (half - d);
    let cos = (a * a + d * d - b * b) / (2.0 * a * d);
    (
        cos.clamp_to(-1.0, 1.0),
        2.0 * area_squared.max(0.0).sqrt() / (a * d),
    )
}

/// Which way the knee goes, unit and across `to`: `thigh` is the upper bone's direction as animated and carried along.
fn bend_side(thigh: Vec3, to: Vec3, pole: Vec3) -> Vec3 {
    let across = |v: Vec3| v - to * v.dot(to);
    let animated = across(thigh);
    let bent = animated.length();
    let wanted = across(pole);
    let length = wanted.length();
    if length < ALONG {
        // The pole points along the leg and says nothing.
        let side = if bent > COINCIDENT {
            animated
        } else {
            rotation::any_perpendicular::<f32>(to.into()).into()
        };
        return side / side.length();
    }
    let wanted = wanted / length;
    if bent <= STRAIGHT {
        return wanted;
    }
    let u = ((bent - STRAIGHT) / (BENT - STRAIGHT)).clamp_to(0.0, 1.0);
    let share = u * u * (3.0 - 2.0 * u);
    let side = wanted * (1.0 - share) + animated / bent * share;
    let length = side.length();
    if length < ALONG {
        wanted
    } else {
        side / length
    }
}

fn direction(v: Vec3) -> Option<Vec3> {
    let length = v.length();
    (length > COINCIDENT).then(|| v / length)
}

fn arc(from: Vec3, to: Vec3) -> Rotation<f32> {
    rotation::from_to(Vec3x::from(from), Vec3x::from(to))
}

fn turn(by: Rotation<f32>, v: Vec3) -> Vec3 {
    by.rotate(v.into()).into()
}

/// A leg compiled: what a pose is solved with.
#[derive(Clone, Debug, PartialEq)]
pub struct LegPlan {
    /// The joints from a root down to the foot.
    pub path: Vec<usize>,
    /// Place of the upper joint in `path`.
    pub upper: usize,
    /// Place of the lower joint in `path`.
    pub lower: usize,
    /// See [`LegChain::sole`].
    pub sole: Vec3,
    /// The side to which a straight leg bends, in the model frame of the upper joint's parent (mirrored axes already
    /// reflected), unit.
    pub pole: Vec3,
}

impl LegPlan {
    /// Compiles `chain`, a leg of `rig`; `rest` are the rest transforms in model space.
    ///
    /// Joints that are not below each other give a leg of no bones, which stays as it is animated; the rig's check
    /// refuses them.
    pub fn new(rig: &Rig, rest: &[ModelTransform], chain: &LegChain) -> Self {
        let up = core::iter::successors(Some(chain.foot), |&joint| rig.joints[joint].parent);
        let mut path: Vec<usize> = up.collect();
        path.reverse();
        let place = |joint: usize| path.iter().position(|&j| j == joint).unwrap_or(0);
        let (upper, lower) = (place(chain.upper), place(chain.lower));
        let parent = rig.joints[chain.upper].parent;
        let parent = parent.map_or(ModelTransform::root(rig.metres_per_unit), |p| rest[p]);
        let written = chain.pole.and_then(|pole| {
            let pole = pole / pole.abs().max_element();
            direction(Vec3::from(parent.sign()) * pole)
        });
        let at = |joint: usize| Vec3::from(rest[joint].rigid.t);
        let limb = Limb {
            hip: at(chain.upper),
            knee: at(chain.lower),
            ankle: at(chain.foot),
        };
        let pole = written
            .unwrap_or_else(|| turn(parent.rigid.r.conjugate(), limb.side().unwrap_or(Vec3::Z)));
        Self {
            path,
            upper,
            lower,
            sole: chain.sole,
            pole,
        }
    }

    /// The joints that turn: upper, lower, foot.
    pub fn joints(&self) -> [usize; 3] {
        let foot = self.path.len() - 1;
        [self.upper, self.lower, foot].map(|place| self.path[place])
    }

    /// Puts the model transforms of the leg's path in `pose` into `path`, which is scratch; `root` is what root joints
    /// hang on.
    pub fn place(
        &self,
        root: ModelTransform,
        pose: &[JointTransform],
        path: &mut Vec<ModelTransform>,
    ) {
        path.clear();
        let mut parent = root;
        for &joint in &self.path {
            parent = parent.child(&pose[joint]);
            path.push(parent);
        }
    }

    /// Rotations in model space of upper, lower and foot in a placed `path`.
    pub fn rotations(&self, path: &[ModelTransform]) -> [Rotation<f32>; 3] {
        [self.upper, self.lower, path.len() - 1].map(|place| path[place].rigid.r)
    }

    /// The sole in a placed `path`, model space, metres.
    pub fn sole(&self, path: &[ModelTransform]) -> Vec3 {
        let foot = &path[path.len() - 1];
        Vec3::from(foot.rigid.t) + turn(foot.rigid.r, foot.scale * self.sole)
    }

    /// Turns the leg in `pose` so that its sole meets `anchor`; the foot keeps its rotation in model space. `[Q4]`
    ///
    /// `anchor` is in model space, metres. `weight` is how much of the way the bones turn: *0 leaves the animation, 1
    /// meets the anchor*. `path` is scratch. On an error the pose is unchanged.
    ///
    /// # Errors
    /// [`Refusal`] for what has no answer.
    pub fn plant(
        &self,
        anchor: Vec3,
        weight: f32,
        root: ModelTransform,
        pose: &mut [JointTransform],
        path: &mut Vec<ModelTransform>,
    ) -> Result<Reach, Refusal> {
        if !anchor.is_finite() || !(0.0..=1.0).contains(&weight) {
            return Err(Refusal::NotFinite);
        }
        self.place(root, pose, path);
        let foot = path.len() - 1;
        let at = |place: usize| Vec3::from(path[place].rigid.t);
        let above = |place: usize| place.checked_sub(1).map_or(root, |above| path[above]);
        let limb = Limb {
            hip: at(self.upper),
            knee: at(self.lower),
            ankle: at(foot),
        };
        let pole = turn(above(self.upper).rigid.r, self.pole);
        let turns = limb.solve(anchor - (self.sole(path) - limb.ankle), pole)?;
        let none = Rotation::identity();
        let part = |whole: Rotation<f32>| {
            if weight >= 1.0 {
                whole
            } else {
                rotation::slerp(none, whole, weight).normalized()
            }
        };
        let (upper, lower) = (part(turns.upper), part(turns.lower));
        let turned = |place: usize, parent_turn: Rotation<f32>, own_turn: Rotation<f32>| {
            let parent = above(place);
            let back = (parent_turn * parent.rigid.r).conjugate();
            let local = back * (own_turn * path[place].rigid.r);
            local.normalized().reflected(parent.sign())
        };
        let locals = [
            turned(self.upper, none, upper),
            turned(self.lower, upper, lower),
            turned(foot, lower, none),
        ];
        if !locals.iter().all(|local| local.finite()) {
            return Err(Refusal::NotFinite);
        }
        for (joint, local) in self.joints().into_iter().zip(locals) {
            pose[joint].rotation = local.into();
        }
        Ok(turns.reach)
    }
}

impl Limb {
    /// The side to which the knee stands off the line from hip to ankle, unit; `None` for a straight leg.
    pub fn side(&self) -> Option<Vec3> {
        let upper = self.knee - self.hip;
        let line = direction(self.ankle - self.hip)?;
        let off = upper - line * upper.dot(line);
        (off.length() > upper.length() * STRAIGHT).then(|| off / off.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight() -> Limb {
        Limb {
            hip: Vec3::new(0.0, 1.0, 0.0),
            knee: Vec3::new(0.0, 0.5, 0.0),
            ankle: Vec3::ZERO,
        }
    }

    fn solved(limb: &Limb, turns: &LegTurns) -> [Vec3; 2] {
        let knee = limb.hip + turn(turns.upper, limb.knee - limb.hip);
        [knee, knee + turn(turns.lower, limb.ankle - limb.knee)]
    }

    #[test]
    fn q4_a_straight_leg_bends_to_its_pole() {
        // Sides 0.5, 0.5 and 0.6: the knee stands 0.4 off the middle.
        let target = Vec3::new(0.0, 0.4, 0.0);
        let turns = straight().solve(target, Vec3::Z).unwrap();
        let [knee, ankle] = solved(&straight(), &turns);
        assert!((knee - Vec3::new(0.0, 0.7, 0.4)).length() < 1e-6, "{knee}");
        assert!((ankle - target).length() < 1e-6, "{ankle}");
        assert_eq!(turns.reach, Reach::Reached);
    }

    #[test]
    fn q4_a_bent_knee_keeps_its_side_whatever_the_pole() {
        let bent = Limb {
            knee: Vec3::new(0.1, 0.5, 0.0),
            ..straight()
        };
        let turns = bent.solve(Vec3::new(0.0, 0.3, 0.0), Vec3::Z).unwrap();
        let [knee, _] = solved(&bent, &turns);
        assert!(knee.x > 0.3 && knee.z.abs() < 1e-6, "{knee}");
    }

    #[test]
    fn q4_a_leg_out_of_reach_aims_and_does_not_stretch() {
        let turns = straight().solve(Vec3::new(0.0, 1.0, 3.0), Vec3::Z).unwrap();
        let [knee, ankle] = solved(&straight(), &turns);
        assert!((knee - Vec3::new(0.0, 1.0, 0.5)).length() < 1e-6, "{knee}");
        assert!(
            (ankle - Vec3::new(0.0, 1.0, 1.0)).length() < 1e-6,
            "{ankle}"
        );
        assert_eq!(turns.reach, Reach::TooFar);
        let uneven = Limb {
            ankle: Vec3::new(0.0, 0.3, 0.0),
            ..straight()
        };
        let near = uneven.solve(Vec3::new(0.0, 0.9, 0.0), Vec3::Z).unwrap();
        let [_, ankle] = solved(&uneven, &near);
        assert!(
            (ankle - Vec3::new(0.0, 0.7, 0.0)).length() < 1e-6,
            "{ankle}"
        );
        assert_eq!(near.reach, Reach::TooNear);
    }

    #[test]
    fn q4_what_has_no_answer_is_refused() {
        let limb = straight();
        assert_eq!(limb.solve(limb.hip, Vec3::Z), Err(Refusal::OnHip));
        let nowhere = Vec3::new(f32::NAN, 0.0, 0.0);
        assert_eq!(limb.solve(nowhere, Vec3::Z), Err(Refusal::NotFinite));
        let boneless = Limb {
            knee: limb.hip,
            ..limb
        };
        assert_eq!(boneless.solve(Vec3::X, Vec3::Z), Err(Refusal::NoBone));
    }
}
