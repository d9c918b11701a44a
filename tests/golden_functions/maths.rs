//! Blends, curves, actions, faces, cameras and measures against the golden numbers.

use flounce::blend::{BlendInput, BlendReference, Interpolant, blend_many};
use flounce::curve::{PolynomialCurve, PolynomialKey, SplineKey};
use serde_json::Value;

use super::support::golden::{array, list, number};
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
