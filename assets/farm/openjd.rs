//! Open Job Description: a job template, revision 2023-09. *github.com/OpenJobDescription/openjd-specifications*
//!
//! `openjd run` (the package `openjd-cli`) runs it on one machine, AWS Deadline Cloud and other managers on many. The step
//! `Bake` has a task per shard, `Merge` comes after all of them. Folders, program and the number of tasks are parameters
//! of the job, so that one template serves every submission of its manifest.
//!
//! Nothing that a person chose gets into a script: scripts receive it as arguments, which need no quoting. They are for
//! `bash`, which the machines need.

use std::path::{Component, Path};

use serde_json::{Map, Value, json};

use super::{FarmJob, text, yaml};
use crate::assets::Error;

/// Bakes a shard; the arguments are program, manifest, output folder, shard, number of tasks and further options.
const BAKE_SCRIPT: &str = r#"set -euo pipefail
program=$1 manifest=$2 out_dir=$3 shard=$4 tasks=$5
mkdir -p "$out_dir/parts"
echo "openjd_status: shard $shard of $tasks"
exec "$program" batch --manifest "$manifest" --shard "$shard/$tasks" --out-dir "$out_dir" --resume \
    --report "$out_dir/parts/part-$shard-of-$tasks.json" "${@:6}"
"#;

/// Joins the reports of all shards; the arguments are program, manifest, output folder and number of tasks.
const MERGE_SCRIPT: &str = r#"set -euo pipefail
program=$1 manifest=$2 out_dir=$3 tasks=$4
parts=()
for ((shard = 1; shard <= tasks; shard++)); do
    parts+=("$out_dir/parts/part-$shard-of-$tasks.json")
done
exec "$program" merge "${parts[@]}" --manifest "$manifest" -o "$out_dir/report.json"
"#;

/// A template, and what its parameters stand for when nobody sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The file: JSON, or YAML where its name ends so.
    pub text: String,
    /// The parameters that have no default and must be set by whoever submits: `Manifest`, `OutDir`.
    pub required: Vec<&'static str>,
}

/// The template of `job`, to be written as `file`.
///
/// A path can be a default only below the template's own folder, which is what the specification lets templates refer
/// to; a parameter whose path lies elsewhere has none.
///
/// # Errors
/// [`Error::Request`] when `file` is named neither `.json` nor `.yaml`, or when the job holds what a template cannot:
/// see [`FarmJob::check`]; a template takes `{{` in names for a reference.
pub fn template(job: &FarmJob, file: &Path) -> Result<Template, Error> {
    job.check()?;
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    let render: fn(&Value) -> String = match extension.to_str() {
        Some("json") => |root| format!("{root:#}\n"),
        Some("yaml" | "yml") => yaml::to_text,
        _ => {
            return Err(Error::Request(format!(
                "{}: a template is JSON or YAML; the output should end in .json or .yaml",
                file.display()
            )));
        }
    };
    if job.name.contains("{{") {
        return Err(Error::Request(format!(
            "--job-name is {:?}; `{{{{` begins a reference in a template",
            job.name
        )));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let manifest = below(folder, &job.manifest)?;
    let out_dir = below(folder, &job.out_dir)?;
    let unset = [("Manifest", &manifest), ("OutDir", &out_dir)];
    let required = unset.into_iter().filter(|(_, path)| path.is_none());
    Ok(Template {
        required: required.map(|(name, _)| name).collect(),
        text: render(&root(job, manifest, out_dir)),
    })
}

/// `path` against `folder` with `/` between its parts, if it lies below it; both as they are written, or both made
/// absolute where only one is.
fn below(folder: &Path, path: &Path) -> Result<Option<String>, Error> {
    let absolute = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        std::path::absolute(path).map_err(|error| Error::io(path, "find", error))
    };
    let (folder, path) = (absolute(folder)?, absolute(path)?);
    let Ok(relative) = path.strip_prefix(&folder) else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(part) => parts.push(text(Path::new(part))?),
            // `..` may lead out again.
            _ => return Ok(None),
        }
    }
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}

