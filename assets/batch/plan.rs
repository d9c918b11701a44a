//! Planning: the product of models, rigs and clips, in order, with names and hashes; what cannot be meant is refused here,
//! before anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::checks;
use super::inputs::Input;
use super::manifest::{
    ClipOf, Entry, Manifest, ModelFile, Options, Reference, RigFile, SCHEMA, VERSION, stays_below,
};
use super::models::{self, Loaded};
use super::names::{Pattern, Words};
use super::stamp;
use super::{ContentHash, PROGRAM, slashed};
use crate::assets::Error;
use crate::assets::bake::{self, BakeOptions, count_frames, select_clips};
use crate::assets::container::Form;
use crate::assets::patch::Needs;
use crate::assets::rig_file;

/// What to plan.
#[derive(Clone, Debug)]
pub struct Request {
    /// See [`super::inputs::models`].
    pub models: Vec<Input>,
    /// See [`super::inputs::rigs`].
    pub rigs: Vec<PathBuf>,
    /// How to bake. Properties and hashes are those of the default: a manifest has no place for others.
    pub options: BakeOptions,
    /// How outputs are called.
    pub name: Pattern,
    /// Where they go; need not exist.
    pub out_dir: PathBuf,
    /// The folder of the manifest that is to be written; `None`: paths stay as they are.
    pub base: Option<PathBuf>,
}

/// A manifest and where its files are here.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The jobs.
    pub manifest: Manifest,
    /// What paths of models and rigs are relative to.
    pub base: PathBuf,
    /// The output folder; need not exist.
    pub out_dir: PathBuf,
    /// Why an entry cannot be baked, as far as planning saw; one per entry.
    pub faults: Vec<Option<Arc<Error>>>,
    /// The first model, which nothing else is done beside reading; whoever runs it takes it.
    pub(super) first: Arc<Mutex<Option<Loaded>>>,
}

impl Plan {
    /// Of a manifest in a file; `out_dir` over the manifest's.
    ///
    /// # Errors
    /// As [`Manifest::read`]; [`Error::Request`] for an output that is an input.
    pub fn read(file: &Path, out_dir: Option<&Path>) -> Result<Self, Error> {
        let manifest = Manifest::read(file)?;
        let base = file.parent().unwrap_or(Path::new("")).to_path_buf();
        let out_dir = out_dir.map_or_else(|| base.join(&manifest.out_dir), Path::to_path_buf);
        let plan = Self {
            faults: vec![None; manifest.entries.len()],
            first: Arc::default(),
            manifest,
            base,
            out_dir,
        };
        refuse_inputs_as_outputs(&plan)?;
        Ok(plan)
    }

    /// The file of the model `index`.
    pub fn model(&self, index: usize) -> PathBuf {
        self.base.join(&self.manifest.models[index].file)
    }

    /// The file of the rig `index`.
    pub fn rig(&self, index: usize) -> PathBuf {
        self.base.join(&self.manifest.rigs[index].file)
    }

    /// The files that `entry` consists of, relative to the output folder: its output, that of its keys, and copies.
    pub fn files(&self, entry: &Entry) -> Vec<String> {
        let own = [Some(&entry.output), entry.side.as_ref()];
        let copies = copies(&self.manifest, entry).map(|(file, _)| file);
        own.into_iter().flatten().cloned().chain(copies).collect()
    }

    /// Where `file` of an entry goes.
    pub fn output(&self, file: &str) -> PathBuf {
        self.out_dir.join(file)
    }
}

/// What planning has to know of a model.
struct Inspected {
    file: ModelFile,
    extension: String,
    form: Form,
    needs: Needs,
    /// Why each rig does not fit.
    misfits: Vec<Option<Arc<Error>>>,
    /// What is baked of it, with the frames that takes.
    clips: Vec<(ClipOf, u64)>,
}

