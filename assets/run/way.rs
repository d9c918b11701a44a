//! The way of an actor through the world of its scene.

use bevy_math::{Quat, Vec3};

use crate::assets::scene::{MoveKind, MoveRule};
use crate::euler;
use crate::systems::motion::WorldFromActor;

/// Where an actor is at `time` that stands at `start` and makes `moves`.
pub fn place_at(start: Vec3, moves: &[MoveRule], time: f32) -> WorldFromActor {
    let place = |position: Vec3, yaw_deg: f32| WorldFromActor {
        translation: position,
        rotation: Quat::from(euler::from_euler_zxy([0.0, yaw_deg.to_radians(), 0.0])),
    };
    let (mut since, mut position, mut yaw) = (0.0_f32, start, 0.0_f32);
    for to in moves {
        let goal = start + Vec3::from_array(to.position);
        if time < to.time {
            if to.kind == MoveKind::Glide {
                let share = (time - since) / (to.time - since);
                return place(
                    position + (goal - position) * share,
                    yaw + (to.yaw_deg - yaw) * share,
                );
            }
            break;
        }
        (since, position, yaw) = (to.time, goal, to.yaw_deg);
    }
    place(position, yaw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_glides_between_moves_and_stays_after_the_last() {
        let to = |time: f32, x: f32, kind| MoveRule {
            time,
            position: [x, 0.0, 0.0],
            yaw_deg: 90.0,
            kind,
        };
        let moves = [to(1.0, 2.0, MoveKind::Glide), to(2.0, 9.0, MoveKind::Jump)];
        for (time, expected) in [(0.0, 0.0), (0.5, 1.0), (1.5, 2.0), (2.0, 9.0), (5.0, 9.0)] {
            let found = place_at(Vec3::ZERO, &moves, time).translation.x;
            assert!((found - expected).abs() < 1e-6, "{found} at {time} s");
        }
    }
}
