//! Checking a rig file against a model, before anything moves: names, bones, values, overlaps, forgotten joints.
//!
//! [`check`] is what `flounce check` shows; [`inspect`] looks at a rig that is complete already, wherever it came from.
//! Both only read. What needs simulation (300 substeps at rest, `[S4]`) is added to the report afterwards, under
//! [`Topic::AtRest`].

use std::fmt;
use std::path::PathBuf;

use super::rig_file::{AppliedChain, RigFile, Unmatched};
use crate::clip::Clip;
use crate::profile::SwingProfile;
use crate::rig::Rig;
use crate::swing::ActorProperties;

mod bones;
mod candidates;
mod overlaps;
mod ties;
mod values;

pub use candidates::Candidate;

/// How the rig will be used: some values are only bad in company.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use<'a> {
    /// Clips of the model: joints that they move need no swing. Default none.
    pub clips: &'a [Clip],
    /// Of the actors. Default [`ActorProperties::default`].
    pub properties: ActorProperties,
    /// The solver's switches. Default [`SwingProfile::default`].
    pub profile: SwingProfile,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The rig is refused.
    Fault,
    /// It runs, and probably not as meant.
    Warning,
    /// Good to know.
    Note,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The file, and names that match no joint or several.
    Names,
    /// Bones without an end, without length, or of a strange size.
    Bones,
    /// Parameters that fight each other.
    Values,
    /// Colliders that touch at rest.
    Collisions,
    /// Joints that do not come to rest when the pose is held; needs simulation.
    AtRest,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// About what.
    pub topic: Topic,
    /// What is the case, naming joints by name and node.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    fn new(severity: Severity, topic: Topic, message: String, advice: impl Into<String>) -> Self {
        Self {
            severity,
            topic,
            message,
            advice: Some(advice.into()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

/// What `flounce check` found; [`fmt::Display`] shows it to people.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The rig file.
    pub file: PathBuf,
    /// Number of joints of the model.
    pub joints: usize,
    /// The joints that each chain picks.
    pub chains: Vec<AppliedChain>,
    /// Number of static colliders.
    pub colliders: usize,
    /// Number of legs whose soles can be held.
    pub legs: usize,
    /// Everything found, worst first.
    pub findings: Vec<Finding>,
    /// Names in the file that match no joint.
    pub unmatched: Vec<Unmatched>,
    /// Joints of the model that look like secondary motion and that no chain picks.
    pub candidates: Vec<Candidate>,
}

/// Checks `rig_file` against the joints of `rig`; what else `rig` has does not matter.
pub fn check(rig_file: &RigFile, rig: &Rig, how: &Use<'_>) -> Report {
    let mut resolution = rig_file.resolve(rig);
    let mut complete = rig.clone();
    let faults = core::mem::take(&mut resolution.faults);
    let applied = rig_file.complete(&mut complete, resolution);
    let names = |severity, message| Finding {
        severity,
        topic: Topic::Names,
        message,
        advice: None,
    };
    let faults = rig_file.fault_lines(&faults).into_iter();
    let warnings = applied.warnings.into_iter();
    let mut report = Report {
        file: rig_file.file().to_path_buf(),
        joints: rig.joints.len(),
        chains: applied.chains,
        colliders: complete.colliders.len(),
        legs: complete.legs().count(),
        findings: Vec::new(),
        unmatched: applied.unmatched,
        candidates: candidates::find(&complete, how.clips),
    };
    report.add(faults.map(|line| names(Severity::Fault, line)));
    let curves = rig_file.curve_faults(&complete, how.clips).into_iter();
    report.add(curves.map(|line| names(Severity::Fault, line)));
    report.add(warnings.map(|line| names(Severity::Warning, line)));
    report.add(inspect(&complete, how));
    report
}

/// What is strange about a complete rig, worst first.
pub fn inspect(rig: &Rig, how: &Use<'_>) -> Vec<Finding> {
    let bones = bones::Bones::new(rig);
    let mut findings = bones::inspect(&bones);
    findings.extend(ties::inspect(&bones));
    findings.extend(values::inspect(&bones, how));
    findings.extend(overlaps::inspect(&bones));
    findings.sort_by_key(|finding| (finding.severity, finding.topic));
    findings
}

impl Report {
    /// Adds findings, for example of a simulation at rest, in their place.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings
            .sort_by_key(|finding| (finding.severity, finding.topic));
    }

    /// Whether the rig is refused on this model.
    pub fn is_refused(&self) -> bool {
        self.count(Severity::Fault) > 0
    }

    /// Number of findings of `severity`.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    fn next_step(&self) -> &'static str {
        if self.is_refused() {
            "Next: mend the faults, then check again."
        } else if self.count(Severity::Warning) > 0 {
            "Next: look at the warnings; the rig can be used as it is."
        } else if self.chains.iter().all(|chain| chain.joints.is_empty()) {
            match self.legs {
                0 => "Next: add a chain; nothing swings yet.",
                _ => {
                    "Next: hold the feet in a scene (`feet` of an actor), or add a chain; nothing swings yet."
                }
            }
        } else {
            "Next: bake a clip and look at it."
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let picked: usize = self.chains.iter().map(|chain| chain.joints.len()).sum();
        writeln!(
            f,
            "{}: {} of {} in {}, {}{}",
            self.file.display(),
            picked,
            counted(self.joints, "joint"),
            counted(self.chains.len(), "chain"),
            counted(self.colliders, "static collider"),
            match self.legs {
                0 => String::new(),
                legs => format!(", {}", counted(legs, "leg")),
            },
        )?;
        for chain in &self.chains {
            let joints = counted(chain.joints.len(), "joint");
            writeln!(f, "  {}: {joints}", chain.name)?;
        }
        let titles = [
            (Severity::Fault, "Faults (the rig is refused)"),
            (Severity::Warning, "Warnings"),
            (Severity::Note, "Notes"),
        ];
        for (severity, title) in titles {
            if self.count(severity) == 0 {
                continue;
            }
            writeln!(f, "\n{title}")?;
            let findings = self.findings.iter();
            for finding in findings.filter(|finding| finding.severity == severity) {
                writeln!(f, "  - {}", finding.message)?;
                if let Some(advice) = &finding.advice {
                    writeln!(f, "    {advice}")?;
                }
            }
        }
        if !self.candidates.is_empty() {
            writeln!(
                f,
                "\nNot picked, though they look as if they should swing; paste what is wanted into `chains`"
            )?;
            for candidate in &self.candidates {
                writeln!(f, "  {candidate}")?;
            }
        }
        writeln!(f, "\n{}", self.next_step())
    }
}

/// `1 joint`, `2 joints`.
pub fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A few of `joints` by name, for a message: `"a" (node 3), "b" (node 4) and 7 more`.
fn listed(rig: &Rig, joints: &[usize]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = joints
        .iter()
        .take(SHOWN)
        .map(|&joint| rig.describe(joint))
        .collect();
    let shown = shown.join(", ");
    match joints.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
