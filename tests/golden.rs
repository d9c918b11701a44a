//! Claim: the numbers are those of an independent double-precision implementation of the model, within its tolerances.
//!
//! Runs every case of `tests/golden/data` and of the folder that `FLOUNCE_GOLDEN_DIR` names; no case is left out.
//! `cargo test --test golden -- --nocapture` prints the table.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "the table of cases is for people")]

mod support;

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3};
use flounce::chain::ChainReadout;
use flounce::clip::{ClipPlayer, Repeat};
use flounce::pose::{AnimatedPose, JointTransform, LocalPose};
use flounce::swing::{BakeWeights, SwingReadout, SwingResult};
use flounce::systems::motion::WorldFromActor;
use flounce::systems::plugin::Headless;
use serde_json::Value;
use support::golden::{self, array, index, list, number, quat, vec3};

/// How many cases the repository has.
const LEAST: usize = 140;

struct Case {
    name: String,
    outcome: Result<f32, String>,
}

#[test]
fn every_simulation_is_within_its_tolerance() {
    let mut ran = Vec::new();
    for path in golden::files("simulations") {
        let case = golden::read(&path);
        let name = case["name"].as_str().unwrap().to_owned();
        let outcome = simulate(&case);
        ran.push(Case { name, outcome });
    }
    report(&ran);
    assert!(ran.len() >= LEAST, "only {} cases ran", ran.len());
}

/// Prints and asserts: each case's largest difference as a share of its tolerance.
fn report(ran: &[Case]) {
    let failed: Vec<&Case> = ran.iter().filter(|case| case.outcome.is_err()).collect();
    for case in ran {
        match &case.outcome {
            Ok(share) => println!(
                "passed: {} at {:.0} % of its tolerance",
                case.name,
                share * 100.0
            ),
            Err(why) => println!("FAILED: {}: {why}", case.name),
        }
    }
    println!(
        "{} passed, {} failed",
        ran.len() - failed.len(),
        failed.len()
    );
    let lines = failed
        .iter()
        .map(|case| format!("{}: {}", case.name, case.outcome.as_ref().unwrap_err()));
    assert!(
        failed.is_empty(),
        "\n{}",
        lines.collect::<Vec<_>>().join("\n")
    );
}

/// The largest difference of a case as a share of its tolerance, or what is wrong.
fn simulate(case: &Value) -> Result<f32, String> {
    let rig = golden::rig(&case["rig"]);
    let frames = list(&case["frames"]);
    let mut host = Headless::new();
    let rig_entity = host.spawn_rig(&rig);
    let rest: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
    let parts = (
        golden::profile(&case["profile"]),
        golden::actor(&case["actor"]),
        SwingReadout::default(),
        ChainReadout::default(),
        AnimatedPose(rest),
    );
    let actor = host.spawn_actor(rig_entity, parts);
    if case["clip"].is_object() {
        let player = ClipPlayer::new(golden::clip(&case["clip"]), Repeat::Once);
        host.world.entity_mut(actor).insert(player);
    }
    if let Some(wind) = golden::wind(&case["actor"]["wind"]) {
        host.world.entity_mut(actor).insert(wind);
    }
    let animated: Vec<usize> = list(&case["animated"]).iter().filter_map(index).collect();

    let mut worst = 0.0_f32;
    let mut expected = list(&case["expected"]["frames"]).iter();
    assert!(expected.len() > 0, "a case expects some frame");
    let mut next = expected.next();
    let steps = std::iter::once((None, &case["reset"]))
        .chain(frames.iter().enumerate().map(|(i, f)| (Some(i), f)));
    for (frame, input) in steps {
        let mut pose = host.world.get_mut::<AnimatedPose>(actor).unwrap();
        for (joint, local) in animated.iter().zip(list(&input["local"])) {
            let numbers: [f32; 7] = array(local);
            pose.0[*joint].translation = Vec3::from_slice(&numbers[..3]);
            pose.0[*joint].rotation = Quat::from_slice(&numbers[3..]);
        }
        if let Some(bake) = input.get("bake") {
            let weights = list(bake).iter().map(number).collect();
            host.world.entity_mut(actor).insert(BakeWeights(weights));
        }
        if let Some(moved) = input.get("moved") {
            move_actor(&mut host, actor, moved);
        }
        let seconds = input.get("dt").map_or(0.0, |dt| f64::from(number(dt)));
        host.step(seconds).unwrap();
        let entry = match (frame, next) {
            (None, _) => &case["expected"]["reset"],
            (Some(frame), Some(entry)) if index(&entry["frame"]) == Some(frame) => {
                next = expected.next();
                entry
            }
            _ => continue,
        };
        let readout = host.world.get::<SwingReadout>(actor).unwrap();
        let local = host.world.get::<LocalPose>(actor).unwrap();
        let links = host.world.get::<ChainReadout>(actor).unwrap();
        let hits = case["compare_hits"] != Value::Bool(false);
        match compare(entry, readout, local, &rig, hits) {
            Ok(share) if !hits || links_agree(entry, links) => worst = worst.max(share),
            Ok(_) => {
                let why = format!(
                    "frame {frame:?}: links hit {:?}, expected {}",
                    links.0, entry["links"]
                );
                return Err(why);
            }
            Err(why) => return Err(format!("frame {frame:?}: {why}")),
        }
    }
    if next.is_some() {
        return Err("expected frames were not reached".to_owned());
    }
    Ok(worst)
}

