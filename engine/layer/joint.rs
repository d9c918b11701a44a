//! One joint of a layer: what is laid over it. `[L1]` `[L2]`

use bevy_math::Vec3;

use crate::additive::{self, Side};
use crate::blend::Interpolant;
use crate::pose::JointTransform;
use crate::rotation::{self, Rotation};

/// Which properties of a joint a source has tracks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// Translation.
    pub translation: bool,
    /// Rotation.
    pub rotation: bool,
    /// Scale.
    pub scale: bool,
}

impl Present {
    /// All three.
    pub const ALL: Self = Self {
        translation: true,
        rotation: true,
        scale: true,
    };

    /// Whether none is.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Whether a joint kept a part of its base because the layer's was not finite or had no direction.
pub type Kept = bool;

/// A joint with an override at weight `w`, 0 < w ≤ 1, of what is `present`. `[L1]`
///
/// At 1 it is the sample itself, with its bits where its rotation is nearly unit. A part of the sample that is not finite leaves the base.
pub fn override_joint(
    base: &JointTransform,
    sample: &JointTransform,
    present: Present,
    w: f32,
    interpolant: Interpolant,
) -> (JointTransform, Kept) {
    let (mut out, mut kept) = (*base, false);
    if present.translation {
        let t = mix(base.translation, sample.translation, w);
        keep_finite(&mut out.translation, t, &mut kept);
    }
    if present.scale {
        let s = mix(base.scale, sample.scale, w);
        keep_finite(&mut out.scale, s, &mut kept);
    }
    if present.rotation {
        match rotation::unit(sample.rotation.into(), "sample") {
            Ok(_) if w >= 1.0 => {
                out.rotation = rotation::nearly_unit(sample.rotation.into()).into();
            }
            Ok(to) => {
                let from = rotation::unit_or_identity(base.rotation.into());
                out.rotation = interpolant.blend(from, to, w).into();
            }
            Err(_) => kept = true,
        }
    }
    (out, kept)
}

/// How an additive layer acts on one joint.
#[derive(Clone, Copy, Debug)]
pub struct Additive<'s> {
    /// On which side.
    pub side: Side,
    /// What the sample is compared with.
    pub reference: &'s JointTransform,
    /// Of a continuous layer, the delta of the frame before; `None` takes the shorter arc.
    pub last: Option<Option<Rotation<f32>>>,
}

/// A joint with an additive layer at weight `w`, 0 < w ≤ 1, of what is `present`; and the delta, signed. `[L2]`
///
/// A part of the sample or the reference that is not finite, or a rotation without direction, leaves the base.
pub fn add_joint(
    base: &JointTransform,
    sample: &JointTransform,
    present: Present,
    w: f32,
    how: &Additive,
) -> (JointTransform, Kept, Option<Rotation<f32>>) {
    let (mut out, mut kept, mut signed) = (*base, false, None);
    let Additive {
        side,
        reference,
        last,
    } = *how;
    if present.translation {
        let t = additive::translation(
            base.translation,
            reference.translation,
            sample.translation,
            w,
        );
        keep_finite(&mut out.translation, t, &mut kept);
    }
    if present.scale {
        let s = additive::scale(base.scale, reference.scale, sample.scale, w);
        keep_finite(&mut out.scale, s, &mut kept);
    }
    if present.rotation {
        match additive::delta(reference.rotation.into(), sample.rotation.into(), side) {
            Ok(delta) => {
                let share = match last {
                    None => additive::share(delta, w),
                    Some(last) => {
                        let delta = additive::nearest_sign(delta, last);
                        signed = Some(delta);
                        additive::share_of_own_arc(delta, w, last)
                    }
                };
                if share != Rotation::identity() {
                    let base = rotation::unit_or_identity(base.rotation.into());
                    out.rotation = additive::put_on(base, share, side).into();
                }
            }
            Err(_) => kept = true,
        }
    }
    (out, kept, signed)
}

/// `a` at 0, `b` at 1; at 1 exactly `b`.
fn mix(a: Vec3, b: Vec3, w: f32) -> Vec3 {
    if w >= 1.0 { b } else { a + (b - a) * w }
}

fn keep_finite(to: &mut Vec3, value: Vec3, kept: &mut Kept) {
    if value.is_finite() {
        *to = value;
    } else {
        *kept = true;
    }
}
