//! Sweeps: one scene under every combination of some switches, one row each, so that the source's experiments can be
//! repeated.
//!
//! The files are read once for all runs. Runs share threads, rows do not depend on them: the first varied field changes
//! slowest. A combination that is refused is a row that says why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use rayon::prelude::*;

use super::Error;
use super::run::measures::Measure;
use super::run::{self, Inputs, RunOptions};
use super::scene::Scene;
use super::settings::{self, Setting};
use super::state_hash::StateHash;
use crate::systems::substeps::Workers;

/// More runs than this are a mistyped list.
pub const MOST_RUNS: usize = 10_000;

/// A field of the scene and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// As in [`Setting::path`].
    pub path: String,
    /// At least one.
    pub values: Vec<String>,
}

/// `PATH=V1,V2,…`; commas inside brackets and quotes do not separate.
///
/// # Errors
/// A sentence that says what is missing.
pub fn vary(text: &str) -> Result<Vary, String> {
    let Setting { path, value } = settings::split(text)?;
    let values = separate(&value);
    if values.iter().any(String::is_empty) {
        return Err(format!(
            "{path}: found an empty value in \"{value}\", expected values between commas: {path}=A,B"
        ));
    }
    Ok(Vary { path, values })
}

/// The parts of `list` between its commas.
fn separate(list: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_usize, false);
    for letter in list.chars() {
        match letter {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// Every combination, ready to run.
pub struct Plan {
    paths: Vec<String>,
    /// The values of each, and the scene that they make, or why they make none.
    combinations: Vec<(Vec<String>, Result<Scene, String>)>,
}

/// Combines `varied` on `scene`.
///
/// # Errors
/// [`Error::Request`] for a path that is no field of a scene, a value of another kind, a field that is varied twice, and
/// more than [`MOST_RUNS`] combinations.
pub fn plan(scene: &Scene, varied: &[Vary]) -> Result<Plan, Error> {
    refuse_unusable(scene, varied)?;
    let lengths = varied.iter().map(|vary| vary.values.len());
    let count = lengths.fold(1, usize::saturating_mul);
    if count > MOST_RUNS {
        return Err(Error::Request(format!(
            "these values make {count} combinations, expected at most {MOST_RUNS}"
        )));
    }
    let combination = |index: usize| {
        let values = combine(varied, index);
        let settings = varied.iter().zip(&values);
        let scene = changed(scene, settings.map(|(vary, value)| (vary, value.as_str())));
        (values, scene)
    };
    Ok(Plan {
        paths: varied.iter().map(|vary| vary.path.clone()).collect(),
        combinations: (0..count).map(combination).collect(),
    })
}

/// What is wrong with a field or a value whatever it is combined with.
fn refuse_unusable(scene: &Scene, varied: &[Vary]) -> Result<(), Error> {
    for (index, vary) in varied.iter().enumerate() {
        let Vary { path, values } = vary;
        if varied[..index].iter().any(|earlier| earlier.path == *path) {
            return Err(Error::Request(format!(
                "{path}: found twice, expected all its values in one list: {path}=A,B"
            )));
        }
        for value in values {
            let setting = setting(vary, value);
            settings::set_rules(scene.rules(), &setting).map_err(Error::Request)?;
        }
    }
    Ok(())
}

fn setting(vary: &Vary, value: &str) -> Setting {
    Setting {
        path: vary.path.clone(),
        value: value.to_owned(),
    }
}

/// The values of combination `index`: the last field changes fastest.
fn combine(varied: &[Vary], index: usize) -> Vec<String> {
    let (mut rest, mut values) = (index, Vec::with_capacity(varied.len()));
    for vary in varied.iter().rev() {
        values.push(vary.values[rest % vary.values.len()].clone());
        rest /= vary.values.len();
    }
    values.reverse();
    values
}

fn changed<'v>(
    scene: &Scene,
    values: impl Iterator<Item = (&'v Vary, &'v str)>,
) -> Result<Scene, String> {
    let mut rules = scene.rules().clone();
    for (vary, value) in values {
        rules = settings::set_rules(&rules, &setting(vary, value))?;
    }
    scene
        .with_rules(rules)
        .map_err(|error| reason(scene, error))
}

/// Why a combination of `scene` is refused, in one line of bearable length; the scene's own name is left out.
fn reason(scene: &Scene, error: Error) -> String {
    const SHOWN: usize = 3;
    let reason = match error {
        Error::Faults { file, faults } => {
            let shown = faults.iter().take(SHOWN).map(String::as_str);
            let mut reason = shown.collect::<Vec<_>>().join("; ");
            if faults.len() > SHOWN {
                reason += &format!("; and {} more", faults.len() - SHOWN);
            }
            if file != scene.file() {
                reason = format!("{}: {reason}", file.display());
            }
            reason
        }
        other => other.to_string(),
    };
    reason.replace('\n', " ")
}

impl Plan {
    /// Number of combinations.
    pub fn runs(&self) -> usize {
        self.combinations.len()
    }

    /// Number of frames of all runs together, for progress.
    pub fn frames(&self) -> u64 {
        let scenes = self
            .combinations
            .iter()
            .filter_map(|(_, s)| s.as_ref().ok());
        scenes.map(|scene| scene.frames() + 1).sum()
    }

    /// The files of all runs, each read once.
    fn inputs(&self) -> BTreeMap<Files, Result<Inputs, String>> {
        let mut inputs = BTreeMap::new();
        for scene in self
            .combinations
            .iter()
            .filter_map(|(_, s)| s.as_ref().ok())
        {
            inputs
                .entry(files(scene))
                .or_insert_with(|| Inputs::read(scene).map_err(|error| reason(scene, error)));
        }
        inputs
    }
}

/// The model and the rig of a scene.
type Files = (PathBuf, Option<PathBuf>);

fn files(scene: &Scene) -> Files {
    (scene.model(), scene.rig())
}

/// What a sweep came to.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The varied fields.
    pub paths: Vec<String>,
    /// One per combination, the first field slowest.
    pub rows: Vec<Row>,
    /// What deserves a look, each sentence once.
    pub warnings: Vec<String>,
}

