//! Bakes: a clip has the bits it has alone, whatever is baked with it and on however many threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flounce::assets::bake::recording::uncapped;
use flounce::assets::bake::{self, BakeOptions, BakeReport, ClipReport, MOST_CLIPS, simulate};
use flounce::assets::container::Container;
use flounce::assets::import::{self, Model};
use flounce::assets::rig_file;
use flounce::assets::state_hash::{self, StateHash};
use flounce::clip::{Clip, ClipPlayer, Repeat};
use flounce::driver::Driver;
use flounce::profile::{DeltaPolicy, JointOrder, SubstepPolicy, SwingProfile};
use flounce::rig::Rig;
use flounce::systems::plugin::Headless;

fn scenes(path: &str) -> PathBuf {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    scenes.join(path)
}

fn rigged(model: &str, rig: &str) -> (Model, Container, Rig) {
    let (model, container) = import::read_model(&scenes(model)).unwrap();
    let mut rigged = model.rig.clone();
    let rules = rig_file::read(&scenes(rig)).unwrap();
    rules.apply(&mut rigged).unwrap();
    (model, container, rigged)
}

/// A humanoid with 31 clips that last 0, 1 µs, a third of a frame and up to 5 s, none as long as another; most of them
/// end between two frames. The last pose of what was made longer holds.
fn thirty_one_lengths() -> (Model, Container, Rig) {
    let (mut model, container, rig) =
        rigged("models/SpringTestRig_2025.glb", "rigs/spring_test_rig.ron");
    assert_eq!(model.clips.len(), 31);
    for (index, clip) in model.clips.iter_mut().enumerate() {
        // In no order of length.
        let place = (index * 11 % 31) as f32;
        clip.duration = match index {
            4 => 0.0,
            5 => 1e-6,
            6 => 0.006,
            7 => 0.5,
            _ => 0.1 + place * place * 0.005,
        };
    }
    (model, container, rig)
}

/// A skirt whose drivers are late by frames, and walks of which each is cut off elsewhere.
fn late_skirt() -> (Model, Container, Rig) {
    let (mut model, container, mut rig) = rigged("models/mannequin.glb", "rigs/skirt.ron");
    let mut late = 0;
    for driver in &mut rig.drivers {
        if let Driver::Skirt(skirt) = driver {
            skirt.lag = 3;
            late += 1;
        }
    }
    assert!(late > 0, "the rig has drivers");
    let walk = model.clips[0].clone();
    let cut = |index: u16| Clip {
        name: format!("walk {index}"),
        source: usize::MAX,
        duration: walk.duration * (0.31 + 0.17 * f32::from(index)),
        ..walk.clone()
    };
    model.clips = (0..5).map(cut).collect();
    (model, container, rig)
}

/// Ways to bake in which what happens in a frame hangs on the frames before in different ways.
fn ways() -> Vec<BakeOptions> {
    let profile = SwingProfile {
        substeps: SubstepPolicy::Frame,
        order: JointOrder::JointMajor,
        delta: DeltaPolicy::CarriedPairs,
        prewarm: 3,
        ..SwingProfile::default()
    };
    let hashed = |rate_hz: f64, looped: bool, profile: SwingProfile| BakeOptions {
        rate_hz,
        looped,
        most_passes: 4,
        profile,
        hashes: true,
        ..BakeOptions::default()
    };
    vec![
        hashed(60.0, false, SwingProfile::default()),
        hashed(24.0, true, SwingProfile::default()),
        hashed(60.0, true, profile),
        hashed(144.0, false, profile),
    ]
}

fn baked(
    (model, container, rig): &(Model, Container, Rig),
    options: &BakeOptions,
) -> (Vec<u8>, BakeReport) {
    let clips = bake::select_clips(model, options).unwrap();
    let out = Path::new("out.glb");
    let (patched, report) = bake::bake(container, rig, &clips, options, out, &|_| {}).unwrap();
    (patched.main, report)
}

/// All that a report says of a clip, and the bits of every frame.
fn said(clip: &ClipReport) -> String {
    format!("{clip:?}")
}

/// What a bake has to give: `clip`, played `passes` times, by an actor that is alone in a World whose clock goes where its
/// frames end.
fn alone_in_its_world(
    rig: &Rig,
    clip: &Clip,
    options: &BakeOptions,
    passes: u32,
) -> Vec<StateHash> {
    let mut host = Headless::new();
    let entity = host.spawn_rig(rig);
    let looped = options.looped && clip.duration > 0.0;
    let repeat = if looped { Repeat::Loop } else { Repeat::Once };
    let player = ClipPlayer::new(Arc::new(clip.clone()), repeat);
    let actor = host.spawn_actor(
        entity,
        (player, uncapped(&options.profile, options.rate_hz)),
    );
    let end = f64::from(clip.duration);
    let times = (0..).map(|frame| f64::from(frame) / options.rate_hz);
    let mut times: Vec<f64> = times.take_while(|time| *time < end - 1e-6).collect();
    times.push(end);
    let mut hashes = Vec::new();
    for pass in 0..passes {
        hashes.clear();
        for time in &times {
            host.run_to(f64::from(pass) * end + time).unwrap();
            hashes.push(state_hash::of_actor(&host.world, actor));
        }
    }
    hashes
}

