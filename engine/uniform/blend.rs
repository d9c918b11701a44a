//! Layers in rows: a pose laid over another without leaving the rows. `[L1]` `[L2]`
//!
//! Base, layer and result share a layout: [`UniformClip::laid_out`](super::UniformClip::laid_out) brings clips onto the [`RowJoints::union`](super::RowJoints::union) of all.
//! A weight that is not above 0 and at most 1 keeps the base bit for bit, also where it is NaN; so does a joint that a
//! clip has no track for, by the weights of [`UniformClip::weights`](super::UniformClip::weights).
//!
//! An additive layer is a clip of differences, made once by [`UniformClip::additive`](super::UniformClip::additive): multiplying from the left by
//! conj(R) turns every row alike, so it commutes with the lerp between rows and with the normalise after it.
//!
//! ```text
//! D = normalise(conj(R)·S)         out = normalise(B · slerp(identity, ±D, w))
//! d = S − R                        out = B + w·d
//! s = S / R                        out = B · (1 + w·(s − 1))
//! ```

use super::rows::{self, BLOCK, Block, PoseRows, Property, WeightRows};
use crate::fraction::Fraction;
use crate::lane::{Lane, LaneMask};
use crate::rotation::{self, Rotation};

/// How much of a layer shows.
#[derive(Clone, Copy, Debug)]
pub enum Weight<'a> {
    /// One weight for all joints, 0 to 1.
    All(f32),
    /// A weight per joint and property.
    Each(&'a WeightRows),
}

/// How rotations are blended by an override layer. `[L1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The normalised lerp: the cheaper. `[B1]`
    #[default]
    Lerp,
    /// Constant speed along the arc, within rounding of `[C3]`; twice the cost.
    Slerp,
}

/// Lays `delta`, differences from a reference, over `base`. `[L2]`
///
/// # Panics
/// If the layouts of `base`, `delta` and the weights differ in size.
pub fn additive_rows(base: &PoseRows, delta: &PoseRows, weight: Weight, out: &mut PoseRows) {
    additive_rows_in_lanes::<super::RowLane>(base, delta, weight, out);
}

/// [`additive_rows`] with lanes of the caller's choice, which changes no bit.
///
/// # Panics
/// As [`additive_rows`] does.
pub fn additive_rows_in_lanes<L: Lane>(
    base: &PoseRows,
    delta: &PoseRows,
    weight: Weight,
    out: &mut PoseRows,
) {
    lay_over::<L, Additive>(base, delta, weight, out);
}

/// Blends `base` towards `sample`: 0 shows the base, 1 the sample. `[L1]`
///
/// # Panics
/// If the layouts of `base`, `sample` and the weights differ in size.
pub fn override_rows(
    base: &PoseRows,
    sample: &PoseRows,
    weight: Weight,
    way: Way,
    out: &mut PoseRows,
) {
    override_rows_in_lanes::<super::RowLane>(base, sample, weight, way, out);
}

/// [`override_rows`] with lanes of the caller's choice, which changes no bit.
///
/// # Panics
/// As [`override_rows`] does.
pub fn override_rows_in_lanes<L: Lane>(
    base: &PoseRows,
    sample: &PoseRows,
    weight: Weight,
    way: Way,
    out: &mut PoseRows,
) {
    match way {
        Way::Lerp => lay_over::<L, Straight>(base, sample, weight, out),
        Way::Slerp => lay_over::<L, Along>(base, sample, weight, out),
    }
}

/// A weight, ready to use.
#[derive(Clone, Copy)]
struct Share<L: Lane> {
    weight: L,
    fraction: Fraction<L>,
    /// Where the weight means anything.
    taken: L::Mask,
}

/// Where weights come from. Traits and not closures, here and for [`Kind`]: these are always inlined, and a kernel that
/// is not runs at half the speed.
trait Shares<L: Lane> {
    fn at(&self, block: usize, lane: usize) -> Share<L>;
}

/// The same for all.
struct OfAll<L: Lane>(Share<L>);

impl<L: Lane> OfAll<L> {
    /// `weight` means something.
    fn new(weight: f32) -> Self {
        let weight = L::splat(weight);
        Self(Share {
            weight,
            fraction: Fraction::new(weight),
            taken: LaneMask::splat(true),
        })
    }
}

impl<L: Lane> Shares<L> for OfAll<L> {
    #[inline(always)]
    fn at(&self, _block: usize, _lane: usize) -> Share<L> {
        self.0
    }
}

/// A row of weights.
struct OfEach<'a>(&'a [Block]);

impl<L: Lane> Shares<L> for OfEach<'_> {
    #[inline(always)]
    fn at(&self, block: usize, lane: usize) -> Share<L> {
        let weight = L::load(&self.0[block].0[lane..lane + L::LANES]);
        Share {
            weight,
            fraction: Fraction::new(weight),
            taken: L::splat(0.0).lt(weight) & weight.le(L::splat(1.0)),
        }
    }
}

/// What a layer does to one property of what is below.
trait Kind {
    fn turn<L: Lane>(share: &Share<L>, base: Rotation<L>, over: Rotation<L>) -> Rotation<L>;
    fn shift<L: Lane>(weight: L, base: L, over: L) -> L;
    fn stretch<L: Lane>(weight: L, base: L, over: L) -> L;
}

