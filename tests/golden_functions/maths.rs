//! Blends, curves, actions, faces, cameras and measures against the golden numbers.

use flounce::blend::{BlendInput, BlendReference, Interpolant, blend_many};
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
