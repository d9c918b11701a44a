//! The cast: who is on stage, how each one swings, where it walks, and when it blinks from one place to another.
//!
//! Nothing here is about hair: a character gets a [`Swing`] with its rig file, and flounce does the rest. What a game has
//! to tell is what only a game knows: that a change of place was a jump ([`Teleport`]).

use bevy::prelude::*;
use bevy::world_serialization::WorldInstanceReady;
use flounce::game::{RigAsset, Swing};
use flounce::prelude::{Teleport, TimeScale};
use flounce::wind::{Gust, Wind};

/// One of the cast.
pub struct Role {
    /// As people call it.
    pub name: &'static str,
    /// The model, in `scenes/`.
    pub model: &'static str,
    /// What swings, in `scenes/`.
    pub rig: &'static str,
    /// Index of the model's clip that it plays.
    pub clip: usize,
    /// The model's units in metres.
    pub scale: f32,
    /// Where it goes.
    pub way: Way,
    /// Metres per second; fits the clip's steps.
    pub speed: f32,
    /// How the names of the joints that swing begin: for those who watch, flounce knows them from the rig.
    pub swings: &'static [&'static str],
    /// Whether it blinks from place to place.
    pub blinks: bool,
    /// Whether it stands in the wind.
    pub windy: bool,
}

/// Everyone.
pub const CAST: [Role; 6] = [
    Role {
        name: "fox",
        model: "models/Fox.glb",
        rig: "rigs/fox_tail.ron",
        clip: 1,
        scale: 0.01,
        way: Way::Circle {
            centre: Vec2::new(0.0, 0.0),
            radius: 1.6,
        },
        speed: 0.9,
        swings: &["b_Tail"],
        blinks: false,
        windy: false,
    },
    Role {
        name: "running fox",
        model: "models/Fox.glb",
        rig: "rigs/fox_tail.ron",
        clip: 2,
        scale: 0.01,
        way: Way::Circle {
            centre: Vec2::new(0.0, 0.0),
            radius: 5.5,
        },
        speed: 2.4,
        swings: &["b_Tail"],
        blinks: false,
        windy: false,
    },
    Role {
        name: "skirt",
        model: "models/mannequin.glb",
        rig: "rigs/skirt.ron",
        clip: 0,
        scale: 1.0,
        way: Way::Patrol {
            from: Vec2::new(-3.0, -2.8),
            to: Vec2::new(1.0, -2.8),
        },
        speed: 1.2,
        swings: &["skirt_"],
        blinks: false,
        windy: false,
    },
    Role {
        name: "hair",
        model: "models/mannequin.glb",
        rig: "rigs/hair.ron",
        clip: 0,
        scale: 1.0,
        way: Way::Circle {
            centre: Vec2::new(3.2, 0.5),
            radius: 1.0,
        },
        speed: 1.1,
        swings: &["hair_"],
        blinks: true,
        windy: false,
    },
    Role {
        name: "ribbon",
        model: "models/mannequin.glb",
        rig: "rigs/ribbon.ron",
        clip: 3,
        scale: 1.0,
        way: Way::Stand {
            at: Vec2::new(-3.4, 1.2),
            yaw: 0.9,
        },
        speed: 0.0,
        swings: &["ribbon_"],
        blinks: false,
        windy: true,
    },
    Role {
        name: "astronaut",
        model: "models/CesiumMan.glb",
        rig: "rigs/cesium_man.ron",
        clip: 0,
        scale: 1.0,
        way: Way::Patrol {
            from: Vec2::new(2.2, 3.2),
            to: Vec2::new(-2.2, 3.2),
        },
        speed: 1.1,
        swings: &[
            "Skeleton_arm_joint_L__2_",
            "Skeleton_arm_joint_L__3_",
            "Skeleton_arm_joint_R__2_",
            "Skeleton_arm_joint_R__3_",
            "Skeleton_neck_joint_",
        ],
        blinks: false,
        windy: false,
    },
];

