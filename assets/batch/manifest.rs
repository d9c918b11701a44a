//! Manifests: the jobs of a batch in order, with the hashes of what they hang on; `flounce.manifest`, version 1.
//!
//! JSON. Paths have `/` between their parts; those of models and rigs and the output folder's are relative to the
//! manifest's folder, so that a farm may have it mounted elsewhere; outputs are relative to the output folder.
//!
//! ```json
//! {
//!   "schema": "flounce.manifest", "version": 1, "program": "flounce 0.1.0",
//!   "options": {"clips": [], "rate_hz": 60.0, …, "profile": {…}},
//!   "name": "{model}.{rig}.{ext}", "out_dir": "out",
//!   "models": [{"file": "cast/fox.glb", "hash": "…", "references": [{"file": "fox.png", "hash": "…"}]}],
//!   "rigs": [{"file": "rigs/tail.ron", "hash": "…"}],
//!   "entries": [{"number": 1, "model": 0, "rig": 0, "clip": null, "output": "fox.tail.glb", "side": null,
//!                "clips": 3, "frames": 184, "key": "…"}],
//!   "hash": "…"
//! }
//! ```
//!
//! `hash` is that of everything before it: a manifest is made by `flounce plan` and never edited. `key` is the hash of
//! what an entry's output hangs on, see [`super::stamp`].

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::PROGRAM;
use super::hash::ContentHash;
use super::names::is_reserved;
use crate::assets::bake::BakeOptions;
use crate::assets::{Error, patch};
use crate::profile::SwingProfile;

/// What [`Manifest::schema`] says.
pub const SCHEMA: &str = "flounce.manifest";
/// What [`Manifest::version`] says.
pub const VERSION: u32 = 1;

/// The jobs of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Who planned it: outputs of another version may differ, so that it takes nobody else's.
    pub program: String,
    /// How everything is baked.
    pub options: Options,
    /// The pattern that the names of outputs were made by.
    pub name: String,
    /// Where outputs go when nothing else is asked for.
    pub out_dir: String,
    /// Sorted by path.
    pub models: Vec<ModelFile>,
    /// As they were named.
    pub rigs: Vec<RigFile>,
    /// In order: models, then rigs, then clips.
    pub entries: Vec<Entry>,
    /// Of everything above.
    pub hash: ContentHash,
}

/// The part of [`BakeOptions`] that outputs hang on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is the field of its name in BakeOptions")]
pub struct Options {
    pub clips: Vec<String>,
    pub rate_hz: f64,
    pub looped: bool,
    pub most_passes: u32,
    pub seconds: f32,
    pub tolerance_deg: f32,
    pub strip_springs: bool,
    pub quantize: bool,
    pub profile: SwingProfile,
}

/// A model and what it refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Relative to the manifest's folder.
    pub file: String,
    /// Of its bytes.
    pub hash: ContentHash,
    /// Buffers and images, in the order of the file.
    pub references: Vec<Reference>,
}

/// A file that a model refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Relative to the model's folder.
    pub file: String,
    /// Of its bytes; none when it is missing.
    pub hash: ContentHash,
}

/// A rig.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigFile {
    /// Relative to the manifest's folder.
    pub file: String,
    /// Of its bytes.
    pub hash: ContentHash,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its place, from 1.
    pub number: usize,
    /// Index into the models.
    pub model: usize,
    /// Index into the rigs.
    pub rig: usize,
    /// The only clip to bake; none: all that the options ask for.
    pub clip: Option<ClipOf>,
    /// The file to write, relative to the output folder.
    pub output: String,
    /// The file of its keys, relative to the output folder; for a `.gltf` only.
    pub side: Option<String>,
    /// How many clips are baked.
    pub clips: usize,
    /// How many frames that takes at least.
    pub frames: u64,
    /// What its output hangs on.
    pub key: ContentHash,
}

/// A clip of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClipOf {
    /// Of its animation; none for the motion of a model without clips.
    pub index: Option<usize>,
    /// For people.
    pub name: String,
}

impl Options {
    /// Of `options`. What is not here is as the command line has it: no hashes, default properties.
    pub fn new(options: &BakeOptions) -> Self {
        // Every field by name: a new option that outputs hang on does not compile until it has its place here.
        let BakeOptions {
            clips,
            rate_hz,
            looped,
            most_passes,
            seconds,
            tolerance_deg,
            properties: _,
            profile,
            hashes: _,
            strip_springs,
            quantize,
        } = options;
        Self {
            clips: clips.clone(),
            rate_hz: *rate_hz,
            looped: *looped,
            most_passes: *most_passes,
            seconds: *seconds,
            tolerance_deg: *tolerance_deg,
            strip_springs: *strip_springs,
            quantize: *quantize,
            profile: *profile,
        }
    }

