//! Debug lines: they lie where the particles and colliders are.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use flounce::chain::{ChainLayer, ChainReadout};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::crowd::{Crowds, placed};
use flounce::game::debug::{
    CIRCLE_SEGMENTS, CROSS, DebugKind, DebugLine, NORMAL, SwingDebug, SwingDebugPlugin,
};
use flounce::pose::{AnimatedPose, ModelPose};
use flounce::rig::{Rig, RigParts};
use flounce::substep::{FIXED_STEP, FrameClock};
use flounce::swing::{Limit, Motion, SwingJoint, SwingReadout};
use flounce::systems::motion::WorldFromActor;
use flounce::systems::plugin::{FlouncePlugin, advance_clock};
use flounce::systems::preparation::{Actor, Seat};

use crate::support::chains::{
    BONE, angle_of, assert_close, assert_near, chain, joint, rest_pose, rod3, soft, static_ball,
    static_plane, stick3, turn, weightless, with_balls,
};

/// What rounding leaves of a point a few metres from the origin, metres.
const NEAR: f32 = 2e-6;

/// An app whose debug lines are listed.
fn app() -> App {
    let mut app = App::new();
    app.add_plugins((FlouncePlugin::default(), SwingDebugPlugin::default()));
    app.world_mut().resource_mut::<SwingDebug>().active = true;
    app
}

fn spawn(app: &mut App, rig: &Rig, placed: WorldFromActor) -> Entity {
    let world = app.world_mut();
    let entity = RigParts::spawn(rig, world);
    let outputs = (
        ModelPose::default(),
        SwingReadout::default(),
        ChainReadout::default(),
    );
    let pose = AnimatedPose(rest_pose(rig));
    let actor = (Actor { rig: entity }, placed, pose, outputs);
    world.spawn(actor).id()
}

fn step(app: &mut App, seconds: f64) {
    let world = app.world_mut();
    advance_clock(&mut world.resource_mut::<FrameClock>(), seconds).unwrap();
    app.update();
}

fn all(app: &App) -> &[DebugLine] {
    &app.world().resource::<SwingDebug>().lines
}

fn of_kind(app: &App, kind: DebugKind) -> Vec<DebugLine> {
    let lines = all(app).iter().copied();
    lines.filter(|line| line.kind == kind).collect()
}

/// Both ends of all lines of a kind.
fn points(app: &App, kind: DebugKind) -> Vec<Vec3> {
    let lines = of_kind(app, kind);
    lines.iter().flat_map(|line| [line.from, line.to]).collect()
}

fn readout(app: &App, actor: Entity) -> &SwingReadout {
    app.world().get::<SwingReadout>(actor).unwrap()
}

/// Somewhere in the world, turned about every axis.
fn elsewhere() -> WorldFromActor {
    WorldFromActor {
        translation: Vec3::new(2.0, 0.5, -1.0),
        rotation: turn(Vec3::Y, 50.0) * turn(Vec3::X, 20.0),
    }
}

fn in_world(placed: &WorldFromActor, point: Vec3) -> Vec3 {
    placed.translation + placed.rotation * point
}

#[test]
fn without_being_asked_nothing_is_listed() {
    let mut app = App::new();
    app.add_plugins((FlouncePlugin::default(), SwingDebugPlugin::default()));
    spawn(&mut app, &rod3(), WorldFromActor::default());
    step(&mut app, FIXED_STEP);
    assert_eq!(all(&app), []);
    let set = |app: &mut App, active: bool| {
        app.world_mut().resource_mut::<SwingDebug>().active = active;
        step(app, FIXED_STEP);
        all(app).len()
    };
    // Three bones, each with a cross.
    assert_eq!(set(&mut app, true), 12);
    assert_eq!(set(&mut app, false), 0);
    let debug = app.world_mut().resource_mut::<SwingDebug>();
    let changed = debug.last_changed();
    step(&mut app, FIXED_STEP);
    let debug = app.world_mut().resource_mut::<SwingDebug>();
    assert_eq!(debug.last_changed(), changed, "nor touched");
}

