//! A node's matrix as translation, rotation and scale. *glTF 2.0 §3.5.3*
//!
//! ```text
//! M = T · R · S          columns of R·S: r0·sx, r1·sy, r2·sz
//! det < 0:  the reflection is factored out first, on X: sx < 0, and R is a rotation
//! shear:    R is the rotation nearest to M (polar decomposition), S the diagonal of Rᵀ·M
//! ```
//!
//! In f64: the matrix was a product of rotations and scales once, and f32 would lose digits twice.

use bevy_math::{Quat, Vec3};

use crate::pose::JointTransform;

/// Cosine between two axes above which a matrix counts as sheared: exporters' f32 products stay below 1e-5.
const SHEAR: f64 = 1e-4;
/// How far the last row may be from (0, 0, 0, 1): rounding of an exporter's inverse, not a projection.
const LAST_ROW: f32 = 1e-5;
/// Newton steps of the polar decomposition; from any matrix that is not singular it is exact to f64 after about 10.
const POLAR_STEPS: usize = 40;

type Matrix = [[f64; 3]; 3];

/// What a matrix decomposes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::assets) struct Decomposed {
    /// The matrix, or the nearest that a joint can have.
    pub(in crate::assets) transform: JointTransform,
    /// Whether it is only the nearest.
    pub(in crate::assets) sheared: bool,
}

/// Whether a column-major matrix is affine: last row (0, 0, 0, 1).
pub(super) fn is_affine(matrix: &[f32; 16]) -> bool {
    let row = [matrix[3], matrix[7], matrix[11], matrix[15] - 1.0];
    row.iter().all(|number| number.abs() <= LAST_ROW)
}

/// Decomposes a column-major affine matrix of finite numbers.
pub(in crate::assets) fn decompose(matrix: &[f32; 16]) -> Decomposed {
    let column = |c: usize| [0, 1, 2].map(|r| f64::from(matrix[4 * c + r]));
    let mut axes: Matrix = [column(0), column(1), column(2)];
    let mirrored = dot(axes[0], cross(axes[1], axes[2])) < 0.0;
    if mirrored {
        axes[0] = axes[0].map(|n| -n);
    }
    let mut scale = axes.map(|axis| dot(axis, axis).sqrt());
    let mut rotation = orthonormal(axes, scale);
    let sheared = is_sheared(axes, scale);
    if sheared {
        rotation = nearest_rotation(axes).unwrap_or(rotation);
        scale = [0, 1, 2].map(|i| dot(rotation[i], axes[i]));
    }
    if mirrored {
        scale[0] = -scale[0];
    }
    let transform = JointTransform {
        translation: Vec3::new(matrix[12], matrix[13], matrix[14]),
        rotation: quaternion(rotation),
        scale: Vec3::from_array(scale.map(|n| n as f32)),
    };
    Decomposed { transform, sheared }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn is_sheared(axes: Matrix, lengths: [f64; 3]) -> bool {
    [(0, 1), (1, 2), (2, 0)]
        .iter()
        .any(|&(a, b)| dot(axes[a], axes[b]).abs() > SHEAR * lengths[a] * lengths[b])
}

/// Unit axes, perpendicular to those before; an axis of length 0 takes a direction that completes the others.
fn orthonormal(axes: Matrix, lengths: [f64; 3]) -> Matrix {
    // The longest axes first: their directions are the best known.
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
    let mut unit = [[0.0; 3]; 3];
    let first = direction(axes[order[0]], &[]).unwrap_or(basis(order[0]));
    unit[order[0]] = first;
    let second = direction(axes[order[1]], &[first])
        .or_else(|| direction(basis(order[1]), &[first]))
        .or_else(|| direction(basis(order[0]), &[first]))
        .unwrap_or(basis(order[1]));
    unit[order[1]] = second;
    let even = (order[0] + 1) % 3 == order[1];
    let third = cross(first, second);
    unit[order[2]] = if even { third } else { third.map(|n| -n) };
    unit
}

fn basis(i: usize) -> [f64; 3] {
    let mut axis = [0.0; 3];
    axis[i] = 1.0;
    axis
}

/// `axis` without its parts along `others`, at length 1; `None` if nothing is left.
fn direction(axis: [f64; 3], others: &[[f64; 3]]) -> Option<[f64; 3]> {
    let length = dot(axis, axis).sqrt();
    let mut rest = axis;
    for other in others {
        let along = dot(rest, *other);
        rest = [0, 1, 2].map(|i| rest[i] - along * other[i]);
    }
    let left = dot(rest, rest).sqrt();
    (left > 1e-6 * length && length > 0.0).then(|| rest.map(|n| n / left))
}

/// The rotation of the polar decomposition, by Newton's iteration `R ← (R + R⁻ᵀ) / 2` (Higham 1986); `None` if singular.
fn nearest_rotation(axes: Matrix) -> Option<Matrix> {
    let size = axes.iter().map(|&axis| dot(axis, axis)).sum::<f64>().sqrt();
    let mut r = axes.map(|axis| axis.map(|n| n / size));
    for _ in 0..POLAR_STEPS {
        let cofactors = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])];
        let determinant = dot(r[0], cofactors[0]);
        if determinant <= 1e-12 {
            return None;
        }
        for (axis, cofactor) in r.iter_mut().zip(cofactors) {
            *axis = [0, 1, 2].map(|i| 0.5 * (axis[i] + cofactor[i] / determinant));
        }
    }
    Some(r)
}

