//! Blends of rotations: which interpolant, and many inputs at once. `[B3]` `[B4]`
//!
//! The node that blends chooses its [`Interpolant`] once, as data; a call never does. Whatever the choice, the shorter
//! way round is taken first: where the dot product is negative the second rotation changes sign, and at exactly 0 the
//! stored sign stands, so that the answer is the same everywhere. [`blend_many`] blends any number of rotations about
//! one reference and does not depend on the order in which they are given.

#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

use crate::lane::{Lane, LaneMask};
use crate::rotation::{self, BlendError, Rotation};

/// `|Σ|²` below this has no direction left: the reference stands in. `[B4]`
pub const COLLAPSED_SQUARED: f32 = 1e-12;

/// How a blending node goes from one rotation to another. `[B3]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "rig_files",
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Interpolant {
    /// Straight through the sphere and normalised: cheap; its speed varies along the way. `[B1]`
    Nlerp,
    /// Along the arc at constant speed. `[C3]`
    #[default]
    Slerp,
    /// Slerp for rotations that are far apart, nlerp for near ones.
    Auto {
        /// Slerp where |dot| is below this, dimensionless: *0 never, above 1 always*. |dot| is the cosine of half the
        /// angle between the rotations.
        threshold: f32,
    },
}

impl Interpolant {
    /// The rotation between two unit rotations, `from` at 0 and `to` at 1, along the shorter way. `[B3]`
    ///
    /// `t` in [0, 1]. Nothing is checked here: see [`Interpolant::try_blend`] for rotations of unknown origin.
    #[inline(always)]
    pub fn blend<L: Lane>(self, from: Rotation<L>, to: Rotation<L>, t: L) -> Rotation<L> {
        match self {
            Self::Nlerp => nearer_nlerp(from, to, t),
            Self::Slerp => rotation::slerp(from, to, t),
            Self::Auto { threshold } => {
                let far = from.dot(to).abs().lt(L::splat(threshold));
                let near = nearer_nlerp(from, to, t);
                if !far.any() {
                    return near;
                }
                Rotation::select(far, rotation::slerp(from, to, t), near)
            }
        }
    }

    /// The rotation between two rotations of any length, `from` at 0 and `to` at 1. `[B1]` `[B2]` `[B3]`
    ///
    /// # Errors
    /// [`BlendError`] naming the argument: a zero or non-finite rotation, a weight outside [0, 1].
    pub fn try_blend(
        self,
        from: Rotation<f32>,
        to: Rotation<f32>,
        t: f32,
    ) -> Result<Rotation<f32>, BlendError> {
        let (from, to) = (rotation::unit(from, "from")?, rotation::unit(to, "to")?);
        if !(0.0..=1.0).contains(&t) {
            return Err(BlendError::Weight(t));
        }
        Ok(self.blend(from, to, t))
    }
}

/// `[B1]` of unit rotations.
#[inline(always)]
fn nearer_nlerp<L: Lane>(from: Rotation<L>, to: Rotation<L>, t: L) -> Rotation<L> {
    from.lerp(rotation::nearer(from, to), t).normalized()
}

/// One rotation of many. `[B4]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlendInput {
    /// Tells this input from the others, frame after frame: sums run in the order of ids.
    pub id: u32,
    /// (x, y, z, w) of any finite length but 0; another one leaves the input out.
    pub rotation: [f32; 4],
    /// Its share, ≥ 0, of any sum; a negative or non-finite weight leaves the input out.
    pub weight: f32,
}

/// Whose hemisphere all inputs are turned to. `[B4]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BlendReference {
    /// The input of the highest weight, of those the lowest id. Jumps where the two highest weights cross while the
    /// inputs span more than half a turn.
    #[default]
    Heaviest,
    /// A rotation that does not change, such as the joint's rest: continuous in the weights.
    Rest([f32; 4]),
}

