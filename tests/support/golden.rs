//! Reading the golden files: numbers of an independent implementation, see `tests/golden/data/README.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy_math::{Quat, Vec3};
use flounce::chain::ChainLayer;
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::driver::{Driver, SkirtDriver};
use flounce::euler::EulerProduct;
use flounce::pose::JointTransform;
use flounce::profile::{
    DeltaPolicy, ForcePolicy, InertiaPolicy, ParallelEpsilon, RootPolicy, SubstepPolicy,
    SwingProfile,
};
use flounce::rig::{Joint, Rig};
use flounce::swing::{ActorProperties, Limit, Motion, ReferenceLimit, SwingJoint, Tip};
use flounce::wind::{Gust, Wind};
use serde_json::Value;

/// The folders to run: the repository's and the one named by `FLOUNCE_GOLDEN_DIR`.
pub fn folders() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data");
    let extra = std::env::var_os("FLOUNCE_GOLDEN_DIR").map(PathBuf::from);
    [Some(own), extra].into_iter().flatten().collect()
}

/// The golden files of one kind (`simulations`, `functions`) in all folders, by name.
pub fn files(kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders() {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else {
            continue;
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|e| e == "json")));
    }
    found.sort();
    assert!(!found.is_empty(), "no golden files of kind {kind}");
    found
}

pub fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn number(v: &Value) -> f32 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is not a number")) as f32
}
pub fn index(v: &Value) -> Option<usize> {
    v.as_i64().and_then(|i| usize::try_from(i).ok())
}
pub fn vec3(v: &Value) -> Vec3 {
    Vec3::new(number(&v[0]), number(&v[1]), number(&v[2]))
}
pub fn quat(v: &Value) -> Quat {
    Quat::from_xyzw(number(&v[0]), number(&v[1]), number(&v[2]), number(&v[3]))
}
pub fn array<const N: usize>(v: &Value) -> [f32; N] {
    core::array::from_fn(|i| number(&v[i]))
}
pub fn list(v: &Value) -> &[Value] {
    v.as_array().map_or(&[], Vec::as_slice)
}

pub fn collider(v: &Value) -> Collider {
    let get = |name: &str| number(&v[name]);
    let shape = match v["shape"].as_str().unwrap() {
        "sphere" => Shape::Sphere {
            offset: vec3(&v["offset"]),
            radius: get("radius"),
        },
        "capsule" => Shape::Capsule {
            offset_a: vec3(&v["offset_a"]),
            offset_b: vec3(&v["offset_b"]),
            radius_a: get("radius_a"),
            radius_b: get("radius_b"),
        },
        "line" => Shape::Line {
            inset_a: get("inset_a"),
            inset_b: get("inset_b"),
            radius_a: get("radius_a"),
            radius_b: get("radius_b"),
            scale: v.get("scale").map_or(1.0, number),
        },
        "plane" => Shape::Plane {
            normal: vec3(&v["normal"]),
            offset: get("offset"),
        },
        other => panic!("unknown shape {other}"),
    };
    let mask = v
        .get("mask")
        .map_or(Mask::ALL, |mask| Mask(mask.as_u64().unwrap() as u32));
    Collider { shape, mask }
}