/// Plans. A model or a rig that cannot be read, and a rig that does not fit a model, makes no error here but a fault of its entries.
///
/// # Errors
/// [`Error::Request`] for options out of range, paths that are not UTF-8, names too long, two jobs with one output, and an output that is
/// an input.
pub fn plan(request: &Request) -> Result<Plan, Error> {
    bake::check(&request.options)?;
    let read = |file: &PathBuf| models::load_rig(file).map_err(Arc::new);
    let rigs: Vec<_> = request.rigs.par_iter().map(read).collect();
    let inspect = |input: &Input| inspect(&input.file, &request.options, &rigs).map_err(Arc::new);
    let first = Mutex::default();
    let inspect_kept = |(index, input)| {
        let (inspected, loaded) = inspect(input)?;
        // One of them: memory does not hang on how many there are.
        if index == 0 {
            *models::lock(&first) = Some(loaded);
        }
        Ok(inspected)
    };
    let inputs = request.models.par_iter().enumerate();
    let models: Vec<_> = inputs.map(inspect_kept).collect();
    let base = request.base.as_deref();
    let mut manifest = Manifest {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        program: PROGRAM.to_owned(),
        options: Options::new(&request.options),
        name: request.name.text().to_owned(),
        // Where outputs go is no part of a plan that is run at once.
        out_dir: match base {
            Some(_) => relative(base, &request.out_dir)?,
            None => String::new(),
        },
        models: Vec::with_capacity(models.len()),
        rigs: Vec::with_capacity(rigs.len()),
        entries: Vec::new(),
        hash: ContentHash::default(),
    };
    for (input, model) in request.models.iter().zip(&models) {
        let known = model.as_ref().ok().map(|it| it.file.clone());
        let file = relative(base, &input.file)?;
        let model = known.unwrap_or_default();
        manifest.models.push(ModelFile { file, ..model });
    }
    for (file, rig) in request.rigs.iter().zip(&rigs) {
        let hash = rig
            .as_ref()
            .map_or_else(|_| ContentHash::default(), |(_, hash)| hash.clone());
        let file = relative(base, file)?;
        manifest.rigs.push(RigFile { file, hash });
    }
    let jobs = product(request, &models, &rigs);
    let mut faults = Vec::with_capacity(jobs.len());
    let count = jobs.len();
    for (index, job) in jobs.into_iter().enumerate() {
        let entry = entry(request, &manifest, &job, index, count, &models);
        let inspected = models[job.model].as_ref().ok();
        let misnamed = inspected.and_then(|it| checks::misnamed(it.form, &request.out_dir, &entry));
        checks::refuse_name(&manifest, &entry)?;
        manifest.entries.push(entry);
        faults.push(job.fault.or(misnamed));
    }
    manifest.hash = manifest.content();
    refuse_shared_outputs(&manifest, &faults, &models)?;
    let plan = Plan {
        base: base.map(Path::to_path_buf).unwrap_or_default(),
        out_dir: request.out_dir.clone(),
        manifest,
        faults,
        first: Arc::new(first),
    };
    refuse_inputs_as_outputs(&plan)?;
    Ok(plan)
}

fn inspect(
    file: &Path,
    options: &BakeOptions,
    rigs: &[Read<(rig_file::RigFile, ContentHash)>],
) -> Result<(Inspected, Loaded), Error> {
    let loaded = models::load(file)?;
    let clips = select_clips(&loaded.model, options)?;
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    let extension = match (loaded.needs.keys_apart, extension.to_str()) {
        (true, _) => "gltf",
        (false, Some("vrm")) => "vrm",
        (false, _) => "glb",
    };
    let clip = |clip: &Arc<crate::clip::Clip>| {
        let of = ClipOf {
            index: (clip.source != usize::MAX).then_some(clip.source),
            name: clip.name.clone(),
        };
        (of, count_frames(core::slice::from_ref(clip), options))
    };
    let inspected = Inspected {
        clips: clips.iter().map(clip).collect(),
        extension: extension.to_owned(),
        form: loaded.container.form,
        needs: loaded.needs.clone(),
        misfits: checks::misfits(&loaded.model.rig, rigs),
        file: ModelFile {
            file: String::new(),
            hash: loaded.hash.clone(),
            references: loaded.references.clone(),
        },
    };
    Ok((inspected, loaded))
}

/// A job before it has a name.
struct Job {
    model: usize,
    rig: usize,
    clip: Option<ClipOf>,
    clips: usize,
    frames: u64,
    fault: Option<Arc<Error>>,
}

pub(super) type Read<T> = Result<T, Arc<Error>>;

