//! Skin weights: which joints move a vertex, trimmed to the strongest, and how far that moves the vertex. `[I1]` `[I2]`
//!
//! A vertex has slots, each a joint of the skin and a weight; the slots that count are its *influences*. Trimming keeps
//! the strongest and makes their sum 1 again: without that a vertex is pulled towards the origin by the share that is
//! missing. In f64, because files hold sums that f32 would round away or overflow on.

use bevy_math::DVec3;
use thiserror::Error;

/// A joint of the skin, by its place in the skin's list, and its weight: dimensionless, of any scale, ≥ 0.
pub type Influence = (u32, f64);

/// Why the weights of a vertex mean nothing.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum SkinFault {
    /// There is nothing to trim.
    #[error("no influences")]
    Empty,
    /// No influence would be left.
    #[error("room for 0 influences")]
    NoRoom,
    /// Weights are not below 0.
    #[error("weight {weight} of joint {joint}")]
    Negative {
        /// Its joint.
        joint: u32,
        /// The weight.
        weight: f64,
    },
    /// Infinite or not a number.
    #[error("weight {weight} of joint {joint}")]
    NotFinite {
        /// Its joint.
        joint: u32,
        /// The weight.
        weight: f64,
    },
    /// [`gather`] merges them; [`trim`] does not guess.
    #[error("joint {joint} twice")]
    Doubled {
        /// The joint.
        joint: u32,
    },
    /// Nothing moves the vertex.
    #[error("weights of sum 0")]
    ZeroTotal,
    /// The skin has no such joint.
    #[error("joint {joint} of a skin of {joints} joints")]
    OutOfRange {
        /// The joint.
        joint: u32,
        /// How many there are.
        joints: usize,
    },
    /// One position per influence.
    #[error("{found} positions for {expected} influences")]
    Positions {
        /// Positions.
        found: usize,
        /// Influences.
        expected: usize,
    },
}

/// What the slots of a vertex come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// Each joint once, in the order of the slots, weights > 0; at least one.
    pub influences: Vec<Influence>,
    /// Whether a joint had weight in more than one slot.
    pub doubled: bool,
    /// Slots of weight 0 that name a joint that the skin does not have.
    pub stray: usize,
}

/// The influences in the slots of a vertex of a skin of `joints` joints.
///
/// Slots of weight 0 do not count, whatever joint they name; the weights of a joint in several slots add up.
///
/// # Errors
/// [`SkinFault::Empty`] without slots; a weight that is negative or not finite; [`SkinFault::OutOfRange`] for a weight
/// of a joint that is not there; [`SkinFault::ZeroTotal`] when every weight is 0.
pub fn gather(slots: &[Influence], joints: usize) -> Result<Gathered, SkinFault> {
    if slots.is_empty() {
        return Err(SkinFault::Empty);
    }
    let mut gathered = Gathered::default();
    for &(joint, weight) in slots {
        check_weight(joint, weight)?;
        let there = (joint as usize) < joints;
        if weight == 0.0 {
            gathered.stray += usize::from(!there);
            continue;
        }
        if !there {
            return Err(SkinFault::OutOfRange { joint, joints });
        }
        let known = gathered.influences.iter_mut().find(|(j, _)| *j == joint);
        match known {
            Some((_, sum)) => {
                *sum += weight;
                gathered.doubled = true;
            }
            None => gathered.influences.push((joint, weight)),
        }
    }
    if gathered.influences.is_empty() {
        return Err(SkinFault::ZeroTotal);
    }
    Ok(gathered)
}

