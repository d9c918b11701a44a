//! Keys, what they do, and the words on the screen that say so.

use bevy::prelude::*;
use flounce::game::debug::SwingDebug;
use flounce::prelude::{Reset, SwingPaused, TimeScale};
use flounce::wind::Wind;

use crate::characters::{BlinkTo, CAST, Character, breeze};
use crate::scene::Followed;

/// What the keys do, as shown.
const HELP: [&str; 8] = [
    "Tab    follow the next",
    "T      teleport",
    "R      reset",
    "P      hold its swing",
    "1 2 3  its time: 1, 0.1, 3 times",
    "W      wind for all",
    "D      bones and colliders",
    "Space  pause the game   Esc  end",
];
/// Height of a letter of the help, metres at one metre from the camera.
const LETTER: f32 = 0.012;
/// Where the help starts, seen from the camera, metres.
const CORNER: Vec3 = Vec3::new(-0.68, 0.37, -1.0);

/// Keys and help.
pub struct ControlsPlugin;

impl Plugin for ControlsPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Update, (game_keys, character_keys, wind_key))
            .add_systems(
                PostUpdate,
                (draw_help, draw_bones).after(TransformSystems::Propagate),
            );
    }
}

fn game_keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut time: ResMut<Time<Virtual>>,
    mut followed: ResMut<Followed>,
    mut debug: ResMut<SwingDebug>,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::Space) {
        if time.is_paused() {
            time.unpause();
        } else {
            time.pause();
        }
    }
    if keys.just_pressed(KeyCode::Tab) {
        followed.advance();
    }
    if keys.just_pressed(KeyCode::KeyD) {
        debug.active = !debug.active;
    }
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
}

/// Keys for whom the camera follows.
fn character_keys(
    keys: Res<ButtonInput<KeyCode>>,
    followed: Res<Followed>,
    characters: Query<(Entity, &Character, Has<SwingPaused>)>,
    mut commands: Commands,
) {
    let role = &CAST[followed.0];
    let found = characters
        .iter()
        .find(|(_, who, _)| core::ptr::eq(who.role, role));
    let Some((entity, _, held)) = found else {
        return;
    };
    if keys.just_pressed(KeyCode::KeyT) {
        commands.trigger(BlinkTo {
            entity,
            hop: Vec3::new(1.5, 0.0, 0.0),
        });
    }
    if keys.just_pressed(KeyCode::KeyR) {
        commands.trigger(Reset { entity });
    }
    if keys.just_pressed(KeyCode::KeyP) {
        if held {
            commands.entity(entity).remove::<SwingPaused>();
        } else {
            commands.entity(entity).insert(SwingPaused);
        }
    }
    let scales = [
        (KeyCode::Digit1, 1.0),
        (KeyCode::Digit2, 0.1),
        (KeyCode::Digit3, 3.0),
    ];
    for (key, scale) in scales {
        if keys.just_pressed(key) {
            commands.entity(entity).insert(TimeScale(scale));
        }
    }
}

/// Wind is a component of who stands in it.
fn wind_key(
    keys: Res<ButtonInput<KeyCode>>,
    characters: Query<(Entity, Has<Wind>), With<Character>>,
    mut commands: Commands,
) {
    if !keys.just_pressed(KeyCode::KeyW) {
        return;
    }
    let still = characters.iter().any(|(_, windy)| !windy);
    for (entity, _) in &characters {
        if still {
            commands.entity(entity).insert(breeze());
        } else {
            commands.entity(entity).remove::<Wind>();
        }
    }
}

fn draw_help(
    cameras: Query<&GlobalTransform, With<Camera3d>>,
    time: Res<Time<Virtual>>,
    mut gizmos: Gizmos,
) {
    let Ok(camera) = cameras.single() else {
        return;
    };
    let paused = time.is_paused().then_some("PAUSED");
    for (line, text) in HELP.into_iter().chain(paused).enumerate() {
        let at = CORNER - Vec3::Y * (2.0 * LETTER * line as f32);
        let place = Isometry3d::new(camera.transform_point(at), camera.rotation());
        gizmos.text(
            place,
            text,
            LETTER,
            Vec2::new(-0.5, 0.5),
            Color::srgb(0.1, 0.1, 0.15),
        );
    }
}

fn draw_bones(debug: Res<SwingDebug>, mut gizmos: Gizmos) {
    for line in &debug.lines {
        let [red, green, blue, opacity] = line.kind.color();
        gizmos.line(
            line.from,
            line.to,
            Color::linear_rgba(red, green, blue, opacity),
        );
    }
}
