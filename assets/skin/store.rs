//! Storing: weights as the numbers of a file, whose sum is 1 after reading.

use super::StoredWeights;
use crate::assets::patch::weights::StoredNumbers;

impl StoredWeights {
    /// What 1 is stored as.
    fn unit(self) -> f64 {
        match self {
            Self::F32 => 1.0,
            Self::U16 => 65535.0,
            Self::U8 => 255.0,
        }
    }

    /// The numbers to store for `weights`, strongest first, of sum 1. All of them are exact as f32.
    ///
    /// f32: each is rounded, and the strongest takes up what that leaves, so that the sum is 1 to its last digit.
    /// Integers: rounded down, and what is left goes to the largest remainders, so that the sum is exactly 255 or 65535.
    pub(super) fn numbers(self, weights: &[f64]) -> Vec<f32> {
        match self {
            Self::F32 => {
                let mut numbers: Vec<f32> = weights.iter().map(|&weight| weight as f32).collect();
                if let Some((first, others)) = numbers.split_first_mut() {
                    let sum: f64 = others.iter().copied().map(f64::from).sum();
                    *first = (1.0 - sum) as f32;
                }
                numbers
            }
            Self::U16 | Self::U8 => largest_remainder(weights, self.unit()),
        }
    }

    /// The weights that `numbers` stand for, of sum 1.
    pub(super) fn decoded(self, numbers: &[f32]) -> Vec<f64> {
        // The unit cancels out; what is left of a sum of f32 that is off in its last digit does too.
        let sum: f64 = numbers.iter().copied().map(f64::from).sum();
        let shares = numbers.iter().map(|&number| f64::from(number) / sum);
        shares.collect()
    }

    /// Numbers in the type of the file.
    pub(super) fn packed(self, numbers: Vec<f32>) -> StoredNumbers {
        match self {
            Self::F32 => StoredNumbers::F32(numbers),
            Self::U16 => StoredNumbers::U16(numbers.into_iter().map(|n| n as u16).collect()),
            Self::U8 => StoredNumbers::U8(numbers.into_iter().map(|n| n as u8).collect()),
        }
    }
}

/// Whole numbers of sum `unit` in proportion to `weights`; of equal remainders the first wins.
fn largest_remainder(weights: &[f64], unit: f64) -> Vec<f32> {
    let exact: Vec<f64> = weights.iter().map(|weight| weight * unit).collect();
    let mut numbers: Vec<f64> = exact.iter().map(|number| number.floor()).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let remainder = |i: usize| exact[i] - exact[i].floor();
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    let left = unit - numbers.iter().sum::<f64>();
    for &i in order.iter().take(left as usize) {
        numbers[i] += 1.0;
    }
    numbers.into_iter().map(|number| number as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_the_sum_they_should_whatever_the_weights() {
        let mut weights = [1.0, 0.5, 0.25, 0.125, 1e-3, 1e-6, 1e-9, 1e-30];
        for round in 0..1000 {
            for (i, weight) in weights.iter_mut().enumerate() {
                *weight = (*weight * (1.37 + 0.11 * i as f64) + 0.013 * f64::from(round)).fract();
            }
            for k in 1..=weights.len() {
                let sum: f64 = weights[..k].iter().sum();
                let shares: Vec<f64> = weights[..k].iter().map(|weight| weight / sum).collect();
                for stored in [StoredWeights::U8, StoredWeights::U16] {
                    let numbers = stored.numbers(&shares);
                    let sum: f32 = numbers.iter().sum();
                    assert_eq!(f64::from(sum), stored.unit(), "{shares:?}");
                    for (number, share) in numbers.iter().zip(&shares) {
                        let off = (f64::from(*number) - share * stored.unit()).abs();
                        assert!(off < 1.0, "{numbers:?} for {shares:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn skin_01_the_sum_of_stored_floats_is_1_to_its_last_digit() {
        for shares in [
            vec![1.0 / 3.0; 3],
            vec![4.0 / 7.0, 3.0 / 7.0],
            vec![0.125; 8],
            vec![1.0],
        ] {
            let numbers = StoredWeights::F32.numbers(&shares);
            let sum: f64 = numbers.iter().copied().map(f64::from).sum();
            assert!(
                (sum - 1.0).abs() <= f64::from(f32::EPSILON) / 2.0,
                "{sum} of {numbers:?}"
            );
        }
    }

    #[test]
    fn of_equal_remainders_the_strongest_gets_what_is_left() {
        assert_eq!(StoredWeights::U8.numbers(&[1.0 / 3.0; 3]), [85.0; 3]);
        assert_eq!(
            StoredWeights::U8.numbers(&[0.25; 4]),
            [64.0, 64.0, 64.0, 63.0]
        );
        assert_eq!(StoredWeights::U8.numbers(&[0.9999, 0.0001]), [255.0, 0.0]);
    }
}
