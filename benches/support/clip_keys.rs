//! Workload C: 67 joints, each with 100 rotation keys at 30 Hz, played at 60 frames a second.
//!
//! Plain numbers, so that every side is fed the same ones; the peers' package reads this file too.

/// Joints: a root and six chains of eleven.
pub const JOINTS: usize = 67;
/// Keys per joint.
pub const KEYS: usize = 100;
/// Time of the last key, seconds.
pub const DURATION: f32 = 3.3;

/// Time of a key, seconds.
pub fn time(key: usize) -> f32 {
    key as f32 / 30.0
}

/// Rotation (x, y, z, w) of a joint at a key; `size` 1 is the base clip, 0.3 the smaller one laid over it.
pub fn rotation(joint: usize, key: usize, size: f64) -> [f32; 4] {
    let turn = std::f64::consts::TAU * key as f64 / (KEYS - 1) as f64;
    let at = joint as f64;
    let cycles = |least: usize, of: usize| (least + joint % of) as f64;
    let pitch = size * 0.5 * (turn * cycles(1, 3) + 0.3 * at).sin();
    let yaw = size * 0.3 * (turn * cycles(1, 2) + 0.7 * at).sin();
    let roll = size * 0.2 * (turn * cycles(2, 3) + 0.1 * at).cos();
    let ((sx, cx), (sy, cy), (sz, cz)) = (
        (pitch / 2.0).sin_cos(),
        (yaw / 2.0).sin_cos(),
        (roll / 2.0).sin_cos(),
    );
    // yaw · pitch · roll
    [
        cy * cz * sx + sy * sz * cx,
        sy * cz * cx - cy * sz * sx,
        cy * sz * cx - sy * cz * sx,
        cy * cz * cx + sy * sz * sx,
    ]
    .map(|c| c as f32)
}

/// Time within the clip that `character` shows in `frame`, seconds.
pub fn play(frame: usize, character: usize) -> f32 {
    (frame as f32 / 60.0 + character as f32 * 0.137) % DURATION
}
