//! Parts: actors of a crowd, each unlike the others, and what happens to them.

use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use flounce::account::Explanation;
use flounce::chain::ChainReadout;
use flounce::clip::ClipPlayer;
use flounce::layer::{LayerReadout, Layers};
use flounce::pose::{AnimatedPose, ModelPose};
use flounce::profile::{
    DeltaPolicy, ForcePolicy, InertiaPolicy, JointOrder, LinePush, ParallelEpsilon, RestPose,
    RootPolicy, SubstepPolicy, SwingProfile,
};
use flounce::rig::{Rig, RigParts};
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, BakeWeights, SwingJoint, SwingReadout};
use flounce::systems::motion::{Reset, Teleport, WorldFromActor};
use flounce::systems::plugin::Headless;
use flounce::systems::preparation::Actor;
use flounce::systems::substeps::Workers;
use flounce::wind::Wind;

use crate::shown::Shown;
use crate::support::chains::{rest_pose, rod3, turn};
use crate::{input, layers, player, rich, walked, wind};

/// Lengths of the host's frames in turn, seconds. Actors that came at different times have 0, 1, 2 or more substeps in
/// the same frame; one frame takes no time.
const LENGTHS: [f64; 9] = [
    FIXED_STEP,
    1.0 / 144.0,
    1.0 / 144.0,
    1.0 / 45.0,
    0.0,
    1.0 / 24.0,
    1.0 / 144.0,
    1.0 / 30.0,
    0.0031,
];

/// One actor of a crowd. What it is and what happens to it follow from its seed alone.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub seed: u32,
    /// The frame before which it comes.
    pub joins: usize,
    /// The frame before which it goes.
    pub leaves: usize,
    /// Whether what it is given is not finite.
    pub poisoned: bool,
    /// Whether a swing joint of it is explained, from its first frame or now and then.
    pub explained: bool,
}

impl Part {
    pub fn new(seed: u32) -> Self {
        Self {
            seed,
            joins: 0,
            leaves: usize::MAX,
            poisoned: false,
            explained: seed % 8 == 3,
        }
    }

    /// Every fourth is left in peace, with nothing that an actor need not have.
    fn is_plain(&self) -> bool {
        self.seed.is_multiple_of(4)
    }

    fn rig(&self) -> Rig {
        if self.seed % 7 == 5 { rod3() } else { rich() }
    }
}

/// What happens around the parts.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub frames: usize,
    pub workers: Workers,
    /// The last part is spawned first.
    pub reversed: bool,
    /// Others were there before and went.
    pub guests: bool,
    /// The rig is edited while it is played.
    pub edited: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            frames: 90,
            workers: Workers::Pool,
            reversed: false,
            guests: false,
            edited: false,
        }
    }
}

/// A host with the rigs of the parts.
struct Stage {
    host: Headless,
    rigs: [Entity; 2],
}

/// Runs `parts` together; for each of them what it shows in the frames in which it is there.
pub fn play(script: &Script, parts: &[Part]) -> Vec<Vec<Shown>> {
    let mut host = Headless::new();
    *host.world.resource_mut::<Workers>() = script.workers;
    let rigs = [host.spawn_rig(&rich()), host.spawn_rig(&rod3())];
    let mut stage = Stage { host, rigs };
    if script.guests {
        stage.receive_guests();
    }
    // The wind asks for the host's time: with guests or without, the first frame is at a whole number of seconds.
    let mut now = 2.0;
    let mut actors = vec![None; parts.len()];
    let mut shown = vec![Vec::new(); parts.len()];
    for frame in 0..script.frames {
        stage.enter_and_leave(script, parts, &mut actors, frame);
        if script.edited {
            stage.edit_rig(frame);
        }
        for (part, actor) in parts.iter().zip(&actors) {
            if let Some(actor) = *actor {
                stage.drive(actor, part, frame);
            }
        }
        now += LENGTHS[frame % LENGTHS.len()];
        stage.host.run_to(now).unwrap();
        for (actor, shown) in actors.iter().zip(&mut shown) {
            shown.extend(actor.map(|actor| Shown::of(&stage.host.world, actor)));
        }
    }
    shown
}

impl Stage {
    fn receive_guests(&mut self) {
        let guests: Vec<Entity> = (100..140)
            .map(|seed| self.spawn(&Part::new(seed)))
            .collect();
        for frame in 0..20 {
            self.host.run_to(f64::from(frame) / 60.0).unwrap();
        }
        for (number, guest) in guests.into_iter().enumerate() {
            self.host.world.despawn(guest);
            if number % 10 == 9 {
                self.host.step(FIXED_STEP).unwrap();
            }
        }
    }

    fn enter_and_leave(
        &mut self,
        script: &Script,
        parts: &[Part],
        actors: &mut [Option<Entity>],
        frame: usize,
    ) {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        if script.reversed {
            order.reverse();
        }
        for index in order {
            let part = &parts[index];
            if part.joins == frame {
                actors[index] = Some(self.spawn(part));
            }
            if part.leaves == frame
                && let Some(actor) = actors[index].take()
            {
                self.host.world.despawn(actor);
            }
        }
    }

