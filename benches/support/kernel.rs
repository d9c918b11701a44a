//! The engine's substep kernel alone, fed with propagated poses as the port is with the hips' pose.

use std::sync::Arc;

use flounce::account::Unwatched;
use flounce::crowd::{Group, RIGID, particle, result};
use flounce::instruction_set::InstructionSet;
use flounce::lane::Lane;
use flounce::plan::Plan;
use flounce::plan::chains::ChainRows;
use flounce::pose::{JointTransform, ModelTransform, Rigid};
use flounce::profile::SwingProfile;
use flounce::substep::{FIXED_STEP, FrameSchedule, PosePoint, Substep, step_factor};
use flounce::swing::ActorProperties;
use flounce::systems::substeps::{run_frame, run_group, run_rows};

use super::workload::{self, CHAINS, JOINTS, PERIOD, PHASE, joint_of};

/// Joints whose model transform a substep reads: the hips and the first of each chain.
const READ: usize = 1 + CHAINS;

type Run = fn(&Plan, &SwingProfile, &FrameSchedule, &mut Group);

/// Characters in groups, or one whose chains lie in the lanes.
pub struct Kernel {
    plan: Arc<Plan>,
    rows: Option<ChainRows>,
    run: Run,
    profile: SwingProfile,
    schedule: FrameSchedule,
    /// With the index of the first character.
    groups: Vec<(usize, Group)>,
    /// Per width of a group, `[step][joint read][t x y z, r x y z w][lane]` of the first characters; later ones are later
    /// in it.
    poses: Vec<(usize, Vec<f32>)>,
}

impl Kernel {
    /// `characters`, rounded up to whole groups of `lanes`, on the registers that have as many; 1 is the scalar lane.
    pub fn new(plan: Plan, characters: usize, lanes: usize) -> Self {
        let widths = vec![lanes; characters.div_ceil(lanes)];
        Self::running(plan, &widths, run_group)
    }

    /// `characters` as a crowd seats them: in the widest groups, the last ones in a narrower group where that is enough;
    /// one with its chains side by side.
    pub fn crowd(plan: Plan, characters: usize) -> Self {
        let known = InstructionSet::default().widths();
        let Some(&widest) = known.last() else {
            return Self::new(plan, characters, 1);
        };
        if characters == 1 {
            return Self::chains(plan, widest);
        }
        let mut widths = vec![widest; characters / widest];
        let rest = characters % widest;
        widths.extend(known.iter().find(|&&width| rest > 0 && width >= rest));
        Self::running(plan, &widths, run_group)
    }

