//! Layers, masks, retargeting and hierarchies against the golden numbers.

use bevy_math::{Quat, Vec3};
use flounce::additive::Side;
use flounce::binding::Retarget;
use flounce::blend::Interpolant;
use flounce::layer::{Additive, Missing, Present, Sampled, add_joint, override_joint};
use flounce::mask::JointMask;
use flounce::pose::{JointTransform, ModelTransform, compose_model};
use serde_json::Value;

use super::support::golden::{array, index, list, number, quat, vec3};
use super::{Outputs, q};

pub fn l1_override(i: &Value) -> Option<Outputs> {
    let transform = |v: &Value| JointTransform {
        translation: vec3(&v[0]),
        rotation: quat(&v[1]),
        scale: vec3(&v[2]),
    };
    let interpolant = match i["interpolant"].as_str()? {
        "nlerp" => Interpolant::Nlerp,
        _ => Interpolant::Slerp,
    };
    let (base, sample, w) = (
        transform(&i["pose"]),
        transform(&i["sample"]),
        number(&i["w"]),
    );
    let (out, _) = override_joint(&base, &sample, Present::ALL, w, interpolant);
    Some(
        Outputs::default()
            .numbers("t", out.translation.to_array())
            .rotation("r", out.rotation.into())
            .numbers("s", out.scale.to_array()),
    )
}

pub fn l2_additive(i: &Value) -> Option<Outputs> {
    let transform = |r: &str, t: &str, s: &str| JointTransform {
        translation: vec3(&i[t]),
        rotation: quat(&i[r]),
        scale: vec3(&i[s]),
    };
    let base = transform("base", "base_t", "base_s");
    let sample = transform("sample", "sample_t", "sample_s");
    let reference = transform("reference", "ref_t", "ref_s");
    let added = |side| {
        let how = Additive {
            side,
            reference: &reference,
            last: None,
        };
        add_joint(&base, &sample, Present::ALL, number(&i["w"]), &how)
    };
    let ((own, kept, _), (parent, ..)) = (added(Side::Own), added(Side::Parent));
    Some(
        Outputs::default()
            .rotation("right", own.rotation.into())
            .rotation("left", parent.rotation.into())
            .numbers("reported", [f32::from(u8::from(kept))])
            .numbers("translation", own.translation.to_array())
            .numbers("scale", own.scale.to_array()),
    )
}

pub fn l2_continuous(i: &Value) -> Option<Outputs> {
    let base = JointTransform::rigid(Vec3::ZERO, quat(&i["base"]));
    let reference = JointTransform::rigid(Vec3::ZERO, quat(&i["reference"]));
    let (mut last, mut rotations) = (None, Vec::new());
    for sample in list(&i["samples"]) {
        let sample = JointTransform::rigid(Vec3::ZERO, quat(sample));
        let how = Additive {
            side: Side::Own,
            reference: &reference,
            last: Some(last),
        };
        let (out, _, delta) = add_joint(&base, &sample, Present::ALL, number(&i["w"]), &how);
        last = delta;
        rotations.push(out.rotation.to_array());
    }
    Some(Outputs::default().numbers("rotations", rotations.concat()))
}

pub fn l3_mask(i: &Value) -> Option<Outputs> {
    let parents: Vec<Option<usize>> = list(&i["parents"]).iter().map(index).collect();
    let roots: Vec<usize> = list(&i["roots"]).iter().filter_map(index).collect();
    let mask = JointMask::new(&parents, &roots, &[], &[]).ok()?;
    let joints: Vec<f32> = mask.joints().map(|joint| joint as f32).collect();
    Some(Outputs::default().numbers("joints", joints))
}

pub fn l4_missing(i: &Value) -> Option<Outputs> {
    let transform = |v: &Value| JointTransform {
        translation: vec3(&v["t"]),
        rotation: quat(&v["r"]),
        scale: vec3(&v["s"]),
    };
    let (base, rest) = (transform(&i["base"]), [transform(&i["rest"])]);
    let missing = match i["policy"].as_str()? {
        "rest" => Missing::Rest,
        _ => Missing::Base,
    };
    let mut sampled = Sampled::default();
    sampled.clear(1, &flounce::channel::ChannelLayout::default());
    let (to, present) = sampled.touch(0, &rest);
    let sample = &i["sample"];
    if !sample["t"].is_null() {
        (to.translation, present.translation) = (vec3(&sample["t"]), true);
    }
    if !sample["r"].is_null() {
        (to.rotation, present.rotation) = (quat(&sample["r"]), true);
    }
    if !sample["s"].is_null() {
        (to.scale, present.scale) = (vec3(&sample["s"]), true);
    }
    sampled.fill_missing(missing, &rest, |_| true);
    let (sample, present) = (&sampled.pose[0], sampled.present[0]);
    let (out, _) = override_joint(&base, sample, present, 1.0, Interpolant::Slerp);
    Some(
        Outputs::default()
            .numbers("t", out.translation.to_array())
            .rotation("r", out.rotation.into())
            .numbers("s", out.scale.to_array()),
    )
}

pub fn l5_retarget(i: &Value) -> Option<Outputs> {
    let retarget = Retarget {
        basis: Quat::from_array(array(&i["c"])),
        scale: number(&i["scale"]),
    };
    Some(
        Outputs::default()
            .rotation("rotation", retarget.rotation(q(&i["rotation"])))
            .numbers(
                "translation",
                retarget.translation(array(&i["translation"])),
            ),
    )
}

pub fn l6_rebuild(i: &Value) -> Option<Outputs> {
    let parents: Vec<Option<usize>> = list(&i["parents"]).iter().map(index).collect();
    let local = |v: &Value| {
        let [x, y, z, qx, qy, qz, qw] = array(v);
        JointTransform::rigid(Vec3::new(x, y, z), Quat::from_xyzw(qx, qy, qz, qw))
    };
    let mut locals: Vec<JointTransform> = list(&i["local"]).iter().map(local).collect();
    locals.resize(parents.len(), JointTransform::IDENTITY);
    for replaced in list(&i["replaced"]) {
        locals[index(&replaced["joint"])?] = local(&replaced["local"]);
    }
    let model = compose_model(&parents, &locals, ModelTransform::root(1.0)).ok()?;
    let numbers = model.iter().flat_map(|model| {
        let (t, r) = (model.rigid.t.lane(0), model.rigid.r.lane(0));
        [t[0], t[1], t[2], r[0], r[1], r[2], r[3]]
    });
    Some(Outputs::default().numbers("model", numbers.collect::<Vec<f32>>()))
}
