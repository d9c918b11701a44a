//! The sides that flounce's clips are compared with, on workload C: `bevy_animation` 0.20.1 and `ozz-animation-rs` 0.11.0.
//!
//! `flounce-peers round` (`round mended` when built with the mended copy of ozz) measures every side once and prints
//! lines `workload,side,ns per joint`, as flounce's own bench does with `--lines`. `run.sh` runs it in turn with that and
//! makes a table of many rounds. CPU time of this process.
#![feature(portable_simd)]

mod archive;
mod bevy;
#[path = "../../support/clip_keys.rs"]
mod clip_keys;
mod ozz;

use cpu_time::ProcessTime;

/// How many characters are played.
const CASES: [usize; 2] = [1, 100];
/// Joints that a side computes in a round: long against the clock's own cost.
const WORK: usize = 600_000;

/// One line of a round.
fn line(characters: usize, what: &str, side: &str, nanoseconds: f64) {
    println!("C {characters}: {what},{side},{nanoseconds:.4}");
}

/// Nanoseconds per joint of `frames` calls for so many characters.
fn per_joint(characters: usize, frames: usize, mut frame: impl FnMut(usize)) -> f64 {
    let start = ProcessTime::now();
    for index in 0..frames {
        frame(index);
    }
    start.elapsed().as_nanos() as f64 / (frames * characters * clip_keys::JOINTS) as f64
}

/// Frames that make a round of [`WORK`].
fn frames(characters: usize) -> usize {
    WORK.div_ceil(characters * clip_keys::JOINTS)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["round"] => {
            for characters in CASES {
                ozz::measure(characters, "ozz-animation-rs");
                bevy::measure(characters);
            }
        }
        ["round", "mended"] => {
            for characters in CASES {
                ozz::measure(characters, "ozz-animation-rs mended");
            }
        }
        _ => {
            eprintln!("usage: flounce-peers round [mended]");
            std::process::exit(2);
        }
    }
}