/// `[L2]`
struct Additive;

impl Kind for Additive {
    #[inline(always)]
    fn turn<L: Lane>(share: &Share<L>, base: Rotation<L>, over: Rotation<L>) -> Rotation<L> {
        share.fraction.added(base, over)
    }
    #[inline(always)]
    fn shift<L: Lane>(weight: L, base: L, over: L) -> L {
        base + over * weight
    }
    #[inline(always)]
    fn stretch<L: Lane>(weight: L, base: L, over: L) -> L {
        let one = L::splat(1.0);
        base * (one + (over - one) * weight)
    }
}

/// `[L1]` by [`Way::Lerp`].
struct Straight;

impl Kind for Straight {
    #[inline(always)]
    fn turn<L: Lane>(share: &Share<L>, base: Rotation<L>, over: Rotation<L>) -> Rotation<L> {
        base.lerp(rotation::nearer(base, over), share.weight)
            .normalized()
    }
    #[inline(always)]
    fn shift<L: Lane>(weight: L, base: L, over: L) -> L {
        base + (over - base) * weight
    }
    #[inline(always)]
    fn stretch<L: Lane>(weight: L, base: L, over: L) -> L {
        base + (over - base) * weight
    }
}

/// `[L1]` by [`Way::Slerp`].
struct Along;

impl Kind for Along {
    #[inline(always)]
    fn turn<L: Lane>(share: &Share<L>, base: Rotation<L>, over: Rotation<L>) -> Rotation<L> {
        share.fraction.added(base, base.conjugate() * over)
    }
    #[inline(always)]
    fn shift<L: Lane>(weight: L, base: L, over: L) -> L {
        base + (over - base) * weight
    }
    #[inline(always)]
    fn stretch<L: Lane>(weight: L, base: L, over: L) -> L {
        base + (over - base) * weight
    }
}

/// Rotations, translations, scales of a layer.
fn lay_over<L: Lane, K: Kind>(
    base: &PoseRows,
    over: &PoseRows,
    weight: Weight,
    out: &mut PoseRows,
) {
    assert_eq!(base.sizes(), over.sizes(), "layers share a layout");
    out.fit(base.sizes());
    match weight {
        Weight::All(weight) if weight > 0.0 && weight <= 1.0 => {
            let all = OfAll::<L>::new(weight);
            turn_rows::<L, K>(&base.rotation, &over.rotation, &all, &mut out.rotation);
            let (from, to) = (&base.translation, &over.translation);
            vector_rows(from, to, &all, K::shift::<L>, &mut out.translation);
            vector_rows(
                &base.scale,
                &over.scale,
                &all,
                K::stretch::<L>,
                &mut out.scale,
            );
        }
        Weight::All(_) => out.clone_from(base),
        Weight::Each(weights) => {
            for property in Property::ALL {
                let expected = base.of(property).len() / property.components();
                let found = weights.of(property).len();
                assert_eq!(found, expected, "weights share the layout");
            }
            let of = |property| OfEach(weights.of(property));
            let each = of(Property::Rotation);
            turn_rows::<L, K>(&base.rotation, &over.rotation, &each, &mut out.rotation);
            let (from, to) = (&base.translation, &over.translation);
            let each = of(Property::Translation);
            vector_rows(from, to, &each, K::shift::<L>, &mut out.translation);
            let each = of(Property::Scale);
            vector_rows(
                &base.scale,
                &over.scale,
                &each,
                K::stretch::<L>,
                &mut out.scale,
            );
        }
    }
}

fn turn_rows<L: Lane, K: Kind>(
    base: &[Block],
    over: &[Block],
    shares: &impl Shares<L>,
    out: &mut [Block],
) {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (rows::components(base), rows::components(over));
    let [x, y, z, w] = rows::four_components_mut(out);
    let from = ax.iter().zip(ay).zip(az).zip(aw);
    let to = bx.iter().zip(by).zip(bz).zip(bw);
    let out = x.iter_mut().zip(y).zip(z).zip(w);
    for (block, ((from, to), out)) in from.zip(to).zip(out).enumerate() {
        let ((((ax, ay), az), aw), (((bx, by), bz), bw)) = (from, to);
        let (((x, y), z), w) = out;
        for at in (0..BLOCK).step_by(L::LANES) {
            let a = rows::load([ax, ay, az, aw], at);
            let b = rows::load([bx, by, bz, bw], at);
            let share = shares.at(block, at);
            let turned = Rotation::select(share.taken, K::turn(&share, a, b), a);
            rows::store(turned, [x, y, z, w], at);
        }
    }
}

#[inline(always)]
fn vector_rows<L: Lane>(
    base: &[Block],
    over: &[Block],
    shares: &impl Shares<L>,
    mix: impl Fn(L, L, L) -> L,
    out: &mut [Block],
) {
    let width = base.len() / 3;
    for (index, ((a, b), out)) in base.iter().zip(over).zip(out).enumerate() {
        for at in (0..BLOCK).step_by(L::LANES) {
            let share = shares.at(index % width, at);
            let lanes = at..at + L::LANES;
            let (from, to) = (L::load(&a.0[lanes.clone()]), L::load(&b.0[lanes.clone()]));
            let mixed = L::select(share.taken, mix(share.weight, from, to), from);
            mixed.store(&mut out.0[lanes]);
        }
    }
}