#[test]
fn bones_go_from_their_joints_to_the_particles_shown() {
    let (mut app, placed) = (app(), elsewhere());
    let actor = spawn(&mut app, &rod3(), placed);
    // Frames that lie between substeps, and one that takes no time.
    for seconds in [0.0, 0.01, 0.01, 0.013, 0.0, 0.1, 0.009] {
        step(&mut app, seconds);
        let (bones, crosses) = (
            of_kind(&app, DebugKind::Bone),
            of_kind(&app, DebugKind::Particle),
        );
        assert_eq!((bones.len(), crosses.len()), (3, 9));
        let pose = app.world().get::<ModelPose>(actor).unwrap();
        for (index, bone) in bones.iter().enumerate() {
            let particle = readout(&app, actor).0[index].unwrap().particle;
            let particle = in_world(&placed, particle);
            let joint = in_world(&placed, pose.0[index + 1].rigid.t.into());
            assert_near(bone.from, joint, NEAR, "the joint");
            assert_near(bone.to, particle, NEAR, "the particle");
            assert_eq!(bone.actor, actor);
            for line in &crosses[index * 3..][..3] {
                let middle = (line.from + line.to) / 2.0;
                assert_near(middle, particle, NEAR, "the middle of a cross");
                let half = f64::from(line.from.distance(line.to) / 2.0);
                assert_close(half, f64::from(CROSS), 1e-6, "half a line of a cross");
            }
        }
    }
}

#[test]
fn colliders_of_swing_joints_are_where_their_particles_are() {
    let (mut app, placed) = (app(), elsewhere());
    let mut rig = with_balls(rod3(), 0.03);
    // On a particle only balls and lines hit.
    rig.swing[2].collider = Some(Collider {
        shape: Shape::Plane {
            normal: Vec3::Y,
            offset: 0.0,
        },
        mask: Mask::ALL,
    });
    rig.swing[1].collider = Some(Collider {
        shape: Shape::Line {
            inset_a: 0.02,
            inset_b: 0.05,
            radius_a: 0.01,
            radius_b: 0.02,
            scale: 1.0,
        },
        mask: Mask::ALL,
    });
    rig.colliders = vec![static_plane(Vec3::Y, -5.0)];
    let actor = spawn(&mut app, &rig, placed);
    for _ in 0..20 {
        step(&mut app, 0.011);
    }
    let found = points(&app, DebugKind::SwingCollider);
    let ball = 2 * 3 * CIRCLE_SEGMENTS;
    let line = 2 * (4 * CIRCLE_SEGMENTS + 4);
    assert_eq!(found.len(), ball + line, "the third hits nothing");
    let particle = |index: usize| {
        let result = readout(&app, actor).0[index].unwrap();
        in_world(&placed, result.particle)
    };
    for &point in &found[..ball] {
        let radius = f64::from(point.distance(particle(0)));
        assert_close(radius, 0.03, 2e-6, "radius of the ball");
    }
    let (from, pose) = (particle(1), app.world().get::<ModelPose>(actor).unwrap());
    let to = in_world(&placed, pose.0[2].rigid.t.into());
    let along = |at: f32| from + (to - from).normalize() * at;
    let ends = [along(0.02), along(from.distance(to) - 0.05)];
    for &point in &found[ball..] {
        let axis = ends[1] - ends[0];
        let share = ((point - ends[0]).dot(axis) / axis.length_squared()).clamp(0.0, 1.0);
        let distance = point.distance(ends[0] + axis * share);
        let radius = 0.01 + 0.01 * share;
        assert_close(f64::from(distance), f64::from(radius), 5e-6, "of the line");
    }
}

/// The colliders that move with joint 0 of [`stick3`], and with joint 2, which swings: a static collider there follows
/// the animated pose.
fn furnished() -> Rig {
    let mut rig = stick3();
    let on = |joint, shape| StaticCollider {
        joint: Some(joint),
        collider: Collider {
            shape,
            mask: Mask::ALL,
        },
    };
    let capsule = Shape::Capsule {
        offset_a: Vec3::new(0.1, 0.0, 0.0),
        offset_b: Vec3::new(0.4, 0.0, 0.1),
        radius_a: 0.05,
        radius_b: 0.08,
    };
    let line = Shape::Line {
        inset_a: 0.01,
        inset_b: 0.02,
        radius_a: 0.01,
        radius_b: 0.01,
        scale: 1.0,
    };
    rig.colliders = vec![
        static_ball(0, Vec3::new(0.0, 0.1, 0.3), 0.06),
        on(2, capsule),
        on(3, line),
        static_plane(Vec3::new(0.6, 0.8, 0.0), -0.5),
    ];
    rig
}