/// All jobs in order.
fn product<R>(request: &Request, models: &[Read<Inspected>], rigs: &[Read<R>]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (model, inspected) in models.iter().enumerate() {
        for (rig, read) in rigs.iter().enumerate() {
            let fault = match (inspected, read) {
                (Err(fault), _) | (_, Err(fault)) => Some(fault.clone()),
                (Ok(it), Ok(_)) => it.misfits[rig].clone(),
            };
            let job = |clip: Option<ClipOf>, clips: usize, frames: u64| Job {
                model,
                rig,
                clip,
                clips,
                frames,
                fault: fault.clone(),
            };
            match inspected {
                Ok(it) if request.name.has_clip() => {
                    let clips = it.clips.iter();
                    jobs.extend(clips.map(|(clip, frames)| job(Some(clip.clone()), 1, *frames)));
                }
                Ok(it) => {
                    let frames = it.clips.iter().map(|(_, frames)| frames).sum();
                    jobs.push(job(None, it.clips.len(), frames));
                }
                Err(_) => jobs.push(job(None, 0, 0)),
            }
        }
    }
    jobs
}

fn entry(
    request: &Request,
    manifest: &Manifest,
    job: &Job,
    index: usize,
    count: usize,
    models: &[Read<Inspected>],
) -> Entry {
    let stem = |file: &Path| {
        file.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let input = &request.models[job.model];
    let inspected = models[job.model].as_ref().ok();
    let output = request.name.fill(&Words {
        model: &stem(&input.file),
        rig: &stem(&request.rigs[job.rig]),
        clip: job.clip.as_ref().map_or("", |clip| &clip.name),
        index: index + 1,
        count,
        folder: &input.folder,
        extension: inspected.map_or("glb", |it| &it.extension),
    });
    let side = inspected.and_then(|it| it.needs.side_file(Path::new(&output)));
    let mut entry = Entry {
        number: index + 1,
        model: job.model,
        rig: job.rig,
        clip: job.clip.clone(),
        side: side.map(|side| beside(&output, &side)),
        output,
        clips: job.clips,
        frames: job.frames,
        key: ContentHash::default(),
    };
    let clips = inspected.map_or(&[][..], |it| &it.clips);
    let clips: Vec<Option<usize>> = match &entry.clip {
        Some(clip) => vec![clip.index],
        None => clips.iter().map(|(clip, _)| clip.index).collect(),
    };
    entry.key = stamp::key(manifest, &entry, &clips);
    entry
}

/// The path of `name` in the folder of `output`, without `.` and `..`.
pub(super) fn beside(output: &str, name: &str) -> String {
    let mut parts: Vec<&str> = output.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Refuses two jobs that would write one file; copies of one content are shared.
fn refuse_shared_outputs(
    manifest: &Manifest,
    faults: &[Option<Arc<Error>>],
    models: &[Read<Inspected>],
) -> Result<(), Error> {
    // Some systems do not tell cases apart.
    let mut taken: BTreeMap<String, (usize, Option<&ContentHash>)> = BTreeMap::new();
    let entries = manifest.entries.iter().zip(faults).enumerate();
    for (index, (entry, _)) in entries.filter(|(_, (_, fault))| fault.is_none()) {
        let own = [Some(&entry.output), entry.side.as_ref()];
        let own = own.into_iter().flatten().map(|file| (file.clone(), None));
        let copies = copies(manifest, entry).filter(|_| models[entry.model].is_ok());
        for (file, content) in own.chain(copies) {
            let Some(&(other, known)) = taken.get(&file.to_lowercase()) else {
                taken.insert(file.to_lowercase(), (index, content));
                continue;
            };
            if content.is_none() || known != content {
                let other = manifest.describe(&manifest.entries[other]);
                return Err(shared(manifest, &file, &other, entry, content.is_some()));
            }
        }
    }
    Ok(())
}

/// The copies of an entry that go below the output folder, with their contents.
pub(super) fn copies<'m>(
    manifest: &'m Manifest,
    entry: &'m Entry,
) -> impl Iterator<Item = (String, Option<&'m ContentHash>)> + 'm {
    let references = manifest.models[entry.model].references.iter();
    references
        .map(|it| (beside(&entry.output, &it.file), Some(&it.hash)))
        .filter(|(file, _)| stays_below(file))
}

fn shared(manifest: &Manifest, file: &str, other: &str, entry: &Entry, is_copy: bool) -> Error {
    let this = manifest.describe(entry);
    let help = if is_copy {
        "give each model a folder of its own in --name: {model}/{model}.{rig}.{ext}"
    } else {
        "tell them apart in --name, by {rig}, {clip}, {folder} or {index}"
    };
    Error::Request(format!(
        "{file}: found two jobs that would write it, {other} and {this}; {help}"
    ))
}

/// Refuses outputs that are inputs, under whatever name: not even those who overwrite want to lose what they bake from.
/// A copy may be the file that it is made of, or one that holds the same.
fn refuse_inputs_as_outputs(plan: &Plan) -> Result<(), Error> {
    let manifest = &plan.manifest;
    let mut inputs = BTreeSet::new();
    for (index, model) in manifest.models.iter().enumerate() {
        let file = plan.model(index);
        let folder = file.parent().unwrap_or(Path::new(""));
        let references = model.references.iter();
        inputs.extend(references.filter_map(|it| folder.join(&it.file).canonicalize().ok()));
        inputs.extend(file.canonicalize());
    }
    inputs.extend((0..manifest.rigs.len()).filter_map(|rig| plan.rig(rig).canonicalize().ok()));
    // Jobs of one model share their copies.
    let mut seen = BTreeSet::new();
    for entry in &manifest.entries {
        let own = [Some(&entry.output), entry.side.as_ref()];
        let own = own.into_iter().flatten().map(|file| (file.clone(), None));
        let copies = copies(manifest, entry).filter(|copy| seen.insert(copy.clone()));
        for (file, content) in own.chain(copies) {
            let out = plan.output(&file);
            let real = out.canonicalize().ok();
            let Some(input) = real.and_then(|real| inputs.get(&real)) else {
                continue;
            };
            if content.is_some_and(|content| is_harmless(plan, entry, content, input)) {
                continue;
            }
            let what = match content {
                None => "the output",
                Some(_) => "a copy that the output needs",
            };
            return Err(Error::Request(format!(
                "{}: {what} of {} is the input {}; choose another --out-dir or --name",
                out.display(),
                manifest.describe(entry),
                input.display()
            )));
        }
    }
    Ok(())
}

/// Whether `input` stays what it is when `entry` copies `content` there: nothing is copied, onto itself, or the same.
fn is_harmless(plan: &Plan, entry: &Entry, content: &ContentHash, input: &Path) -> bool {
    let model = plan.model(entry.model);
    let folder = model.parent().unwrap_or(Path::new(""));
    let mut own = plan.manifest.models[entry.model].references.iter();
    let is_input = |it: &Reference| {
        folder
            .join(&it.file)
            .canonicalize()
            .is_ok_and(|it| it == input)
    };
    *content == ContentHash::default()
        || own.any(is_input)
        || ContentHash::of_file(input).is_ok_and(|found| found == *content)
}

/// `path` as a manifest in the folder `base` has it; without one as it is.
fn relative(base: Option<&Path>, path: &Path) -> Result<String, Error> {
    let path = match base {
        None => path.to_path_buf(),
        Some(base) => from_folder(&real(base), &real(path)),
    };
    slashed(&path).ok_or_else(|| {
        Error::Request(format!(
            "{}: the path is not UTF-8, which a plan cannot hold",
            path.display()
        ))
    })
}

/// The absolute path with the links of its folders followed as far as it exists; a link at its end stays, because what a
/// model refers to is looked up beside the link.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = folder.canonicalize().unwrap_or_else(|_| real(folder));
            folder.join(name)
        }
        _ => path.canonicalize().unwrap_or(path),
    }
}