/// The weighted mean of rotations, in the hemisphere of its reference. `[B4]`
///
/// ```text
/// Σ = Σ_i w_i · (q_i or −q_i, whichever has a non-negative dot with the reference), in the order of ids
/// out = Σ / |Σ|; the reference where |Σ|² < 1e-12
/// ```
/// Weights need no sum; where the largest is above 1 all are divided by it, so that no weight is too large to add.
/// Neither the order of `inputs` nor a weight that crosses 0 changes the answer's sign; inputs in the order of their
/// ids are read in place, others are sorted in a copy.
///
/// # Errors
/// [`BlendError::DuplicateId`] when two inputs share an id, [`BlendError::NoInput`] when all were left out, and
/// a zero or non-finite `rest`.
pub fn blend_many(
    inputs: &[BlendInput],
    reference: BlendReference,
) -> Result<Rotation<f32>, BlendError> {
    if inputs.windows(2).all(|pair| pair[0].id < pair[1].id) {
        return blend_sorted(inputs, reference);
    }
    let mut sorted = inputs.to_vec();
    sorted.sort_unstable_by_key(|input| input.id);
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(BlendError::DuplicateId(pair[0].id));
    }
    blend_sorted(&sorted, reference)
}

fn blend_sorted(
    inputs: &[BlendInput],
    reference: BlendReference,
) -> Result<Rotation<f32>, BlendError> {
    let (heaviest, largest) = heaviest(inputs).ok_or(BlendError::NoInput)?;
    let reference = match reference {
        BlendReference::Heaviest => heaviest,
        BlendReference::Rest(rest) => rotation::unit(Rotation::splat(rest), "rest")?,
    };
    let scale = largest.max(1.0);
    let mut sum = Rotation::splat([0.0; 4]);
    for (q, weight) in inputs.iter().filter_map(valid) {
        let share = weight / scale;
        let share = if reference.dot(q) < 0.0 {
            -share
        } else {
            share
        };
        sum = Rotation::new(
            sum.x + q.x * share,
            sum.y + q.y * share,
            sum.z + q.z * share,
            sum.w + q.w * share,
        );
    }
    if sum.dot(sum) < COLLAPSED_SQUARED {
        return Ok(reference);
    }
    Ok(sum.normalized())
}