fn root(job: &FarmJob, manifest: Option<String>, out_dir: Option<String>) -> Value {
    json!({
        "specificationVersion": "jobtemplate-2023-09",
        "name": job.name,
        "description": format!(
            "Bakes the {} jobs of a flounce manifest in shards, then joins their reports. \
             Models and rigs have to be where the manifest says, relative to it, on every machine.",
            job.entries
        ),
        "parameterDefinitions": parameters(job, manifest, out_dir),
        "steps": [bake_step(job), merge_step()],
    })
}

fn parameters(job: &FarmJob, manifest: Option<String>, out_dir: Option<String>) -> Value {
    let manifest = path_parameter(
        "Manifest",
        "FILE",
        "IN",
        "Written by `flounce plan`",
        manifest,
    );
    let told = "Takes the outputs, the reports of the shards and the joined report";
    let out_dir = path_parameter("OutDir", "DIRECTORY", "OUT", told, out_dir);
    json!([
        manifest,
        out_dir,
        {
            "name": "Program",
            "type": "STRING",
            "description": "flounce as the machines find it",
            "minLength": 1,
            "default": job.program,
        },
        {
            "name": "Tasks",
            "type": "INT",
            "description": "Shards of the manifest",
            "minValue": 1,
            "maxValue": job.entries,
            "default": job.tasks,
        },
    ])
}

fn path_parameter(
    name: &str,
    object: &str,
    flow: &str,
    description: &str,
    default: Option<String>,
) -> Value {
    let mut parameter = json!({
        "name": name,
        "type": "PATH",
        "objectType": object,
        "dataFlow": flow,
        "description": description,
    });
    if let (Some(default), Some(members)) = (default, parameter.as_object_mut()) {
        members.insert("default".to_owned(), default.into());
    }
    parameter
}

fn bake_step(job: &FarmJob) -> Value {
    let mut arguments = vec!["{{Task.Param.Shard}}", "{{Param.Tasks}}"];
    let cpus = job.cpus.map(|cpus| cpus.to_string());
    if let Some(cpus) = &cpus {
        arguments.extend(["--jobs", cpus]);
    }
    let mut step = Map::new();
    step.insert("name".to_owned(), "Bake".into());
    if let Some(cpus) = job.cpus {
        let amount = json!({"name": "amount.worker.vcpu", "min": cpus});
        step.insert("hostRequirements".to_owned(), json!({"amounts": [amount]}));
    }
    let shard = json!({"name": "Shard", "type": "INT", "range": "1-{{Param.Tasks}}"});
    let space = json!({"taskParameterDefinitions": [shard]});
    step.insert("parameterSpace".to_owned(), space);
    step.insert("script".to_owned(), script(BAKE_SCRIPT, &arguments));
    Value::Object(step)
}

fn merge_step() -> Value {
    json!({
        "name": "Merge",
        "dependencies": [{"dependsOn": "Bake"}],
        "script": script(MERGE_SCRIPT, &["{{Param.Tasks}}"]),
    })
}

/// A step's script: `text`, called with program, manifest, output folder and what `more` says.
fn script(text: &str, more: &[&str]) -> Value {
    let mut arguments = vec![
        "{{Task.File.Run}}",
        "{{Param.Program}}",
        "{{Param.Manifest}}",
        "{{Param.OutDir}}",
    ];
    arguments.extend(more);
    json!({
        "actions": {"onRun": {"command": "bash", "args": arguments}},
        "embeddedFiles": [{"name": "Run", "type": "TEXT", "filename": "run.sh", "data": text}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_default_below_the_templates_folder_only() {
        let folder = Path::new("/farm/job");
        let below = |path: &str| below(folder, Path::new(path)).unwrap();
        assert_eq!(below("/farm/job/a b/m.json").as_deref(), Some("a b/m.json"));
        assert_eq!(below("/farm/job/../m.json"), None);
        assert_eq!(below("/farm/m.json"), None);
        assert_eq!(below("/farm/job"), None);
        assert_eq!(below("m.json"), None, "it is below the current folder");
        let here = super::below(Path::new(""), Path::new("a/m.json")).unwrap();
        assert_eq!(here.as_deref(), Some("a/m.json"));
    }
}