fn swing_joint(v: &Value) -> SwingJoint {
    let get = |name: &str| number(&v[name]);
    let flag = |name: &str| v[name].as_bool().unwrap();
    let tip = match (index(&v["tip"]), v["tail"].as_object()) {
        (Some(tip), _) => Tip::Joint(tip),
        (None, Some(tail)) => Tip::Tail {
            axis: vec3(&tail["axis"]).normalize(),
            length: number(&tail["length"]),
        },
        (None, None) => Tip::FirstChild,
    };
    let limit = v["limit"].as_object().map(|limit| Limit {
        low: vec3(&limit["lo"]),
        high: vec3(&limit["hi"]),
    });
    let reference_limit = v["reference_limit"]
        .as_object()
        .map(|reference| ReferenceLimit {
            joint: index(&reference["joint"]).unwrap(),
            weight: number(&reference["weight"]),
        });
    SwingJoint {
        motion: if v["motion"] == "slide" {
            Motion::Slide
        } else {
            Motion::Swing
        },
        active: flag("active"),
        tip,
        damping: get("damping"),
        stiffness: get("stiffness"),
        spring: get("spring"),
        mass: get("mass"),
        pendulum: get("pendulum"),
        pendulum_range: get("pendulum_range"),
        wind: get("wind"),
        use_wind_global_force: flag("use_wind_global_force"),
        axis_add_x_to_y: get("axis_add_x_to_y"),
        axis_add_x_to_z: get("axis_add_x_to_z"),
        root_horizontal_weight: get("root_horizontal_weight"),
        root_vertical_weight: get("root_vertical_weight"),
        limit,
        reference_limit,
        collider: v["collider"].as_object().map(|_| collider(&v["collider"])),
        ..SwingJoint::new(index(&v["joint"]).unwrap())
    }
}

/// The rig of a simulation case.
pub fn rig(v: &Value) -> Rig {
    let joints = list(&v["joints"])
        .iter()
        .enumerate()
        .map(|(source, joint)| Joint {
            name: joint["name"].as_str().unwrap().to_owned(),
            source,
            parent: index(&joint["parent"]),
            rest: JointTransform::rigid(vec3(&joint["t"]), quat(&joint["r"])),
        });
    let mut rig = Rig::new(joints.collect());
    rig.root_correction = index(&v["root_correction_joint"]);
    rig.swing = list(&v["swing"]).iter().map(swing_joint).collect();
    rig.colliders = list(&v["colliders"])
        .iter()
        .map(|c| StaticCollider {
            joint: index(&c["joint"]),
            collider: collider(c),
        })
        .collect();
    rig.layers = list(&v["layers"])
        .iter()
        .map(|layer| ChainLayer {
            joints: list(&layer["joints"]).iter().filter_map(index).collect(),
            active: layer["active"].as_bool().unwrap(),
            around: layer["around"].as_bool().unwrap(),
            radius: number(&layer["radius"]),
            smoothing: number(&layer["smoothing"]),
            mask: Mask(layer["mask"].as_u64().unwrap() as u32),
        })
        .collect();
    rig.drivers = list(&v["skirt_drivers"]).iter().map(skirt).collect();
    rig
}

fn skirt(v: &Value) -> Driver {
    Driver::Skirt(skirt_driver(
        v,
        index(&v["driven"]).unwrap(),
        index(&v["reference"]).unwrap(),
    ))
}

/// A skirt driver's constants on `joint`, driven by `reference`.
pub fn skirt_driver(v: &Value, joint: usize, reference: usize) -> SkirtDriver {
    SkirtDriver {
        joint,
        reference,
        product: match v["product"].as_str().unwrap() {
            "xyz" => EulerProduct::Xyz,
            "zyx" => EulerProduct::Zyx,
            other => panic!("unknown product {other}"),
        },
        inner: vec3(&v["inner"]),
        outer: vec3(&v["outer"]),
        min_deg: vec3(&v["min_deg"]),
        max_deg: vec3(&v["max_deg"]),
        lag: 0,
    }
}

