//! Bones at rest: where they end, and lengths that cannot work.

use bevy_math::Vec3;

use super::{Finding, Severity, Topic, listed};
use crate::bone::{Passive, SwingTree};
use crate::lane::Vec3x;
use crate::pose::ModelTransform;
use crate::rig::Rig;
use crate::swing::{Motion, SwingJoint, Tip};

/// Forces are metres per substep: a longer bone hardly moves, metres.
const LONG: f32 = 3.0;
/// A shorter one is thrown about, metres.
const SHORT: f32 = 1e-3;

/// A swing joint at rest.
pub(super) struct Bone<'r> {
    pub swing: &'r SwingJoint,
    /// The joint at whose origin the bone ends, also where it has no length.
    pub tip: Option<usize>,
    /// The particle at rest, model space, metres, and its distance from the joint; or why there is none.
    pub end: Result<(Vec3, f32), Passive>,
}

impl Bone<'_> {
    /// Whether it slides, and so has no bone.
    pub(super) fn slides(&self) -> bool {
        self.swing.motion == Motion::Slide
    }

    /// Whether it swings: it has an end, a length, and is switched on.
    pub(super) fn moves(&self) -> bool {
        self.end.is_ok() && self.swing.active
    }
}

/// All swing joints of a rig at rest, in the rig's swing order.
pub(super) struct Bones<'r> {
    pub rig: &'r Rig,
    /// The engine's own view of the rig: what it calls passive is passive.
    pub tree: SwingTree,
    pub bones: Vec<Bone<'r>>,
}

impl<'r> Bones<'r> {
    pub(super) fn new(rig: &'r Rig) -> Self {
        let tree = SwingTree::new(rig);
        let bones = rig.swing.iter().map(|swing| bone(&tree, swing)).collect();
        Self { rig, tree, bones }
    }

    /// The bone of `joint`, if it is a swing joint.
    pub(super) fn of(&self, joint: usize) -> Option<&Bone<'r>> {
        self.tree.swing_of_joint[joint].map(|index| &self.bones[index])
    }

    /// Rest transform of `joint` in model space.
    pub(super) fn rest(&self, joint: usize) -> &ModelTransform {
        &self.tree.model[joint]
    }

    /// Origin of `joint`, model space, metres.
    pub(super) fn origin(&self, joint: usize) -> Vec3 {
        self.rest(joint).rigid.t.into()
    }
}

fn bone<'r>(tree: &SwingTree, swing: &'r SwingJoint) -> Bone<'r> {
    let joint = swing.joint;
    let tip = match swing.tip {
        Tip::Joint(tip) => Some(tip),
        Tip::Tail { .. } => None,
        Tip::FirstChild => tree.first_child[joint],
    };
    let rigid = tree.model[joint].rigid;
    let end = tree.bone(swing).map(|bone| {
        let end = rigid.t + rigid.r.rotate((bone.axis * bone.length).into());
        (end.into(), bone.length)
    });
    Bone { swing, tip, end }
}

/// `point`, in the space of a joint, in model space.
pub(super) fn place(model_from_joint: &ModelTransform, point: Vec3) -> Vec3 {
    let scaled = Vec3x::from(model_from_joint.scale * point);
    let rigid = model_from_joint.rigid;
    (rigid.t + rigid.r.rotate(scaled)).into()
}

/// Passive joints, coincident bones, strange sizes.
pub(super) fn inspect(bones: &Bones<'_>) -> Vec<Finding> {
    let rig = bones.rig;
    let joints = |wanted: &dyn Fn(&Bone<'_>) -> bool| -> Vec<usize> {
        let wanted = bones.bones.iter().filter(|bone| wanted(bone));
        wanted.map(|bone| bone.swing.joint).collect()
    };
    let ends_a_bone = |joint: usize| {
        let parent = rig.joints[joint].parent;
        parent
            .and_then(|parent| bones.of(parent))
            .is_some_and(|bone| bone.tip == Some(joint))
    };
    let passive = |bone: &Bone<'_>| bone.end == Err(Passive::NoTip);
    let mut findings = Vec::new();
    let alone = joints(&|bone| passive(bone) && !ends_a_bone(bone.swing.joint));
    if let Some(&first) = alone.first() {
        let message = format!(
            "{} has no child and no tail: it does not swing",
            listed(rig, &alone)
        );
        let advice = suggest_tail(rig, first);
        findings.push(Finding::new(
            Severity::Warning,
            Topic::Bones,
            message,
            advice,
        ));
    }
    let ends = joints(&|bone| passive(bone) && ends_a_bone(bone.swing.joint));
    if let Some(&first) = ends.first() {
        let message = format!(
            "{}: the end of a chain, follows its parent",
            listed(rig, &ends)
        );
        let advice = format!("To let it turn as well: {}", suggest_tail(rig, first));
        findings.push(Finding::new(Severity::Note, Topic::Bones, message, advice));
    }
    let flat = joints(&|bone| bone.end == Err(Passive::NoLength));
    if !flat.is_empty() {
        let message = format!(
            "the bone of {} has no length: it does not swing",
            listed(rig, &flat)
        );
        let advice = "end it elsewhere with `tip`, give it a `tail`, or leave it out of the chain";
        findings.push(Finding::new(
            Severity::Warning,
            Topic::Bones,
            message,
            advice,
        ));
    }
    let crushed = joints(&|bone| bone.end == Err(Passive::NoRoom));
    if !crushed.is_empty() {
        let message = format!(
            "{} hangs on a joint that is scaled to nothing: it does not slide",
            listed(rig, &crushed)
        );
        let advice = "leave it out of the chain, or give its parent a scale";
        findings.push(Finding::new(
            Severity::Warning,
            Topic::Bones,
            message,
            advice,
        ));
    }
    findings.extend(still(bones));
    findings.extend(sizes(bones));
    findings
}