/// The valid input of the highest weight, the first of those, and that weight.
fn heaviest(inputs: &[BlendInput]) -> Option<(Rotation<f32>, f32)> {
    inputs
        .iter()
        .filter_map(valid)
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// The unit rotation and the weight of an input that takes part.
fn valid(input: &BlendInput) -> Option<(Rotation<f32>, f32)> {
    let weight = input.weight;
    if !weight.is_finite() || weight < 0.0 {
        return None;
    }
    let q = rotation::unit(Rotation::splat(input.rotation), "rotation").ok()?;
    Some((q, weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::euler::from_euler_zxy;
    use crate::lane::Wide;
    use crate::rotation::{angle_between, nlerp};

    const CHOICES: [Interpolant; 3] = [
        Interpolant::Nlerp,
        Interpolant::Slerp,
        Interpolant::Auto { threshold: 0.6 },
    ];

    fn input(id: u32, q: Rotation<f32>, weight: f32) -> BlendInput {
        BlendInput {
            id,
            rotation: q.lane(0),
            weight,
        }
    }

    fn about_x(degrees: f32) -> Rotation<f32> {
        from_euler_zxy([degrees.to_radians(), 0.0, 0.0])
    }

    fn many(inputs: &[BlendInput]) -> Rotation<f32> {
        blend_many(inputs, BlendReference::Heaviest).unwrap()
    }

    #[test]
    fn b3_every_choice_goes_the_short_way_for_both_signs() {
        for choice in CHOICES {
            for to in [about_x(20.0), -about_x(20.0)] {
                let middle = choice.try_blend(about_x(0.0), to, 0.5).unwrap();
                let degrees = angle_between(about_x(0.0), middle).to_degrees();
                assert!((degrees - 10.0).abs() < 1e-4, "{choice:?}: {degrees}");
            }
        }
    }

    #[test]
    fn b3_at_a_dot_of_exactly_zero_the_stored_sign_holds() {
        let (from, half_turn) = (
            Rotation::identity(),
            Rotation::splat([1.0_f32, 0.0, 0.0, 0.0]),
        );
        for choice in CHOICES {
            for (to, sign) in [(half_turn, 1.0), (-half_turn, -1.0)] {
                let middle = choice.blend(from, to, 0.5);
                assert_eq!(middle.x.signum(), sign, "{choice:?}");
                assert!((middle.x.abs() - middle.w).abs() < 1e-6, "{choice:?}");
            }
        }
    }

    #[test]
    fn b3_auto_switches_at_its_threshold() {
        let (from, to, t) = (about_x(0.0), about_x(120.0), 0.25_f32);
        let dot = from.dot(to).abs();
        let auto = |threshold| Interpolant::Auto { threshold }.blend(from, to, t);
        assert_eq!(auto(dot), Interpolant::Nlerp.blend(from, to, t));
        assert_eq!(auto(dot.next_up()), Interpolant::Slerp.blend(from, to, t));
        assert_ne!(auto(dot), auto(dot.next_up()));
    }

    #[test]
    fn b1_the_nlerp_chosen_here_has_the_bits_of_the_other_one() {
        let (from, to) = (
            from_euler_zxy([0.3, -1.0, 0.2]),
            from_euler_zxy([2.0, 0.1, -0.4]),
        );
        assert_eq!(
            Interpolant::Nlerp.try_blend(from, to, 0.3),
            nlerp(from, to, 0.3)
        );
    }

    #[test]
    fn b3_lanes_have_the_bits_of_one_actor() {
        let pairs = [
            (0.0, 20.0, 0.3),
            (10.0, 350.0, 0.5),
            (0.0, 170.0, 0.9),
            (5.0, 5.01, 0.1),
        ];
        let wide = |f: &dyn Fn(usize) -> Rotation<f32>| {
            let q: [Rotation<f32>; 4] = core::array::from_fn(f);
            Rotation::new(
                Wide(q.map(|q| q.x)),
                Wide(q.map(|q| q.y)),
                Wide(q.map(|q| q.z)),
                Wide(q.map(|q| q.w)),
            )
        };
        for choice in CHOICES {
            let all = choice.blend(
                wide(&|k| about_x(pairs[k].0)),
                wide(&|k| about_x(pairs[k].1)),
                Wide(pairs.map(|p| p.2)),
            );
            for (k, (from, to, t)) in pairs.into_iter().enumerate() {
                let one = choice.blend(about_x(from), about_x(to), t);
                assert_eq!(
                    all.lane(k).map(f32::to_bits),
                    one.lane(0).map(f32::to_bits),
                    "{choice:?}"
                );
            }
        }
    }

    #[test]
    fn b3_what_cannot_be_blended_is_refused_by_name() {
        let (q, zero) = (about_x(0.0), Rotation::splat([0.0; 4]));
        for choice in CHOICES {
            assert_eq!(choice.try_blend(q, zero, 0.5), Err(BlendError::Zero("to")));
            assert_eq!(
                choice.try_blend(Rotation::splat([f32::NAN; 4]), q, 0.5),
                Err(BlendError::NotFinite("from"))
            );
            assert_eq!(choice.try_blend(q, q, -0.1), Err(BlendError::Weight(-0.1)));
        }
    }

    #[cfg(feature = "rig_files")]
    #[test]
    fn interpolants_are_read_from_ron() {
        let read = |text: &str| ron::from_str::<Interpolant>(text);
        assert_eq!(read("nlerp"), Ok(Interpolant::Nlerp));
        assert_eq!(
            read("auto(threshold: 0.6)"),
            Ok(Interpolant::Auto { threshold: 0.6 })
        );
        assert!(read("auto(threshold: 0.6, above: 1)").is_err());
        assert!(read("lerp").is_err());
    }

    #[test]
    fn b4_no_permutation_changes_a_bit() {
        let mut inputs: Vec<BlendInput> = (0..5)
            .map(|k| {
                let a = k as f32;
                let q = from_euler_zxy([a * 0.9, 1.0 - a, a * a * 0.3]);
                input(k, if k % 2 == 0 { q } else { -q }, 0.1 + 0.2 * a)
            })
            .collect();
        let expected = many(&inputs).lane(0).map(f32::to_bits);
        for round in 0..120 {
            inputs.swap(round % 5, (round * 3 + 1) % 5);
            let found = many(&inputs).lane(0).map(f32::to_bits);
            assert_eq!(found, expected, "round {round}");
        }
    }

    #[test]
    fn b4_a_weight_that_crosses_zero_does_not_flip() {
        let (a, b) = (input(7, -about_x(10.0), 0.5), about_x(200.0));
        let at = |weight| many(&[a, input(3, b, weight)]);
        let expected = at(0.0);
        assert!(expected.dot(-about_x(10.0)) > 0.999);
        for weight in [-1e-3, -1e-30, -0.0, 1e-30, 1e-6] {
            assert!(at(weight).dot(expected) > 0.999_999, "{weight}");
        }
    }

    #[test]
    fn b4_the_stored_sign_of_what_is_not_the_reference_changes_nothing() {
        let (a, b) = (about_x(10.0), about_x(50.0));
        let plus = many(&[input(0, a, 0.6), input(1, b, 0.4)]);
        let minus = many(&[input(0, a, 0.6), input(1, -b, 0.4)]);
        assert_eq!(plus, minus);
    }

    #[test]
    fn b4_extreme_lengths_and_weights_are_blended() {
        let times = |q: Rotation<f32>, scale: f32| q.lane(0).map(|c| c * scale);
        let (a, b) = (about_x(10.0), about_x(50.0));
        let expected = many(&[input(0, a, 1.0), input(1, b, 1.0)]);
        for (long, short, weight) in [(1e30, 1e-30, 1.0), (1e-30, 1e30, f32::MAX)] {
            let inputs = [
                BlendInput {
                    id: 0,
                    rotation: times(a, long),
                    weight,
                },
                BlendInput {
                    id: 1,
                    rotation: times(b, short),
                    weight,
                },
            ];
            assert!(
                angle_between(many(&inputs), expected) < 1e-6,
                "{long} {weight}"
            );
        }
    }

    #[test]
    fn b4_about_the_rest_the_crossing_of_two_weights_is_continuous() {
        let (a, b) = (about_x(-100.0), about_x(100.0));
        let rest = BlendReference::Rest([0.0, 0.0, 0.0, 2.0]);
        let blend = |weight, reference| {
            blend_many(&[input(0, a, 0.5), input(1, b, weight)], reference).unwrap()
        };
        let jump =
            |reference| angle_between(blend(0.499_99, reference), blend(0.500_01, reference));
        assert!(jump(rest) < 1e-3, "{}", jump(rest));
        let below = blend(0.499_99, BlendReference::Heaviest);
        let above = blend(0.500_01, BlendReference::Heaviest);
        assert!(below.dot(above) < 0.0, "the heaviest decides the sign");
    }

    #[test]
    fn b4_what_is_invalid_is_left_out_and_nothing_valid_is_an_error() {
        let good = input(4, about_x(30.0), 0.2);
        let bad = [
            input(0, Rotation::splat([0.0; 4]), 0.9),
            input(1, Rotation::splat([f32::INFINITY; 4]), 0.9),
            input(2, about_x(90.0), -0.9),
            input(3, about_x(90.0), f32::NAN),
        ];
        let mut all = bad.to_vec();
        all.push(good);
        assert_eq!(many(&all), many(&[good]));
        assert_eq!(
            blend_many(&bad, BlendReference::Heaviest),
            Err(BlendError::NoInput)
        );
        assert_eq!(
            blend_many(&[good, good], BlendReference::Heaviest),
            Err(BlendError::DuplicateId(4))
        );
        assert_eq!(
            blend_many(&[good], BlendReference::Rest([0.0; 4])),
            Err(BlendError::Zero("rest"))
        );
    }
}
