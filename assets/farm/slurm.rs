//! Slurm: an array script with one task per shard, and the merge that depends on it.
//!
//! One file does all: `bash job.sh submit` sends it twice, as an array that bakes and as a job that merges after the
//! array ended, well or not: a merge that waits for what failed would wait for ever, and one that runs says what failed
//! or is missing. Further arguments go to `sbatch`. Without Slurm the same script bakes the shard that
//! `SLURM_ARRAY_TASK_ID` names, which is how it is tested.

use super::{FarmJob, shell_word, text};
use crate::assets::Error;

/// Most tasks of an array as Slurm comes: `MaxArraySize` is 1001, one more than the largest index.
pub const USUAL_MOST_TASKS: usize = 1000;

/// What follows the settings: the same in every script.
const BODY: &str = r#"part() { printf '%s/parts/part-%d-of-%d.json' "$out_dir" "$1" "$tasks"; }

bake() {
    shard=${SLURM_ARRAY_TASK_ID:?is set by sbatch; without Slurm set it to a number from 1 to $tasks}
    mkdir -p "$out_dir/parts"
    exec "$program" batch --manifest "$manifest" --shard "$shard/$tasks" --out-dir "$out_dir" --resume \
        --report "$(part "$shard")" --jobs "${SLURM_CPUS_PER_TASK:-$cpus}"
}

merge() {
    parts=()
    for ((shard = 1; shard <= tasks; shard++)); do parts+=("$(part "$shard")"); done
    exec "$program" merge "${parts[@]}" --manifest "$manifest" -o "$out_dir/report.json"
}

submit() {
    array=$(sbatch --parsable "$@" "$0" bake)
    # `--parsable` may add the cluster's name. Not afterok: one task with a failed job, and the merge would never start.
    sbatch --dependency="afterany:${array%%;*}" --array=1 --cpus-per-task=1 "$@" "$0" merge
}

command=${1:-bake}
shift || true
case $command in
    bake | merge | submit) "$command" "$@" ;;
    *)
        echo "$0: found $command, expected bake, merge or submit" >&2
        exit 2
        ;;
esac
"#;

/// The script of `job`; its paths should be absolute, because a task may start anywhere.
///
/// # Errors
/// Those of [`FarmJob::check`].
pub fn script(job: &FarmJob) -> Result<String, Error> {
    job.check()?;
    let FarmJob { entries, tasks, .. } = job;
    let cpus = job.cpus.unwrap_or(1);
    let (manifest, out_dir) = (text(&job.manifest)?, text(&job.out_dir)?);
    let settings = [
        ("program", shell_word(&job.program)),
        ("manifest", shell_word(manifest)),
        ("out_dir", shell_word(out_dir)),
        ("tasks", tasks.to_string()),
        ("cpus", cpus.to_string()),
    ];
    let settings: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    Ok(format!(
        "#!/usr/bin/env bash\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --array=1-{tasks}\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task={cpus}\n\
         # {entries} entries in {tasks} tasks, then the merge of their reports, which names what failed or is missing:\n\
         #\n\
         #     bash JOB.sh submit [--partition=… --time=… and what else sbatch takes]\n\
         #\n\
         # or step by step:\n\
         #\n\
         #     array=$(sbatch --parsable JOB.sh)\n\
         #     sbatch --dependency=afterany:$array --array=1 JOB.sh merge\n\
         #\n\
         # A task that is run again resumes where it stopped.\n\
         set -euo pipefail\n\
         \n\
         {settings}\n\
         {BODY}",
        name = quote_directive(&job.name),
        settings = settings.concat(),
    ))
}

/// A value in an `#SBATCH` line: Slurm splits those at spaces and knows quotes and backslashes.
fn quote_directive(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_for_slurm() {
        assert_eq!(quote_directive(r#"a "b" \c"#), r#""a \"b\" \\c""#);
    }
}