/// The `k` strongest influences with a sum of 1, or all where there are fewer. `[I1]`
///
/// By weight descending, of equal weights the lower joint first. Divided by the largest before the sum is taken, so
/// that neither tiny nor huge weights are lost: `f64::MAX` twice is one half twice.
///
/// # Errors
/// Every [`SkinFault`] but those of ranges and positions.
pub fn trim(influences: &[Influence], k: usize) -> Result<Vec<Influence>, SkinFault> {
    check(influences)?;
    if k == 0 {
        return Err(SkinFault::NoRoom);
    }
    let mut kept = influences.to_vec();
    // Adding 0 makes -0 and 0 equal, as they are.
    kept.sort_by(|a, b| (b.1 + 0.0).total_cmp(&(a.1 + 0.0)).then(a.0.cmp(&b.0)));
    kept.truncate(k);
    let largest = kept[0].1;
    if largest == 0.0 {
        return Err(SkinFault::ZeroTotal);
    }
    for (_, weight) in &mut kept {
        *weight /= largest;
    }
    let sum: f64 = kept.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut kept {
        *weight /= sum;
    }
    Ok(kept)
}

fn check(influences: &[Influence]) -> Result<(), SkinFault> {
    if influences.is_empty() {
        return Err(SkinFault::Empty);
    }
    for (i, &(joint, weight)) in influences.iter().enumerate() {
        check_weight(joint, weight)?;
        if influences[..i].iter().any(|&(other, _)| other == joint) {
            return Err(SkinFault::Doubled { joint });
        }
    }
    Ok(())
}

fn check_weight(joint: u32, weight: f64) -> Result<(), SkinFault> {
    if !weight.is_finite() {
        return Err(SkinFault::NotFinite { joint, weight });
    }
    if weight < 0.0 {
        return Err(SkinFault::Negative { joint, weight });
    }
    Ok(())
}

/// How far other weights move a vertex in a pose. `[I2]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimError {
    /// From where all influences put the vertex to where the others do, metres.
    pub error: DVec3,
    /// What its length cannot exceed: `r·D`, metres.
    pub bound: f64,
}

/// What a trim to `k` does to a vertex that its influences, one by one, would move to `positions`. `[I2]`
///
/// `positions` has one entry per influence, in their order, in any one space.
///
/// # Errors
/// Those of [`trim`], and [`SkinFault::Positions`].
pub fn trim_error(
    influences: &[Influence],
    k: usize,
    positions: &[DVec3],
) -> Result<TrimError, SkinFault> {
    if positions.len() != influences.len() {
        return Err(SkinFault::Positions {
            found: positions.len(),
            expected: influences.len(),
        });
    }
    let (all, kept) = (trim(influences, influences.len())?, trim(influences, k)?);
    let weight = |list: &[Influence], joint: u32| {
        let found = list.iter().find(|&&(other, _)| other == joint);
        found.map_or(0.0, |&(_, weight)| weight)
    };
    let changes: Vec<WeightChange> = influences
        .iter()
        .map(|&(joint, _)| WeightChange {
            from: weight(&all, joint),
            to: weight(&kept, joint),
        })
        .collect();
    Ok(change_error(&changes, positions))
}

/// The weight of an influence before and after; each has a sum of 1 over the influences of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightChange {
    /// Before.
    pub from: f64,
    /// After.
    pub to: f64,
}