/// The unit quaternion of a rotation given by its columns; the largest component is found first (Shepperd 1978).
fn quaternion(c: Matrix) -> Quat {
    let trace = c[0][0] + c[1][1] + c[2][2];
    let squares = [c[0][0], c[1][1], c[2][2], trace].map(|d| 1.0 + 2.0 * d - trace);
    let mut largest = 0;
    for i in 1..4 {
        if squares[i] > squares[largest] {
            largest = i;
        }
    }
    let (yz, zx, xy) = (c[1][2] + c[2][1], c[2][0] + c[0][2], c[0][1] + c[1][0]);
    let (wx, wy, wz) = (c[1][2] - c[2][1], c[2][0] - c[0][2], c[0][1] - c[1][0]);
    let square = squares[largest];
    let q = match largest {
        0 => [square, xy, zx, wx],
        1 => [xy, square, yz, wy],
        2 => [zx, yz, square, wz],
        _ => [wx, wy, wz, square],
    };
    let length = q.iter().map(|n| n * n).sum::<f64>().sqrt();
    Quat::from_array(q.map(|n| (n / length) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_math::Mat4;

    fn matrix(axes: [[f32; 3]; 3], translation: [f32; 3]) -> [f32; 16] {
        let mut m = [0.0; 16];
        for (c, axis) in axes.iter().enumerate() {
            m[4 * c..4 * c + 3].copy_from_slice(axis);
        }
        m[12..15].copy_from_slice(&translation);
        m[15] = 1.0;
        m
    }

    fn largest_difference(found: &JointTransform, expected: &[f32; 16]) -> f32 {
        let found =
            Mat4::from_scale_rotation_translation(found.scale, found.rotation, found.translation);
        let pairs = found.to_cols_array().into_iter().zip(*expected);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn gltf_05_a_turned_and_scaled_matrix_becomes_its_parts() {
        let m = matrix(
            [[0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 2.0]],
            [1.0, 2.0, 3.0],
        );
        let found = decompose(&m);
        assert!(!found.sheared);
        let half = core::f32::consts::FRAC_1_SQRT_2;
        assert_eq!(found.transform.translation, Vec3::new(1.0, 2.0, 3.0));
        assert_eq!(found.transform.rotation.to_array(), [0.0, 0.0, half, half]);
        assert_eq!(found.transform.scale, Vec3::splat(2.0));
    }

    #[test]
    fn scale_04_a_mirroring_matrix_keeps_its_reflection_on_x() {
        for mirror in [
            [-1.0, 1.0, 1.0],
            [1.0, -1.0, 1.0],
            [1.0, 1.0, -1.0],
            [-1.0; 3],
        ] {
            let q = Quat::from_xyzw(0.1, 0.2, 0.3, 0.927_361_8).normalize();
            let scale = Vec3::from_array(mirror) * Vec3::new(1.0, 2.0, 3.0);
            let m = Mat4::from_scale_rotation_translation(scale, q, Vec3::X).to_cols_array();
            let found = decompose(&m);
            assert!(!found.sheared);
            assert!(found.transform.scale.x < 0.0 && found.transform.scale.y > 0.0);
            let difference = largest_difference(&found.transform, &m);
            assert!(difference < 1e-6, "{mirror:?}: {difference}");
        }
    }

    #[test]
    fn gltf_05_a_sheared_matrix_becomes_the_nearest_rotation() {
        // A symmetric shear has no rotation at all.
        let m = matrix(
            [[1.0, 0.25, 0.0], [0.25, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [0.0; 3],
        );
        let found = decompose(&m);
        assert!(found.sheared);
        let off = found.transform.rotation.to_array();
        assert!((off[3] - 1.0).abs() < 1e-6, "{off:?}");
        assert_eq!(found.transform.scale, Vec3::ONE);
    }

    #[test]
    fn matrices_without_volume_still_give_a_rotation() {
        for axes in [
            [[0.0; 3]; 3],
            [[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]],
            [[0.0; 3], [0.0, 0.0, 3.0], [0.0; 3]],
            [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
            [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[1e-30, 0.0, 0.0], [0.0, 1e30, 0.0], [0.0, 0.0, 1.0]],
        ] {
            let found = decompose(&matrix(axes, [0.0; 3])).transform;
            let length = found.rotation.length();
            assert!((length - 1.0).abs() < 1e-6, "{axes:?}: {found:?}");
            assert!(found.is_finite(), "{axes:?}: {found:?}");
        }
    }

    #[test]
    fn every_half_turn_finds_its_largest_component() {
        for (axes, q) in [
            (
                [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]],
                [1.0, 0.0, 0.0, 0.0],
            ),
            (
                [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
                [0.0, 1.0, 0.0, 0.0],
            ),
            (
                [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
                [0.0, 0.0, 1.0, 0.0],
            ),
        ] {
            let found = decompose(&matrix(axes, [0.0; 3])).transform;
            assert_eq!(found.rotation.to_array(), q);
        }
    }

    #[test]
    fn gltf_05_a_projecting_last_row_is_not_affine() {
        let mut m = matrix(
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [0.0; 3],
        );
        assert!(is_affine(&m));
        m[3] = 0.1;
        assert!(!is_affine(&m));
        m[3] = 0.0;
        m[15] = 2.0;
        assert!(!is_affine(&m));
    }
}