#[test]
fn exp_10_many_clips_give_the_same_bytes_on_one_two_and_eight_threads() {
    for (model, ways) in [(thirty_one_lengths(), ways()), (late_skirt(), ways())] {
        for options in ways {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let pool = pool.build().unwrap();
                pool.install(|| baked(&model, &options))
            };
            let (bytes, report) = on(1);
            let all: Vec<String> = report.clips.iter().map(said).collect();
            for threads in [2, 8] {
                let (again, report) = on(threads);
                let found: Vec<String> = report.clips.iter().map(said).collect();
                assert_eq!(found, all, "{threads} threads, {} Hz", options.rate_hz);
                assert!(bytes == again, "{threads} threads give other bytes");
            }
        }
    }
}

#[test]
fn det_03_a_clip_baked_alone_says_what_it_says_among_others() {
    for (model, every) in [(thirty_one_lengths(), 3), (late_skirt(), 1)] {
        for options in ways() {
            let (_, together) = baked(&model, &options);
            for clip in model.0.clips.iter().step_by(every) {
                let options = BakeOptions {
                    clips: vec![clip.name.clone()],
                    ..options.clone()
                };
                let (_, alone) = baked(&model, &options);
                assert_eq!(alone.clips.len(), 1, "{}", clip.name);
                let same = |known: &&ClipReport| known.name == clip.name;
                let known = together.clips.iter().find(same).unwrap();
                assert_eq!(said(&alone.clips[0]), said(known));
            }
        }
    }
}

#[test]
fn det_03_a_bakes_frames_are_those_of_a_world_of_the_clips_own() {
    for (model, _, rig) in [thirty_one_lengths(), late_skirt()] {
        let clips: Vec<Arc<Clip>> = model.clips.iter().cloned().map(Arc::new).collect();
        for options in ways() {
            let found = simulate(&rig, &clips, &options, &|_| {})
                .unwrap()
                .recordings;
            for (clip, found) in clips.iter().zip(found) {
                let passes = found.seam.map_or(1, |seam| seam.passes);
                let expected = alone_in_its_world(&rig, clip, &options, passes);
                assert_eq!(found.hashes, expected, "{}, {} s", clip.name, clip.duration);
            }
        }
    }
}

#[test]
fn more_clips_than_a_task_holds_come_back_in_the_files_order() {
    let (model, _, rig) = rigged("models/Fox.glb", "rigs/fox_tail.ron");
    // Lengths go up and down, and every seventh is that of another.
    let length = |index: usize| 0.05 + (index * 5 % 7) as f32 * 0.013;
    let clips: Vec<Arc<Clip>> = (0..2 * MOST_CLIPS + 9)
        .map(|index| {
            Arc::new(Clip {
                duration: length(index),
                ..model.clips[index % 3].clone()
            })
        })
        .collect();
    let options = BakeOptions::default();
    let frames = std::sync::atomic::AtomicU64::new(0);
    let counted = |more: u64| {
        frames.fetch_add(more, std::sync::atomic::Ordering::Relaxed);
    };
    let together = simulate(&rig, &clips, &options, &counted)
        .unwrap()
        .recordings;
    let kept: usize = together.iter().map(|recording| recording.times.len()).sum();
    assert_eq!(frames.into_inner(), kept as u64);
    assert_eq!(together.len(), clips.len());
    for (clip, found) in clips.iter().zip(&together) {
        let one = core::slice::from_ref(clip);
        let alone = simulate(&rig, one, &options, &|_| {}).unwrap().recordings;
        assert_eq!(&alone[0], found);
    }
}

#[test]
fn the_first_clip_that_is_too_long_is_refused_before_anything_runs() {
    let (model, _, rig) = rigged("models/Fox.glb", "rigs/fox_tail.ron");
    let clips: Vec<Arc<Clip>> = [1.0, 4.5e3, 5e3, 0.5]
        .map(|duration| {
            Arc::new(Clip {
                duration,
                ..model.clips[0].clone()
            })
        })
        .into();
    let options = BakeOptions {
        rate_hz: 1000.0,
        ..BakeOptions::default()
    };
    let refused = simulate(&rig, &clips, &options, &|_| panic!("a frame ran"));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("a clip of 4500.0 s"), "{refused}");
}
