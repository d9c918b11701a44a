//! The models and rigs of a batch in memory: each read once, however many jobs need it, and let go after its last one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::hash::ContentHash;
use super::manifest::{Entry, Reference};
use super::plan::Plan;
use super::slashed;
use crate::assets::container::{self, Container};
use crate::assets::import::{self, Model};
use crate::assets::patch::{self, Needs};
use crate::assets::rig_file::{self, RigFile};
use crate::assets::{Error, text};

/// A model that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) model: Model,
    pub(super) container: Container,
    /// Of the file's bytes.
    pub(super) hash: ContentHash,
    /// What has to be beside an output.
    pub(super) needs: Needs,
    /// The files of `needs`, in its order.
    pub(super) references: Vec<Reference>,
}

/// Reads a model, with the hashes of all that it is made of.
pub(super) fn load(file: &Path) -> Result<Loaded, Error> {
    let io = |error| Error::io(file, "read", error);
    if !fs::metadata(file).map_err(io)?.is_file() {
        // It says why.
        container::read(file)?;
    }
    let bytes = fs::read(file).map_err(io)?;
    let hash = ContentHash::of(&bytes);
    let container = container::from_bytes(file, bytes)?;
    let model = import::model(&container)?;
    let needs = patch::needs(&container)?;
    let references = needs.copies.iter().map(|copy| Reference {
        file: slashed(&copy.relative).unwrap_or_default(),
        hash: hash_if_file(&copy.from),
    });
    Ok(Loaded {
        references: references.collect(),
        model,
        container,
        hash,
        needs,
    })
}

/// None for what is missing; pipes and devices, which would block, count as missing.
fn hash_if_file(file: &Path) -> ContentHash {
    let hash = file.is_file().then(|| ContentHash::of_file(file).ok());
    hash.flatten().unwrap_or_default()
}

/// Reads a rig with the hash of its text.
pub(super) fn load_rig(file: &Path) -> Result<(RigFile, ContentHash), Error> {
    let text = text::load(file)?;
    let hash = ContentHash::of(text.as_bytes());
    Ok((rig_file::parse(file, &text)?, hash))
}

type Shared<T> = Result<Arc<T>, Arc<Error>>;

/// The files that the jobs of a run share.
pub(super) struct Files<'p> {
    plan: &'p Plan,
    models: Vec<Slot>,
    rigs: Vec<OnceLock<Shared<RigFile>>>,
}

/// A model that is read when its first job asks for it.
struct Slot {
    /// Jobs that still need it.
    jobs: AtomicUsize,
    /// Held while it is read, so that other jobs wait instead of reading it again.
    loaded: Mutex<Option<Shared<Loaded>>>,
}

impl<'p> Files<'p> {
    /// For jobs of these entries.
    pub(super) fn new<'e>(plan: &'p Plan, entries: impl Iterator<Item = &'e Entry>) -> Self {
        let slot = |_| Slot {
            jobs: AtomicUsize::new(0),
            loaded: Mutex::new(None),
        };
        let models: Vec<Slot> = plan.manifest.models.iter().map(slot).collect();
        for entry in entries {
            models[entry.model].jobs.fetch_add(1, Ordering::Relaxed);
        }
        let first = models.first();
        if let Some(first) = first.filter(|first| first.jobs.load(Ordering::Relaxed) > 0) {
            let kept = lock(&plan.first).take();
            *lock(&first.loaded) = kept.map(|kept| Ok(Arc::new(kept)));
        }
        let rigs = plan.manifest.rigs.iter().map(|_| OnceLock::new()).collect();
        Self { plan, models, rigs }
    }

    /// The model `index`, as it was planned.
    pub(super) fn model(&self, index: usize) -> Shared<Loaded> {
        let mut slot = lock(&self.models[index].loaded);
        let read = slot.get_or_insert_with(|| self.load(index).map(Arc::new).map_err(Arc::new));
        read.clone()
    }

    fn load(&self, index: usize) -> Result<Loaded, Error> {
        let file = self.plan.model(index);
        let planned = &self.plan.manifest.models[index];
        let loaded = load(&file)?;
        refuse_changed(&file, &loaded.hash, &planned.hash)?;
        for (found, planned) in loaded.references.iter().zip(&planned.references) {
            let name: PathBuf = file.parent().unwrap_or(Path::new("")).join(&found.file);
            refuse_changed(&name, &found.hash, &planned.hash)?;
        }
        Ok(loaded)
    }

    /// A job that needed the model `index` is over; behind the last one the model goes.
    pub(super) fn release(&self, index: usize) {
        let slot = &self.models[index];
        if slot.jobs.fetch_sub(1, Ordering::AcqRel) == 1 {
            *lock(&slot.loaded) = None;
        }
    }

    /// The rig `index`, as it was planned.
    pub(super) fn rig(&self, index: usize) -> Shared<RigFile> {
        let read = || {
            let file = self.plan.rig(index);
            let (rig, hash) = load_rig(&file)?;
            refuse_changed(&file, &hash, &self.plan.manifest.rigs[index].hash)?;
            Ok(rig)
        };
        let rig = self.rigs[index].get_or_init(|| read().map(Arc::new).map_err(Arc::new));
        rig.clone()
    }
}

fn refuse_changed(file: &Path, found: &ContentHash, planned: &ContentHash) -> Result<(), Error> {
    if found == planned {
        return Ok(());
    }
    Err(Error::Request(format!(
        "{}: changed since it was planned: found content {}, expected {}; plan again",
        file.display(),
        named(found),
        named(planned)
    )))
}

fn named(hash: &ContentHash) -> &str {
    match hash.short() {
        "" => "none",
        digits => digits,
    }
}

/// What is behind the lock, also when a thread that held it panicked: every value here is whole at all times.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