/// A way over the ground, in metres from the origin of the walk.
#[derive(Clone, Copy)]
pub enum Way {
    /// Round and round, to the left.
    Circle {
        /// X and Z.
        centre: Vec2,
        /// Metres.
        radius: f32,
    },
    /// To and fro, with a turn on the spot at each end.
    Patrol {
        /// X and Z.
        from: Vec2,
        /// X and Z.
        to: Vec2,
    },
    /// Stays.
    Stand {
        /// X and Z.
        at: Vec2,
        /// Radians about +Y; at 0 it looks along +Z, as models do.
        yaw: f32,
    },
}

/// How far one would walk in the time of a half turn, metres: about half a second.
const TURN: f32 = 0.6;

impl Way {
    /// Where one is and looks (radians about +Y) after `travelled` metres.
    fn place(self, travelled: f32) -> (Vec2, f32) {
        match self {
            Self::Circle { centre, radius } => {
                let angle = travelled / radius;
                let (sin, cos) = ops::sin_cos(angle);
                (
                    centre + Vec2::new(sin, cos) * radius,
                    angle + core::f32::consts::FRAC_PI_2,
                )
            }
            Self::Patrol { from, to } => {
                let length = from.distance(to);
                let leg = length + TURN;
                let (there, done) = (
                    travelled.rem_euclid(2.0 * leg) < leg,
                    travelled.rem_euclid(leg),
                );
                let (start, end) = if there { (from, to) } else { (to, from) };
                let ahead = end - start;
                let turned = ((done - length) / TURN).clamp(0.0, 1.0) * core::f32::consts::PI;
                let at = start + ahead * (done / length).min(1.0);
                (at, ops::atan2(ahead.x, ahead.y) + turned)
            }
            Self::Stand { at, yaw } => (at, yaw),
        }
    }
}

/// On a character's root: which one it is.
#[derive(Component)]
pub struct Character {
    /// Its row in [`CAST`].
    pub role: &'static Role,
}

/// On a character's root: how far it has come.
#[derive(Component)]
pub struct Walk {
    way: Way,
    speed: f32,
    travelled: f32,
    /// Where the way lies; blinking moves it.
    origin: Vec3,
}

/// On a character's root once its model is there: who plays its clip.
#[derive(Component)]
pub struct Players(Vec<Entity>);

/// The clip that a character plays when its model is there.
#[derive(Component)]
pub struct ClipToPlay {
    /// What is waited for.
    pub clip: Handle<AnimationClip>,
    graph: Handle<AnimationGraph>,
    node: AnimationNodeIndex,
}

/// On who blinks by itself: when next, and where to.
#[derive(Component)]
struct Blinker {
    timer: Timer,
    hops: core::iter::Cycle<core::array::IntoIter<Vec3, 4>>,
}

/// First a hop that could be a step (flounce takes more than a metre in a frame for a jump by itself), then far away.
const HOPS: [Vec3; 4] = [
    Vec3::new(0.8, 0.0, 0.0),
    Vec3::new(0.0, 0.0, -5.0),
    Vec3::new(-0.8, 0.0, 0.0),
    Vec3::new(0.0, 0.0, 5.0),
];
/// Seconds between two blinks; the first comes after half of it.
const BLINK_SECONDS: f32 = 3.0;

/// A character is to be elsewhere at once. Trigger it on the root.
#[derive(EntityEvent)]
pub struct BlinkTo {
    /// The character.
    pub entity: Entity,
    /// How far and where to, metres in the world.
    pub hop: Vec3,
}

/// Whether flounce is told of jumps. A game always tells; the judge wants to see what happens if not.
#[derive(Resource)]
pub struct TellTeleports(pub bool);

/// Puts the cast on stage and moves it.
pub struct CharactersPlugin;

impl Plugin for CharactersPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(TellTeleports(true))
            .add_systems(Startup, enter)
            .add_systems(Update, (blink_in_time, walk, keep_pace).chain())
            .add_observer(blink);
    }
}

