//! Costs of single pieces, by criterion: what to look at when a figure of another bench moved.
//!
//! `cargo bench --bench kernels` runs all of them in under a minute; a word after `--` picks those whose name has it in:
//! `cargo bench --bench kernels -- contacts`. Times are CPU time of this thread. Names end in the lanes; the time is that
//! of all lanes, `thrpt` counts single ones.
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

#[path = "support/clip_keys.rs"]
mod clip_keys;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "support/workload.rs"]
mod workload;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;
use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, Criterion, Throughput};
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::contact::{self, Axis, Segment};
use flounce::euler;
use flounce::lane::{Lane, Vec3x, Wide};
use flounce::limit::LimitPlan;
use flounce::pose::{AnimatedPose, JointTransform, ModelTransform, compose_model_into};
use flounce::profile::ParallelEpsilon;
use flounce::rotation::{self, Rotation};
use flounce::swing::Limit;
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;
use flounce::uniform::{ErrorBound, PoseRows, RATES_HZ, UniformClip};

/// Criterion's measurement on the CPU time of this thread: what other programs do to the machine then matters less.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }
    fn end(&self, start: ThreadTime) -> Duration {
        start.elapsed()
    }
    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

type Group<'a> = BenchmarkGroup<'a, CpuTime>;

/// Times `piece` on an input per lane.
fn run<L: Lane, T, O>(group: &mut Group, name: &str, input: T, piece: impl Fn(&T) -> O) {
    group.throughput(Throughput::Elements(L::LANES as u64));
    group.bench_function(format!("{name}, {}", L::LANES), |bencher| {
        bencher.iter(|| piece(black_box(&input)));
    });
}

/// The same number in every lane but for a thousandth per lane.
fn spread<L: Lane>(value: f32) -> L {
    let values: Vec<f32> = (0..L::LANES).map(|i| value + i as f32 * 1e-3).collect();
    L::load(&values)
}

fn vector<L: Lane>(v: [f32; 3]) -> Vec3x<L> {
    Vec3x::new(spread(v[0]), spread(v[1]), spread(v[2]))
}

/// A rotation that turns by the angles, radians.
fn turned<L: Lane>(angles: [f32; 3]) -> Rotation<L> {
    let lanes: Vec<[f32; 4]> = (0..L::LANES)
        .map(|i| euler::from_euler_zxy(angles.map(|angle| angle + i as f32 * 1e-3)).lane(0))
        .collect();
    let component = |c: usize| L::load(&lanes.iter().map(|lane| lane[c]).collect::<Vec<f32>>());
    Rotation::new(component(0), component(1), component(2), component(3))
}

fn contacts<L: Lane>(group: &mut Group) {
    let segment = |a, b| Segment {
        a: vector::<L>(a),
        b: vector(b),
        radius_a: L::splat(0.06),
        radius_b: L::splat(0.04),
    };
    let capsule = segment([0.0, 0.0, 0.0], [0.0, -0.4, 0.0]);
    for (case, x) in [("touching", 0.05), ("apart", 0.2)] {
        let name = format!("sphere capsule {case}");
        let input = (vector::<L>([x, -0.2, 0.0]), L::splat(0.02), capsule);
        run::<L, _, _>(group, &name, input, |(centre, radius, capsule)| {
            let axis = Axis::between([capsule.a, capsule.b]);
            contact::sphere_axis(*centre, *radius, &[0.06, 0.04], &axis)
        });
        let name = format!("line capsule {case}");
        let input = (segment([x, -0.2, -0.05], [x, -0.2, 0.05]), capsule);
        run::<L, _, _>(group, &name, input, |(line, capsule)| {
            contact::segment_segment(line, capsule, ParallelEpsilon::Relative)
        });
    }
}

fn limits<L: Lane>(group: &mut Group) {
    let limit = Limit {
        low: Vec3::new(-20.0, -30.0, -40.0),
        high: Vec3::new(20.0, 30.0, 25.0),
    };
    let plan = LimitPlan::new(&limit, None, [1.0; 3]);
    for (name, angles) in [("inside", [0.1, -0.2, 0.2]), ("beyond", [0.5, 0.2, 0.6])] {
        let input = (plan, turned::<L>(angles));
        run::<L, _, _>(group, name, input, |(plan, deviation)| {
            plan.apply(*deviation, &plan.circle.splat(), None)
        });
    }
}