    /// A little softer, later a joint less: with the state, then without it.
    fn edit_rig(&mut self, frame: usize) {
        let joints = &self.host.world.get::<RigParts>(self.rigs[0]).unwrap().swing;
        let (second, last) = (joints[1], joints[joints.len() - 1]);
        let mut swings = self.host.world.query::<&mut SwingJoint>();
        match frame {
            30 => {
                let mut swing = swings.get_mut(&mut self.host.world, second).unwrap();
                swing.stiffness *= 0.5;
            }
            60 => {
                let mut swing = swings.get_mut(&mut self.host.world, last).unwrap();
                swing.active = false;
            }
            _ => {}
        }
    }

    fn spawn(&mut self, part: &Part) -> Entity {
        let (seed, rig) = (part.seed, part.rig());
        let outputs = (
            ModelPose::default(),
            SwingReadout::default(),
            ChainReadout::default(),
            LayerReadout::default(),
        );
        let pose = AnimatedPose(rest_pose(&rig));
        let given = (pose, profile(seed), properties(seed));
        let of = self.rigs[usize::from(seed % 7 == 5)];
        let actor = self.host.spawn_actor(of, (given, outputs));
        let mut entity = self.host.world.entity_mut(actor);
        if !seed.is_multiple_of(3) {
            let mut player = player();
            player.playing.start = 0.37 * f64::from(seed);
            entity.insert(player);
        }
        if part.explained {
            entity.insert(Explanation::of(seed as usize % rig.swing.len()));
        }
        if !part.is_plain() {
            for choice in [Extra::Wind, Extra::Layers, Extra::Bake] {
                if (seed + choice as u32).is_multiple_of(3) {
                    choice.toggle(&mut self.host.world, actor, part);
                }
            }
        }
        actor
    }

    /// What happens to an actor before a frame: its input, its way, and now and then something else.
    fn drive(&mut self, entity: Entity, part: &Part, frame: usize) {
        let (seed, world) = (part.seed, &mut self.host.world);
        let mut pose = input(&part.rig(), frame, seed);
        if seed % 9 == 6 && (40..50).contains(&frame) {
            pose[2].scale = Vec3::ZERO;
        }
        world.get_mut::<AnimatedPose>(entity).unwrap().0 = pose;
        if !seed.is_multiple_of(2) {
            let place = walked(frame as f32 / 60.0 + seed as f32);
            world.entity_mut(entity).insert(place);
        }
        if part.poisoned {
            poison(world, entity, seed);
        }
        if part.is_plain() {
            return;
        }
        match (frame + 7 * seed as usize) % 61 {
            3 => world.trigger(Teleport { entity }),
            7 => set_speed(world, entity, 0.0),
            11 => Extra::Bake.toggle(world, entity, part),
            17 => set_speed(world, entity, 1.3),
            23 => world.trigger(Reset { entity }),
            29 => world.get_mut::<ActorProperties>(entity).unwrap().weight = 0.45,
            31 => Extra::Layers.toggle(world, entity, part),
            37 => Extra::Wind.toggle(world, entity, part),
            41 => change_policy(world, entity),
            47 => take_off_and_on(world, entity),
            53 if part.explained => toggle_explanation(world, entity),
            57 if seed % 5 == 2 => world.get_mut::<Actor>(entity).unwrap().rig = self.rigs[1],
            _ => {}
        }
    }
}

/// What an actor may have or not.
#[derive(Clone, Copy, Debug)]
enum Extra {
    Wind,
    Layers,
    Bake,
}

impl Extra {
    fn toggle(self, world: &mut World, actor: Entity, part: &Part) {
        let (seed, rig) = (part.seed, part.rig());
        let mut entity = world.entity_mut(actor);
        match self {
            Self::Wind if entity.contains::<Wind>() => {
                entity.remove::<Wind>();
            }
            Self::Wind => {
                entity.insert(wind(seed));
            }
            Self::Layers if entity.contains::<Layers>() => {
                entity.remove::<Layers>();
            }
            Self::Layers => {
                entity.insert(layers(rig.joints.len()));
            }
            Self::Bake if entity.contains::<BakeWeights>() => {
                entity.remove::<BakeWeights>();
            }
            Self::Bake => {
                let weight = |n: usize| [0.0, 0.3, 1.0, 0.8][(n + seed as usize) % 4];
                entity.insert(BakeWeights((0..rig.swing.len()).map(weight).collect()));
            }
        }
    }
}

fn set_speed(world: &mut World, actor: Entity, speed: f64) {
    if let Some(mut player) = world.get_mut::<ClipPlayer>(actor) {
        player.playing.speed = speed;
    }
}

