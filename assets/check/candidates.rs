//! Joints that look like secondary motion and that no chain picks.
//!
//! Two signs: a joint's name has a word such as *hair* or *tail*; or a strand of two joints or more hangs on a body
//! that clips move, and no clip moves the strand.

use std::collections::BTreeMap;
use std::fmt;

use super::counted;
use crate::clip::{Clip, Track, TrackValues};
use crate::rig::Rig;

/// Words of names, lower case; a name's word counts when it is one of these or its plural.
const WORDS: [&str; 46] = [
    "accessory",
    "antenna",
    "ahoge",
    "bag",
    "ball",
    "bang",
    "belt",
    "bow",
    "braid",
    "breast",
    "bust",
    "cape",
    "chain",
    "cloak",
    "cloth",
    "coat",
    "collar",
    "dangle",
    "dress",
    "ear",
    "earring",
    "feather",
    "fringe",
    "hair",
    "hinge",
    "hood",
    "jiggle",
    "lace",
    "mane",
    "necklace",
    "pigtail",
    "pony",
    "ponytail",
    "ribbon",
    "robe",
    "rope",
    "scarf",
    "skirt",
    "sleeve",
    "spring",
    "strap",
    "swing",
    "tail",
    "tassel",
    "tie",
    "twintail",
];
/// The same in Japanese, found anywhere in a name.
const JAPANESE: [&str; 8] = [
    "髪",
    "スカート",
    "しっぽ",
    "尻尾",
    "耳",
    "リボン",
    "袖",
    "ネクタイ",
];

/// A key whose value differs by more from the first one moves the joint; below is a re-export's rounding.
const STILL: f32 = 1e-4;

/// A strand that might be wanted as a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its first joint, index into the rig.
    pub root: usize,
    /// A reference that finds it: its name, or `#17` where that is missing or doubled.
    pub reference: String,
    /// Number of joints from there down.
    pub joints: usize,
    /// Why it was taken for one.
    pub reason: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            reference,
            joints,
            reason,
            ..
        } = self;
        let joints = counted(*joints, "joint");
        write!(f, "(root: {reference:?}), // {joints}, {reason}")
    }
}

/// The candidates of `rig`, in joint order; nothing at or below a swing joint.
pub(super) fn find(rig: &Rig, clips: &[Clip]) -> Vec<Candidate> {
    let count = rig.joints.len();
    let mut taken = vec![false; count];
    for swing in &rig.swing {
        taken[swing.joint] = true;
    }
    let holds_swing = above(rig, &taken);
    let sizes = sizes(rig);
    let still = still(rig, clips);
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for joint in &rig.joints {
        *named.entry(&joint.name).or_default() += 1;
    }
    let mut candidates = Vec::new();
    for joint in 0..count {
        let parent = rig.joints[joint].parent;
        if parent.is_some_and(|parent| taken[parent]) {
            taken[joint] = true;
        }
        if taken[joint] || holds_swing[joint] || sizes[joint] < 2 {
            continue;
        }
        let reason = match word(&rig.joints[joint].name) {
            Some(word) => format!("named {word}"),
            None if still[joint] && parent.is_some_and(|parent| !still[parent]) => {
                "no clip moves them".to_owned()
            }
            None => continue,
        };
        taken[joint] = true;
        candidates.push(Candidate {
            root: joint,
            reference: match (rig.joints[joint].name.as_str(), rig.joints[joint].source) {
                (name, _) if !name.is_empty() && named.get(name) == Some(&1) => name.to_owned(),
                (_, source) => format!("#{source}"),
            },
            joints: sizes[joint],
            reason,
        });
    }
    candidates
}

/// Per joint, whether a joint of `set` is below it.
fn above(rig: &Rig, set: &[bool]) -> Vec<bool> {
    let mut above = vec![false; set.len()];
    for joint in (0..set.len()).rev() {
        if let Some(parent) = rig.joints[joint].parent {
            above[parent] |= set[joint] || above[joint];
        }
    }
    above
}

/// Per joint, the number of joints from it down, itself included.
fn sizes(rig: &Rig) -> Vec<usize> {
    let mut sizes = vec![1; rig.joints.len()];
    for joint in (0..sizes.len()).rev() {
        if let Some(parent) = rig.joints[joint].parent {
            sizes[parent] += sizes[joint];
        }
    }
    sizes
}

/// Per joint, whether no clip moves it or anything below it; without clips nothing counts as still.
fn still(rig: &Rig, clips: &[Clip]) -> Vec<bool> {
    if clips.is_empty() {
        return vec![false; rig.joints.len()];
    }
    let mut moves = vec![false; rig.joints.len()];
    for track in clips.iter().flat_map(|clip| &clip.tracks) {
        if let Some(moves) = moves.get_mut(track.joint) {
            *moves |= changes(track);
        }
    }
    let below = above(rig, &moves);
    moves
        .iter()
        .zip(below)
        .map(|(&own, below)| !own && !below)
        .collect()
}

/// Whether a track's keys differ.
fn changes(track: &Track) -> bool {
    fn differ<const N: usize>(keys: &[[f32; N]]) -> bool {
        let mut pairs = keys.iter().zip(keys.iter().skip(1));
        pairs.any(|(a, b)| a.iter().zip(b).any(|(a, b)| (a - b).abs() > STILL))
    }
    match &track.values {
        TrackValues::Translation(keys) | TrackValues::Scale(keys) => differ(keys),
        TrackValues::Rotation(keys) => differ(keys),
        TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => false,
    }
}

/// The telling word in a name.
fn word(name: &str) -> Option<&'static str> {
    let japanese = JAPANESE.into_iter().find(|&word| name.contains(word));
    japanese.or_else(|| words(name).iter().find_map(|word| known(word)))
}

fn known(word: &str) -> Option<&'static str> {
    let single = word.strip_suffix('s').unwrap_or(word);
    WORDS
        .into_iter()
        .find(|&known| known == word || known == single)
}

/// The words of a name, lower case: cut at anything that is no letter and where a capital follows a small letter, so
/// that `Tail01` is tail and `ForeArm` no ear.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_small = false;
    for letter in name.chars() {
        let cut = !letter.is_alphabetic() || letter.is_uppercase() && before_small;
        if cut && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before_small = letter.is_lowercase();
    }
    words
}