fn enter(
    mut commands: Commands,
    assets: Res<AssetServer>,
    mut graphs: ResMut<Assets<AnimationGraph>>,
) {
    for role in &CAST {
        let clip = assets.load(GltfAssetLabel::Animation(role.clip).from_asset(role.model));
        let (graph, node) = AnimationGraph::from_clip(clip.clone());
        let graph = graphs.add(graph);
        let (at, yaw) = role.way.place(0.0);
        let mut character = commands.spawn((
            Name::new(role.name),
            Character { role },
            WorldAssetRoot(assets.load(GltfAssetLabel::Scene(0).from_asset(role.model))),
            Swing::rig(assets.load::<RigAsset>(role.rig)),
            Transform::from_xyz(at.x, 0.0, at.y)
                .with_rotation(Quat::from_rotation_y(yaw))
                .with_scale(Vec3::splat(role.scale)),
            Walk {
                way: role.way,
                speed: role.speed,
                travelled: 0.0,
                origin: Vec3::ZERO,
            },
            ClipToPlay { clip, graph, node },
        ));
        character.observe(play_clip);
        if role.windy {
            character.insert(breeze());
        }
        if role.blinks {
            let mut timer = Timer::from_seconds(BLINK_SECONDS, TimerMode::Repeating);
            timer.set_elapsed(core::time::Duration::from_secs_f32(BLINK_SECONDS / 2.0));
            character.insert(Blinker {
                timer,
                hops: HOPS.into_iter().cycle(),
            });
        }
    }
}

/// Of the order of the pull that gravity has on a light ribbon.
pub fn breeze() -> Wind {
    Wind {
        direction: Vec3::new(0.5, 0.0, -1.0).normalize(),
        power: 0.006,
        frequency: 0.8,
        gusts: vec![Gust {
            amplitude: 0.002,
            frequency: 0.5,
            phase: 0.0,
        }],
        seed: 7,
        ..Wind::default()
    }
}

/// Starts the clip of a character whose model has just come.
fn play_clip(
    ready: On<WorldInstanceReady>,
    mut commands: Commands,
    children: Query<&Children>,
    clips: Query<&ClipToPlay>,
    mut players: Query<&mut AnimationPlayer>,
) {
    let Ok(clip) = clips.get(ready.entity) else {
        return;
    };
    let mut playing = Vec::new();
    for child in children.iter_descendants(ready.entity) {
        if let Ok(mut player) = players.get_mut(child) {
            player.play(clip.node).repeat();
            commands
                .entity(child)
                .insert(AnimationGraphHandle(clip.graph.clone()));
            playing.push(child);
        }
    }
    commands.entity(ready.entity).insert(Players(playing));
}

fn blink_in_time(
    time: Res<Time>,
    mut blinkers: Query<(Entity, &mut Blinker)>,
    mut commands: Commands,
) {
    for (entity, mut blinker) in &mut blinkers {
        if !blinker.timer.tick(time.delta()).just_finished() {
            continue;
        }
        if let Some(hop) = blinker.hops.next() {
            commands.trigger(BlinkTo { entity, hop });
        }
    }
}

fn blink(
    event: On<BlinkTo>,
    mut walks: Query<&mut Walk>,
    tell: Res<TellTeleports>,
    mut commands: Commands,
) {
    let Ok(mut walk) = walks.get_mut(event.entity) else {
        return;
    };
    walk.origin += event.hop;
    if tell.0 {
        commands.trigger(Teleport {
            entity: event.entity,
        });
    }
}

fn walk(time: Res<Time>, mut walks: Query<(&mut Walk, &mut Transform, Option<&TimeScale>)>) {
    for (mut walk, mut transform, scale) in &mut walks {
        walk.travelled += walk.speed * time.delta_secs() * pace(scale);
        let (at, yaw) = walk.way.place(walk.travelled);
        let place = walk.origin + Vec3::new(at.x, 0.0, at.y);
        let turn = Quat::from_rotation_y(yaw);
        if (transform.translation, transform.rotation) != (place, turn) {
            transform.translation = place;
            transform.rotation = turn;
        }
    }
}

/// Clips go by the time that the swing goes by.
fn keep_pace(
    characters: Query<(&Players, &ClipToPlay, Option<&TimeScale>)>,
    mut players: Query<&mut AnimationPlayer>,
) {
    for (playing, clip, scale) in &characters {
        for player in &playing.0 {
            let Ok(mut player) = players.get_mut(*player) else {
                continue;
            };
            if let Some(active) = player.animation_mut(clip.node)
                && active.speed() != pace(scale)
            {
                active.set_speed(pace(scale));
            }
        }
    }
}

fn pace(scale: Option<&TimeScale>) -> f32 {
    scale.map_or(1.0, |scale| scale.0 as f32)
}