fn rotations<L: Lane>(group: &mut Group) {
    let axes = (
        vector::<L>([0.0, -1.0, 0.0]),
        turned::<L>([0.3, 0.2, 0.1]).rotate(vector([0.0, -1.0, 0.0])),
    );
    run::<L, _, _>(group, "from_to", axes, |(a, b)| rotation::from_to(*a, *b));
    for (name, angles) in [("slerp near", [0.01; 3]), ("slerp far", [0.5, 0.2, 0.6])] {
        let input = (turned::<L>([0.0; 3]), turned::<L>(angles), L::splat(0.3));
        run::<L, _, _>(group, name, input, |(a, b, t)| rotation::slerp(*a, *b, *t));
    }
}

/// The rotations of workload C's clip; splines have tangents of zero.
fn clip(interpolation: Interpolation) -> Clip {
    let times: Arc<[f32]> = (0..clip_keys::KEYS).map(clip_keys::time).collect();
    let values_of = |joint| {
        let key = |key| clip_keys::rotation(joint, key, 1.0);
        let stored = |at: usize| match interpolation.is_tangent(at) {
            true => [0.0; 4],
            false => key(at / interpolation.per_key()),
        };
        let count = clip_keys::KEYS * interpolation.per_key();
        (0..count).map(stored).collect()
    };
    let track = |joint| Track {
        joint,
        source: joint,
        interpolation,
        times: times.clone(),
        values: TrackValues::Rotation(values_of(joint)),
    };
    Clip {
        name: "c".to_owned(),
        source: 0,
        tracks: (0..clip_keys::JOINTS).map(track).collect(),
        duration: clip_keys::DURATION,
    }
}

fn sampling(group: &mut Group) {
    let joints = clip_keys::JOINTS;
    group.throughput(Throughput::Elements(joints as u64));
    let mut pose = vec![JointTransform::IDENTITY; joints];
    for (name, interpolation) in [
        ("linear keys", Interpolation::Linear),
        ("spline keys", Interpolation::CubicSpline),
    ] {
        let clip = clip(interpolation);
        let mut frame = 0;
        group.bench_function(format!("{name}, {joints}"), |bencher| {
            bencher.iter(|| {
                frame += 1;
                let time = clip_keys::play(frame, 0);
                for track in &clip.tracks {
                    track.sample(time, &mut pose[track.joint]);
                }
                black_box(&mut pose);
            });
        });
    }
    let clip = clip(Interpolation::Linear);
    let rows = UniformClip::resample(&clip, joints, &ErrorBound::default(), &RATES_HZ).unwrap();
    let (mut to, mut frame) = (PoseRows::default(), 0);
    group.bench_function(format!("uniform rows, {joints}"), |bencher| {
        bencher.iter(|| {
            frame += 1;
            rows.sample_into(clip_keys::play(frame, 0), &mut to);
            black_box(&mut to);
        });
    });
}

fn propagation(group: &mut Group) {
    let rig = workload::rig(0);
    let parents: Vec<Option<usize>> = rig.joints.iter().map(|joint| joint.parent).collect();
    let locals: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
    let mut model = Vec::new();
    group.throughput(Throughput::Elements(parents.len() as u64));
    group.bench_function(format!("model pose, {}", parents.len()), |bencher| {
        bencher.iter(|| {
            let root = ModelTransform::root(1.0);
            compose_model_into(&parents, black_box(&locals), root, &mut model).unwrap();
            black_box(&mut model);
        });
    });
}

/// Frames of one substep each. The difference to nobody is what an actor costs.
fn substeps(group: &mut Group) {
    for (name, actors) in [("nobody, 0", 0), ("small actor, 6", 1)] {
        let rig = workload::rig_of(1, 2);
        let rest: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
        let mut host = Headless::new();
        host.world.insert_resource(Workers::One);
        let rig = host.spawn_rig(&rig);
        let swaying: Vec<Entity> = (0..actors)
            .map(|_| host.spawn_actor(rig, AnimatedPose(rest.clone())))
            .collect();
        host.run_to(0.0).unwrap();
        let mut frame = 0_usize;
        group.throughput(Throughput::Elements(workload::LINKS as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                frame += 1;
                for &actor in &swaying {
                    let mut pose = host.world.get_mut::<AnimatedPose>(actor).unwrap();
                    pose.0[0] = workload::hips(frame);
                }
                host.run_to(frame as f64 / 60.0).unwrap();
            });
        });
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    let mut group = |name: &str, pieces: &[fn(&mut Group)]| {
        let mut group = criterion.benchmark_group(name);
        pieces.iter().for_each(|piece| piece(&mut group));
        group.finish();
    };
    group("contacts", &[contacts::<f32>, contacts::<Wide<8>>]);
    group("limits", &[limits::<f32>, limits::<Wide<8>>]);
    group("rotations", &[rotations::<f32>, rotations::<Wide<8>>]);
    group("sampling", &[sampling]);
    group("propagation", &[propagation]);
    group("substeps", &[substeps]);
    criterion.final_summary();
}