#[test]
fn static_colliders_are_where_the_solver_has_them() {
    let (mut app, placed) = (app(), elsewhere());
    let actor = spawn(&mut app, &furnished(), placed);
    let ball = 2 * 3 * CIRCLE_SEGMENTS;
    let capsule = 2 * (4 * CIRCLE_SEGMENTS + 4);
    for frame in 0..30 {
        let mut pose = app.world_mut().get_mut::<AnimatedPose>(actor).unwrap();
        pose.0[0].rotation = turn(Vec3::Z, frame as f32 * 3.0);
        pose.0[2].rotation = turn(Vec3::X, frame as f32);
        // Frames of one substep: the pose shown is that of the substep.
        step(&mut app, FIXED_STEP);
        let found = points(&app, DebugKind::StaticCollider);
        assert_eq!(found.len(), ball + 2 * capsule + 2 * 7);
        let seat = *app.world().get::<Seat>(actor).unwrap();
        let state = app.world().resource::<Crowds>().actor(seat);
        let ends = |index: usize| {
            let own = state.placed(index);
            [placed::END_A, placed::END_B]
                .map(|end| in_world(&placed, Vec3::from_slice(&own[end..])))
        };
        for &point in &found[..ball] {
            let radius = f64::from(point.distance(ends(0)[0]));
            assert_close(radius, 0.06, 4e-6, "radius of the ball");
        }
        for (index, radii) in [(1, [0.05, 0.08]), (2, [0.01, 0.01])] {
            let ([a, b], from) = (ends(index), ball + (index - 1) * capsule);
            for &point in &found[from..][..capsule] {
                let axis = b - a;
                let share = ((point - a).dot(axis) / axis.length_squared()).clamp(0.0, 1.0);
                let radius = radii[0] + (radii[1] - radii[0]) * share;
                let distance = point.distance(a + axis * share);
                let what = format!("surface of collider {index}");
                assert_close(f64::from(distance), f64::from(radius), 5e-6, &what);
            }
        }
        let normal = placed.rotation * Vec3::new(0.6, 0.8, 0.0);
        let heights = found[ball + 2 * capsule..].iter();
        let heights = heights.map(|&point| (point - placed.translation).dot(normal));
        let above = heights.filter(|height| (height + 0.5).abs() > 5e-6).count();
        assert_eq!(above, 1, "only the end of the normal is off the plane");
    }
}

#[test]
fn contacts_are_those_of_the_readout() {
    let (mut app, placed) = (app(), elsewhere());
    let mut rig = with_balls(rod3(), 0.03);
    // Under the end of the first bone of a rod that sags; beside it once all hangs down.
    rig.colliders = vec![static_ball(0, Vec3::new(BONE, -0.1, 0.0), 0.06)];
    let actor = spawn(&mut app, &rig, placed);
    let (mut with, mut without) = (0, 0);
    for frame in 0..240 {
        if frame == 60 {
            let mut pose = app.world_mut().get_mut::<AnimatedPose>(actor).unwrap();
            pose.0[0].rotation = turn(Vec3::Z, -90.0);
        }
        step(&mut app, 0.011);
        let found = of_kind(&app, DebugKind::Contact);
        let results = readout(&app, actor).0.iter().flatten();
        let expected: Vec<(Vec3, Vec3)> = results
            .filter(|result| result.hits > 0)
            .map(|result| result.last_hit.unwrap())
            .collect();
        assert_eq!(found.len(), expected.len(), "frame {frame}");
        for (line, (normal, at)) in found.iter().zip(&expected) {
            assert_near(line.from, in_world(&placed, *at), NEAR, "where it was hit");
            let along = placed.rotation * *normal * NORMAL;
            assert_near(line.to - line.from, along, NEAR, "along the normal");
        }
        if expected.is_empty() {
            without += 1;
        } else {
            with += 1;
        }
    }
    assert!(with > 10 && without > 10, "{with} {without}");
}