/// One combination.
#[derive(Clone, Debug)]
pub struct Row {
    /// The values of the varied fields.
    pub values: Vec<String>,
    /// What the run came to, or why it was refused.
    pub outcome: Result<Outcome, String>,
}

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How many expectations hold.
    pub holding: usize,
    /// Of how many.
    pub expectations: usize,
    /// What the actors did, in numbers.
    pub measures: Vec<Measure>,
    /// State of all actors at the end.
    pub state: StateHash,
    warnings: Vec<String>,
}

/// Runs every combination of `plan` on `threads` threads; `None`: as many as there are processors. `progress` is called
/// from several threads with frames done.
///
/// # Errors
/// [`Error::Request`] when the threads cannot be had. What a run refuses is in its row.
pub fn run(
    plan: &Plan,
    threads: Option<usize>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Sweep, Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|error| Error::Request(format!("cannot start threads: {error}")))?;
    let inputs = plan.inputs();
    let row = |(values, scene): &(Vec<String>, Result<Scene, String>)| Row {
        values: values.clone(),
        outcome: scene
            .as_ref()
            .map_err(String::clone)
            .and_then(|scene| run_one(scene, &inputs[&files(scene)], progress)),
    };
    let rows: Vec<Row> = pool.install(|| plan.combinations.par_iter().map(row).collect());
    let mut warnings: Vec<String> = Vec::new();
    for outcome in rows.iter().filter_map(|row| row.outcome.as_ref().ok()) {
        let new = outcome.warnings.iter().filter(|w| !warnings.contains(w));
        let new: Vec<String> = new.cloned().collect();
        warnings.extend(new);
    }
    Ok(Sweep {
        paths: plan.paths.clone(),
        rows,
        warnings,
    })
}

fn run_one(
    scene: &Scene,
    inputs: &Result<Inputs, String>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Outcome, String> {
    let inputs = inputs.as_ref().map_err(String::clone)?;
    let mut stage = run::stage_on(scene, inputs).map_err(|error| reason(scene, error))?;
    // The runs are shared out, not the actors of each.
    stage.host.world.insert_resource(Workers::One);
    let report = run::run_on(scene, stage, &RunOptions::default(), progress);
    let report = report.map_err(|error| reason(scene, error))?;
    Ok(Outcome {
        holding: report
            .verdicts
            .iter()
            .filter(|verdict| verdict.holds)
            .count(),
        expectations: report.verdicts.len(),
        measures: report.measures,
        state: report.state,
        warnings: report.warnings,
    })
}

impl Outcome {
    /// The measure of this name, if the run has it.
    pub fn measure(&self, name: &str) -> Option<f64> {
        let found = self.measures.iter().find(|measure| measure.name == name);
        found.map(|measure| measure.value)
    }
}

impl Sweep {
    /// Number of combinations that were refused.
    pub fn refused(&self) -> usize {
        self.rows.iter().filter(|row| row.outcome.is_err()).count()
    }

    /// Name and unit of every measure that some run has.
    pub fn measures(&self) -> Vec<(&'static str, &'static str)> {
        let mut found = Vec::new();
        let outcomes = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        for measure in outcomes.flat_map(|outcome| &outcome.measures) {
            if !found.contains(&(measure.name, measure.unit)) {
                found.push((measure.name, measure.unit));
            }
        }
        found
    }

    /// As comma-separated values with a header; numbers in the shortest form that reads back equal. *RFC 4180*
    pub fn to_csv(&self) -> String {
        let measures = self.measures();
        let mut header = self.paths.clone();
        header.extend(["holding", "expectations"].map(str::to_owned));
        let titles = measures.iter().map(|(name, unit)| column(name, unit));
        header.extend(titles);
        header.extend(["state", "refused"].map(str::to_owned));
        let mut text = csv_line(&header);
        for row in &self.rows {
            let mut cells = row.values.clone();
            match &row.outcome {
                Ok(outcome) => {
                    cells.push(outcome.holding.to_string());
                    cells.push(outcome.expectations.to_string());
                    let values = measures.iter().map(|(name, _)| outcome.measure(name));
                    cells.extend(values.map(|v| v.map_or_else(String::new, |v| v.to_string())));
                    cells.extend([outcome.state.to_string(), String::new()]);
                }
                Err(why) => {
                    cells.resize(header.len() - 1, String::new());
                    cells.push(why.clone());
                }
            }
            text += &csv_line(&cells);
        }
        text
    }
}

/// `largest_deflection_deg`: the title of a measure's column.
fn column(name: &str, unit: &str) -> String {
    let unit = match unit {
        "°" => "deg",
        "%" => "percent",
        unit => unit,
    };
    let mut title = name.replace(' ', "_");
    if !unit.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(title, "_{}", unit.replace('/', "_per_"));
    }
    title
}

