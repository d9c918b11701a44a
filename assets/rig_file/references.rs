//! Every joint that the rules of a file refer to, as written: for hosts that know joints by something else than names.

use std::collections::BTreeSet;

use super::schema::{Parameters, Rules};

impl Rules {
    /// The references to joints, each once; patterns are none.
    pub fn references(&self) -> BTreeSet<&str> {
        let mut all = BTreeSet::new();
        all.extend(self.root_correction.as_deref());
        all.extend(of_parameters(&self.defaults));
        all.extend(self.presets.values().flat_map(of_parameters));
        for chain in &self.chains {
            all.extend(chain.root.as_deref());
            all.extend(chain.until.as_deref());
            all.extend(chain.joints.iter().map(String::as_str));
            all.extend(of_parameters(&chain.parameters));
            all.extend(chain.overrides.keys().map(String::as_str));
            all.extend(chain.overrides.values().flat_map(of_parameters));
        }
        let colliders = self.colliders.iter();
        all.extend(colliders.filter_map(|collider| collider.joint.as_deref()));
        let layers = self.layers.iter().flat_map(|layer| &layer.joints);
        all.extend(layers.map(String::as_str));
        for leg in &self.legs {
            all.extend([&leg.upper, &leg.lower, &leg.foot].map(String::as_str));
        }
        for driver in &self.skirt_drivers {
            all.extend([&driver.joint, &driver.reference].map(String::as_str));
        }
        for constraint in &self.blend_constraints {
            let sources = constraint.sources.iter().map(|source| &source.joint);
            let joints = sources.chain([&constraint.joint]);
            all.extend(joints.map(String::as_str));
        }
        all
    }
}

fn of_parameters(parameters: &Parameters) -> impl Iterator<Item = &str> {
    let reference = parameters.reference_limit.as_ref();
    let reference = reference.map(|reference| reference.joint.as_str());
    parameters.tip.as_deref().into_iter().chain(reference)
}
