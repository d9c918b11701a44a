//! Controls: series and rings that are wrong on purpose. An improvement that is no better than these is noise. `[D3]`

/// The series shown `frames` early, cyclically: a driver at the wrong time. `[D3]`
pub fn shifted<T: Copy>(series: &[T], frames: usize) -> Vec<T> {
    let mut shifted = series.to_vec();
    if !shifted.is_empty() {
        let by = frames % shifted.len();
        shifted.rotate_left(by);
    }
    shifted
}

/// Zero motion: rest in every frame, the simulation that does nothing. `[D3]`
pub fn held(rest: [f32; 4], frames: usize) -> Vec<[f32; 4]> {
    vec![rest; frames]
}

/// A ring's members in another order, the same for the same seed: entry k is the old place of the new k-th. `[D3]`
///
/// From four members on, some are beside another neighbour than before: a ring that is only turned or read backwards
/// is the same ring. Three are one ring in any order.
pub fn shuffled_ring(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    // Of the orders of four, one in three is the old ring; of more, fewer: no seed needs more than a few rounds.
    for _ in 0..1000 {
        for last in (1..count).rev() {
            let pick = next(&mut state) % (last as u64 + 1);
            order.swap(last, pick as usize);
        }
        if count < 4 || !same_ring(&order) {
            break;
        }
    }
    order
}

fn same_ring(order: &[usize]) -> bool {
    let count = order.len();
    (0..count).all(|k| {
        let apart = order[k].abs_diff(order[(k + 1) % count]);
        apart == 1 || apart == count - 1
    })
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_a_shuffled_ring_has_all_members_and_other_neighbours() {
        for (count, seed) in (4..8).flat_map(|count| (0..100).map(move |seed| (count, seed))) {
            let order = shuffled_ring(count, seed);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..count), "seed {seed}: {order:?}");
            assert!(!same_ring(&order), "seed {seed}: {order:?}");
        }
        assert_eq!(shuffled_ring(24, 7), shuffled_ring(24, 7));
        assert_ne!(shuffled_ring(24, 7), shuffled_ring(24, 8));
        assert!(shuffled_ring(0, 1).is_empty());
    }

    #[test]
    fn d3_a_shift_goes_round() {
        assert_eq!(shifted(&[1, 2, 3, 4], 5), [2, 3, 4, 1]);
        assert!(shifted::<u8>(&[], 3).is_empty());
    }
}
