//! The stage: ground, light, a camera that follows, names above heads, and a flash where somebody vanishes or appears.

use bevy::light::CascadeShadowConfigBuilder;
use bevy::prelude::*;
use bevy::render::view::Tonemapping;

use crate::characters::{BlinkTo, CAST, Character};

/// Half of the ground's side, metres.
const GROUND: f32 = 12.0;
/// From who is followed to the camera, metres in the world.
const BEHIND: Vec3 = Vec3::new(0.0, 1.9, 4.6);
/// How fast the camera makes up its distance, per second.
const FOLLOWS: f32 = 3.0;
/// How long a flash is seen, seconds.
const FLASH_SECONDS: f32 = 0.5;

/// Whom the camera follows: a row of [`CAST`].
#[derive(Resource, Default)]
pub struct Followed(pub usize);

impl Followed {
    /// On to the next of the cast.
    pub fn advance(&mut self) {
        self.0 = (self.0 + 1) % CAST.len();
    }
}

/// A ring of light that grows and is gone.
#[derive(Component)]
struct Flash {
    at: Vec3,
    since: f32,
}

/// Builds the stage and shows what happens on it.
pub struct ScenePlugin;

impl Plugin for ScenePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Followed>()
            .insert_resource(ClearColor(Color::srgb(0.62, 0.72, 0.82)))
            .add_systems(Startup, build)
            .add_systems(
                PostUpdate,
                (follow, name_heads, glow)
                    .chain()
                    .before(TransformSystems::Propagate),
            )
            .add_observer(flash);
    }
}

fn build(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    commands.spawn((
        Name::new("ground"),
        Mesh3d(meshes.add(Plane3d::default().mesh().size(2.0 * GROUND, 2.0 * GROUND))),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.42, 0.5, 0.38),
            perceptual_roughness: 1.0,
            ..default()
        })),
    ));
    commands.spawn((
        Name::new("sun"),
        DirectionalLight {
            illuminance: 9_000.0,
            shadow_maps_enabled: true,
            ..default()
        },
        CascadeShadowConfigBuilder {
            first_cascade_far_bound: 6.0,
            maximum_distance: 25.0,
            ..default()
        }
        .build(),
        Transform::from_xyz(4.0, 8.0, 5.0).looking_at(Vec3::ZERO, Vec3::Y),
    ));
    commands.spawn((
        Name::new("camera"),
        Camera3d::default(),
        // The others need tables that are not built in here.
        Tonemapping::ReinhardLuminance,
        AmbientLight {
            brightness: 400.0,
            ..default()
        },
        Transform::from_translation(BEHIND * 2.0).looking_at(Vec3::Y, Vec3::Y),
    ));
}

fn follow(
    time: Res<Time<Real>>,
    followed: Res<Followed>,
    characters: Query<(&Character, &Transform), Without<Camera3d>>,
    mut cameras: Query<&mut Transform, With<Camera3d>>,
) {
    let role = &CAST[followed.0];
    let found = characters
        .iter()
        .find(|(who, _)| core::ptr::eq(who.role, role));
    let Some((_, who)) = found else {
        return;
    };
    for mut camera in &mut cameras {
        let share = 1.0 - ops::exp(-FOLLOWS * time.delta_secs());
        let goal = who.translation + BEHIND;
        camera.translation = camera.translation.lerp(goal, share);
        let eye = camera.translation - BEHIND + Vec3::Y * 0.8;
        camera.look_at(eye, Vec3::Y);
    }
}

fn name_heads(
    followed: Res<Followed>,
    characters: Query<(&Character, &Transform)>,
    cameras: Query<&Transform, With<Camera3d>>,
    mut gizmos: Gizmos,
) {
    let Ok(camera) = cameras.single() else {
        return;
    };
    for (who, at) in &characters {
        let above = if who.role.scale < 0.5 { 1.0 } else { 1.95 };
        let place = Isometry3d::new(at.translation + Vec3::Y * above, camera.rotation);
        let colour = if core::ptr::eq(who.role, &CAST[followed.0]) {
            Color::srgb(1.0, 0.85, 0.2)
        } else {
            Color::WHITE
        };
        gizmos.text(place, who.role.name, 0.09, Vec2::ZERO, colour);
    }
}

fn flash(event: On<BlinkTo>, time: Res<Time>, places: Query<&Transform>, mut commands: Commands) {
    let Ok(place) = places.get(event.entity) else {
        return;
    };
    for at in [place.translation, place.translation + event.hop] {
        commands.spawn(Flash {
            at,
            since: time.elapsed_secs(),
        });
    }
}

fn glow(
    time: Res<Time>,
    flashes: Query<(Entity, &Flash)>,
    mut commands: Commands,
    mut gizmos: Gizmos,
) {
    let flat = Quat::from_rotation_x(core::f32::consts::FRAC_PI_2);
    for (entity, flash) in &flashes {
        let age = (time.elapsed_secs() - flash.since) / FLASH_SECONDS;
        if age >= 1.0 {
            commands.entity(entity).despawn();
            continue;
        }
        for ring in 0..6u8 {
            let at = flash.at + Vec3::Y * (0.05 + 0.3 * f32::from(ring));
            let colour = Color::srgba(0.6, 0.9, 1.0, 1.0 - age);
            gizmos.circle(Isometry3d::new(at, flat), 0.2 + 0.6 * age, colour);
        }
    }
}