#[test]
fn actors_come_in_the_order_of_their_entities_and_go() {
    let mut app = app();
    let places = [0.0, 5.0, 10.0].map(|x| WorldFromActor {
        translation: Vec3::X * x,
        rotation: Quat::IDENTITY,
    });
    let mut actors = places.map(|place| spawn(&mut app, &rod3(), place)).to_vec();
    // Another archetype, which queries see later.
    app.world_mut()
        .entity_mut(actors[0])
        .remove::<ChainReadout>();
    actors.sort_unstable();
    let mut orders = Vec::new();
    for frame in 0..10 {
        if frame == 5 {
            app.world_mut().despawn(actors.remove(1));
        }
        step(&mut app, FIXED_STEP);
        let mut order: Vec<Entity> = all(&app).iter().map(|line| line.actor).collect();
        order.dedup();
        assert_eq!(order, actors, "frame {frame}");
        orders.push(all(&app).len());
    }
    assert_eq!(orders, [[36; 5], [24; 5]].concat());
}

#[test]
fn the_list_is_made_in_the_memory_that_it_has() {
    let mut app = app();
    spawn(&mut app, &furnished(), elsewhere());
    step(&mut app, FIXED_STEP);
    let memory = |app: &App| (all(app).as_ptr(), all(app).len());
    let first = memory(&app);
    for _ in 0..20 {
        step(&mut app, FIXED_STEP);
        assert_eq!(memory(&app), first);
    }
}

#[test]
fn each_kind_can_be_left_out() {
    let mut rig = with_balls(furnished(), 0.03);
    rig.swing[0].limit = Some(Limit {
        low: Vec3::splat(-20.0),
        high: Vec3::splat(20.0),
    });
    rig.layers = vec![ring(vec![2, 3, 4])];
    let mut app = app();
    spawn(&mut app, &rig, WorldFromActor::default());
    let switches: [(fn(&mut SwingDebug, bool), [DebugKind; 2]); 4] = [
        (
            |debug, on| debug.bones = on,
            [DebugKind::Bone, DebugKind::Particle],
        ),
        (
            |debug, on| debug.colliders = on,
            [DebugKind::SwingCollider, DebugKind::StaticCollider],
        ),
        (|debug, on| debug.limits = on, [DebugKind::Limit; 2]),
        (
            |debug, on| debug.rings = on,
            [DebugKind::Link, DebugKind::HitLink],
        ),
    ];
    for (switch, kinds) in switches {
        for on in [true, false] {
            switch(&mut app.world_mut().resource_mut::<SwingDebug>(), on);
            step(&mut app, FIXED_STEP);
            let is_there = |&kind: &DebugKind| !of_kind(&app, kind).is_empty();
            assert_eq!(kinds.iter().any(is_there), on, "{kinds:?}");
        }
        switch(&mut app.world_mut().resource_mut::<SwingDebug>(), true);
    }
}

/// A chain layer over the particles whose tips are `joints`.
fn ring(joints: Vec<usize>) -> ChainLayer {
    ChainLayer {
        joints,
        active: true,
        around: false,
        radius: 0.02,
        smoothing: 0.0,
        mask: Mask::ALL,
    }
}

/// Three strands of 0.2 m, 0.2 m apart along +Z, joined at their tips.
fn curtain() -> Rig {
    let mut rig = Rig::new(vec![joint(None, Vec3::Y)]);
    for strand in 0..3 {
        let at = rig.joints.len();
        let side = Vec3::Z * (BONE * strand as f32);
        rig.joints.push(joint(Some(0), side));
        rig.joints.push(joint(Some(at), Vec3::X * BONE));
        rig.swing.push(SwingJoint {
            joint: at,
            ..soft()
        });
    }
    rig.layers = vec![ring(vec![2, 4, 6])];
    rig
}

