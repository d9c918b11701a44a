//! Feet of a scene's actors: when and where they are held. `[Q4]`

use bevy_math::Vec3;
use serde::{Deserialize, Serialize};

use super::schema::is_default;
use crate::assets::rig_file::ranges::{in_range, point};
use crate::assets::text::{Faults, FieldPath, quoted};
use crate::foot::FootAnchor;

/// When and where a foot is held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Foot")]
pub struct FootRule {
    /// Name of a leg of the rig file.
    pub leg: String,
    /// In the order of their times.
    pub plants: Vec<PlantRule>,
}

/// A time for which a foot stays in its place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Plant")]
pub struct PlantRule {
    /// Seconds from the start.
    pub from: f32,
    /// Seconds from the start, after `from`; both ends are held wholly.
    pub to: f32,
    /// The place of the sole from where the actor stands, world space, metres. Default: where the sole is in the first
    /// frame of the plant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at: Option<[f32; 3]>,
    /// How long the foot takes to be let go after `to`, and with `at` also to get there before `from`, seconds.
    /// Default 0: at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fade: f32,
}

impl PlantRule {
    /// When the foot begins to move there; one without a place is there already.
    fn begin(&self) -> f32 {
        if self.at.is_some() {
            self.from - self.fade
        } else {
            self.from
        }
    }

    /// When the foot is free again.
    fn end(&self) -> f32 {
        self.to + self.fade
    }

    /// How much it holds at `time`; `None` outside of it.
    fn weight(&self, time: f32) -> Option<f32> {
        if !(self.begin()..=self.end()).contains(&time) {
            return None;
        }
        let left = if time < self.from {
            (self.from - time) / self.fade
        } else if time > self.to {
            (time - self.to) / self.fade
        } else {
            0.0
        };
        let u = 1.0 - left;
        // Smoothstep, as envelopes fade. `[K4]`
        Some(u * u * (3.0 - 2.0 * u))
    }
}

impl FootRule {
    /// What holds the foot at `time`, seconds from the start, of an actor that stands at `start`.
    pub fn anchor(&self, start: Vec3, time: f32) -> Option<FootAnchor> {
        let plants = self.plants.iter().enumerate();
        let mut held =
            plants.filter_map(|(index, plant)| Some((index, plant, plant.weight(time)?)));
        held.next().map(|(index, plant, weight)| FootAnchor {
            at: plant.at.map(|at| start + Vec3::from_array(at)),
            weight,
            plant: index as u32,
        })
    }
}

pub(super) fn check(feet: &[FootRule], path: &FieldPath, faults: &mut Faults) {
    for (index, foot) in feet.iter().enumerate() {
        let path = path.field("feet").index(index);
        if feet[..index].iter().any(|other| other.leg == foot.leg) {
            let fault = format!("found {} twice, expected each leg once", quoted(&foot.leg));
            faults.add(&path.field("leg"), fault);
        }
        for (index, plant) in foot.plants.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &foot.plants[before]);
            check_plant(plant, before, &path.field("plants").index(index), faults);
        }
    }
}

fn check_plant(
    plant: &PlantRule,
    before: Option<&PlantRule>,
    path: &FieldPath,
    faults: &mut Faults,
) {
    for (field, value, longest) in [
        ("from", plant.from, 3600.0),
        ("to", plant.to, 3600.0),
        ("fade", plant.fade, 60.0),
    ] {
        in_range(value, 0.0..=longest, &path.field(field), faults);
    }
    if plant.to <= plant.from {
        let fault = format!(
            "found {}, expected a time after {}, its `from`",
            plant.to, plant.from
        );
        faults.add(&path.field("to"), fault);
    }
    if let Some(at) = plant.at {
        point(at, &path.field("at"), faults);
    }
    if let Some(before) = before.filter(|before| plant.begin() < before.end()) {
        let fault = format!(
            "begins at {} s, expected no time before {}, when the plant before has let go",
            plant.begin(),
            before.end()
        );
        faults.add(&path.field("from"), fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foot(at: Option<[f32; 3]>) -> FootRule {
        let plant = |from: f32| PlantRule {
            from,
            to: from + 1.0,
            at,
            fade: 0.5,
        };
        FootRule {
            leg: "left".to_owned(),
            plants: vec![plant(1.0), plant(4.0)],
        }
    }

    #[test]
    fn a_plant_without_a_place_holds_at_once_and_lets_go_slowly() {
        let foot = foot(None);
        let weight = |time: f32| foot.anchor(Vec3::X, time).map(|anchor| anchor.weight);
        assert_eq!(
            [weight(0.9), weight(1.0), weight(2.0)],
            [None, Some(1.0), Some(1.0)]
        );
        assert_eq!(
            [weight(2.25), weight(2.5), weight(2.6)],
            [Some(0.5), Some(0.0), None]
        );
        let plants = [1.5, 4.5].map(|time| foot.anchor(Vec3::X, time).map(|anchor| anchor.plant));
        assert_eq!(plants, [Some(0), Some(1)]);
    }

    #[test]
    fn a_plant_with_a_place_gets_there_before_it_begins() {
        let foot = foot(Some([0.0, 0.0, 2.0]));
        let anchor = foot.anchor(Vec3::X, 0.75).unwrap();
        assert_eq!(anchor.at, Some(Vec3::new(1.0, 0.0, 2.0)));
        assert_eq!(anchor.weight, 0.5);
    }
}
