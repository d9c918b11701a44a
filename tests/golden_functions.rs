//! Claim: single equations give the numbers of the independent implementation. See `golden.rs`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "the table of cases is for people")]

#[path = "golden_functions/layers.rs"]
mod layers;
#[path = "golden_functions/maths.rs"]
mod maths;
mod support;

#[path = "golden_functions/skin.rs"]
mod skin;

use bevy_math::{Quat, Vec3};
use flounce::account::Unwatched;
use flounce::chain::{ChainLayer, LayerPlan, acting_smoothing};
use flounce::clip::{Interpolation, Track, TrackValues, align_hemispheres};
use flounce::collider::{Mask, PlacedShape};
use flounce::contact::{self, Hit, Segment};
use flounce::crowd::{Aligned, Group, PLACED, particle};
use flounce::driver::BlendConstraint;
use flounce::euler::{self, EulerProduct};
use flounce::lane::Vec3x;
use flounce::limit::LimitPlan;
use flounce::mirror;
use flounce::plan::{DynamicPlan, Plan, StaticPlan};
use flounce::pose::{JointTransform, Rigid};
use flounce::profile::{ParallelEpsilon, SwingProfile};
use flounce::rig::{Joint, Rig};
use flounce::rotation::{self, Rotation, mirror_x};
use flounce::slide::{self, SlidePlan};
use flounce::swing::{Limit, SwingJoint};
use flounce::systems::chain_collision::collide_links;
use flounce::systems::collision::{self, Body, DynamicShape};
use flounce::systems::forces::root_correction;
use flounce::systems::placement;
use flounce::systems::smoothing::smooth_ring;
use flounce::systems::substeps::Pass;
use flounce::wind::WindField;
use serde_json::Value;
use support::golden::{self, array, list, number};

/// Computes a case's outputs from its inputs; `None` means the input is refused.
type Function = fn(&Value) -> Option<Outputs>;

