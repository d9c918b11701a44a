//! Crowds: every actor of a crowd has the bits it has alone, whatever the others are and do. `[R1]`
//!
//! All actors are watched, not one among neighbours: each run of a crowd is compared with one run per actor in which it
//! has the World for itself, at the same frames.

use std::hash::{DefaultHasher, Hasher};

use flounce::systems::substeps::Workers;

use crate::parts::{Part, Script, play};
use crate::shown::{Shown, assert_shows};

/// More actors than a group of 32 has lanes, so that one begins another group and one is alone in it.
const CROWD: u32 = 33;

fn alone(script: &Script, part: &Part) -> Vec<Shown> {
    let script = Script {
        workers: Workers::One,
        guests: false,
        ..*script
    };
    play(&script, &[*part]).swap_remove(0)
}

/// Every part of the crowd against itself alone.
#[track_caller]
fn assert_alone(script: &Script, parts: &[Part], what: &str) {
    let together = play(script, parts);
    for (index, (part, found)) in parts.iter().zip(&together).enumerate() {
        let expected = alone(script, part);
        let what = format!("{what}: actor {index} of {}, {part:?}", parts.len());
        assert_shows(found, &expected, &what);
    }
}

fn mixed(count: u32) -> Vec<Part> {
    (0..count).map(Part::new).collect()
}

/// 1 to 40 actors and back: one comes in every frame at first, the first one stays to the end.
fn growing() -> Vec<Part> {
    let part = |seed: u32| Part {
        joins: seed as usize,
        leaves: if seed == 0 {
            usize::MAX
        } else {
            // Not in the order in which they came.
            50 + (seed as usize * 17) % 40
        },
        ..Part::new(seed)
    };
    (0..40).map(part).collect()
}

const GROWING: Script = Script {
    frames: 96,
    workers: Workers::Pool,
    reversed: false,
    guests: false,
    edited: false,
};

/// What each actor of the growing crowd shows in all its frames, as a number.
pub fn growing_crowd_numbers() -> Vec<u64> {
    let number = |frames: &Vec<Shown>| {
        // Its keys are fixed: the same in every process.
        let mut hasher = DefaultHasher::new();
        for bits in frames.iter().flat_map(Shown::bits) {
            hasher.write_u32(bits);
        }
        hasher.finish()
    };
    play(&GROWING, &growing()).iter().map(number).collect()
}

/// The claims below are about something: the parts have contacts, links, layers, accounts, and they move.
#[test]
fn the_parts_of_a_crowd_are_not_empty() {
    let shown = play(&Script::default(), &mixed(CROWD));
    let shows = |section: &str| {
        let any = |frames: &&Vec<Shown>| frames.iter().any(|shown| shown.count(section) > 0);
        shown.iter().filter(any).count()
    };
    for (section, least) in [
        ("swing readout", 33),
        ("links", 20),
        ("layers", 5),
        ("account", 3),
    ] {
        let found = shows(section);
        assert!(found >= least, "{section}: {found} actors");
    }
    let moves = |frames: &Vec<Shown>| !frames[30].bits().eq(frames[89].bits());
    assert!(shown.iter().all(moves));
    // No two of them do the same: who took another's bits would not pass for itself.
    for (index, frames) in shown.iter().enumerate() {
        let same = |other: &&Vec<Shown>| frames[80].bits().eq(other[80].bits());
        assert_eq!(shown.iter().filter(same).count(), 1, "actor {index}");
    }
}

#[test]
fn r1_each_of_33_copies_has_the_bits_of_one() {
    let script = Script {
        frames: 62,
        ..Script::default()
    };
    for seed in [0, 1, 2, 3, 5, 6, 10, 13] {
        let part = Part::new(seed);
        let expected = alone(&script, &part);
        let crowd = play(&script, &vec![part; CROWD as usize]);
        for (index, found) in crowd.iter().enumerate() {
            assert_shows(found, &expected, &format!("copy {index} of part {seed}"));
        }
    }
}

#[test]
fn r1_every_actor_of_a_mixed_crowd_has_the_bits_it_has_alone() {
    assert_alone(&Script::default(), &mixed(CROWD), "mixed");
    // Fewer than lanes pay for, about as many, and more than two groups.
    for count in [2, 5, 17, 19, 70] {
        let script = Script {
            frames: 24,
            ..Script::default()
        };
        assert_alone(&script, &mixed(count), "mixed");
    }
}

#[test]
fn r1_the_order_in_which_a_crowd_is_spawned_changes_no_bit() {
    let script = Script {
        reversed: true,
        frames: 62,
        ..Script::default()
    };
    assert_alone(&script, &mixed(CROWD), "spawned in reverse");
}

#[test]
fn r1_a_crowd_that_came_and_went_leaves_nothing_behind() {
    let script = Script {
        guests: true,
        frames: 62,
        ..Script::default()
    };
    assert_alone(&script, &mixed(CROWD), "after guests");
}

#[test]
fn r1_a_crowd_that_grows_and_shrinks_changes_no_bit() {
    assert_alone(&GROWING, &growing(), "growing and shrinking");
}

#[test]
fn r1_threads_change_no_bit_of_a_crowd_that_grows_and_shrinks() {
    let one = Script {
        workers: Workers::One,
        ..GROWING
    };
    let expected = play(&one, &growing());
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let found = pool.build().unwrap().install(|| play(&GROWING, &growing()));
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_shows(
                found,
                expected,
                &format!("{threads} threads, actor {index}"),
            );
        }
    }
}

/// Each kind of input that is not finite, beside actors whose input is.
#[test]
fn r1_a_neighbour_that_is_not_finite_changes_no_bit() {
    let mut parts = mixed(CROWD);
    for (seed, place) in (0..6).zip([1, 8, 15, 22, 29, 31]) {
        parts[place] = Part {
            poisoned: true,
            explained: false,
            ..Part::new(6 * 8 + seed)
        };
    }
    let script = Script {
        frames: 62,
        ..Script::default()
    };
    assert_alone(&script, &parts, "beside poison");
}

#[test]
fn r1_an_explanation_changes_no_bit_of_a_crowd() {
    let parts = mixed(CROWD);
    let silent = |part: &Part| Part {
        explained: false,
        ..*part
    };
    let spoken = |part: &Part| Part {
        explained: true,
        ..*part
    };
    let of = |parts: Vec<Part>| play(&Script::default(), &parts);
    let expected = of(parts.iter().map(silent).collect());
    let all = of(parts.iter().map(spoken).collect());
    for (what, found) in [("some", of(parts.clone())), ("all", all)] {
        for (index, (found, expected)) in found.into_iter().zip(&expected).enumerate() {
            let strip = |shown: &Shown| shown.clone().unexplained();
            let found: Vec<Shown> = found.iter().map(strip).collect();
            let expected: Vec<Shown> = expected.iter().map(strip).collect();
            assert_shows(
                &found,
                &expected,
                &format!("{what} explained, actor {index}"),
            );
        }
    }
}

#[test]
fn r1_a_rig_that_is_edited_takes_its_crowd_along() {
    let script = Script {
        edited: true,
        ..Script::default()
    };
    assert_alone(&script, &mixed(CROWD), "edited");
    let script = Script {
        edited: true,
        ..GROWING
    };
    assert_alone(&script, &growing(), "edited while growing");
}
