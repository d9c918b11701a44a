//! Lanes: side by side in the lanes of a wide kernel every actor has the bits it has alone. `[R1]`

use std::sync::Arc;

use bevy_math::{Quat, Vec3};
use flounce::account::Unwatched;
use flounce::crowd::{Crowds, Group, RIGID, motion, particle, result};
use flounce::driver::Driver;
use flounce::lane::{Lane, Wide};
use flounce::plan::Plan;
use flounce::pose::{JointTransform, LocalPose, ModelTransform, Rigid};
use flounce::profile::{
    DeltaPolicy, ForcePolicy, InertiaPolicy, JointOrder, LinePush, ParallelEpsilon, RestPose,
    RootPolicy, SubstepPolicy, SwingProfile,
};
use flounce::rig::Rig;
use flounce::substep::{ActorClock, FIXED_STEP, FrameSchedule};
use flounce::swing::ActorProperties;
use flounce::systems::substeps::run_frame;
use flounce::wind::{Wind, WindField};

use crate::support::chains::{BONE, Stage, rest_pose, rod3, turn};
use crate::{FRAMES, input, rich, wind};

/// What one lane is given: its own properties, wind and poses.
struct LaneInput {
    properties: ActorProperties,
    /// Some lanes stand in still air.
    wind: Option<Wind>,
    /// Some are partly animated.
    bake: f32,
    seed: u32,
}

fn lane_inputs(count: usize) -> Vec<LaneInput> {
    (0..count as u32)
        .map(|seed| LaneInput {
            properties: ActorProperties {
                // Some lanes show the swing whole and some in part, some hang in another direction, some are pushed.
                weight: if seed % 3 == 1 { 0.6 } else { 1.0 },
                swing_power: 1.0 + 0.05 * (seed % 4) as f32,
                root_horizontal_weight: 1.0 - 0.2 * (seed % 5) as f32,
                root_vertical_weight: 0.5,
                global_force: Vec3::new(0.01, 0.0, -0.02) * (seed % 6) as f32,
                gravity: turn(Vec3::Z, 40.0 * (seed % 9) as f32) * Vec3::NEG_Y,
            },
            wind: (seed % 4 != 2).then(|| wind(seed)),
            bake: if seed % 5 == 2 { 0.3 } else { 0.0 },
            seed,
        })
        .collect()
}

/// The input of a lane in a frame. One lane is handed a joint that is not finite, one a joint far outside of f32's
/// comfort, one a half-turn in a single frame.
fn lane_pose(rig: &Rig, frame: usize, seed: u32) -> Vec<JointTransform> {
    let mut pose = input(rig, frame, seed);
    match (seed % 8, frame) {
        (1, 20..23) => pose[0].translation.y = f32::NAN,
        (2, 30) => pose[0].translation.x = 1e30,
        (3, 40..) => pose[0].rotation *= turn(Vec3::X, 180.0),
        (4, 50) => pose[2].rotation = Quat::from_xyzw(f32::INFINITY, 0.0, 0.0, 1.0),
        _ => {}
    }
    pose
}

/// How the actor of a lane moved in a frame: some stand still, some walk, some go and stop.
fn lane_motion(frame: usize, seed: u32) -> Option<Rigid<f32>> {
    let walks = match seed % 4 {
        0 => false,
        1 => frame % 20 < 10,
        _ => true,
    };
    let turned = turn(Vec3::new(0.6, 0.8, 0.0), 2.0 + seed as f32);
    walks.then(|| Rigid {
        t: (Vec3::new(0.01, 0.002, -0.004) * seed as f32).into(),
        r: turned.into(),
    })
}

/// Fills one lane of the frame's motion as `measure_motion` does.
fn fill_motion(moved: Option<Rigid<f32>>, group: &mut Group, lane: usize) {
    let lanes = group.lanes;
    group.motion.resize(motion::COMPONENTS * lanes, 0.0);
    group.motion[motion::CARRIES * lanes + lane] = f32::from(u8::from(moved.is_some()));
    let moved = moved.unwrap_or(Rigid::identity());
    scatter(
        moved,
        &mut group.motion[motion::MOVED * lanes..],
        lanes,
        lane,
    );
}

fn move_lanes(inputs: &[LaneInput], frame: usize, walking: bool, group: &mut Group) {
    let moved = |input: &LaneInput| lane_motion(frame, input.seed).filter(|_| walking);
    group.motion.clear();
    if inputs.iter().any(|input| moved(input).is_some()) {
        for (lane, input) in inputs.iter().enumerate() {
            fill_motion(moved(input), group, lane);
        }
    }
}

fn bake_lanes(plan: &Plan, inputs: &[LaneInput], poses: usize, group: &mut Group) {
    group.bake.clear();
    for _ in 0..poses {
        let weights = plan.swings.iter().flat_map(|swing| {
            let of = |input: &LaneInput| input.bake.max(swing.bake_weight);
            inputs.iter().map(of)
        });
        group.bake.extend(weights);
    }
    if group.bake.iter().all(|&weight| weight == 0.0) {
        group.bake.clear();
    }
}

