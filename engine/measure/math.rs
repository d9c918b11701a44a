//! Quaternions, medians and axes in f64, for reports.

/// Three numbers.
pub type V3 = [f64; 3];

/// A unit quaternion (x, y, z, w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quaternion([f64; 4]);

impl Quaternion {
    pub const IDENTITY: Self = Self([0.0, 0.0, 0.0, 1.0]);

    /// At unit length; `None` for zero and what is not finite. `[B2]`
    pub fn unit(q: [f64; 4]) -> Option<Self> {
        let largest = q.iter().fold(0.0_f64, |largest, c| largest.max(c.abs()));
        if largest == 0.0 || !q.iter().all(|c| c.is_finite()) {
            return None;
        }
        let near_one = q.map(|c| c / largest);
        let length = near_one.iter().map(|c| c * c).sum::<f64>().sqrt();
        Some(Self(near_one.map(|c| c / length)))
    }

    /// `conj(self) * other`.
    pub fn back_and_to(self, other: Self) -> Self {
        let ([x, y, z, w], [ox, oy, oz, ow]) = (self.0, other.0);
        Self([
            w * ox - x * ow - (y * oz - z * oy),
            w * oy - y * ow - (z * ox - x * oz),
            w * oz - z * ow - (x * oy - y * ox),
            w * ow + x * ox + y * oy + z * oz,
        ])
    }

    /// The sign with w ≥ 0, which turns by half a turn at most.
    pub fn short(self) -> Self {
        if self.0[3] < 0.0 {
            Self(self.0.map(|c| -c))
        } else {
            self
        }
    }

    /// sin² of half the angle: rises with the angle over all of [0, π] and costs no trigonometry.
    pub fn half_angle_sine_squared(&self) -> f64 {
        let [x, y, z, w] = self.0;
        let of_vector = x * x + y * y + z * z;
        of_vector / (of_vector + w * w)
    }

    /// Axis times angle, radians.
    pub fn rotation_vector(&self) -> V3 {
        let [x, y, z, w] = self.0;
        let sine = length([x, y, z]);
        // Below this the angle is twice the sine to the last digit.
        let scale = if sine < 1e-9 {
            2.0 / w
        } else {
            2.0 * libm::atan2(sine, w) / sine
        };
        [x * scale, y * scale, z * scale]
    }

    /// Angles x, y, z in ZXY order, radians. `[C2]`
    pub fn euler_zxy(&self) -> V3 {
        let [x, y, z, w] = self.0;
        let sine = 2.0 * (w * x - y * z);
        let ex = libm::asin(sine.clamp(-1.0, 1.0));
        if sine.abs() > 1.0 - 1e-6 {
            let ey = 2.0 * libm::atan2(y, w);
            let turn = core::f64::consts::TAU * f64::from(u8::from(ey > core::f64::consts::PI))
                - core::f64::consts::TAU * f64::from(u8::from(ey <= -core::f64::consts::PI));
            return [ex, ey - turn, 0.0];
        }
        let ey = libm::atan2(2.0 * (w * y + x * z), 1.0 - 2.0 * (x * x + y * y));
        let ez = libm::atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (x * x + z * z));
        [ex, ey, ez]
    }
}

pub fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn length(a: V3) -> f64 {
    dot(a, a).sqrt()
}

/// Angle between two vectors, radians, accurate also near 0 and π.
pub fn angle_between(a: V3, b: V3) -> f64 {
    let cross = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    libm::atan2(length(cross), dot(a, b))
}

/// The middle number, or the mean of the two middle ones; `None` of nothing.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    let (low, high) = middle(&mut values)?;
    Some((low + high) / 2.0)
}

/// The median of angles given as sin² of their halves; 0 of nothing. `[D1]`
pub fn median_angle(sine_squared: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = sine_squared.collect();
    let angle = |s: f64| 2.0 * libm::atan2(s.sqrt(), (1.0 - s).max(0.0).sqrt());
    middle(&mut values).map_or(0.0, |(low, high)| (angle(low) + angle(high)) / 2.0)
}

/// The two middle numbers, which are one where the count is odd.
fn middle(values: &mut [f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let half = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut high, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let low = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if even { (low, high) } else { (high, high) })
}

/// Correlation of two series of one length, −1 to 1; `None` where one does not vary. `[D2]`
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    // A deviation of 1e-9 rad is what f32 rotations round to, not motion.
    let least = a.len() as f64 * 1e-18;
    (aa > least && bb > least).then(|| (ab / (aa * bb).sqrt()).clamp(-1.0, 1.0))
}

/// The line along which vectors vary most about 0: the first right singular vector; `None` where all are 0. `[D2]`
pub fn principal_axis(vectors: impl Iterator<Item = V3>) -> Option<V3> {
    let mut squares = [[0.0; 3]; 3];
    for v in vectors {
        for (row, a) in squares.iter_mut().zip(v) {
            for (sum, b) in row.iter_mut().zip(v) {
                *sum += a * b;
            }
        }
    }
    let (values, axes) = eigen(squares);
    let largest = (0..3).fold(0, |best, k| if values[k] > values[best] { k } else { best });
    (values[largest] > 0.0).then(|| core::array::from_fn(|row| axes[row][largest]))
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi rotations.
fn eigen(mut a: [V3; 3]) -> (V3, [V3; 3]) {
    let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    // Each sweep squares what is left beside the diagonal; six are enough for f64, twelve for doubt.
    for _ in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = 1.0_f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (of_p, of_q) = (a[p], a[q]);
            a[p] = core::array::from_fn(|k| c * of_p[k] - s * of_q[k]);
            a[q] = core::array::from_fn(|k| s * of_p[k] + c * of_q[k]);
            for row in &mut axes {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
        }
    }
    ([a[0][0], a[1][1], a[2][2]], axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_principal_axis_is_that_of_the_longest_spread() {
        let axis = [0.6, -0.8, 0.0];
        let vectors = (-20..20).map(|k| {
            let (along, beside) = (f64::from(k), 0.3 * f64::from(k % 3));
            [axis[0] * along, axis[1] * along, beside]
        });
        let found = principal_axis(vectors).unwrap();
        assert!((length(found) - 1.0).abs() < 1e-12);
        assert!((dot(found, axis).abs() - 1.0).abs() < 1e-3, "{found:?}");
        assert_eq!(principal_axis([[0.0; 3]; 4].into_iter()), None);
    }

    #[test]
    fn eigenvectors_are_what_they_are_called() {
        let m = [[4.0, 1.0, -2.0], [1.0, 2.0, 0.5], [-2.0, 0.5, 3.0]];
        let (values, axes) = eigen(m);
        for k in 0..3 {
            let v: V3 = core::array::from_fn(|row| axes[row][k]);
            for (row, expected) in m.iter().zip(v.map(|c| c * values[k])) {
                assert!((dot(*row, v) - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_median_of_an_even_count_is_the_mean_of_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_series_that_does_not_vary_has_no_correlation() {
        let rising = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(correlation(&rising, &[2.0; 4]), None);
        assert_eq!(correlation(&rising, &[8.0, 6.0, 4.0, 2.0]), Some(-1.0));
    }
}
