//! Archives of ozz-animation, written in memory: a skeleton (version 2) and clips (version 7).
//!
//! The reader of `ozz-animation-rs` is the reference for the format. Keys lie time by time, then track by track, each
//! with the distance to the key of its track before; rotations are three numbers of 15 bits, the largest component left
//! out; translations and scales are half floats. Constant tracks have two keys, at the beginning and at the end.

use crate::clip_keys::{DURATION, JOINTS, KEYS};

/// Tracks of a clip: whole groups of four.
pub const TRACKS: usize = JOINTS.next_multiple_of(4);
/// Half floats 0, 0.1 and 1.
const HALF: [u16; 3] = [0x0000, 0x2e66, 0x3c00];

/// Bytes, little-endian.
struct Writer(Vec<u8>);

impl Writer {
    /// With the byte that says little-endian, the tag and the version.
    fn new(tag: &str, version: u32) -> Self {
        let mut writer = Self(vec![1]);
        writer.text(tag);
        writer.word(version);
        writer
    }
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }
    fn half(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    fn word(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    fn float(&mut self, value: f32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
}

/// The skeleton of workload C, every joint 0.1 m above its parent.
pub fn skeleton() -> Vec<u8> {
    let mut to = Writer::new("ozz-skeleton", 2);
    to.word(JOINTS as u32);
    let names: Vec<String> = (0..JOINTS).map(|joint| format!("j{joint}")).collect();
    to.word(names.iter().map(|name| name.len() as u32 + 1).sum());
    for name in &names {
        to.text(name);
    }
    for joint in 0..JOINTS {
        to.half(match joint {
            0 => -1_i16 as u16,
            first if (first - 1) % 11 == 0 => 0,
            other => other as u16 - 1,
        });
    }
    // Groups of four: translation x y z, rotation x y z w, scale x y z.
    for _ in 0..TRACKS / 4 {
        for value in [0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0] {
            for _ in 0..4 {
                to.float(value);
            }
        }
    }
    to.0
}

/// A clip whose rotations are `rotation(joint, key)`.
pub fn clip(rotation: impl Fn(usize, usize) -> [f32; 4]) -> Vec<u8> {
    let mut to = Writer::new("ozz-animation", 7);
    to.float(DURATION);
    to.word(TRACKS as u32);
    to.word(0); // length of the name
    to.word(KEYS as u32);
    let (ends, keys) = ((2 * TRACKS) as u32, (KEYS * TRACKS) as u32);
    for count in [ends, keys, ends] {
        to.word(count);
    }
    // No frames to seek from: these clips are played.
    for _ in 0..6 {
        to.word(0);
    }
    for key in 0..KEYS {
        to.float(key as f32 / (KEYS - 1) as f32);
    }
    let last = KEYS - 1;
    keys_of(&mut to, &[0, last], |_, _| [HALF[0], HALF[1], HALF[0]]);
    let all: Vec<usize> = (0..KEYS).collect();
    keys_of(&mut to, &all, |joint, key| pack(rotation(joint, key)));
    keys_of(&mut to, &[0, last], |_, _| [HALF[2]; 3]);
    to.0
}

/// The keys of one property: indices of their times, distances to the key before, values.
fn keys_of(to: &mut Writer, times: &[usize], value: impl Fn(usize, usize) -> [u16; 3]) {
    for &time in times {
        to.0.extend(std::iter::repeat_n(time as u8, TRACKS));
    }
    for index in 0..times.len() {
        for _ in 0..TRACKS {
            to.half(if index == 0 { 0 } else { TRACKS as u16 });
        }
    }
    to.float(1.0); // interval of the frames to seek from
    for &time in times {
        for track in 0..TRACKS {
            for part in value(track.min(JOINTS - 1), time) {
                to.half(part);
            }
        }
    }
}

/// A unit quaternion in three numbers: which component is largest (2 bits), its sign, and the others by 15 bits each.
fn pack(q: [f32; 4]) -> [u16; 3] {
    let largest = (0..4)
        .max_by(|&a, &b| q[a].abs().total_cmp(&q[b].abs()))
        .unwrap_or(3);
    let range = std::f32::consts::SQRT_2;
    let mut others = (0..4)
        .filter(|&c| c != largest)
        .map(|c| ((q[c] / range + 0.5) * 32767.0).round().clamp(0.0, 32767.0) as u32);
    let mut next = || others.next().unwrap_or(0);
    let packed = next() | next() << 15;
    let third = next();
    [
        (packed << 3) as u16 | u16::from(q[largest] < 0.0) << 2 | largest as u16,
        (packed >> 13) as u16,
        (third << 1 | packed >> 29) as u16,
    ]
}