/// Joints that are switched off, and rigs in which nothing moves.
fn still(bones: &Bones<'_>) -> Vec<Finding> {
    let note = |message, advice: &str| Finding::new(Severity::Note, Topic::Bones, message, advice);
    let mut findings = Vec::new();
    let inactive = bones.bones.iter().filter(|bone| !bone.swing.active);
    let inactive: Vec<usize> = inactive.map(|bone| bone.swing.joint).collect();
    if !inactive.is_empty() {
        let message = format!(
            "{}: switched off with `active: false`, follows its parent",
            listed(bones.rig, &inactive)
        );
        findings.push(note(message, "take `active` out to let it swing"));
    }
    if !bones.bones.iter().any(Bone::moves) {
        findings.push(if bones.bones.is_empty() {
            let message = "nothing swings on this rig: it has no swing joints".to_owned();
            note(message, "add a chain")
        } else {
            let message =
                "nothing swings on this rig: every swing joint is passive or switched off";
            note(message.to_owned(), "a bake would refuse it")
        });
    }
    findings
}

/// Bones that are no size for forces in metres.
fn sizes(bones: &Bones<'_>) -> Option<Finding> {
    let strange = |bone: &Bone<'_>| {
        let (_, length) = bone.end.ok().filter(|_| !bone.slides())?;
        (!(SHORT..=LONG).contains(&length)).then_some((bone.swing.joint, length))
    };
    let strange: Vec<(usize, f32)> = bones.bones.iter().filter_map(strange).collect();
    let &(_, first) = strange.first()?;
    let joints: Vec<usize> = strange.iter().map(|&(joint, _)| joint).collect();
    let message = format!(
        "the bone of {} is {first:.4} m long; forces are made for 0.001 m to 3 m",
        listed(bones.rig, &joints),
    );
    let advice = match suggest_scale(bones) {
        Some(scale) => format!("if the model is not in metres, write `metres_per_unit: {scale}`"),
        None => "check the model's size and `metres_per_unit`".to_owned(),
    };
    Some(Finding::new(
        Severity::Warning,
        Topic::Bones,
        message,
        advice,
    ))
}

/// The power of ten that gives the model the size of a character, 0.3 m to 3 m, if it is not the present one.
fn suggest_scale(bones: &Bones<'_>) -> Option<f32> {
    let points = || (0..bones.rig.joints.len()).map(|joint| bones.origin(joint));
    let low = points().fold(Vec3::INFINITY, Vec3::min);
    let high = points().fold(Vec3::NEG_INFINITY, Vec3::max);
    let present = bones.rig.metres_per_unit;
    let units = (high - low).max_element() / present;
    let powers = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0_f32];
    let fits = powers
        .into_iter()
        .find(|power| (0.3..3.0).contains(&(units * power)))?;
    (fits != present).then_some(fits)
}

/// A tail for a joint without children: its own bone repeated.
fn suggest_tail(rig: &Rig, joint: usize) -> String {
    let offset = rig.joints[joint].rest.translation;
    let length = offset.length();
    let axis = offset.try_normalize().unwrap_or(Vec3::Y);
    let name = &rig.joints[joint].name;
    let length = if length > 0.0 { length } else { 0.1 };
    format!(
        "`overrides: {{{name:?}: (tail: (axis: ({:.3}, {:.3}, {:.3}), length: {length:.3}))}}`",
        axis.x, axis.y, axis.z
    )
}