/// Moves the actor so that what stood still in the world is now at Δ of where it was: `W_now = W_before·Δ⁻¹`. `[S2]`
///
/// In double precision: hundreds of small motions must not add their roundings up.
fn move_actor(host: &mut Headless, actor: Entity, moved: &Value) {
    let (t, r) = (vec3(&moved["t"]), quat(&moved["r"]));
    let mut placed = host.world.get_mut::<WorldFromActor>(actor).unwrap();
    let back = r.as_dquat().normalize().inverse();
    let before = placed.rotation.as_dquat().normalize();
    let turned = before * back;
    let translation = placed.translation.as_dvec3() - turned * t.as_dvec3();
    placed.translation = translation.as_vec3();
    placed.rotation = turned.normalize().as_quat();
}

/// Whether every link of every active layer counted as many hits as expected.
fn links_agree(entry: &Value, found: &ChainReadout) -> bool {
    let counts = |layer: &Value| {
        list(layer)
            .iter()
            .map(|n| n.as_u64().unwrap() as u32)
            .collect()
    };
    let expected: Vec<Vec<u32>> = list(&entry["links"]).iter().map(counts).collect();
    expected == found.0
}

/// The largest difference as a share of the entry's tolerance, or what differs by more.
fn compare(
    entry: &Value,
    readout: &SwingReadout,
    local: &LocalPose,
    rig: &flounce::rig::Rig,
    hits: bool,
) -> Result<f32, String> {
    let tolerance = number(&entry["tolerance"]);
    assert_eq!(
        readout.0.len(),
        rig.swing.len(),
        "one result per swing joint"
    );
    assert_eq!(
        list(&entry["x"]).len(),
        rig.swing.len(),
        "one expectation per swing joint"
    );
    let mut worst = 0.0_f32;
    for (i, (found, swing)) in readout.0.iter().zip(&rig.swing).enumerate() {
        let x = &entry["x"][i];
        if x.is_null() != found.is_none() {
            return Err(format!("swing joint {i}: expected {x}, found {found:?}"));
        }
        let expected = quat(&entry["r"][i]);
        let rotation = found.map_or(local.0[swing.joint].rotation, |found| found.rotation);
        let turned = difference(rotation, expected);
        let moved = found.map_or(0.0, |SwingResult { particle, .. }| {
            (particle - vec3(x)).abs().max_element()
        });
        let moved = moved.max(slid_off(&entry["t"][i], found)?);
        let off = turned.max(moved);
        if off.is_nan() || off > tolerance {
            return Err(format!(
                "swing joint {i}: rotation off by {turned:e} (found {rotation}, expected {expected}), particle off by {moved:e} m; tolerance {tolerance:e}"
            ));
        }
        worst = worst.max(off / tolerance);
        let counted = found.filter(|_| hits).zip(entry["hits"][i].as_u64());
        if let Some((found, count)) = counted.filter(|(f, count)| u64::from(f.hits) != *count) {
            return Err(format!(
                "swing joint {i}: {} hits, expected {count}",
                found.hits
            ));
        }
    }
    Ok(worst)
}

/// How far a slide joint's local translation is off; 0 for others, which must have none.
fn slid_off(expected: &Value, found: &Option<SwingResult>) -> Result<f32, String> {
    let translation = found.and_then(|found| found.translation);
    match (expected.is_null(), translation) {
        (true, None) => Ok(0.0),
        (false, Some(translation)) => Ok((translation - vec3(expected)).abs().max_element()),
        _ => Err(format!(
            "translation: expected {expected}, found {translation:?}"
        )),
    }
}

/// Largest difference of a component, q and −q being the same rotation.
fn difference(a: Quat, b: Quat) -> f32 {
    let (a, b) = (bevy_math::Vec4::from(a), bevy_math::Vec4::from(b));
    let near = if a.dot(b) < 0.0 { -b } else { b };
    (a - near).abs().max_element()
}