/// The way from one absolute folder to `path`.
fn from_folder(folder: &Path, path: &Path) -> PathBuf {
    let same = folder
        .components()
        .zip(path.components())
        .take_while(|(a, b)| a == b)
        .count();
    if same == 0 {
        // Another drive.
        return path.to_path_buf();
    }
    let up = folder.components().skip(same).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(same)).collect();
    if way.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_manifests_folder() {
        let way = |folder: &str, path: &str| from_folder(Path::new(folder), Path::new(path));
        assert_eq!(
            way("/farm/jobs", "/farm/cast/fox.glb"),
            Path::new("../cast/fox.glb")
        );
        assert_eq!(
            way("/farm", "/farm/cast/fox.glb"),
            Path::new("cast/fox.glb")
        );
        assert_eq!(way("/farm", "/farm"), Path::new("."));
    }

    #[test]
    fn what_lies_beside_an_output_is_in_its_folder() {
        assert_eq!(beside("a/b.gltf", "b.baked.bin"), "a/b.baked.bin");
        assert_eq!(beside("b.gltf", "maps/x.png"), "maps/x.png");
        assert_eq!(beside("a/b.gltf", "../x.png"), "x.png");
        assert_eq!(beside("b.gltf", "../x.png"), "../x.png");
    }
}