fn change_policy(world: &mut World, actor: Entity) {
    let mut profile = world.get_mut::<SwingProfile>(actor).unwrap();
    profile.substeps = match profile.substeps {
        SubstepPolicy::Fixed => SubstepPolicy::Frame,
        SubstepPolicy::Frame => SubstepPolicy::Fixed,
    };
}

fn take_off_and_on(world: &mut World, actor: Entity) {
    let of = *world.get::<Actor>(actor).unwrap();
    world.entity_mut(actor).remove::<Actor>().insert(of);
}

fn toggle_explanation(world: &mut World, actor: Entity) {
    let mut entity = world.entity_mut(actor);
    if entity.contains::<Explanation>() {
        entity.remove::<Explanation>();
    } else {
        entity.insert(Explanation::of(1));
    }
}

/// Puts what is not finite into one kind of the actor's inputs.
fn poison(world: &mut World, actor: Entity, seed: u32) {
    let mut entity = world.entity_mut(actor);
    match seed % 6 {
        0 => {
            let mut pose = entity.get_mut::<AnimatedPose>().unwrap();
            for joint in &mut pose.0 {
                joint.translation = Vec3::NAN;
                joint.rotation = Quat::from_xyzw(f32::NAN, 0.0, f32::INFINITY, 1.0);
            }
        }
        1 => {
            let mut properties = entity.get_mut::<ActorProperties>().unwrap();
            properties.weight = f32::NAN;
            properties.gravity = Vec3::NAN;
            properties.swing_power = f32::INFINITY;
        }
        2 => {
            entity.insert(WorldFromActor {
                translation: Vec3::NAN,
                rotation: Quat::from_xyzw(0.0, f32::NAN, 0.0, 1.0),
            });
        }
        3 => {
            entity.insert(Wind {
                direction: Vec3::NAN,
                power: f32::INFINITY,
                ..wind(seed)
            });
        }
        4 => {
            entity.insert(BakeWeights(vec![f32::NAN; 17]));
        }
        _ => {
            let mut profile = entity.get_mut::<SwingProfile>().unwrap();
            profile.world_inertia = f32::NAN;
            profile.velocity_damping = f32::NEG_INFINITY;
            profile.teleport_distance = f32::NAN;
            entity.get_mut::<ActorProperties>().unwrap().global_force = Vec3::splat(1e38);
        }
    }
}

fn properties(seed: u32) -> ActorProperties {
    if seed.is_multiple_of(4) {
        return ActorProperties::default();
    }
    ActorProperties {
        weight: if seed % 3 == 1 { 0.6 } else { 1.0 },
        swing_power: 1.0 + 0.05 * (seed % 4) as f32,
        root_horizontal_weight: 1.0 - 0.2 * (seed % 5) as f32,
        root_vertical_weight: 0.5,
        global_force: Vec3::new(0.01, 0.0, -0.02) * (seed % 6) as f32,
        gravity: turn(Vec3::Z, 40.0 * (seed % 9) as f32) * Vec3::NEG_Y,
    }
}

/// Every switch in both places, in many combinations.
fn profile(seed: u32) -> SwingProfile {
    let default = SwingProfile::default();
    if seed.is_multiple_of(4) {
        return default;
    }
    let number = seed as usize;
    let (substeps, order) = [
        (SubstepPolicy::Fixed, JointOrder::SubstepMajor),
        (SubstepPolicy::Frame, JointOrder::SubstepMajor),
        (SubstepPolicy::Fixed, JointOrder::SubstepMajor),
        (SubstepPolicy::Frame, JointOrder::JointMajor),
        (SubstepPolicy::Fixed, JointOrder::SubstepMajor),
    ][number % 5];
    SwingProfile {
        substeps,
        order,
        delta: [
            DeltaPolicy::Carried,
            DeltaPolicy::Current,
            DeltaPolicy::Rest,
            DeltaPolicy::CarriedPairs,
        ][number / 2 % 4],
        root: [RootPolicy::Shift, RootPolicy::FrameDelta, RootPolicy::Off][number / 3 % 3],
        rest_pose: [RestPose::Animated, RestPose::Bind][number / 2 % 2],
        inertia: [InertiaPolicy::Packed, InertiaPolicy::Free][number / 3 % 2],
        force: [
            ForcePolicy::Direct,
            ForcePolicy::VelocityAdd,
            ForcePolicy::VelocityReplace,
            ForcePolicy::Direct,
        ][number / 4 % 4],
        velocity_damping: 0.2,
        prewarm: [30, 0, 3, 45][number % 4],
        max_substeps: [8, 8, 1, 2][number / 5 % 4],
        parallel_epsilon: [ParallelEpsilon::Documented, ParallelEpsilon::Relative][number / 2 % 2],
        line_push: [LinePush::Documented, LinePush::Lever][number / 4 % 2],
        world_inertia: [1.0, 0.4, 0.0][number % 3],
        split_motion: number % 3 == 1,
        ..default
    }
}
