//! Selections: the part of a manifest that one process runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use super::manifest::Entry;
use crate::assets::Error;
use crate::assets::check::counted;

/// Which entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All.
    #[default]
    All,
    /// Shard `index` of `count`, from 1: shards have about as many frames each, every entry is in one of them, and which
    /// one hangs on nothing but the manifest and `count`.
    Shard {
        /// From 1 to `count`.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// Entries by their numbers, from 1, both ends included.
    Range {
        /// The first.
        first: usize,
        /// The last.
        last: usize,
    },
}

/// `I/N`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn shard(text: &str) -> Result<Selection, String> {
    let expected = || format!("found \"{text}\", expected I/N with I from 1 to N: 3/8");
    let (index, count) = pair(text, '/').ok_or_else(expected)?;
    let fits = index >= 1 && index <= count;
    fits.then_some(Selection::Shard { index, count })
        .ok_or_else(expected)
}

/// `A-B`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn range(text: &str) -> Result<Selection, String> {
    let expected = || format!("found \"{text}\", expected A-B, numbers of jobs from 1: 5-9");
    let (first, last) = pair(text, '-').ok_or_else(expected)?;
    let fits = first >= 1 && first <= last;
    fits.then_some(Selection::Range { first, last })
        .ok_or_else(expected)
}

fn pair(text: &str, between: char) -> Option<(usize, usize)> {
    let (a, b) = text.split_once(between)?;
    let number = |text: &str| usize::from_str(text.trim()).ok();
    Some((number(a)?, number(b)?))
}

/// `all`, `shard-3-of-8`, `range-5-9`: part of a file name.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Shard { index, count } => write!(f, "shard-{index}-of-{count}"),
            Self::Range { first, last } => write!(f, "range-{first}-{last}"),
        }
    }
}

impl Selection {
    /// The selected indices into `entries`, ascending.
    ///
    /// # Errors
    /// [`Error::Request`] for a range that ends behind the last entry.
    pub fn pick(&self, entries: &[Entry]) -> Result<Vec<usize>, Error> {
        match *self {
            Self::All => Ok((0..entries.len()).collect()),
            Self::Shard { index, count } => {
                let shards = deal(entries, count);
                let of_shard = |entry: &usize| shards[*entry] + 1 == index;
                Ok((0..entries.len()).filter(of_shard).collect())
            }
            Self::Range { first, last } if last <= entries.len() && first >= 1 => {
                Ok((first - 1..last).collect())
            }
            Self::Range { first, last } => Err(Error::Request(format!(
                "--range {first}-{last}: the manifest has {}",
                counted(entries.len(), "job")
            ))),
        }
    }
}

/// The shard of each entry, from 0: the longest first, each to the shard that has the fewest frames so far (the first one
/// of several), so that the longest shard takes at most 4/3 of what the best division would. *Graham 1969*
fn deal(entries: &[Entry], count: usize) -> Vec<usize> {
    let frames = |index: usize| entries[index].frames.max(1);
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&index| (Reverse(frames(index)), index));
    // More shards than entries stay empty.
    let shards = count.min(entries.len());
    let mut loads: BinaryHeap<Reverse<(u64, usize)>> =
        (0..shards).map(|shard| Reverse((0, shard))).collect();
    let mut dealt = vec![0; entries.len()];
    for index in order {
        let Some(Reverse((load, shard))) = loads.pop() else {
            continue;
        };
        dealt[index] = shard;
        loads.push(Reverse((load.saturating_add(frames(index)), shard)));
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::super::manifest::tests::manifest;
    use super::*;

    fn pick(text: Result<Selection, String>, frames: &[u64]) -> Vec<usize> {
        let selection = text.unwrap_or_else(|error| panic!("{error}"));
        selection.pick(&manifest(frames).entries).unwrap()
    }

    #[test]
    fn shards_take_every_entry_once_and_are_of_similar_length() {
        let frames: Vec<u64> = (0..50_u64).map(|index| 10 + index * 37 % 101).collect();
        for count in 1..=60 {
            let mut all = Vec::new();
            let mut longest = 0;
            for index in 1..=count {
                let shard = pick(shard(&format!("{index}/{count}")), &frames);
                assert!(shard.is_sorted());
                assert!(!shard.is_empty() || count > frames.len());
                longest = longest.max(shard.iter().map(|&entry| frames[entry]).sum());
                all.extend(shard);
            }
            all.sort_unstable();
            assert_eq!(all, (0..50).collect::<Vec<_>>());
            let (sum, most): (u64, u64) = (frames.iter().sum(), *frames.iter().max().unwrap());
            let best = most.max(sum.div_ceil(count as u64));
            assert!(
                longest * 3 <= best * 4 + 3,
                "{count} shards: {longest}, {best}"
            );
        }
    }

    #[test]
    fn one_long_entry_has_a_shard_of_its_own() {
        let frames = [1, 100, 1, 1, 1, 1];
        assert_eq!(pick(shard("1/2"), &frames), [1]);
        assert_eq!(pick(shard("2/2"), &frames), [0, 2, 3, 4, 5]);
        assert_eq!(pick(shard("1/2"), &[]), [0; 0]);
    }

    #[test]
    fn ranges_count_from_one_and_include_both_ends() {
        assert_eq!(pick(range("2-3"), &[1; 4]), [1, 2]);
        assert_eq!(pick(range("1-4"), &[1; 4]), [0, 1, 2, 3]);
        let behind = range("2-5").unwrap().pick(&manifest(&[1; 4]).entries);
        let behind = behind.unwrap_err().to_string();
        assert_eq!(behind, "--range 2-5: the manifest has 4 jobs");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["0/4", "5/4", "4", "a/b", "1/", "1-4", "-1/4", "1/0"] {
            assert!(shard(text).unwrap_err().contains("expected I/N"), "{text}");
        }
        for text in ["0-4", "5-4", "4", "a-b", "1-", "1/4", "-1-4"] {
            assert!(range(text).unwrap_err().contains("expected A-B"), "{text}");
        }
    }
}
