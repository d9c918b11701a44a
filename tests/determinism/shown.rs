//! The bits of everything that an actor shows, and their comparison.

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use flounce::account::Explanation;
use flounce::chain::ChainReadout;
use flounce::layer::LayerReadout;
use flounce::pose::{LocalPose, ModelPose};
use flounce::swing::SwingReadout;

/// The bits of everything that an actor shows, in sections with names.
#[derive(Clone, Debug)]
pub struct Shown(Vec<(&'static str, Vec<f32>)>);

impl Shown {
    pub fn of(world: &World, actor: Entity) -> Self {
        let local = world.get::<LocalPose>(actor).unwrap();
        let joints = local.0.iter().flat_map(|joint| {
            let (t, r, s) = (joint.translation, joint.rotation, joint.scale);
            [&t.to_array()[..], &r.to_array(), &s.to_array()].concat()
        });
        let models = world.get::<ModelPose>(actor).unwrap().0.iter();
        let models = models.flat_map(|model| {
            let mut numbers = vec![0.0; 7];
            model.rigid.store(&mut numbers);
            numbers.extend(model.scale.to_array());
            numbers
        });
        let links = world.get::<ChainReadout>(actor).unwrap().0.iter();
        let mut sections = vec![
            ("local pose", joints.collect()),
            ("model pose", models.collect()),
            ("swing readout", swing_numbers(world, actor)),
            ("links", links.flatten().map(|&hits| hits as f32).collect()),
            ("layers", layer_numbers(world, actor)),
            ("account", account_numbers(world, actor)),
        ];
        #[cfg(feature = "assets")]
        {
            let state = flounce::assets::state_hash::of_actor(world, actor);
            let bytes = state.0.map(f32::from);
            sections.push(("state", bytes.to_vec()));
        }
        sections.shrink_to_fit();
        Self(sections)
    }

    /// The same without what only an explained actor shows.
    pub fn unexplained(mut self) -> Self {
        self.0.retain(|(name, _)| *name != "account");
        self
    }

    /// How many numbers the section has.
    pub fn count(&self, section: &str) -> usize {
        let of_name = self.0.iter().find(|(name, _)| *name == section);
        of_name.map_or(0, |(_, numbers)| numbers.len())
    }

    /// All numbers as bits; a number that is none is the same whatever its payload.
    pub fn bits(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(_, numbers)| numbers).map(bits)
    }
}

fn bits(number: &f32) -> u32 {
    let plain = if number.is_nan() { f32::NAN } else { *number };
    plain.to_bits()
}

fn swing_numbers(world: &World, actor: Entity) -> Vec<f32> {
    let mut numbers = Vec::new();
    for result in &world.get::<SwingReadout>(actor).unwrap().0 {
        let Some(result) = result else {
            numbers.push(-1.0);
            continue;
        };
        let (normal, at) = result.last_hit.unwrap_or_default();
        let vectors = [
            result.particle,
            result.translation.unwrap_or_default(),
            result.velocity,
            normal,
            at,
        ];
        numbers.extend(vectors.iter().flat_map(Vec3::to_array));
        numbers.extend(result.rotation.to_array());
        numbers.extend([result.deflection, result.hits as f32]);
        let there = [result.translation.is_some(), result.last_hit.is_some()];
        numbers.extend(there.map(|there| f32::from(u8::from(there))));
    }
    numbers
}

fn layer_numbers(world: &World, actor: Entity) -> Vec<f32> {
    let layers = world.get::<LayerReadout>(actor).unwrap().0.iter();
    let of_layer = layers.flat_map(|layer| {
        let joints = layer.joints.iter();
        let joints = joints.flat_map(|to| [to.joint as f32, to.turned, to.moved, to.scaled]);
        [layer.weight, layer.channels].into_iter().chain(joints)
    });
    of_layer.collect()
}

fn account_numbers(world: &World, actor: Entity) -> Vec<f32> {
    let explained = world.get::<Explanation>(actor);
    let accounts = explained.into_iter().flat_map(|of| &of.substeps);
    let of_account = accounts.flat_map(|account| {
        let places = [account.before, account.after, account.correction];
        let terms = account.terms.iter().map(|(_, moved)| *moved);
        let vectors: Vec<Vec3> = places.into_iter().chain(terms).collect();
        vectors.into_iter().flat_map(|v| v.to_array())
    });
    of_account.collect()
}

/// Asserts that two runs show the same bits.
#[track_caller]
pub fn assert_shows(found: &[Shown], expected: &[Shown], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: number of frames");
    for (frame, (found, expected)) in found.iter().zip(expected).enumerate() {
        if found.bits().eq(expected.bits()) {
            continue;
        }
        for ((name, a), (_, b)) in found.0.iter().zip(&expected.0) {
            assert_eq!(a.len(), b.len(), "{what}: frame {frame}, {name}: numbers");
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                let difference = a - b;
                assert!(
                    bits(a) == bits(b),
                    "{what}: frame {frame}, {name}, number {place}: {a:e} is not {b:e}; difference {difference:e}"
                );
            }
        }
    }
}
