//! Which joints a chain picks.

use globset::{GlobBuilder, GlobMatcher};

use super::names::{Missing, Names};
use super::schema::ChainRule;
use super::{Resolution, Unmatched};
use crate::assets::text::{FieldPath, quoted};
use crate::rig::Rig;

/// A joint that a chain picks, and the joint at which its bone ends where the chain says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub joint: usize,
    pub tip: Option<usize>,
}

impl Picked {
    fn plain(joint: usize) -> Self {
        Self { joint, tip: None }
    }
}

/// The children of each joint, so that one can go down without looking at all joints.
pub(super) struct Children(Vec<Vec<usize>>);

impl Children {
    pub(super) fn new(rig: &Rig) -> Self {
        let mut children = vec![Vec::new(); rig.joints.len()];
        for (index, joint) in rig.joints.iter().enumerate() {
            if let Some(parent) = joint.parent {
                children[parent].push(index);
            }
        }
        Self(children)
    }

    /// Those of `joint`, ascending.
    pub(super) fn of(&self, joint: usize) -> &[usize] {
        &self.0[joint]
    }

    /// `root` and what is below it, at most `deepest` levels with it, in joint order.
    fn below(&self, root: usize, deepest: usize) -> Vec<usize> {
        let mut found = vec![root];
        let mut level = 0..1;
        for _ in 1..deepest {
            for at in level.clone() {
                found.extend_from_slice(self.of(found[at]));
            }
            level = level.end..found.len();
            if level.is_empty() {
                break;
            }
        }
        found.sort_unstable();
        found
    }
}

/// What a chain is called in messages: its name, or what picks it.
pub(super) fn label(chain: &ChainRule) -> String {
    let picks = [&chain.name, &chain.root, &chain.pattern];
    let first = picks.into_iter().flatten().next();
    quoted(first.or(chain.joints.first()).map_or("", String::as_str))
}

/// The joints of `chain`, parents first; what is wrong goes to `out`.
pub(super) fn pick(
    names: &Names<'_>,
    rig: &Rig,
    children: &Children,
    chain: &ChainRule,
    path: &FieldPath,
    out: &mut Resolution,
) -> Vec<Picked> {
    if let Some(root) = &chain.root {
        let place = path.field("root");
        let root = out.find(names, root, &place, chain.optional);
        let Some(root) = root else {
            return Vec::new();
        };
        below(names, rig, children, chain, root, path, out)
    } else if let Some(pattern) = &chain.pattern {
        matching(rig, chain, pattern, &path.field("pattern"), out)
    } else {
        listed(names, rig, chain, &path.field("joints"), out)
    }
}

/// `root`, with `depth` and `until`.
fn below(
    names: &Names<'_>,
    rig: &Rig,
    children: &Children,
    chain: &ChainRule,
    root: usize,
    path: &FieldPath,
    out: &mut Resolution,
) -> Vec<Picked> {
    let last = match &chain.until {
        None => None,
        Some(until) => match out.find(names, until, &path.field("until"), chain.optional) {
            Some(last) if rig.is_below(last, root) => Some(last),
            Some(last) => {
                let (last, root) = (rig.describe(last), rig.describe(root));
                let fault = format!("found {last}, expected a joint below {root}");
                out.faults.add(&path.field("until"), fault);
                return Vec::new();
            }
            None if chain.optional => None,
            None => return Vec::new(),
        },
    };
    let deepest = chain.depth.unwrap_or(usize::MAX);
    let joints = match last {
        None => children.below(root, deepest),
        Some(last) => {
            let up = std::iter::successors(Some(last), |&joint| rig.joints[joint].parent);
            let mut way: Vec<usize> = up.take_while(|&joint| joint >= root).collect();
            way.reverse();
            way.truncate(deepest);
            way
        }
    };
    joints.into_iter().map(Picked::plain).collect()
}

/// `pattern`.
fn matching(
    rig: &Rig,
    chain: &ChainRule,
    pattern: &str,
    path: &FieldPath,
    out: &mut Resolution,
) -> Vec<Picked> {
    // A pattern that cannot be read was refused when the file was parsed.
    let Some(matcher) = matcher(pattern) else {
        return Vec::new();
    };
    let joints = rig.joints.iter().enumerate();
    let picked: Vec<Picked> = joints
        .filter(|(_, joint)| matcher.is_match(&joint.name))
        .map(|(joint, _)| Picked::plain(joint))
        .collect();
    if picked.is_empty() {
        let fault = format!("no joint's name matches {}", quoted(pattern));
        out.unmatched(pattern, path, chain.optional, (fault, None), Vec::new());
    }
    picked
}

/// What matches `pattern`; `None` for one that cannot be read.
pub(super) fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// `joints`: each below the one before it.
fn listed(
    names: &Names<'_>,
    rig: &Rig,
    chain: &ChainRule,
    path: &FieldPath,
    out: &mut Resolution,
) -> Vec<Picked> {
    let mut picked: Vec<Picked> = Vec::new();
    for (index, name) in chain.joints.iter().enumerate() {
        let place = path.index(index);
        let Some(joint) = out.find(names, name, &place, chain.optional) else {
            if chain.optional {
                // A reduced model without the end of the strand: the strand ends here.
                break;
            }
            continue;
        };
        if let Some(before) = picked.last_mut() {
            if joint == before.joint || !rig.is_below(joint, before.joint) {
                let (joint, before) = (rig.describe(joint), rig.describe(before.joint));
                let fault =
                    format!("found {joint}, expected a joint below {before}, the one before it");
                out.faults.add(&place, fault);
                break;
            }
            before.tip = Some(joint);
        }
        picked.push(Picked::plain(joint));
    }
    picked
}

impl Resolution {
    /// The joint that `reference` at `path` means; if there is none, that is a fault, or with `optional` a warning.
    pub(super) fn find(
        &mut self,
        names: &Names<'_>,
        reference: &str,
        path: &FieldPath,
        optional: bool,
    ) -> Option<usize> {
        let missing = match names.find(reference) {
            Ok(joint) => return Some(joint),
            Err(missing) => missing,
        };
        let explanation = names.explain(reference, &missing);
        match missing {
            Missing::Unknown { near } => {
                self.unmatched(reference, path, optional, explanation, near);
            }
            Missing::Ambiguous(_) => {
                let (fault, help) = explanation;
                self.faults.add_with_help(path, fault, help);
            }
        }
        None
    }

    fn unmatched(
        &mut self,
        name: &str,
        path: &FieldPath,
        optional: bool,
        (fault, help): (String, Option<String>),
        near: Vec<String>,
    ) {
        let unmatched = Unmatched {
            path: path.to_string(),
            name: name.to_owned(),
            near,
            optional,
        };
        if self.unmatched.contains(&unmatched) {
            return;
        }
        self.unmatched.push(unmatched);
        if optional {
            self.warnings
                .push(format!("{path}: {fault}; it is optional and left out"));
        } else {
            self.faults.add_with_help(path, fault, help);
        }
    }
}
