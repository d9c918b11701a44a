//! Faces drawn from an atlas: which cell a set of weights shows. `[K7]`
//!
//! A mouth is one texture with a picture per cell. Animation gives every cell a weight, as if they could be mixed; one
//! of them is shown, by moving the texture coordinates.

#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

/// A texture of pictures in rows. The default is the source's, 5 by 8.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(default, deny_unknown_fields))]
pub struct Atlas {
    /// Cells in a row; 0 counts as 1. Default 5.
    pub columns: u32,
    /// Rows. Default 8.
    pub rows: u32,
    /// From a column to the next, in texture coordinates. Default 0.1875.
    pub column_step: f32,
    /// From a row down to the next, in texture coordinates. Default 0.125.
    pub row_step: f32,
    /// v of the first row, which is the uppermost. Default 0.875.
    pub first_row: f32,
}

impl Default for Atlas {
    fn default() -> Self {
        Self {
            columns: 5,
            rows: 8,
            column_step: 0.1875,
            row_step: 0.125,
            first_row: 0.875,
        }
    }
}

/// The cell that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtlasCell {
    /// Row by row from the first.
    pub cell: u32,
    /// What is added to the texture coordinates, (u, v).
    pub bias: [f32; 2],
}

impl Atlas {
    /// The cell of the largest weight, the first of those. `[K7]`
    ///
    /// The scan ends at the first weight of 1 or more, which wins over larger ones after it. Without any weight above
    /// 0 it is cell 0. `weights` has one number per cell, in order; more than the atlas has cells are ignored, and so
    /// is NaN.
    pub fn select(&self, weights: &[f32]) -> AtlasCell {
        let cells = u64::from(self.columns.max(1)) * u64::from(self.rows);
        let (mut chosen, mut largest) = (0, 0.0);
        for (cell, &weight) in (0..cells).zip(weights) {
            if weight > largest {
                (chosen, largest) = (cell, weight);
            }
            if largest >= 1.0 {
                break;
            }
        }
        self.cell(u32::try_from(chosen).unwrap_or(u32::MAX))
    }

    /// Where a cell is. `[K7]`
    ///
    /// ```text
    /// col = cell mod columns, row = ⌊cell / columns⌋, bias = (column_step·col, first_row − row_step·row)
    /// ```
    pub fn cell(&self, cell: u32) -> AtlasCell {
        let columns = self.columns.max(1);
        let (column, row) = ((cell % columns) as f32, (cell / columns) as f32);
        let bias = [
            self.column_step * column,
            self.first_row - self.row_step * row,
        ];
        AtlasCell { cell, bias }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k7_the_first_full_weight_wins_over_larger_ones_after_it() {
        let atlas = Atlas::default();
        for (weights, cell) in [
            (vec![0.2, 1.0, 1.5], 1),
            (vec![0.2, 0.9, 0.9], 1),
            (vec![-3.0, 0.0, f32::NAN], 0),
            (vec![f32::NAN, 0.1], 1),
            (vec![], 0),
        ] {
            assert_eq!(atlas.select(&weights).cell, cell, "{weights:?}");
        }
    }

    #[test]
    fn k7_cells_lie_row_by_row_from_the_top() {
        let atlas = Atlas::default();
        assert_eq!(atlas.cell(0).bias, [0.0, 0.875]);
        assert_eq!(atlas.cell(13).bias, [0.5625, 0.625]);
        assert_eq!(atlas.cell(39).bias, [0.75, 0.0]);
    }

    #[test]
    fn k7_the_grid_is_a_parameter_and_never_divides_by_zero() {
        let small = Atlas {
            columns: 2,
            rows: 2,
            column_step: 0.5,
            row_step: 0.5,
            first_row: 0.5,
        };
        let beyond = [0.0, 0.0, 0.0, 0.5, 0.9];
        assert_eq!(small.select(&beyond).bias, [0.5, 0.0]);
        assert_eq!(
            Atlas {
                columns: 0,
                ..small
            }
            .select(&beyond)
            .cell,
            0
        );
    }
}
