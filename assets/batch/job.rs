//! One job: a model, a rig and its clips become the files of one output, with the bytes of `flounce bake`.

use std::path::Path;
use std::sync::Arc;

use super::hash::ContentHash;
use super::ledger::{FileOf, Outcome};
use super::manifest::Entry;
use super::models::{Files, Loaded};
use super::plan::{Plan, beside};
use super::portable::portable;
use super::slashed;
use crate::assets::Error;
use crate::assets::bake::{self, BakeReport, Threads};
use crate::assets::import::Model;
use crate::assets::patch::{self, Patched};
use crate::assets::rig_file::RigFile;
use crate::clip::Clip;
use crate::rig::Rig;

/// An output in memory.
pub(super) struct Baked {
    patched: Patched,
    outcome: Outcome,
}

/// Reads what `entry` needs, simulates it on `threads` and puts it together; writes nothing.
pub(super) fn bake(
    plan: &Plan,
    entry: &Entry,
    files: &Files<'_>,
    threads: Threads<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Baked, Arc<Error>> {
    let loaded = files.model(entry.model)?;
    let rules = files.rig(entry.rig)?;
    bake_rigged(plan, entry, &loaded, &rules, threads, progress).map_err(Arc::new)
}

fn bake_rigged(
    plan: &Plan,
    entry: &Entry,
    loaded: &Loaded,
    rules: &RigFile,
    threads: Threads<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Baked, Error> {
    let out = plan.output(&entry.output);
    patch::check_extension(loaded.container.form, &out)?;
    let options = plan.manifest.options.to_bake();
    let mut rig = loaded.model.rig.clone();
    let mut warnings = loaded.model.warnings.clone();
    warnings.extend(rules.apply(&mut rig)?.warnings);
    let clips = clips(entry, &loaded.model, rules, &rig, &options)?;
    let simulated = bake::simulate_on(threads, &rig, &clips, &options, progress)?;
    let container = &loaded.container;
    let (mut patched, report) = bake::put(container, &rig, &clips, &options, &out, simulated)?;
    warnings.extend(report.warnings.iter().cloned());
    warnings.append(&mut patched.warnings);
    warnings.extend(missing(&patched));
    warnings.extend(invalid(&report));
    let warnings = warnings
        .iter()
        .map(|it| portable(plan, entry, it))
        .collect();
    let outcome = Outcome {
        clips: report.clips.len(),
        frames: report.clips.iter().map(|clip| clip.frames as u64).sum(),
        keys: report.clips.iter().map(|clip| clip.keys as u64).sum(),
        substeps: report.substeps(),
        files: files_of(plan, entry, loaded, &patched),
        warnings,
        quantization_microdeg: quantization(&report),
    };
    Ok(Baked { patched, outcome })
}

/// The clips of an entry.
fn clips(
    entry: &Entry,
    model: &Model,
    rules: &RigFile,
    rig: &Rig,
    options: &bake::BakeOptions,
) -> Result<Vec<Arc<Clip>>, Error> {
    let mut clips = if rules.rules().bake_curves.is_empty() {
        bake::select_clips(model, options)?
    } else {
        // The model is that of other jobs as well.
        let mut model = model.clone();
        rules.apply_to_clips(rig, &mut model.clips)?;
        bake::select_clips(&model, options)?
    };
    if let Some(only) = &entry.clip {
        clips.retain(|clip| clip.source == only.index.unwrap_or(usize::MAX));
    }
    Ok(clips)
}

/// What [`patch::write()`] warns of as well, known before it runs.
fn missing(patched: &Patched) -> Vec<String> {
    let missing = patched.copies.iter().filter(|copy| !copy.from.is_file());
    let sentence =
        |copy: &patch::FileCopy| format!("{}: {} is missing", copy.place, copy.from.display());
    missing.map(sentence).collect()
}

/// See [`Outcome::quantization_microdeg`].
fn quantization(report: &BakeReport) -> Option<u32> {
    let errors = report.clips.iter().filter_map(|clip| clip.quantization);
    let largest = errors.reduce(f64::max)?;
    Some((largest.to_degrees() * 1e6).ceil() as u32)
}

/// The warnings of joints that were put at rest.
fn invalid(report: &BakeReport) -> Vec<String> {
    let invalid = report.clips.iter().filter(|clip| !clip.invalid.is_empty());
    let sentence = |clip: &bake::ClipReport| {
        let joints = clip.invalid.join(", ");
        format!(
            "clip \"{}\": not finite in some frame, put at rest: {joints}",
            clip.name
        )
    };
    invalid.map(sentence).collect()
}

/// The files that `entry` consists of once it is written, the main file last.
fn files_of(plan: &Plan, entry: &Entry, loaded: &Loaded, patched: &Patched) -> Vec<FileOf> {
    let mut files = Vec::new();
    for (copy, reference) in patched.copies.iter().zip(&loaded.references) {
        let file = beside(&entry.output, &reference.file);
        let is_itself = patch::same_place(&copy.from, &plan.output(&file));
        if let Ok(data) = copy.from.metadata()
            && !is_itself
        {
            files.push(FileOf {
                file,
                bytes: data.len(),
                hash: reference.hash.clone(),
            });
        }
    }
    let of = |file: String, bytes: &[u8]| FileOf {
        file,
        bytes: bytes.len() as u64,
        hash: ContentHash::of(bytes),
    };
    for (name, bytes) in &patched.side_files {
        let name = slashed(name).unwrap_or_default();
        files.push(of(beside(&entry.output, &name), bytes));
    }
    files.push(of(entry.output.clone(), &patched.main));
    files
}

/// Writes an output, whole or not at all, with its temporary files in `scratch`.
pub(super) fn write(
    plan: &Plan,
    entry: &Entry,
    baked: Baked,
    scratch: &Path,
) -> Result<Outcome, Arc<Error>> {
    let out = plan.output(&entry.output);
    let folder = out.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)
        .map_err(|error| Arc::new(Error::io(folder, "create", error)))?;
    patch::write_through(&baked.patched, &out, true, Some(scratch)).map_err(Arc::new)?;
    Ok(baked.outcome)
}