#[test]
fn links_join_particles_and_show_which_were_hit() {
    let mut app = app();
    let mut rig = curtain();
    // In the way of the first link only, below it.
    rig.colliders = vec![static_ball(0, Vec3::new(BONE, -0.05, BONE / 2.0), 0.04)];
    let actor = spawn(&mut app, &rig, WorldFromActor::default());
    let mut hit = 0;
    for frame in 0..90 {
        step(&mut app, FIXED_STEP);
        let links: Vec<&DebugLine> = all(&app)
            .iter()
            .filter(|line| matches!(line.kind, DebugKind::Link | DebugKind::HitLink))
            .collect();
        let hits = &app.world().get::<ChainReadout>(actor).unwrap().0[0];
        assert_eq!((links.len(), hits.len()), (2, 2));
        for (index, link) in links.iter().enumerate() {
            let particle = |at: usize| readout(&app, actor).0[at].unwrap().particle;
            assert_near(link.from, particle(index), NEAR, "from a particle");
            assert_near(link.to, particle(index + 1), NEAR, "to the next");
            let is_hit = link.kind == DebugKind::HitLink;
            assert_eq!(is_hit, hits[index] > 0, "link {index} in frame {frame}");
            hit += usize::from(is_hit);
        }
    }
    assert!(hit > 0 && hit < 180, "{hit} of 180");
}

/// A bone along +X that may turn from −30° to 10° about y and from −5° to 20° about z: the ends of its arcs are there, and
/// about its own axis it has none.
#[test]
fn v2_arcs_of_a_limit_end_where_the_bone_may_go() {
    let mut app = app();
    let mut rig = chain(1, Vec3::X * BONE, weightless(1));
    rig.swing[0].limit = Some(Limit {
        low: Vec3::new(-40.0, -30.0, -5.0),
        high: Vec3::new(40.0, 10.0, 20.0),
    });
    let placed = elsewhere();
    spawn(&mut app, &rig, placed);
    step(&mut app, FIXED_STEP);
    let found = of_kind(&app, DebugKind::Limit);
    // Eight lines of an arc and two to its ends, twice.
    assert_eq!(found.len(), 20);
    let anchor = in_world(&placed, Vec3::Y);
    let rest = placed.rotation * Vec3::X;
    for (fan, axis, [low, high]) in [
        (&found[..10], Vec3::Y, [-30.0, 10.0]),
        (&found[10..], Vec3::Z, [-5.0, 20.0]),
    ] {
        for (line, degrees) in [(&fan[0], low), (&fan[8], high)] {
            let expected = anchor + placed.rotation * (turn(axis, degrees) * (Vec3::X * BONE));
            assert_near(line.to, expected, NEAR, "end of an arc");
            let found = angle_of(line.to - anchor, rest).to_degrees();
            assert_close(found, f64::from(degrees.abs()), 1e-3, "its angle");
        }
        assert_eq!((fan[0].from, fan[9].to), (fan[9].to, fan[0].from));
        assert_near(fan[0].from, anchor, NEAR, "fans begin at the joint");
    }
}

#[test]
fn v3_limits_of_a_slide_joint_are_ways_through_its_rest() {
    let mut app = app();
    let mut rig = Rig::new(vec![joint(None, Vec3::Y), joint(Some(0), Vec3::X * 0.2)]);
    rig.swing = vec![SwingJoint {
        motion: Motion::Slide,
        limit: Some(Limit {
            low: Vec3::new(-10.0, f32::NEG_INFINITY, 0.0),
            high: Vec3::new(20.0, f32::INFINITY, 30.0),
        }),
        ..soft()
    }];
    let actor = spawn(&mut app, &rig, WorldFromActor::default());
    step(&mut app, FIXED_STEP);
    let found = of_kind(&app, DebugKind::Limit);
    let rest = Vec3::new(0.2, 1.0, 0.0);
    let expected = [(Vec3::X, [-0.01, 0.02]), (Vec3::Z, [0.0, 0.03])];
    assert_eq!(found.len(), expected.len(), "one axis is free");
    for (line, (axis, [low, high])) in found.iter().zip(expected) {
        assert_near(line.from, rest + axis * low, NEAR, "lower end");
        assert_near(line.to, rest + axis * high, NEAR, "upper end");
    }
    let bone = of_kind(&app, DebugKind::Bone)[0];
    let particle = readout(&app, actor).0[0].unwrap().particle;
    assert_near(bone.from, Vec3::Y, NEAR, "from the parent");
    assert_near(bone.to, particle, NEAR, "to the particle");
}
