//! `flounce farm`: a manifest as a job for many machines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use flounce::assets::batch::Manifest;
use flounce::assets::check::counted;
use flounce::assets::farm::{FarmJob, openjd, shell_word, slurm};
use flounce::assets::{Error, patch};

use super::product::misuse;

/// Write a manifest as a job for a render farm: shards side by side, then the merge of their reports.
///
/// Nothing is run or sent. Each task bakes a stable part of the manifest (`flounce batch --manifest M --shard I/N`) and
/// resumes when it is run again; the files are those that one process would write, byte for byte. The machines need bash,
/// the program, and one folder that all of them see with manifest, models and rigs.
#[derive(Args)]
pub struct FarmArguments {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Write an Open Job Description template (jobtemplate-2023-09): for openjd-cli, AWS Deadline Cloud and others
    #[command(after_help = "Examples:\n  \
        flounce plan models/ --rig hair.ron --out-dir baked -o manifest.json\n  \
        flounce farm openjd --manifest manifest.json --tasks 40 -o job.json\n  \
        flounce farm openjd --manifest manifest.json --tasks 40 --cpus 4 --program /opt/flounce -o job.yaml\n  \
        openjd run job.json --job-param OutDir=/mnt/baked          # here, with `pip install openjd-cli`\n  \
        deadline bundle submit FOLDER                              # job.json as FOLDER/template.json")]
    Openjd(JobArguments),
    /// Write a Slurm script: an array with a task per shard, and the merge that depends on it
    #[command(after_help = "Examples:\n  \
        flounce farm slurm --manifest manifest.json --tasks 40 --out-dir /mnt/baked -o job.sh\n  \
        bash job.sh submit --partition=cpu --time=2:00:00          # sends the array and the merge\n  \
        SLURM_ARRAY_TASK_ID=3 bash job.sh                          # shard 3 here, without Slurm")]
    Slurm(JobArguments),
}

#[derive(Args)]
struct JobArguments {
    /// The manifest, written by `flounce plan`
    #[arg(long, value_name = "MANIFEST.json")]
    manifest: PathBuf,
    /// Into how many tasks the manifest is cut; more than it has jobs are not made
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// Where outputs, the reports of the shards and the merged report go, on a disk that every machine sees
    /// [default: that of the manifest]
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// The program as the machines find it
    #[arg(long, value_name = "PROGRAM", default_value = "flounce")]
    program: String,
    /// Processors per task [default: those that the farm gives it; in Slurm 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// How the farm shows the job
    #[arg(long, value_name = "NAME", default_value = "flounce")]
    job_name: String,
    /// The job; for openjd .json or .yaml
    #[arg(short, long, value_name = "JOB")]
    output: PathBuf,
    /// Overwrite the output
    #[arg(long)]
    force: bool,
    /// No summary
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &FarmArguments) -> Result<ExitCode, Error> {
    let written = match &arguments.kind {
        Kind::Openjd(arguments) => write_openjd(arguments),
        Kind::Slurm(arguments) => write_slurm(arguments),
    };
    written.map_or_else(misuse, |()| Ok(ExitCode::SUCCESS))
}

fn write_openjd(arguments: &JobArguments) -> Result<(), Error> {
    let job = job(arguments)?;
    let template = openjd::template(&job, &arguments.output)?;
    write(arguments, &template.text)?;
    if arguments.quiet {
        return Ok(());
    }
    print_job(arguments, &job);
    let set = template.required.iter().map(|name| {
        let path = match *name {
            "Manifest" => &job.manifest,
            _ => &job.out_dir,
        };
        let word = shell_word(&format!("{name}={}", path.display()));
        format!(" --job-param {word}")
    });
    println!(
        "run it here: openjd run {}{}",
        shell_word(&arguments.output.to_string_lossy()),
        set.collect::<String>()
    );
    Ok(())
}

fn write_slurm(arguments: &JobArguments) -> Result<(), Error> {
    let job = job(arguments)?;
    if job.tasks > slurm::USUAL_MOST_TASKS {
        eprintln!(
            "warning: {} tasks; Slurm takes arrays of {} unless its MaxArraySize was raised",
            job.tasks,
            slurm::USUAL_MOST_TASKS
        );
    }
    write(arguments, &slurm::script(&job)?)?;
    if !arguments.quiet {
        print_job(arguments, &job);
        let script = arguments.output.to_string_lossy();
        println!("send it: bash {} submit", shell_word(&script));
    }
    Ok(())
}

/// The job that the arguments ask for, its paths absolute: machines start tasks wherever they like.
fn job(arguments: &JobArguments) -> Result<FarmJob, Error> {
    patch::refuse_same(&arguments.output, &arguments.manifest)?;
    let planned = Manifest::read(&arguments.manifest)?;
    let entries = planned.entries.len();
    let wanted = arguments.tasks as usize;
    let tasks = FarmJob::shards(wanted, entries)?;
    if tasks < wanted {
        eprintln!(
            "note: {tasks} tasks instead of {wanted}: the manifest has {}",
            counted(entries, "job")
        );
    }
    let absolute =
        |path: &Path| std::path::absolute(path).map_err(|error| Error::io(path, "find", error));
    let manifest = absolute(&arguments.manifest)?;
    let out_dir = match &arguments.out_dir {
        Some(folder) => absolute(folder)?,
        None => manifest
            .parent()
            .unwrap_or(Path::new(""))
            .join(&planned.out_dir),
    };
    Ok(FarmJob {
        name: arguments.job_name.clone(),
        manifest,
        entries,
        tasks,
        out_dir,
        program: arguments.program.clone(),
        cpus: arguments.cpus,
    })
}

fn write(arguments: &JobArguments, text: &str) -> Result<(), Error> {
    patch::check_folder(&arguments.output)?;
    patch::write_file(&arguments.output, text.as_bytes(), arguments.force)
}

fn print_job(arguments: &JobArguments, job: &FarmJob) {
    println!(
        "{}: {} in {}, then the merge of their reports",
        arguments.output.display(),
        counted(job.entries, "job"),
        counted(job.tasks, "task")
    );
}