/// Runs the drivers of a pose as the host does.
fn driven(plan: &Plan, mut pose: Vec<JointTransform>) -> Vec<JointTransform> {
    for driver in &plan.drivers {
        match driver {
            Driver::Skirt(skirt) => {
                let rest = |joint: usize| plan.rest[joint].rotation.into();
                let local = pose[skirt.reference].rotation.into();
                let turned = skirt.rotation(rest(skirt.reference), local, rest(skirt.joint));
                pose[skirt.joint].rotation = turned.into();
            }
            Driver::Blend(blend) => pose[blend.joint] = blend.local(&plan.parents, &pose),
            // These actors have no anchors.
            Driver::Leg(_) => {}
        }
    }
    pose
}

/// Fills one lane of pose `index` as propagation does.
fn fill_lane(plan: &Plan, pose: &[JointTransform], index: usize, group: &mut Group, lane: usize) {
    let root = ModelTransform::root(plan.metres_per_unit);
    let mut models: Vec<ModelTransform> = Vec::new();
    for (joint, transform) in pose.iter().enumerate() {
        let parent = plan.parents[joint].map_or(root, |parent| models[parent]);
        let local = parent.scaled(transform);
        let model = ModelTransform {
            rigid: parent.rigid.compose(local),
            scale: parent.scale * transform.scale,
        };
        let offset = group.pose_offset(index, joint, plan.rest.len());
        let lanes = group.lanes;
        for (to, rigid) in [(&mut group.locals, local), (&mut group.models, model.rigid)] {
            scatter(rigid, &mut to[offset..], lanes, lane);
        }
        models.push(model);
    }
}

fn scatter(rigid: Rigid<f32>, to: &mut [f32], lanes: usize, lane: usize) {
    let mut numbers = [0.0; RIGID];
    rigid.store(&mut numbers);
    for (component, number) in numbers.into_iter().enumerate() {
        to[component * lanes + lane] = number;
    }
}

/// The memory of lane `lane` of a group: particles, then results, then links.
fn lane_memory(group: &Group, lane: usize) -> Vec<f32> {
    let all = group.particles.iter().chain(group.results.iter());
    let all = all.chain(&group.links);
    all.skip(lane).step_by(group.lanes).copied().collect()
}

/// Runs the inputs side by side in lanes of `L` through the public kernel; per frame the memory of every lane.
fn run_lanes<L: Lane>(
    rig: &Rig,
    profile: &SwingProfile,
    inputs: &[LaneInput],
    seconds: f64,
    walking: bool,
) -> Vec<Vec<Vec<f32>>> {
    assert_eq!(inputs.len(), L::LANES);
    let plan = Plan::compile(rig);
    let mut group = Group::new(&plan, L::LANES);
    for (lane, input) in inputs.iter().enumerate() {
        group.set_properties(lane..lane + 1, &input.properties);
    }
    // As in a host, what nobody needs is not there.
    if inputs.iter().any(|input| input.wind.is_some()) {
        let field = |wind: &Wind| Arc::new(WindField::new(wind));
        let fields = inputs.iter().map(|i| i.wind.as_ref().map(field));
        group.winds = fields.collect();
    }
    let (mut clock, mut schedule) = (ActorClock::default(), FrameSchedule::default());
    let mut last: Vec<Vec<JointTransform>> = Vec::new();
    let mut memory = Vec::new();
    for frame in 0..FRAMES {
        clock.schedule(frame as f64 * seconds, profile, &mut schedule);
        let now: Vec<_> = inputs
            .iter()
            .map(|i| lane_pose(rig, frame, i.seed))
            .collect();
        if last.is_empty() {
            last.clone_from(&now);
        }
        group.reserve_poses(schedule.poses.len(), plan.rest.len());
        move_lanes(inputs, frame, walking && !schedule.reset, &mut group);
        bake_lanes(&plan, inputs, schedule.poses.len(), &mut group);
        for (index, point) in schedule.poses.iter().enumerate() {
            for lane in 0..L::LANES {
                let pairs = last[lane].iter().zip(&now[lane]);
                let pose: Vec<_> = pairs
                    .map(|(from, to)| {
                        if point.input >= 1.0 {
                            *to
                        } else {
                            from.blend(to, point.input)
                        }
                    })
                    .collect();
                let pose = driven(&plan, pose);
                fill_lane(&plan, &pose, index, &mut group, lane);
            }
        }
        run_frame::<L, _>(&plan, profile, &schedule, &mut group, &mut Unwatched);
        last = now;
        memory.push(
            (0..L::LANES)
                .map(|lane| lane_memory(&group, lane))
                .collect(),
        );
    }
    memory
}