    /// As [`Self::new`], on a lane type of the caller's.
    #[allow(
        dead_code,
        reason = "the springs bench takes the lanes of the processor"
    )]
    pub fn of<L: Lane>(plan: Plan, characters: usize) -> Self {
        let run: Run = |plan, profile, schedule, group| {
            run_frame::<L, _>(plan, profile, schedule, group, &mut Unwatched);
        };
        Self::running(plan, &vec![L::LANES; characters.div_ceil(L::LANES)], run)
    }

    fn running(plan: Plan, widths: &[usize], run: Run) -> Self {
        let mut first = 0;
        let groups = widths.iter().map(|&lanes| {
            let group = (first, resting_group(&plan, lanes));
            first += lanes;
            group
        });
        let groups = groups.collect();
        let mut known = widths.to_vec();
        known.sort_unstable();
        known.dedup();
        let poses = known.into_iter().map(|lanes| (lanes, poses(&plan, lanes)));
        let poses = poses.collect();
        Self::start(Arc::new(plan), None, run, groups, poses)
    }

    /// One character, its chains in `lanes` lanes.
    pub fn chains(plan: Plan, lanes: usize) -> Self {
        let plan = Arc::new(plan);
        let rows = ChainRows::new(&plan, lanes).unwrap();
        let single = resting_group(&plan, 1);
        let mut group = resting_group(&rows.plan, lanes);
        for (row, pose) in rows.poses.iter().enumerate() {
            let at = group.pose_offset(0, row, rows.poses.len());
            for (lane, &joint) in pose.joints.iter().enumerate() {
                let from = &single.locals[joint * RIGID..][..RIGID];
                spread(from, &mut group.locals[at..], lanes, lane);
            }
        }
        let poses = vec![(1, poses(&plan, 1))];
        Self::start(plan, Some(rows), run_group, vec![(0, group)], poses)
    }

    fn start(
        plan: Arc<Plan>,
        rows: Option<ChainRows>,
        run: Run,
        groups: Vec<(usize, Group)>,
        poses: Vec<(usize, Vec<f32>)>,
    ) -> Self {
        let mut kernel = Self {
            plan,
            rows,
            run,
            profile: SwingProfile::default(),
            schedule: FrameSchedule {
                reset: true,
                poses: vec![PosePoint {
                    time: 0.0,
                    input: 1.0,
                }],
                ..FrameSchedule::default()
            },
            groups,
            poses,
        };
        kernel.step(0);
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
        if self.rows.is_some() {
            1
        } else {
            self.groups.iter().map(|(_, group)| group.lanes).sum()
        }
    }

    /// One substep of all characters in the pose of `step`.
    pub fn step(&mut self, step: usize) {
        for group in 0..self.groups.len() {
            match &self.rows {
                None => self.run_actors(group, step),
                Some(_) => self.run_chains(step),
            }
        }
    }

    fn run_actors(&mut self, group: usize, step: usize) {
        let (first, to) = &mut self.groups[group];
        let known = self.poses.iter().find(|(lanes, _)| *lanes == to.lanes);
        let (lanes, poses) = known.unwrap();
        let size = READ * RIGID * lanes;
        let pose = (step + *first * PHASE) % PERIOD;
        let pose = &poses[pose * size..][..size];
        let joint_size = RIGID * lanes;
        for (read, from) in pose.chunks_exact(joint_size).enumerate() {
            let at = to.pose_offset(0, read_joint(read), self.plan.rest.len());
            to.models[at..at + joint_size].copy_from_slice(from);
        }
        (self.run)(&self.plan, &self.profile, &self.schedule, to);
    }

    fn run_chains(&mut self, step: usize) {
        let Some(rows) = &self.rows else { return };
        let size = READ * RIGID;
        let pose = &self.poses[0].1[(step % PERIOD) * size..][..size];
        let (_, group) = &mut self.groups[0];
        let lanes = group.lanes;
        let laid = rows.poses.iter().enumerate();
        for (row, laid) in laid.filter(|(_, row)| row.is_model) {
            let at = group.pose_offset(0, row, rows.poses.len());
            for (lane, &joint) in laid.joints.iter().enumerate() {
                let read = (0..READ).find(|&read| read_joint(read) == joint).unwrap();
                let from = &pose[read * RIGID..][..RIGID];
                spread(from, &mut group.models[at..], lanes, lane);
            }
        }
        run_rows(rows, &self.profile, &self.schedule, group);
    }

    /// Positions of all particles of a character, in the order of the rig's swing joints.
    pub fn positions(&self, character: usize) -> Vec<[f32; 3]> {
        let holds = |(first, group): &&(usize, Group)| {
            self.rows.is_some() || (*first..first + group.lanes).contains(&character)
        };
        let (first, group) = self.groups.iter().find(holds).unwrap();
        let places = self.plan.place_of_swing.iter().map(|place| place.unwrap());
        let at = |place: usize, axis: usize| {
            let (row, lane) = match &self.rows {
                None => (place, character - first),
                Some(rows) => rows.at[place],
            };
            let component = row * result::COMPONENTS + result::POSITION + axis;
            group.results[component * group.lanes + lane]
        };
        places
            .map(|place| core::array::from_fn(|axis| at(place, axis)))
            .collect()
    }

    /// A hash of every bit of the characters' state and results: equal when nothing changed. FNV-1a over words.
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (_, group) in &self.groups {
            for value in group.particles.iter().chain(group.results.iter()) {
                hash = (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }

    /// Hits per joint in the last substep.
    pub fn hits(&self) -> f32 {
        let hits_of = |(_, group): &(usize, Group)| -> f32 {
            let at = |place| (place * particle::COMPONENTS + particle::HITS) * group.lanes;
            let hits = |place| {
                group.particles[at(place)..][..group.lanes]
                    .iter()
                    .sum::<f32>()
            };
            (0..JOINTS).map(hits).sum()
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
    group.set_properties(0..lanes, &ActorProperties::default());
    for lane in 0..lanes {
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
    spread(&components, to, lanes, lane);
}

/// Writes numbers into one of `lanes` lanes.
fn spread(from: &[f32], to: &mut [f32], lanes: usize, lane: usize) {
    for (component, &value) in from.iter().enumerate() {
        to[component * lanes + lane] = value;
    }
}
