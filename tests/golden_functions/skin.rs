//! Skin weights. `[I1]` `[I2]`

use bevy_math::DVec3;
use flounce::skin::{self, Influence};
use serde_json::Value;

use super::Outputs;
use super::support::golden::list;

/// In f64: one case is near its end.
fn influences(v: &Value) -> Vec<Influence> {
    let pair = |v: &Value| (v[0].as_u64().unwrap() as u32, v[1].as_f64().unwrap());
    list(v).iter().map(pair).collect()
}

fn limit(i: &Value) -> usize {
    i["k"].as_u64().unwrap() as usize
}

pub fn i1_trim(i: &Value) -> Option<Outputs> {
    let kept = skin::trim(&influences(&i["influences"]), limit(i)).ok()?;
    let flat: Vec<f32> = kept
        .iter()
        .flat_map(|&(joint, weight)| [joint as f32, weight as f32])
        .collect();
    Some(Outputs::default().numbers("influences", flat))
}

pub fn i2_trim_error(i: &Value) -> Option<Outputs> {
    let positions: Vec<DVec3> = list(&i["positions"])
        .iter()
        .map(|v| DVec3::from_array([0, 1, 2].map(|axis| v[axis].as_f64().unwrap())))
        .collect();
    let found = skin::trim_error(&influences(&i["influences"]), limit(i), &positions).ok()?;
    let out = Outputs::default().numbers("error", found.error.as_vec3().to_array());
    Some(out.numbers("bound", [found.bound as f32]))
}