/// Every lane against the same actor alone in a scalar group; NaN equals NaN, whatever its payload.
fn assert_lanes<L: Lane>(rig: &Rig, profile: &SwingProfile, seconds: f64, what: &str) {
    let inputs = lane_inputs(L::LANES);
    let wide = run_lanes::<L>(rig, profile, &inputs, seconds, true);
    for (lane, input) in inputs.into_iter().enumerate() {
        let seed = input.seed;
        let alone = run_lanes::<f32>(rig, profile, &[input], seconds, true);
        for (frame, (wide, alone)) in wide.iter().zip(&alone).enumerate() {
            for (place, (a, b)) in wide[lane].iter().zip(&alone[0]).enumerate() {
                assert!(
                    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                    "{what}: lane {lane} (seed {seed}), frame {frame}, number {place}: {a:e} is not {b:e}; \
                     difference {:e}; {} numbers per particle, then {} per result",
                    a - b,
                    particle::COMPONENTS,
                    result::COMPONENTS
                );
            }
        }
    }
}

fn lane_profiles() -> Vec<(SwingProfile, f64)> {
    let fixed = SwingProfile::default();
    let frame = SwingProfile {
        substeps: SubstepPolicy::Frame,
        parallel_epsilon: ParallelEpsilon::Relative,
        ..fixed
    };
    let current = SwingProfile {
        delta: DeltaPolicy::Current,
        prewarm: 3,
        ..fixed
    };
    let source = SwingProfile {
        order: JointOrder::JointMajor,
        rest_pose: RestPose::Bind,
        ..frame
    };
    let free = SwingProfile {
        inertia: InertiaPolicy::Free,
        rest_pose: RestPose::Bind,
        root: RootPolicy::FrameDelta,
        line_push: LinePush::Lever,
        world_inertia: 0.4,
        ..fixed
    };
    let velocity = SwingProfile {
        force: ForcePolicy::VelocityAdd,
        velocity_damping: 0.2,
        delta: DeltaPolicy::CarriedPairs,
        ..fixed
    };
    let replaced = SwingProfile {
        force: ForcePolicy::VelocityReplace,
        velocity_damping: 0.3,
        root: RootPolicy::Off,
        ..frame
    };
    vec![
        (fixed, FIXED_STEP),
        (frame, 1.0 / 30.0),
        (current, 1.0 / 45.0),
        (source, 1.0 / 30.0),
        (free, 1.0 / 45.0),
        (velocity, FIXED_STEP),
        (replaced, 1.0 / 24.0),
    ]
}

/// `[R1]`
#[test]
fn r1_every_lane_has_the_bits_of_the_actor_alone() {
    for (name, rig) in [("rich", rich()), ("rod3", rod3())] {
        for (profile, seconds) in lane_profiles() {
            let what = format!("{name}, {:?} of {seconds} s", profile.substeps);
            assert_lanes::<Wide<4>>(&rig, &profile, seconds, &what);
            assert_lanes::<Wide<8>>(&rig, &profile, seconds, &what);
        }
    }
}

/// The scalar kernel fed by hand is the one behind the host, so the test above speaks about actors.
#[test]
fn r1_the_kernel_fed_by_hand_has_the_bits_of_the_host() {
    let rig = rich();
    let input_of = |seed| lane_inputs(32).swap_remove(seed);
    // Lanes whose input is finite; the host replaces the others before propagation.
    for seed in [0_usize, 3, 5, 7, 14] {
        let profile = SwingProfile::default();
        let inputs = [input_of(seed)];
        let inputs = inputs.map(|input| LaneInput { bake: 0.0, ..input });
        let by_hand = run_lanes::<f32>(&rig, &profile, &inputs, FIXED_STEP, false);
        let mut stage = Stage::with(&rig, profile, inputs[0].properties, ());
        if let Some(wind) = &inputs[0].wind {
            stage
                .host
                .world
                .entity_mut(stage.actor)
                .insert(wind.clone());
        }
        for (frame, by_hand) in by_hand.iter().enumerate() {
            stage.pose().0 = lane_pose(&rig, frame, seed as u32);
            stage.host.run_to(frame as f64 * FIXED_STEP).unwrap();
            let crowd = &stage.host.world.resource::<Crowds>().0[0];
            let squad = crowd.squads.iter().find(|squad| !squad.is_empty()).unwrap();
            let found = lane_memory(&squad.take(&crowd.plan, 0), 0);
            let same = found
                .iter()
                .zip(&by_hand[0])
                .all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(
                same,
                "seed {seed}, frame {frame}: {found:?}\n{:?}",
                by_hand[0]
            );
        }
    }
}

#[test]
fn local_translations_and_scales_are_those_of_the_input() {
    let rig = rod3();
    let mut stage = Stage::new(&rig);
    stage.substeps(30);
    let local = &stage.host.world.get::<LocalPose>(stage.actor).unwrap().0;
    for (i, (shown, rest)) in local.iter().zip(rest_pose(&rig)).enumerate() {
        assert_eq!(shown.translation, rest.translation, "joint {i}");
        assert_eq!(shown.scale, rest.scale, "joint {i}");
    }
    assert!((local[2].translation.x - BONE).abs() < 1e-9);
}