fn csv_line(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    });
    cells.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::scene;
    use std::path::Path;

    fn scene() -> Scene {
        let text = "(version: 1, model: \"m.glb\", seconds: 1)";
        scene::parse(Path::new("a.ron"), text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn planned(varied: &[&str]) -> Result<Plan, String> {
        let varied: Result<Vec<Vary>, String> = varied.iter().map(|text| vary(text)).collect();
        plan(&scene(), &varied?).map_err(|error| error.to_string())
    }

    #[test]
    fn commas_inside_brackets_and_quotes_do_not_separate() {
        let values = |text: &str| vary(text).map(|vary| vary.values);
        assert_eq!(
            values("a.b=(0, 1,2), [3,4]"),
            Ok(vec!["(0, 1,2)".to_owned(), "[3,4]".to_owned()])
        );
        assert_eq!(
            values("a=\"x,y\",z"),
            Ok(vec!["\"x,y\"".to_owned(), "z".to_owned()])
        );
        assert!(values("a=1,,2").is_err_and(|why| why.contains("found an empty value")));
        assert!(values("a").is_err_and(|why| why.contains("expected a key and a value")));
    }

    #[test]
    fn the_first_field_changes_slowest() {
        let plan = planned(&["profile.delta=carried,rest", "rate_hz=30,60,120"]);
        let plan = plan.unwrap_or_else(|why| panic!("{why}"));
        let values: Vec<String> = plan.combinations.iter().map(|(v, _)| v.join(" ")).collect();
        let expected = [
            "carried 30",
            "carried 60",
            "carried 120",
            "rest 30",
            "rest 60",
            "rest 120",
        ];
        assert_eq!(values, expected);
        assert_eq!((plan.runs(), plan.frames()), (6, 2 * (31 + 61 + 121)));
    }

    #[test]
    fn nothing_varied_is_the_scene_itself() {
        assert_eq!(planned(&[]).map(|plan| plan.runs()), Ok(1));
    }

    #[test]
    fn combinations_that_make_no_sense_are_refused_alone() {
        let plan = planned(&[
            "profile.order=substep_major,joint_major",
            "profile.substeps=frame,fixed",
        ]);
        let plan = plan.unwrap_or_else(|why| panic!("{why}"));
        let refused = plan
            .combinations
            .iter()
            .map(|(_, scene)| scene.as_ref().err());
        let refused: Vec<_> = refused.collect();
        assert!(refused[..3].iter().all(Option::is_none));
        let why = refused[3].map_or("", String::as_str);
        assert!(why.starts_with("profile.order: found joint_major"), "{why}");
    }

    #[test]
    fn sweeps_that_cannot_be_meant_are_refused_as_a_whole() {
        let many = (0..101)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let (a, b) = (format!("seed={many}"), format!("profile.prewarm={many}"));
        for (varied, expected) in [
            (
                &[a.as_str(), b.as_str()][..],
                "10201 combinations, expected at most 10000",
            ),
            (&["seed=1", "seed=2"], "seed: found twice"),
            (&["profile.delt=rest"], "did you mean \"delta\"?"),
            (
                &["profile.delta=rest,curent"],
                "found \"curent\", expected `carried`",
            ),
        ] {
            let why = planned(varied).err().unwrap_or_default();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let cells = ["a", "b,c", "d\"e"].map(str::to_owned);
        assert_eq!(csv_line(&cells), "a,\"b,c\",\"d\"\"e\"\n");
        assert_eq!(column("largest deflection", "°"), "largest_deflection_deg");
        assert_eq!(column("hits", ""), "hits");
    }
}
