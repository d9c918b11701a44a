//! The engine's substep kernel alone, fed with propagated poses as the port is with the hips' pose.

use core::marker::PhantomData;

use flounce::account::Unwatched;
use flounce::crowd::{Group, RIGID, particle, result};
use flounce::lane::Lane;
use flounce::plan::Plan;
use flounce::pose::{JointTransform, ModelTransform, Rigid};
use flounce::profile::SwingProfile;
use flounce::substep::{FIXED_STEP, FrameSchedule, PosePoint, Substep, step_factor};
use flounce::swing::ActorProperties;
use flounce::systems::substeps::run_frame;

use super::workload::{self, CHAINS, JOINTS, PERIOD, PHASE, joint_of};

/// Joints whose model transform a substep reads: the hips and the first of each chain.
const READ: usize = 1 + CHAINS;

/// Characters in groups of `L::LANES`.
pub struct Kernel<L> {
    plan: Plan,
    profile: SwingProfile,
    schedule: FrameSchedule,
    groups: Vec<Group>,
    /// `[step][joint read][t x y z, r x y z w][lane]`, for the first group; the next ones are later in it.
    poses: Vec<f32>,
    lanes: PhantomData<L>,
}

impl<L: Lane> Kernel<L> {
    /// `characters`, rounded up to whole groups, at rest in their first poses.
    pub fn new(plan: Plan, characters: usize) -> Self {
        let mut kernel = Self {
            poses: poses(&plan, L::LANES),
            groups: Vec::new(),
            plan,
            profile: SwingProfile::default(),
            schedule: FrameSchedule {
                reset: true,
                poses: vec![PosePoint {
                    time: 0.0,
                    input: 1.0,
                }],
                ..FrameSchedule::default()
            },
            lanes: PhantomData,
        };
        for group in 0..characters.div_ceil(L::LANES) {
            kernel.groups.push(resting_group(&kernel.plan, L::LANES));
            kernel.run(group, 0);
        }
        kernel.schedule.reset = false;
        kernel.schedule.substeps.push(Substep {
            pose: 0,
            step: step_factor(FIXED_STEP as f32),
            from_rest: true,
            prewarm: false,
            time: 0.0,
        });
        kernel
    }

    /// How many characters move.
    pub fn characters(&self) -> usize {
        self.groups.len() * L::LANES
    }

    /// One substep of all characters in the pose of `step`.
    pub fn step(&mut self, step: usize) {
        for group in 0..self.groups.len() {
            self.run(group, step);
        }
    }

    fn run(&mut self, group: usize, step: usize) {
        let size = READ * RIGID * L::LANES;
        let pose = (step + group * L::LANES * PHASE) % PERIOD;
        let pose = &self.poses[pose * size..][..size];
        let to = &mut self.groups[group];
        let joint_size = RIGID * L::LANES;
        for (read, from) in pose.chunks_exact(joint_size).enumerate() {
            let at = to.pose_offset(0, read_joint(read), self.plan.rest.len());
            to.models[at..at + joint_size].copy_from_slice(from);
        }
        run_frame::<L, _>(
            &self.plan,
            &self.profile,
            &self.schedule,
            to,
            &mut Unwatched,
        );
    }

    /// Positions of all particles of a character, in the order of the rig's swing joints.
    pub fn positions(&self, character: usize) -> Vec<[f32; 3]> {
        let (group, lane) = (&self.groups[character / L::LANES], character % L::LANES);
        let places = self.plan.place_of_swing.iter().map(|place| place.unwrap());
        let at = |place: usize, axis: usize| {
            let component = place * result::COMPONENTS + result::POSITION + axis;
            group.results[component * L::LANES + lane]
        };
        places
            .map(|place| core::array::from_fn(|axis| at(place, axis)))
            .collect()
    }

    /// A hash of every bit of the characters' state and results: equal when nothing changed. FNV-1a over words.
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for group in &self.groups {
            for value in group.particles.iter().chain(&group.results) {
                hash = (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }

    /// Hits per joint in the last substep.
    pub fn hits(&self) -> f32 {
        let hits_of = |group: &Group| -> f32 {
            let places = 0..JOINTS;
            let at = |place| (place * particle::COMPONENTS + particle::HITS) * L::LANES;
            places
                .map(|place| group.particles[at(place)..][..L::LANES].iter().sum::<f32>())
                .sum()
        };
        let sum: f32 = self.groups.iter().map(hits_of).sum();
        sum / (self.characters() * JOINTS) as f32
    }
}

fn read_joint(read: usize) -> usize {
    read.checked_sub(1).map_or(0, |chain| joint_of(chain, 0))
}

/// Memory of a group whose joints are at rest against their parents.
fn resting_group(plan: &Plan, lanes: usize) -> Group {
    let mut group = Group::new(plan, lanes);
    group.reserve_poses(1, plan.rest.len());
    for lane in 0..lanes {
        group.set_properties(lane, &ActorProperties::default());
        for (joint, rest) in plan.rest.iter().enumerate() {
            let at = group.pose_offset(0, joint, plan.rest.len());
            let local = ModelTransform::root(1.0).scaled(rest);
            scatter(local, &mut group.locals[at..], lanes, lane);
        }
    }
    group
}

/// Model transforms of the joints read, for every step of the period.
fn poses(plan: &Plan, lanes: usize) -> Vec<f32> {
    let size = RIGID * lanes;
    let mut poses = vec![0.0; PERIOD * READ * size];
    for step in 0..PERIOD {
        for lane in 0..lanes {
            let hips = workload::hips(step + lane * PHASE);
            let hips = ModelTransform::root(1.0).child(&hips);
            for read in 0..READ {
                let joint: &JointTransform = &plan.rest[read_joint(read)];
                let model = if read == 0 { hips } else { hips.child(joint) };
                let at = (step * READ + read) * size;
                scatter(model.rigid, &mut poses[at..], lanes, lane);
            }
        }
    }
    poses
}

fn scatter(transform: Rigid<f32>, to: &mut [f32], lanes: usize, lane: usize) {
    let mut components = [0.0; RIGID];
    transform.store(&mut components);
    for (component, value) in components.into_iter().enumerate() {
        to[component * lanes + lane] = value;
    }
}