    /// As a bake takes them.
    pub fn to_bake(&self) -> BakeOptions {
        BakeOptions {
            clips: self.clips.clone(),
            rate_hz: self.rate_hz,
            looped: self.looped,
            most_passes: self.most_passes,
            seconds: self.seconds,
            tolerance_deg: self.tolerance_deg,
            strip_springs: self.strip_springs,
            quantize: self.quantize,
            profile: self.profile,
            ..BakeOptions::default()
        }
    }
}

/// What is read before anything else is believed.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    version: u32,
    #[serde(default)]
    program: String,
}

impl Manifest {
    /// The hash of everything but the hash.
    pub fn content(&self) -> ContentHash {
        let unsigned = Self {
            hash: ContentHash::default(),
            ..self.clone()
        };
        ContentHash::of_json(&unsigned)
    }

    /// Writes it as `file`, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Exists`] when it is there and `overwrite` is false; [`Error::Io`] when the system refuses.
    pub fn write(&self, file: &Path, overwrite: bool) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::Request(format!("{}: {error}", file.display())))?;
        text.push('\n');
        patch::write_file(file, text.as_bytes(), overwrite)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read; [`Error::Request`] if it is none, of another version, planned by another
    /// version of the program, or not as it was written.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|error| Error::io(file, "read", error))?;
        Self::parse(&text).map_err(|why| Error::Request(format!("{}: {why}", file.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        check_head(text, SCHEMA, VERSION, "a manifest of `flounce plan`")?;
        let manifest: Self =
            serde_json::from_str(text).map_err(|error| format!("no manifest: {error}"))?;
        let content = manifest.content();
        if content != manifest.hash {
            return Err(format!(
                "its content has the hash {}, but it says {}: it was edited or cut since it was planned; plan again",
                content.short(),
                manifest.hash.short()
            ));
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// What a hash cannot say: whether it makes sense.
    fn check(&self) -> Result<(), String> {
        let mut outputs = BTreeSet::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let fault = |what: &str| Err(format!("/entries/{index}: {what}"));
            if entry.number != index + 1 {
                return fault("its number is not its place");
            }
            if entry.model >= self.models.len() || entry.rig >= self.rigs.len() {
                return fault("its model or rig does not exist");
            }
            for file in [Some(&entry.output), entry.side.as_ref()]
                .into_iter()
                .flatten()
            {
                if !stays_below(file) {
                    return fault("its output leaves the output folder");
                }
                if is_reserved(file) {
                    return fault("its output is among the ledgers, in .flounce");
                }
                if !outputs.insert(file) {
                    return fault("its output is that of another job");
                }
            }
        }
        Ok(())
    }

    /// How people call the job of `entry`: `fox.glb × tail.ron` and the clip.
    pub fn describe(&self, entry: &Entry) -> String {
        let model = self.models.get(entry.model).map_or("", |model| &model.file);
        let rig = self.rigs.get(entry.rig).map_or("", |rig| &rig.file);
        match &entry.clip {
            None => format!("{model} × {rig}"),
            Some(clip) => format!("{model} × {rig} × \"{}\"", clip.name),
        }
    }
}

/// Refuses a JSON text that is not of this schema, version and program; `what` names what was expected.
pub(super) fn check_head(text: &str, schema: &str, version: u32, what: &str) -> Result<(), String> {
    let head: Head = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    if head.schema != schema {
        return Err(format!(
            "found the schema \"{}\", expected \"{schema}\": {what}",
            head.schema
        ));
    }
    if head.version != version {
        return Err(format!(
            "found version {} of {schema}, expected {version}",
            head.version
        ));
    }
    if head.program != PROGRAM {
        let help = match schema {
            SCHEMA => "plan again",
            _ => "use that version, or run these jobs again with this one",
        };
        return Err(format!(
            "it is of {}, this is {PROGRAM}, whose outputs may differ; {help}",
            head.program
        ));
    }
    Ok(())
}

/// Whether a path with `/` names a file below the folder it is relative to.
pub(super) fn stays_below(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some()
        && !path.contains(['\\', '\0'])
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two models, two rigs, four entries of these frames.
    pub fn manifest(frames: &[u64]) -> Manifest {
        let model = |file: &str| ModelFile {
            file: file.to_owned(),
            hash: ContentHash::of(file.as_bytes()),
            references: Vec::new(),
        };
        let rig = |file: &str| RigFile {
            file: file.to_owned(),
            hash: ContentHash::of(file.as_bytes()),
        };
        let entry = |(index, &frames): (usize, &u64)| Entry {
            number: index + 1,
            model: index % 2,
            rig: index / 2 % 2,
            clip: None,
            output: format!("{index}.glb"),
            side: None,
            clips: 1,
            frames,
            key: ContentHash::of(&[index as u8]),
        };
        let mut manifest = Manifest {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            program: PROGRAM.to_owned(),
            options: Options::new(&BakeOptions {
                rate_hz: 59.94,
                tolerance_deg: 0.1,
                ..BakeOptions::default()
            }),
            name: super::super::names::DEFAULT.to_owned(),
            out_dir: "out".to_owned(),
            models: vec![model("a.glb"), model("b.glb")],
            rigs: vec![rig("x.ron"), rig("y.ron")],
            entries: frames.iter().enumerate().map(entry).collect(),
            hash: ContentHash::default(),
        };
        manifest.hash = manifest.content();
        manifest
    }

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, manifest) = (folder.path().join("m.json"), manifest(&[10, 20, 30, 40]));
        manifest.write(&file, false).unwrap();
        assert_eq!(Manifest::read(&file).unwrap(), manifest);
        assert!(matches!(
            manifest.write(&file, false),
            Err(Error::Exists(_))
        ));
        // White space is no edit.
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace('\n', "\r\n")).unwrap();
        assert_eq!(Manifest::read(&file).unwrap(), manifest);
    }

    #[test]
    fn a_manifest_that_was_edited_or_is_none_is_refused() {
        let text = serde_json::to_string_pretty(&manifest(&[10, 20])).unwrap();
        let swap = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        };
        for (text, expected) in [
            (
                swap("a.glb", "c.glb"),
                "it was edited or cut since it was planned; plan again",
            ),
            (swap("\"frames\": 10", "\"frames\": 11"), "it was edited"),
            (swap("59.94", "60.0"), "it was edited"),
            (
                swap("flounce.manifest", "flounce.batch"),
                "found the schema \"flounce.batch\"",
            ),
            (
                swap("\"version\": 1", "\"version\": 2"),
                "found version 2 of flounce.manifest, expected 1",
            ),
            (
                swap(PROGRAM, "flounce 9.9.9"),
                "it is of flounce 9.9.9, this is",
            ),
            (swap("\"looped\"", "\"loop\""), "unknown field `loop`"),
            (text[..text.len() / 2].to_owned(), "no JSON"),
            ("[]".to_owned(), "found the schema \"\""),
        ] {
            let refused = Manifest::parse(&text).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_file_of_another_version_says_what_helps() {
        for (schema, expected) in [
            (SCHEMA, "may differ; plan again"),
            ("flounce.batch", "may differ; use that version, or run"),
        ] {
            let text = format!("{{\"schema\": \"{schema}\", \"version\": 1, \"program\": \"x\"}}");
            let refused = check_head(&text, schema, 1, "").unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_manifest_that_was_signed_anew_still_has_to_make_sense() {
        let signed = |change: fn(&mut Manifest)| {
            let mut changed = manifest(&[10, 20]);
            change(&mut changed);
            changed.hash = changed.content();
            Manifest::parse(&serde_json::to_string(&changed).unwrap()).unwrap_err()
        };
        let outside = signed(|it| it.entries[1].output = "../x.glb".to_owned());
        assert!(
            outside.contains("/entries/1: its output leaves"),
            "{outside}"
        );
        let doubled = signed(|it| it.entries[1].output = "0.glb".to_owned());
        assert!(doubled.contains("that of another job"), "{doubled}");
        let hidden = signed(|it| it.entries[1].output = ".Flounce/x.glb".to_owned());
        assert!(hidden.contains("among the ledgers"), "{hidden}");
        let nowhere = signed(|it| it.entries[0].model = 2);
        assert!(nowhere.contains("does not exist"), "{nowhere}");
        let misplaced = signed(|it| it.entries[0].number = 2);
        assert!(misplaced.contains("not its place"), "{misplaced}");
    }
}