/// Outputs by name, and which are rotations (equal up to sign).
#[derive(Default)]
struct Outputs(Vec<(&'static str, Vec<f32>, bool)>);

impl Outputs {
    fn numbers(mut self, name: &'static str, values: impl Into<Vec<f32>>) -> Self {
        self.0.push((name, values.into(), false));
        self
    }
    fn rotation(mut self, name: &'static str, q: Rotation<f32>) -> Self {
        self.0.push((name, q.lane(0).to_vec(), true));
        self
    }
}

/// Families of equations whose every function is covered.
const COVERED: [char; 12] = ['b', 'c', 'd', 'i', 'k', 'l', 'm', 'q', 's', 'v', 'w', 'x'];

/// What this engine computes.
fn function(name: &str) -> Option<Function> {
    match name {
        "b1_nlerp" => Some(b1_nlerp),
        "b2_unit" => Some(b2_unit),
        "b3_choice" => Some(maths::b3_choice),
        "b4_many" => Some(maths::b4_many),
        "b5_continuity" => Some(b5_continuity),
        "c2_euler" => Some(c2_euler),
        "c1_mirror" => Some(c1_mirror),
        "c2_from_euler" => Some(c2_from_euler),
        "c3_slerp" => Some(c3_slerp),
        "d1_angle" => Some(d1_angle),
        "i1_trim" => Some(skin::i1_trim),
        "i2_trim_error" => Some(skin::i2_trim_error),
        "k1_sample" => Some(k1_sample),
        "d2_report" => Some(maths::d2_report),
        "k2_polynomial" => Some(maths::k2_polynomial),
        "l1_override" => Some(layers::l1_override),
        "l2_additive" => Some(layers::l2_additive),
        "l2_continuous" => Some(layers::l2_continuous),
        "l3_mask" => Some(layers::l3_mask),
        "l4_missing" => Some(layers::l4_missing),
        "l5_retarget" => Some(layers::l5_retarget),
        "l6_rebuild" => Some(layers::l6_rebuild),
        "k3_clock" => Some(maths::k3_clock),
        "k4_envelope" => Some(maths::k4_envelope),
        "k5_body" => Some(maths::k5_body),
        "k6_feed_forward" => Some(maths::k6_feed_forward),
        "k7_atlas" => Some(maths::k7_atlas),
        "k8_camera" => Some(maths::k8_camera),
        "m1_smoothing" => Some(m1_smoothing),
        "q1_skirt_driver" => Some(q1_skirt_driver),
        "q2_constraint" => Some(q2_constraint),
        "s1_root" => Some(s1_root),
        "s6_coupling" => Some(s6_coupling),
        "v1_from_to" => Some(v1_from_to),
        "v2_limit" => Some(v2_limit),
        "v3_slide" => Some(v3_slide),
        "w1_wind" => Some(w1_wind),
        "x1_update" => Some(x1_update),
        "x5_push" => Some(x5_push),
        "x6_link" => Some(x6_link),
        x4 if x4.starts_with("x4_") => Some(x4_check),
        _ => None,
    }
}

#[test]
fn every_covered_function_is_within_its_tolerance() {
    let (mut passed, mut failures, mut missing) = (0, Vec::new(), Vec::new());
    for path in golden::files("functions") {
        let file = golden::read(&path);
        let name = file["name"].as_str().unwrap();
        let kind = file["function"].as_str().unwrap();
        let Some(function) = function(kind) else {
            assert!(
                !kind.starts_with(COVERED),
                "{name}: nothing computes {kind}"
            );
            missing.push(name.to_owned());
            continue;
        };
        let faults = run(&file, function);
        if faults.is_empty() {
            passed += 1;
            println!("passed: {name}, {} cases", list(&file["cases"]).len());
        }
        failures.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    for name in &missing {
        println!("not covered: {name}");
    }
    println!(
        "{passed} passed, {} failed, {} not covered",
        failures.len(),
        missing.len()
    );
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(passed >= 96, "only {passed} files ran");
}

fn run(file: &Value, function: Function) -> Vec<String> {
    let cases = list(&file["cases"]).iter().enumerate();
    let check = |(index, case): (usize, &Value)| {
        let fault = compare(
            &case["out"],
            function(&case["in"]),
            number(&case["tolerance"]),
        );
        fault.map(|fault| format!("case {index}: {fault}"))
    };
    cases.filter_map(check).collect()
}

fn compare(expected: &Value, found: Option<Outputs>, tolerance: f32) -> Option<String> {
    let refused = expected["error"] == Value::Bool(true);
    let Some(found) = found else {
        return (!refused).then(|| format!("refused; expected {expected}"));
    };
    if refused {
        return Some("accepted; expected an error".to_owned());
    }
    found.0.iter().find_map(|(name, values, rotation)| {
        let numbers = flatten(&expected[*name]);
        if numbers.len() != values.len() {
            return Some(format!("{name}: found {values:?}, expected {numbers:?}"));
        }
        let off = |sign: f32| {
            let pairs = values.iter().zip(&numbers);
            pairs.fold(0.0_f32, |worst, (a, b)| {
                worst.max((a - sign * b).abs() / b.abs().max(1.0))
            })
        };
        let worst = if *rotation {
            off(1.0).min(off(-1.0))
        } else {
            off(1.0)
        };
        (worst.is_nan() || worst > tolerance)
            .then(|| format!("{name}: found {values:?}, expected {numbers:?}: off by {worst:e}"))
    })
}

/// All numbers below a value in order; true is 1 and false 0.
fn flatten(v: &Value) -> Vec<f32> {
    match v {
        Value::Array(items) => items.iter().flat_map(flatten).collect(),
        Value::Bool(yes) => vec![f32::from(u8::from(*yes))],
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            fields
                .into_iter()
                .flat_map(|(_, value)| flatten(value))
                .collect()
        }
        Value::Null => Vec::new(),
        other => vec![number(other)],
    }
}

fn q(v: &Value) -> Rotation<f32> {
    Rotation::splat(array(v))
}
fn v3(v: &Value) -> Vec3x<f32> {
    Vec3x::splat(array(v))
}

fn b1_nlerp(i: &Value) -> Option<Outputs> {
    let mixed = rotation::nlerp(q(&i["from"]), q(&i["to"]), number(&i["t"])).ok()?;
    Some(Outputs::default().rotation("rotation", mixed))
}
fn b2_unit(i: &Value) -> Option<Outputs> {
    let unit = rotation::unit(q(&i["q"]), "q").ok()?;
    Some(Outputs::default().numbers("rotation", unit.lane(0)))
}
fn b5_continuity(i: &Value) -> Option<Outputs> {
    let mut keys: Vec<[f32; 4]> = list(&i["keys"]).iter().map(array).collect();
    align_hemispheres(&mut keys, 1, 0);
    Some(Outputs::default().numbers("keys", keys.concat()))
}
fn c2_euler(i: &Value) -> Option<Outputs> {
    let euler = euler::to_euler_zxy(q(&i["rotation"]));
    let back = euler::from_euler_zxy(euler);
    Some(
        Outputs::default()
            .numbers("euler", euler)
            .rotation("back", back),
    )
}
fn c2_from_euler(i: &Value) -> Option<Outputs> {
    let euler = array(&i["euler"]);
    let out = Outputs::default().rotation("zxy", euler::from_euler_zxy(euler));
    Some(
        out.rotation("product_xyz", EulerProduct::Xyz.compose(euler))
            .rotation("product_zyx", EulerProduct::Zyx.compose(euler)),
    )
}
fn c3_slerp(i: &Value) -> Option<Outputs> {
    let mixed = rotation::slerp(q(&i["a"]), q(&i["b"]), number(&i["w"]));
    Some(Outputs::default().rotation("rotation", mixed))
}
fn d1_angle(i: &Value) -> Option<Outputs> {
    let (a, b) = (q(&i["a"]).normalized(), q(&i["b"]).normalized());
    Some(Outputs::default().numbers("angle", [rotation::angle_between(a, b)]))
}

fn k1_sample(i: &Value) -> Option<Outputs> {
    let track = track(&i["track"])?;
    let mut values = Vec::new();
    for at in list(&i["at"]) {
        let mut pose = JointTransform::IDENTITY;
        track.sample(number(at), &mut pose);
        match track.values {
            TrackValues::Rotation(_) => values.extend(pose.rotation.to_array()),
            _ => values.extend(pose.translation.to_array()),
        }
    }
    Some(Outputs::default().numbers("values", values))
}

/// The track of a case, refused as reading a file would refuse it.
fn track(v: &Value) -> Option<Track> {
    let interpolation = golden::interpolation(&v["interpolation"]);
    let times: Vec<f32> = list(&v["times"]).iter().map(number).collect();
    let spline = interpolation == Interpolation::CubicSpline;
    let stored: Vec<&Value> = list(&v["values"])
        .iter()
        .flat_map(|key| {
            if spline {
                list(key).iter().collect()
            } else {
                vec![key]
            }
        })
        .collect();
    let per_key = if spline { 3 } else { 1 };
    let rising = times.windows(2).all(|pair| pair[0] < pair[1]);
    let finite = stored.iter().all(|value| flatten_finite(value));
    if times.is_empty() || !rising || !finite || stored.len() != times.len() * per_key {
        return None;
    }
    let values = if v["rotation"] == Value::Bool(true) {
        let mut keys: Vec<[f32; 4]> = stored.iter().map(|value| array(value)).collect();
        align_hemispheres(&mut keys, per_key, per_key / 2);
        TrackValues::Rotation(keys)
    } else {
        TrackValues::Translation(stored.iter().map(|value| array(value)).collect())
    };
    Some(Track {
        joint: 0,
        source: 0,
        interpolation,
        times: times.into(),
        values,
    })
}

fn flatten_finite(v: &Value) -> bool {
    list(v)
        .iter()
        .all(|n| n.as_f64().is_some_and(f64::is_finite))
}

fn s1_root(i: &Value) -> Option<Outputs> {
    let actor = [number(&i["a"]), number(&i["b"])];
    let joint = [number(&i["horizontal"]), number(&i["vertical"])];
    let rc = root_correction(v3(&i["hips"]), actor, joint);
    Some(Outputs::default().numbers("rc", rc.lane(0)))
}

fn v1_from_to(i: &Value) -> Option<Outputs> {
    let unit = |v: &Value| Vec3x::from(golden::vec3(v).normalize());
    let arc = rotation::from_to(unit(&i["a"]), unit(&i["b"]));
    Some(Outputs::default().rotation("rotation", arc))
}

fn v2_limit(i: &Value) -> Option<Outputs> {
    let limit = Limit {
        low: golden::vec3(&i["lo_deg"]),
        high: golden::vec3(&i["hi_deg"]),
    };
    let centre: [f32; 3] = array(&i["centre"]);
    let reference = (centre != [0.0; 3]).then_some((0, [1.0; 3]));
    let plan = LimitPlan::new(&limit, reference, [1.0; 3]);
    let rest = q(&i["r0"]);
    let (held, out) = plan.apply(rest.conjugate() * q(&i["r"]), &plan.circle, Some(centre));
    let limited = [f32::from(u8::from(out))];
    Some(
        Outputs::default()
            .rotation("r", rest * held)
            .numbers("limited", limited),
    )
}

fn shape(v: &Value) -> PlacedShape {
    PlacedShape::new(&golden::collider(v).shape, Vec3::ONE)
}

/// A collider placed by `[X1]`.
fn placed(v: &Value) -> (PlacedShape, [Vec3x<f32>; 2]) {
    let shape = shape(&v["collider"]);
    if matches!(shape, PlacedShape::Plane { .. }) {
        return (shape, [Vec3x::splat([0.0; 3]); 2]);
    }
    let bone = Rigid {
        t: v3(&v["b"]),
        r: q(&v["pr"]),
    };
    let ends = placement::place_shape(&shape, bone, v3(&v["pp"]), [Vec3x::splat([0.0; 3]); 2]);
    (shape, ends)
}

fn segment(ends: [Vec3x<f32>; 2], radius: [f32; 2]) -> Segment<f32> {
    let [a, b] = ends;
    Segment {
        a,
        b,
        radius_a: radius[0],
        radius_b: radius[1],
    }
}

fn x1_update(i: &Value) -> Option<Outputs> {
    let (shape, ends) = placed(i);
    let (centre, radius, sub) = match shape {
        PlacedShape::Sphere { radius, .. } => (ends[0], radius * contact::BOUNDS_FACTOR, None),
        PlacedShape::Capsule { radius, .. } | PlacedShape::Line { radius, .. } => {
            let (centre, bounds) = segment(ends, radius).bounds();
            (centre, bounds, Some(ends[1]))
        }
        PlacedShape::Plane { .. } => return None,
    };
    let sub = sub.map_or(Vec::new(), |sub| sub.lane(0).to_vec());
    let out = Outputs::default()
        .numbers("pos", ends[0].lane(0))
        .numbers("sub", sub);
    Some(
        out.numbers("bounds_centre", centre.lane(0))
            .numbers("bounds_radius", [radius]),
    )
}

/// A static collider that balls of up to radius `widest` meet.
fn static_collider(v: &Value, widest: f32) -> (StaticPlan, Vec<f32>) {
    let (shape, ends) = placed(v);
    let mut numbers = vec![0.0; PLACED];
    placement::store_placed(&shape, widest, ends, &mut numbers);
    (
        StaticPlan {
            joint: None,
            parent: None,
            shape,
            widest,
        },
        numbers,
    )
}

fn x4_check(i: &Value) -> Option<Outputs> {
    let parallel = if i["parallel_epsilon"] == "relative" {
        ParallelEpsilon::Relative
    } else {
        ParallelEpsilon::Documented
    };
    let mask = |side: &str| golden::collider(&i[side]["collider"]).mask;
    let meets = mask("dynamic").meets(mask("static"));
    let (shape, ends) = placed(&i["dynamic"]);
    let widest = match shape {
        PlacedShape::Sphere { radius, .. } => radius,
        _ => 0.0,
    };
    let (other, numbers) = static_collider(&i["static"], widest);
    let hit = match shape {
        PlacedShape::Sphere { radius, .. } => {
            collision::hit_sphere(ends[0], radius, &other, &numbers)
        }
        PlacedShape::Line { radius, .. } => {
            collision::hit_segment(&segment(ends, radius), &other, &numbers, parallel)
        }
        _ => panic!("a dynamic collider is a sphere or a line"),
    };
    let out = Outputs::default();
    Some(match hit.filter(|hit| meets && hit.touches) {
        Some(Hit {
            normal,
            position,
            value,
            ..
        }) => out
            .numbers("hit", [1.0])
            .numbers("normal", normal.lane(0))
            .numbers("position", position.lane(0))
            .numbers("value", [value]),
        None => out.numbers("hit", [0.0]),
    })
}

fn x5_push(i: &Value) -> Option<Outputs> {
    let collider = match shape(&i["collider"]) {
        PlacedShape::Sphere { offset, radius } => DynamicPlan::Sphere { offset, radius },
        PlacedShape::Line { inset, radius } => DynamicPlan::Line { inset, radius },
        _ => panic!("a dynamic collider is a sphere or a line"),
    };
    let body = Body {
        shape: DynamicShape::splat(&collider),
        origin: v3(&i["origin"]),
        rotation: q(&i["r_cur"]),
        length: Some(number(&i["length"])),
    };
    let mut particle = v3(&i["particle"]);
    let (mut normal, mut position, mut hits) = ([0.0; 3], [0.0; 3], 0.0);
    let own = golden::collider(&i["collider"]).mask;
    for other in list(&i["statics"]) {
        let theirs = golden::collider(&other["collider"]).mask;
        let widest = match collider {
            DynamicPlan::Sphere { radius, .. } => radius,
            DynamicPlan::Line { .. } => 0.0,
        };
        let (other, numbers) = static_collider(other, widest);
        let meets = own.meets(theirs).then_some(());
        let profile = SwingProfile::default();
        let pushed =
            meets.and_then(|()| collision::push(&body, particle, &other, &numbers, &profile));
        if let Some(push) = pushed {
            particle = push.particle;
            (normal, position) = (push.hit.normal.lane(0), particle.lane(0));
            hits += 1.0;
        }
    }
    let out = Outputs::default()
        .numbers("particle", particle.lane(0))
        .numbers("normal", normal);
    Some(
        out.numbers("hit_position", position)
            .numbers("hits", [hits]),
    )
}

fn c1_mirror(i: &Value) -> Option<Outputs> {
    let (low, high) = (golden::vec3(&i["lo"]), golden::vec3(&i["hi"]));
    let turned = mirror::degrees(Limit { low, high });
    let slid = mirror::millimetres(Limit { low, high });
    let mut constants = i.clone();
    constants["product"] = "xyz".into();
    constants["min_deg"] = i["lo"].clone();
    constants["max_deg"] = i["hi"].clone();
    let driver = mirror::skirt_driver(golden::skirt_driver(&constants, 0, 1));
    let ends = |limit: Limit| [limit.high.to_array(), limit.low.to_array()].concat();
    // The numbers of a case's object come in the order of their names.
    let driver = [driver.inner, driver.max_deg, driver.min_deg, driver.outer];
    let out = Outputs::default()
        .numbers(
            "position",
            mirror::point(golden::vec3(&i["position"])).to_array(),
        )
        .numbers("rotation", mirror_x(q(&i["rotation"])).lane(0));
    Some(
        out.numbers("degrees", ends(turned))
            .numbers("millimetres", ends(slid))
            .numbers("driver", driver.map(|v| v.to_array()).concat()),
    )
}

fn m1_smoothing(i: &Value) -> Option<Outputs> {
    let ring = list(&i["ring"]);
    let count = ring.len();
    let mut group = Group {
        lanes: 1,
        particles: Aligned::zeros(count * particle::COMPONENTS),
        links: list(&i["link_hits"]).iter().map(number).collect(),
        ..Group::default()
    };
    for (k, point) in ring.iter().enumerate() {
        v3(point).store(&mut group.particles[k * particle::COMPONENTS + particle::POSITION..]);
    }
    let rules = ChainLayer {
        around: true,
        smoothing: number(&i["smoothing"]),
        ..row(Vec::new())
    };
    let layer = LayerPlan {
        source: 0,
        members: (0..count).collect(),
        links: count,
        first_link: 0,
        radius: 0.0,
        smoothing: acting_smoothing(&rules, count),
        rest_length: number(&i["rest_length"]),
        meets: 0..0,
    };
    let (plan, profile) = (
        Plan::compile(&two_hanging_bones([1.0; 2])),
        SwingProfile::default(),
    );
    let pass = Pass::<f32>::of(&plan, &profile);
    smooth_ring(&pass, &layer, &mut group, &mut Unwatched);
    let at = |k: usize| &group.particles[k * particle::COMPONENTS + particle::POSITION..][..3];
    let found: Vec<f32> = (0..count).flat_map(at).copied().collect();
    Some(Outputs::default().numbers("ring", found))
}

/// A plan of two swing joints joined by one link, with what a case says of them.
fn x6_link(i: &Value) -> Option<Outputs> {
    let ends = [&i["p"], &i["q"]];
    let rig = two_hanging_bones(ends.map(|end| number(&end["length"])));
    let mut plan = Plan::compile(&rig);
    let mut group = Group::new(&plan, 1);
    let statics = list(&i["statics"]).iter().map(|v| static_collider(v, 0.0));
    let (statics, numbers): (Vec<_>, Vec<_>) = statics.unzip();
    let numbers = numbers.concat();
    group.statics.resize(numbers.len());
    group.statics.copy_from_slice(&numbers);
    plan.meets = (0..statics.len()).collect();
    plan.layers[0].meets = 0..statics.len();
    plan.layers[0].radius = number(&i["radius"]);
    plan.statics = statics;
    for (place, end) in ends.into_iter().enumerate() {
        let own = &mut group.particles[place * particle::COMPONENTS..];
        v3(&end["position"]).store(&mut own[particle::POSITION..]);
        v3(&end["anchor"]).store(&mut own[particle::ORIGIN..]);
    }
    let profile = SwingProfile::default();
    let pass = Pass::<f32>::of(&plan, &profile);
    collide_links(&pass, &plan.layers[0], &mut group, &mut Unwatched);
    let at = |place: usize| {
        let from = place * particle::COMPONENTS + particle::POSITION;
        group.particles[from..][..3].to_vec()
    };
    let out = Outputs::default().numbers("p", at(0)).numbers("q", at(1));
    Some(out.numbers("hits", [group.links[0]]))
}

fn two_hanging_bones(lengths: [f32; 2]) -> Rig {
    let joint = |parent: Option<usize>, y: f32| Joint {
        name: String::new(),
        source: 0,
        parent,
        rest: JointTransform::rigid(Vec3::new(0.0, y, 0.0), Quat::IDENTITY),
    };
    let mut rig = Rig::new(vec![
        joint(None, 0.0),
        joint(Some(0), -lengths[0]),
        joint(None, 0.0),
        joint(Some(2), -lengths[1]),
    ]);
    rig.swing = vec![SwingJoint::new(0), SwingJoint::new(2)];
    rig.layers = vec![row(vec![1, 3])];
    rig
}

fn row(joints: Vec<usize>) -> ChainLayer {
    ChainLayer {
        joints,
        active: true,
        around: false,
        radius: 0.0,
        smoothing: 0.0,
        mask: Mask::ALL,
    }
}

fn q1_skirt_driver(i: &Value) -> Option<Outputs> {
    let driver = golden::skirt_driver(i, 0, 1);
    let turned = driver.rotation(
        q(&i["reference_rest"]),
        q(&i["reference_local"]),
        q(&i["driven_rest"]),
    );
    Some(Outputs::default().rotation("rotation", turned))
}

fn q2_constraint(i: &Value) -> Option<Outputs> {
    let transform = |t: &Value, r: &Value, s: &Value| JointTransform {
        translation: golden::vec3(t),
        rotation: golden::quat(r),
        scale: golden::vec3(s),
    };
    let offset = transform(
        &i["offset_position"],
        &i["offset_rotation"],
        &i["offset_scale"],
    );
    let sources = list(&i["sources"]).iter().map(|source| {
        let at = transform(&source["position"], &source["rotation"], &source["scale"]);
        (at, golden::vec3(&source["weight"]))
    });
    let found = BlendConstraint::blend(&offset, sources);
    Some(
        Outputs::default()
            .numbers("position", found.translation.to_array())
            .rotation("rotation", found.rotation.into())
            .numbers("scale", found.scale.to_array()),
    )
}

fn s6_coupling(i: &Value) -> Option<Outputs> {
    let coupling = [number(&i["x_to_y"]), number(&i["x_to_z"])];
    let force = slide::couple(coupling, q(&i["r_cur"]), v3(&i["force"]));
    Some(Outputs::default().numbers("force", force.lane(0)))
}

fn v3_slide(i: &Value) -> Option<Outputs> {
    let millimetres = |v: &Value| (golden::vec3(v) * 0.001).to_array();
    let plan = SlidePlan {
        rest: array(&i["rest"]),
        low: millimetres(&i["lo_mm"]),
        high: millimetres(&i["hi_mm"]),
        coupling: [0.0; 2],
        scale: [1.0; 3],
    };
    let parent = Rigid {
        t: v3(&i["parent_t"]),
        r: q(&i["parent_r"]),
    };
    let (local, particle) = plan.resolve(parent, v3(&i["particle"]), number(&i["weight"]));
    let out = Outputs::default().numbers("local", local.lane(0));
    Some(out.numbers("particle", particle.lane(0)))
}

fn w1_wind(i: &Value) -> Option<Outputs> {
    let wind = golden::wind(&i["wind"])?;
    let time = i["t"].as_f64()?;
    let found = WindField::new(&wind).at(golden::vec3(&i["q"]), time);
    Some(Outputs::default().numbers("wind", found.to_array()))
}
