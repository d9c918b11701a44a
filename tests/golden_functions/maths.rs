//! Blends, curves, actions, faces, cameras and measures against the golden numbers.

use bevy_math::Vec3;
use flounce::action::{
    ActionClock, Ease, Envelope, FeedForwardRule, body_translation, feed_forward,
};
use flounce::blend::{BlendInput, BlendReference, Interpolant, blend_many};
use flounce::camera::Camera;
use flounce::curve::{PolynomialCurve, PolynomialKey, SplineKey};
use flounce::face::Atlas;
use flounce::measure::compare;
use flounce::swing::Limit;
use serde_json::Value;

use super::support::golden::{array, list, number, quat, vec3};
use super::{Outputs, q};

pub fn b3_choice(i: &Value) -> Option<Outputs> {
    let choice = match i["interpolant"].as_str()? {
        "nlerp" => Interpolant::Nlerp,
        "slerp" => Interpolant::Slerp,
        _ => Interpolant::Auto {
            threshold: number(&i["threshold"]),
        },
    };
    let mixed = choice.try_blend(q(&i["from"]), q(&i["to"]), number(&i["t"]));
    Some(Outputs::default().rotation("rotation", mixed.ok()?))
}

pub fn b4_many(i: &Value) -> Option<Outputs> {
    let inputs: Vec<BlendInput> = list(&i["inputs"])
        .iter()
        .map(|input| BlendInput {
            id: number(&input["id"]) as u32,
            rotation: array(&input["rotation"]),
            weight: number(&input["weight"]),
        })
        .collect();
    let mixed = blend_many(&inputs, BlendReference::Heaviest).ok()?;
    // The sign is part of the claim: the result has the reference's hemisphere.
    Some(Outputs::default().numbers("rotation", mixed.lane(0)))
}

pub fn k2_polynomial(i: &Value) -> Option<Outputs> {
    let keys = list(&i["keys"]).iter().map(|key| {
        let [t, c3, c2, c1, v] = array(key);
        PolynomialKey { t, c3, c2, c1, v }
    });
    let curve = PolynomialCurve::new(keys.collect()).ok()?;
    // The cases ask at keys, whose times are f32.
    let at = list(&i["at"]).iter().map(|t| f64::from(number(t)));
    let values: Vec<f32> = at.map(|t| curve.value(t)).collect();
    let spline = curve.to_cubic_spline();
    let spline = spline.iter().map(|key| {
        let SplineKey {
            time,
            in_tangent,
            value,
            out_tangent,
        } = *key;
        [time, in_tangent, value, out_tangent]
    });
    let spline: Vec<[f32; 4]> = spline.collect();
    let out = Outputs::default().numbers("values", values);
    Some(
        out.numbers("cubicspline", spline.concat())
            .numbers("bezier", curve.bezier().concat().concat()),
    )
}

/// Times of the cases are exact in neither width; both sides read the same decimals.
fn seconds(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

pub fn k3_clock(i: &Value) -> Option<Outputs> {
    let clock = ActionClock {
        lead_in: seconds(&i["lead"]),
        length: seconds(&i["length"]),
        lead_out: 0.0,
        recovers: i["recovery"].as_bool()?,
    };
    let at = clock.at(seconds(&i["t"]));
    let out = Outputs::default().numbers("active", [at.active as f32]);
    Some(out.numbers("progress", [at.progress as f32]))
}

pub fn k4_envelope(i: &Value) -> Option<Outputs> {
    let ease = match i["curve"].as_str()? {
        "linear" => Ease::Linear,
        "smoothstep" => Ease::Smoothstep,
        "cubic_in" => Ease::CubicIn,
        "cubic_out" => Ease::CubicOut,
        "cubic_in_out" => Ease::CubicInOut,
        other => panic!("no ease is called {other}"),
    };
    let clock = ActionClock {
        lead_in: seconds(&i["lead"]),
        length: seconds(&i["length"]),
        ..ActionClock::default()
    };
    let envelope = Envelope {
        fade_in: seconds(&i["fade_in"]),
        fade_out: seconds(&i["fade_out"]),
        ease_in: ease.clone(),
        ease_out: ease,
    };
    let weight = envelope.weight(&clock.at(seconds(&i["t"])));
    Some(Outputs::default().numbers("weight", [weight]))
}

pub fn k5_body(i: &Value) -> Option<Outputs> {
    let position = body_translation(
        vec3(&i["base"]),
        q(&i["heading"]),
        vec3(&i["c_t"]),
        vec3(&i["c_0"]),
        number(&i["reference_height"]),
        number(&i["support_height"]),
        number(&i["w"]),
    );
    Some(Outputs::default().numbers("position", position.to_array()))
}

pub fn k6_feed_forward(i: &Value) -> Option<Outputs> {
    let table: Vec<Vec3> = list(&i["p"]).iter().map(vec3).collect();
    let rule = FeedForwardRule {
        step: seconds(&i["h"]),
        velocity_max: number(&i["v_max"]),
        acceleration_max: number(&i["a_max"]),
    };
    let position = |t: f64| table[(t / rule.step).round() as usize];
    let found = feed_forward(position, seconds(&i["step"]) * rule.step, &rule);
    let out = Outputs::default().numbers("v", found.velocity.to_array());
    Some(out.numbers("a", found.acceleration.to_array()))
}

pub fn k7_atlas(i: &Value) -> Option<Outputs> {
    let weights: Vec<f32> = list(&i["weights"]).iter().map(number).collect();
    let shown = Atlas::default().select(&weights);
    let out = Outputs::default().numbers("cell", [shown.cell as f32]);
    Some(out.numbers("bias", shown.bias))
}

pub fn k8_camera(i: &Value) -> Option<Outputs> {
    let (position, rotation) = (vec3(&i["position"]), quat(&i["rotation"]));
    let camera = Camera::from_left_handed(position, rotation, number(&i["fov_deg"]));
    Some(
        Outputs::default()
            .numbers("position", camera.position.to_array())
            .rotation("rotation", camera.rotation.into())
            .numbers("yfov", [camera.yfov]),
    )
}

pub fn d2_report(i: &Value) -> Option<Outputs> {
    let series = |name: &str| -> Vec<[f32; 4]> { list(&i[name]).iter().map(array).collect() };
    let limit = (!i["lo_deg"].is_null()).then(|| Limit {
        low: vec3(&i["lo_deg"]),
        high: vec3(&i["hi_deg"]),
    });
    let (truth, simulated) = (series("truth"), series("simulated"));
    let report = compare(array(&i["rest"]), &truth, &simulated, limit.as_ref()).ok()?;
    let one = |number: f64| vec![number as f32];
    let some = |number: Option<f64>| number.map_or_else(Vec::new, one);
    let scan: Vec<f32> = report.scan.iter().map(|&error| error as f32).collect();
    Some(
        Outputs::default()
            .numbers("median_error", one(report.median_error))
            .numbers("deflection", one(report.deflection))
            .numbers("simulated_deflection", one(report.simulated_deflection))
            .numbers("error_over_deflection", some(report.error_over_deflection))
            .numbers("overshoot", some(report.overshoot))
            .numbers("axis_angle", some(report.axis_angle))
            .numbers("principal_axis_angle", some(report.principal_axis_angle))
            .numbers("correlation", report.correlation.map(some).concat())
            .numbers("share_at_limit", some(report.share_at_limit))
            .numbers("scan", scan)
            .numbers("rank_of_zero", [report.rank_of_zero as f32]),
    )
}
