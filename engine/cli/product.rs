//! Models × rigs: the arguments that `batch` and `plan` share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use flounce::assets::Error;
use flounce::assets::batch::ledger::{self, Ledger};
use flounce::assets::batch::names::{self, Pattern};
use flounce::assets::batch::{Request, inputs};

use super::baking::BakingArguments;
use super::refuse_model;

/// What to bake with what, and how outputs are called.
#[derive(Args)]
pub struct ProductArguments {
    /// Models (.glb, .gltf, .vrm): files, folders (with all folders in them), patterns (quoted: 'cast/**/*.glb'), or @LIST,
    /// a file with one of these per line. Folders and patterns pass over hidden names, links to folders, and what batches
    /// wrote
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,
    /// Rig files (RON), folders of them, patterns or @LIST; each model is baked with each rig
    #[arg(long, value_name = "RIG.ron", num_args = 1..)]
    rig: Vec<String>,
    #[command(flatten)]
    baking: BakingArguments,
    /// How outputs are called below the output folder: {model} and {rig} are names of files, {clip} makes a job of each
    /// clip, {index} is the job's number in the whole plan, {folder} the model's folder below the INPUT that found it, {ext} the model's kind
    #[arg(long, value_name = "PATTERN", default_value = names::DEFAULT)]
    name: String,
}

impl ProductArguments {
    /// Every argument here: what a manifest says already.
    pub fn ids() -> Vec<clap::Id> {
        let command = Self::augment_args(clap::Command::new(""));
        let arguments = command.get_arguments();
        arguments
            .map(|argument| argument.get_id().clone())
            .collect()
    }

    /// The request to plan; `base` is the folder of the manifest that is to be written. What batches wrote, into `out_dir`
    /// or elsewhere, is found by no folder and no pattern, and neither is `out_dir` itself.
    ///
    /// # Errors
    /// [`Error::Request`] for what is missing, finds nothing or cannot be meant.
    pub fn request(&self, out_dir: &Path, base: Option<&Path>) -> Result<Request, Error> {
        if self.inputs.is_empty() && self.rig.len() > 1 {
            return Err(Error::Request(format!(
                "found no INPUT, expected models before --rig, which takes all words up to the next option: {}",
                self.rig.join(" ")
            )));
        }
        if self.inputs.is_empty() {
            return Err(missing("INPUT", "models: files, folders or patterns"));
        }
        if self.rig.is_empty() {
            return Err(missing("--rig", "at least one rig file"));
        }
        let options = self.baking.options()?;
        let name = Pattern::parse(&self.name)?;
        for rig in &self.rig {
            refuse_model(
                Path::new(rig),
                "--rig wants RON rig files, and models come before it",
            )?;
        }
        let out = out_dir.canonicalize().ok();
        let ledgers = Ledgers::default();
        let is_output = |path: &Path| {
            let real = path.canonicalize();
            real.is_ok_and(|real| out.as_ref() == Some(&real) || ledgers.claim(&real))
        };
        Ok(Request {
            models: inputs::models(&self.inputs, &is_output)?,
            rigs: inputs::rigs(&self.rig)?,
            options,
            name,
            out_dir: out_dir.to_path_buf(),
            base: base.map(PathBuf::from),
        })
    }
}

/// The ledgers of the folders that were passed, each read once.
#[derive(Default)]
struct Ledgers {
    known: RefCell<BTreeMap<PathBuf, Option<Ledger>>>,
}

impl Ledgers {
    /// Whether a batch wrote `file` into any of the folders that it is in.
    fn claim(&self, file: &Path) -> bool {
        let mut known = self.known.borrow_mut();
        file.ancestors().skip(1).any(|folder| {
            let read = || {
                let has_one = folder.join(ledger::FOLDER).is_dir();
                // Who cannot be asked claims nothing: only the output folder's own is needed, and read by whoever runs.
                has_one.then(|| Ledger::read(folder).unwrap_or_default())
            };
            let ledger = known.entry(folder.to_path_buf()).or_insert_with(read);
            let below = file.strip_prefix(folder).unwrap_or(file);
            let below = below.to_string_lossy().replace('\\', "/");
            ledger.as_ref().is_some_and(|ledger| ledger.claims(&below))
        })
    }
}

fn missing(what: &str, expected: &str) -> Error {
    Error::Request(format!("found no {what}, expected {expected}"))
}

/// Shows what cannot be meant and ends with 2; a file that cannot be read or written is the caller's to show, with 1.
pub fn misuse(error: Error) -> Result<ExitCode, Error> {
    match error {
        Error::Request(_) | Error::Exists(_) => {
            super::show_error(&error);
            Ok(ExitCode::from(2))
        }
        other => Err(other),
    }
}
