//! The engine's substep kernel alone, fed with propagated poses as the port is with the hips' pose.

use std::cmp::Reverse;
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use flounce::account::Unwatched;
use flounce::crowd::{Crowds, Form, Group, RIGID, particle, result};
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

/// Characters in groups, and some whose chains lie side by side.
pub struct Kernel {
    plan: Arc<Plan>,
    run: Run,
    profile: SwingProfile,
    schedule: FrameSchedule,
    seats: Vec<Seated>,
    /// Per number of characters in a seat, `[step][joint read][t x y z, r x y z w][lane]` of the first characters; later
    /// ones are later in it.
    poses: Vec<(usize, Vec<f32>)>,
}

/// Characters that move together.
struct Seated {
    /// Index of the first of them.
    first: usize,
    group: Group,
    /// If it is one, whose chains lie in the lanes.
    chains: Option<Chains>,
}

struct Chains {
    rows: Arc<ChainRows>,
    /// Where the numbers of its model transforms go: from, in those of a step, and to, in the group's.
    moves: Vec<(usize, usize)>,
}

impl Seated {
    fn characters(&self) -> usize {
        if self.chains.is_some() {
            1
        } else {
            self.group.lanes
        }
    }
}

impl Kernel {
    /// `characters`, rounded up to whole groups of `lanes`, on the registers that have as many; 1 is the scalar lane.
    pub fn new(plan: Plan, characters: usize, lanes: usize) -> Self {
        let widths = vec![lanes; characters.div_ceil(lanes)];
        Self::running(plan, &widths, run_group)
    }

    /// `characters` as the engine's crowd seats them.
    pub fn crowd(plan: Plan, characters: usize) -> Self {
        let plan = Arc::new(plan);
        let mut crowds = Crowds::default();
        let crowd = crowds.of_plan(&plan);
        let crowd = &mut crowds.0[crowd];
        for index in 0..characters as u32 {
            crowd.seat(Entity::from_raw_u32(index).unwrap(), None);
        }
        crowd.settle(InstructionSet::default(), |_, _, _| ());
        let mut kernel = Self::empty(plan, run_group);
        let mut squads: Vec<_> = crowd
            .squads
            .iter()
            .filter(|squad| !squad.is_empty())
            .collect();
        squads.sort_by_key(|squad| Reverse(squad.slots.len()));
        for squad in squads {
            match &squad.form {
                Form::Chains(rows) => kernel.add_chains(Arc::clone(rows)),
                Form::Alone | Form::Actors => kernel.add_group(squad.slots.len()),
            }
        }
        kernel.start()
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
        let mut kernel = Self::empty(Arc::new(plan), run);
        widths.iter().for_each(|&lanes| kernel.add_group(lanes));
        kernel.start()
    }

    /// One character, its chains in `lanes` lanes.
    pub fn chains(plan: Plan, lanes: usize) -> Self {
        let mut kernel = Self::empty(Arc::new(plan), run_group);
        let rows = ChainRows::new(&kernel.plan, lanes).unwrap();
        kernel.add_chains(Arc::new(rows));
        kernel.start()
    }

    fn empty(plan: Arc<Plan>, run: Run) -> Self {
        Self {
            plan,
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
            seats: Vec::new(),
            poses: Vec::new(),
        }
    }

    /// Adds as many characters as a group has lanes.
    fn add_group(&mut self, lanes: usize) {
        let group = resting_group(&self.plan, lanes);
        self.add(group, None);
    }

    /// Adds a character whose chains lie side by side.
    fn add_chains(&mut self, rows: Arc<ChainRows>) {
        let single = resting_group(&self.plan, 1);
        let mut group = resting_group(&rows.plan, rows.lanes);
        let mut moves = Vec::new();
        for (row, pose) in rows.poses.iter().enumerate() {
            let at = group.pose_offset(0, row, rows.poses.len());
            for (lane, &joint) in pose.joints.iter().enumerate() {
                let from = &single.locals[joint * RIGID..][..RIGID];
                spread(from, &mut group.locals[at..], rows.lanes, lane);
                let read = (0..READ).find(|&read| pose.is_model && read_joint(read) == joint);
                moves.extend(read.map(|read| (read * RIGID, at + lane)));
            }
        }
        self.add(group, Some(Chains { rows, moves }));
    }

    fn add(&mut self, group: Group, chains: Option<Chains>) {
        let seat = Seated {
            first: self.characters(),
            group,
            chains,
        };
        let lanes = seat.characters();
        if !self.poses.iter().any(|(known, _)| *known == lanes) {
            self.poses.push((lanes, poses(&self.plan, lanes)));
        }
        self.seats.push(seat);
    }

    fn start(mut self) -> Self {
        self.step(0);
        self.schedule.reset = false;
        self.schedule.substeps.push(Substep {
            pose: 0,
            step: step_factor(FIXED_STEP as f32),
            from_rest: true,
            prewarm: false,
            time: 0.0,
        });
        self
    }

    /// How many characters move.
    pub fn characters(&self) -> usize {
        self.seats
            .last()
            .map_or(0, |seat| seat.first + seat.characters())
    }

    /// One substep of all characters in the pose of `step`.
    pub fn step(&mut self, step: usize) {
        let (profile, schedule) = (&self.profile, &self.schedule);
        for seat in &mut self.seats {
            let lanes = seat.characters();
            let known = self.poses.iter().find(|(known, _)| *known == lanes);
            let size = READ * RIGID * lanes;
            let pose = (step + seat.first * PHASE) % PERIOD;
            let pose = &known.unwrap().1[pose * size..][..size];
            match &seat.chains {
                None => {
                    for (read, from) in pose.chunks_exact(RIGID * lanes).enumerate() {
                        let joints = self.plan.rest.len();
                        let at = seat.group.pose_offset(0, read_joint(read), joints);
                        seat.group.models[at..at + from.len()].copy_from_slice(from);
                    }
                    (self.run)(&self.plan, profile, schedule, &mut seat.group);
                }
                Some(Chains { rows, moves }) => {
                    let width = rows.lanes;
                    for &(from, to) in moves {
                        spread(
                            &pose[from..][..RIGID],
                            &mut seat.group.models[to..],
                            width,
                            0,
                        );
                    }
                    run_rows(rows, profile, schedule, &mut seat.group);
                }
            }
        }
    }

    /// Positions of all particles of a character, in the order of the rig's swing joints.
    pub fn positions(&self, character: usize) -> Vec<[f32; 3]> {
        let holds =
            |seat: &&Seated| (seat.first..seat.first + seat.characters()).contains(&character);
        let Seated {
            first,
            group,
            chains,
        } = self.seats.iter().find(holds).unwrap();
        let places = self.plan.place_of_swing.iter().map(|place| place.unwrap());
        let at = |place: usize, axis: usize| {
            let (row, lane) = match chains {
                None => (place, character - first),
                Some(chains) => chains.rows.at[place],
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
        for Seated { group, .. } in &self.seats {
            for value in group.particles.iter().chain(group.results.iter()) {
                hash = (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }

    /// Hits per joint in the last substep.
    pub fn hits(&self) -> f32 {
        let hits_of = |Seated { group, .. }: &Seated| -> f32 {
            let at = |place| (place * particle::COMPONENTS + particle::HITS) * group.lanes;
            let hits = |place| {
                group.particles[at(place)..][..group.lanes]
                    .iter()
                    .sum::<f32>()
            };
            (0..JOINTS).map(hits).sum()
        };
        let sum: f32 = self.seats.iter().map(hits_of).sum();
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