/// What changed weights do to a vertex. `[I2]`, also for weights that were rounded for storage
///
/// ```text
/// r = ½ Σ |to − from|            for a trim the dropped share of the weight
/// error = Σ (to − from)·p        = r·(a − b), with a and b the means of what gained and of what lost
/// |error| ≤ r·D                  D: the largest distance between two of the positions
/// ```
///
/// Taken from the first position, which a sum of 0 allows: far from the origin no digits are lost.
pub fn change_error(changes: &[WeightChange], positions: &[DVec3]) -> TrimError {
    let mut moved = 0.0;
    let mut error = DVec3::ZERO;
    let mut diameter: f64 = 0.0;
    for (i, (change, &position)) in changes.iter().zip(positions).enumerate() {
        let gained = change.to - change.from;
        moved += gained.abs();
        error += gained * (position - positions[0]);
        for &other in &positions[..i] {
            diameter = diameter.max(position.distance_squared(other));
        }
    }
    TrimError {
        error,
        bound: 0.5 * moved * diameter.sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: [Influence; 4] = [(0, 0.4), (1, 0.3), (2, 0.2), (3, 0.1)];

    fn at(xs: [f64; 4]) -> Vec<DVec3> {
        xs.map(|x| DVec3::new(x, 0.0, 0.0)).to_vec()
    }

    #[test]
    fn i1_two_of_four_are_four_and_three_sevenths() {
        let kept = trim(&FOUR, 2).unwrap();
        assert_eq!(kept.len(), 2);
        for ((joint, weight), expected) in kept.iter().zip([(0, 4.0 / 7.0), (1, 3.0 / 7.0)]) {
            assert_eq!(*joint, expected.0);
            assert!((weight - expected.1).abs() < 1e-15, "{kept:?}");
        }
        let moved: f64 = kept
            .iter()
            .map(|&(joint, w)| w * [12.0, 22.0][joint as usize])
            .sum();
        assert!((moved - 16.285_714_285_714).abs() < 1e-9, "{moved}");
    }

    #[test]
    fn i1_what_means_nothing_is_refused() {
        assert_eq!(trim(&[], 4), Err(SkinFault::Empty));
        assert_eq!(trim(&FOUR, 0), Err(SkinFault::NoRoom));
        assert_eq!(trim(&[(0, 0.0), (1, -0.0)], 2), Err(SkinFault::ZeroTotal));
        assert_eq!(
            trim(&[(7, 0.5), (7, 0.5)], 2),
            Err(SkinFault::Doubled { joint: 7 })
        );
        let negative = trim(&[(0, 1.0), (3, -0.1)], 2);
        assert_eq!(
            negative,
            Err(SkinFault::Negative {
                joint: 3,
                weight: -0.1
            })
        );
        for weight in [f64::NAN, f64::INFINITY] {
            let refused = trim(&[(0, 1.0), (3, weight)], 1);
            assert!(matches!(
                refused,
                Err(SkinFault::NotFinite { joint: 3, .. })
            ));
        }
    }

    #[test]
    fn i1_neither_tiny_nor_huge_weights_are_lost() {
        assert_eq!(
            trim(&[(5, f64::MAX), (2, f64::MAX)], 4),
            Ok(vec![(2, 0.5), (5, 0.5)])
        );
        let tiny = [0, 1, 2, 3].map(|joint| (joint, f64::MIN_POSITIVE));
        assert_eq!(
            trim(&tiny, 4),
            Ok([0, 1, 2, 3].map(|joint| (joint, 0.25)).to_vec())
        );
    }

    #[test]
    fn i2_the_error_is_within_its_bound_and_forgets_a_common_shift() {
        let near = trim_error(&FOUR, 2, &at([12.0, 22.0, 32.0, 42.0])).unwrap();
        assert!(
            (near.error.x - (16.285_714_285_714 - 22.0)).abs() < 1e-9,
            "{near:?}"
        );
        assert!((near.bound - 9.0).abs() < 1e-12, "{near:?}");
        let far = trim_error(
            &FOUR,
            2,
            &at([1e9 + 12.0, 1e9 + 22.0, 1e9 + 32.0, 1e9 + 42.0]),
        );
        assert_eq!(far, Ok(near));
        let missing = trim_error(&FOUR, 2, &[]);
        assert_eq!(
            missing,
            Err(SkinFault::Positions {
                found: 0,
                expected: 4
            })
        );
    }

    #[test]
    fn slots_of_weight_zero_do_not_count_and_doubled_joints_add_up() {
        let gathered = gather(&[(3, 0.25), (3, 0.5), (5, 0.25), (200, 0.0)], 10).unwrap();
        assert_eq!(gathered.influences, [(3, 0.75), (5, 0.25)]);
        assert!(gathered.doubled);
        assert_eq!(gathered.stray, 1);
        assert_eq!(gather(&[(9, 0.0)], 10), Err(SkinFault::ZeroTotal));
        assert_eq!(gather(&[], 10), Err(SkinFault::Empty));
        let beyond = gather(&[(1, 0.9), (10, 0.1)], 10);
        assert_eq!(
            beyond,
            Err(SkinFault::OutOfRange {
                joint: 10,
                joints: 10
            })
        );
    }
}
