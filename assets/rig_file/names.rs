//! Joint references: how a name in a file finds its joint.
//!
//! A reference is a joint's exact name. Where no joint has that name, `#17` is the joint of node 17 of the model and
//! `Parent/Child` the joint `Child` whose parent is `Parent` (and so on upwards).

use std::collections::BTreeMap;

use crate::assets::text::{did_you_mean, near, quoted};
use crate::rig::Rig;

/// Why a reference finds no joint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::assets) enum Missing {
    /// No joint; names of the model that look like it.
    Unknown { near: Vec<String> },
    /// Several joints, by index.
    Ambiguous(Vec<usize>),
}

/// The joints of a rig by name.
pub(in crate::assets) struct Names<'r> {
    rig: &'r Rig,
    by_name: BTreeMap<&'r str, Vec<usize>>,
    by_source: BTreeMap<usize, usize>,
}

impl<'r> Names<'r> {
    pub(in crate::assets) fn new(rig: &'r Rig) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut by_source = BTreeMap::new();
        for (index, joint) in rig.joints.iter().enumerate() {
            by_name.entry(&joint.name).or_default().push(index);
            by_source.entry(joint.source).or_insert(index);
        }
        Self {
            rig,
            by_name,
            by_source,
        }
    }

    /// The joint that `reference` means.
    pub(in crate::assets) fn find(&self, reference: &str) -> Result<usize, Missing> {
        let found = match self.by_name.get(reference) {
            Some(joints) if !reference.is_empty() => joints.clone(),
            _ => self
                .by_index(reference)
                .unwrap_or_else(|| self.by_path(reference)),
        };
        match found.as_slice() {
            [joint] => Ok(*joint),
            [] => Err(Missing::Unknown {
                near: self.near(reference),
            }),
            _ => Err(Missing::Ambiguous(found)),
        }
    }

    /// `#17`.
    fn by_index(&self, reference: &str) -> Option<Vec<usize>> {
        let node: usize = reference.strip_prefix('#')?.parse().ok()?;
        Some(self.by_source.get(&node).copied().into_iter().collect())
    }

    /// `Parent/Child`.
    fn by_path(&self, reference: &str) -> Vec<usize> {
        let mut names = reference.rsplit('/');
        let last = names.next().unwrap_or_default();
        if last.len() == reference.len() {
            return Vec::new();
        }
        let ends_so = |&joint: &usize| {
            let joints = &self.rig.joints;
            let mut above = std::iter::successors(joints[joint].parent, |&i| joints[i].parent);
            names
                .clone()
                .all(|name| above.next().is_some_and(|i| joints[i].name == name))
        };
        let joints = self.by_name.get(last).into_iter().flatten();
        joints.copied().filter(ends_so).collect()
    }

    fn near(&self, reference: &str) -> Vec<String> {
        let wanted = reference.rsplit('/').next().unwrap_or(reference);
        let names = self.by_name.keys().copied().filter(|name| !name.is_empty());
        near(wanted, names).into_iter().map(str::to_owned).collect()
    }

    /// The fault of a reference that finds no joint: what was found, and what to do.
    pub(in crate::assets) fn explain(
        &self,
        reference: &str,
        missing: &Missing,
    ) -> (String, Option<String>) {
        let name = quoted(reference);
        match missing {
            Missing::Unknown { near } => (
                format!("no joint of the model is called {name}"),
                did_you_mean(reference, near.iter().map(String::as_str)),
            ),
            Missing::Ambiguous(joints) => {
                let nodes: Vec<String> = joints.iter().map(|&joint| self.place(joint)).collect();
                let count = nodes.len();
                (
                    format!("{count} joints are called {name}: {}", nodes.join(", ")),
                    Some(format!("write {}", self.ways_out(joints))),
                )
            }
        }
    }

    /// `node 17 (Hips/Hair01)`.
    fn place(&self, joint: usize) -> String {
        let source = self.rig.joints[joint].source;
        format!("node {source} ({})", self.path(joint))
    }

    /// `Parent/Child`, as far as there is a parent.
    fn path(&self, joint: usize) -> String {
        let joint = &self.rig.joints[joint];
        match joint.parent {
            Some(parent) => format!("{}/{}", self.rig.joints[parent].name, joint.name),
            None => joint.name.clone(),
        }
    }

    /// References that mean the first of `joints`: its path where that tells them apart, and its index.
    fn ways_out(&self, joints: &[usize]) -> String {
        let first = joints[0];
        let path = self.path(first);
        let index = format!("\"#{}\"", self.rig.joints[first].source);
        if self.by_path(&path) == [first] {
            format!("\"{path}\" or {index} for the first")
        } else {
            format!("{index} for the first")
        }
    }
}