/// The profile of a simulation case.
pub fn profile(v: &Value) -> SwingProfile {
    let name = |field: &str| v[field].as_str().unwrap();
    let count = |field: &str| v[field].as_u64().unwrap() as u32;
    SwingProfile {
        substeps: if name("substeps") == "frame" {
            SubstepPolicy::Frame
        } else {
            SubstepPolicy::Fixed
        },
        delta: match name("delta") {
            "carried" => DeltaPolicy::Carried,
            "rest" => DeltaPolicy::Rest,
            "current" => DeltaPolicy::Current,
            "carried_pairs" => DeltaPolicy::CarriedPairs,
            other => panic!("unknown delta {other}"),
        },
        root: match name("root") {
            "shift" => RootPolicy::Shift,
            "frame_delta" => RootPolicy::FrameDelta,
            "off" => RootPolicy::Off,
            other => panic!("unknown root {other}"),
        },
        inertia: match name("inertia") {
            "packed" => InertiaPolicy::Packed,
            "free" => InertiaPolicy::Free,
            other => panic!("unknown inertia {other}"),
        },
        force: match name("force") {
            "direct" => ForcePolicy::Direct,
            "velocity_add" => ForcePolicy::VelocityAdd,
            "velocity_replace" => ForcePolicy::VelocityReplace,
            other => panic!("unknown force {other}"),
        },
        velocity_damping: number(&v["velocity_damping"]),
        prewarm: count("prewarm"),
        max_substeps: count("max_substeps"),
        parallel_epsilon: if name("parallel_epsilon") == "relative" {
            ParallelEpsilon::Relative
        } else {
            ParallelEpsilon::Documented
        },
        world_inertia: number(&v["world_inertia"]),
        teleport_distance: number(&v["teleport_distance"]),
        teleport_angle_deg: number(&v["teleport_angle_deg"]),
        ..SwingProfile::default()
    }
}

/// The actor of a simulation case.
pub fn actor(v: &Value) -> ActorProperties {
    ActorProperties {
        weight: number(&v["weight"]),
        swing_power: number(&v["swing_power"]),
        root_horizontal_weight: number(&v["root_horizontal_weight"]),
        root_vertical_weight: number(&v["root_vertical_weight"]),
        global_force: vec3(&v["global_force"]),
        gravity: vec3(&v["gravity"]),
    }
}

/// The wind of a simulation case, if there is one.
pub fn wind(v: &Value) -> Option<Wind> {
    let gust = |v: &Value| Gust {
        amplitude: number(&v["amplitude"]),
        frequency: number(&v["frequency"]),
        phase: number(&v["phase"]),
    };
    v.as_object().map(|wind| Wind {
        direction: vec3(&wind["direction"]),
        power: number(&wind["power"]),
        gusts: list(&wind["gusts"]).iter().map(gust).collect(),
        ..Wind::default()
    })
}

/// A clip of the golden format, for `joints`.
pub fn clip(v: &Value) -> Arc<Clip> {
    let tracks: Vec<Track> = list(&v["tracks"]).iter().enumerate().map(track).collect();
    let ends = tracks
        .iter()
        .filter_map(|track| track.times.last().copied());
    Arc::new(Clip {
        name: "golden".to_owned(),
        source: 0,
        duration: ends.fold(0.0, f32::max),
        tracks,
    })
}

fn track((source, v): (usize, &Value)) -> Track {
    let interpolation = interpolation(&v["interpolation"]);
    let per_key = usize::from(interpolation == Interpolation::CubicSpline) * 2 + 1;
    let flat = |key: &Value| -> Vec<Value> {
        if per_key == 3 {
            list(key).to_vec()
        } else {
            vec![key.clone()]
        }
    };
    let stored: Vec<Value> = list(&v["values"]).iter().flat_map(flat).collect();
    let values = match v["path"].as_str().unwrap() {
        "translation" => TrackValues::Translation(stored.iter().map(array).collect()),
        "rotation" => {
            let mut keys: Vec<[f32; 4]> = stored.iter().map(array).collect();
            flounce::clip::align_hemispheres(&mut keys, per_key, per_key / 2);
            TrackValues::Rotation(keys)
        }
        other => panic!("unknown path {other}"),
    };
    Track {
        joint: index(&v["joint"]).unwrap_or(0),
        source,
        interpolation,
        times: list(&v["times"]).iter().map(number).collect(),
        values,
    }
}

pub fn interpolation(v: &Value) -> Interpolation {
    match v.as_str().unwrap() {
        "STEP" => Interpolation::Step,
        "LINEAR" => Interpolation::Linear,
        "CUBICSPLINE" => Interpolation::CubicSpline,
        other => panic!("unknown interpolation {other}"),
    }
}
