//! Writing: files appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;

use crate::assets::Error;
use crate::assets::patch::{FileCopy, Patched};

/// What [`write()`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that were written, the main file last.
    pub files: Vec<PathBuf>,
    /// Referenced files that are missing beside the input too, one sentence each.
    pub warnings: Vec<String>,
}

/// Writes `patched` as `out`, with the files it needs beside it.
///
/// Each file is written under a temporary name in its folder, flushed to the disk and renamed; the main file comes
/// last, so that a reader never finds it without its keys. Referenced buffers and images are copied byte for byte
/// under the same relative path when `out` is in another folder than the input; a copy that is there already, byte
/// for byte, stays. The folder of `out` must exist; folders below it are made as the references need them.
///
/// # Errors
/// [`Error::Exists`] when a file is there (and, for copies, differs) and `overwrite` is false: nothing is written then.
/// [`Error::Request`] when a reference leads out of the model's folder, by `..` or by a link, and means another file
/// from the output's folder, or when it means `out` itself. [`Error::Io`] when the system refuses.
pub fn write(patched: &Patched, out: &Path, overwrite: bool) -> Result<Written, Error> {
    write_through(patched, out, overwrite, None)
}

/// As [`write()`], with the temporary files in `scratch`, on the same file system; `None`: each in the folder of its file.
///
/// Who owns the folder `scratch` can clear it of what a killed process left there.
///
/// # Errors
/// As [`write()`].
pub fn write_through(
    patched: &Patched,
    out: &Path,
    overwrite: bool,
    scratch: Option<&Path>,
) -> Result<Written, Error> {
    let folder = folder_of(out);
    let mut written = Written::default();
    let copies = needed_copies(&patched.copies, folder, out, &mut written.warnings)?;
    let sides: Vec<PathBuf> = patched
        .side_files
        .iter()
        .map(|(name, _)| folder.join(name))
        .collect();
    if !overwrite {
        let targets = copies.iter().map(|(_, to)| to).chain(&sides);
        if let Some(taken) = targets
            .map(PathBuf::as_path)
            .chain([out])
            .find(|to| exists(to))
        {
            return Err(Error::Exists(taken.to_path_buf()));
        }
    }
    for (copy, to) in copies {
        let mut from =
            File::open(&copy.from).map_err(|error| Error::io(&copy.from, "read", error))?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, "create", error))?;
        }
        place(&to, overwrite, scratch, |file| {
            io::copy(&mut from, file).map(|_| ())
        })?;
        written.files.push(to);
    }
    for ((_, bytes), to) in patched.side_files.iter().zip(sides) {
        place(&to, overwrite, scratch, |file| file.write_all(bytes))?;
        written.files.push(to);
    }
    place(out, overwrite, scratch, |file| {
        file.write_all(&patched.main)
    })?;
    written.files.push(out.to_path_buf());
    Ok(written)
}

/// Writes `bytes` as `file` by temporary file and rename.
///
/// # Errors
/// [`Error::Exists`] when it is there and `overwrite` is false; [`Error::Io`] when the system refuses.
pub fn write_file(file: &Path, bytes: &[u8], overwrite: bool) -> Result<(), Error> {
    if !overwrite && exists(file) {
        return Err(Error::Exists(file.to_path_buf()));
    }
    place(file, overwrite, None, |to| to.write_all(bytes))
}

/// The folder that `file` is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses an output that is `input`, under whatever name: not even those who overwrite want to lose what they bake from.
///
/// # Errors
/// [`Error::Request`] that names both.
pub fn refuse_same(out: &Path, input: &Path) -> Result<(), Error> {
    if same_file(out, input) {
        return Err(Error::Request(format!(
            "{}: the output is the input {}; choose another name",
            out.display(),
            input.display()
        )));
    }
    Ok(())
}

/// Whether both paths mean one place, whether or not something is there yet.
pub fn same_place(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        Some((
            folder_of(path).canonicalize().ok()?,
            path.file_name()?.to_owned(),
        ))
    };
    same_file(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Whether something has this name, be it a link to nowhere.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The copies that have to be made, with their targets.
fn needed_copies<'p>(
    copies: &'p [FileCopy],
    folder: &Path,
    out: &Path,
    warnings: &mut Vec<String>,
) -> Result<Vec<(&'p FileCopy, PathBuf)>, Error> {
    let mut needed = Vec::new();
    for copy in copies {
        let to = folder.join(&copy.relative);
        let there = same_file(&copy.from, &to);
        if to == out && !there {
            return Err(Error::Request(format!(
                "{}: the model refers to a file of this name ({}); choose another output name",
                out.display(),
                copy.place
            )));
        }
        if there {
            continue;
        }
        if !is_inside(copy) {
            return Err(Error::Request(format!(
                "{}: {} refers to \"{}\", which leaves the model's folder; write the output beside the model",
                out.display(),
                copy.place,
                copy.relative.display()
            )));
        }
        if !copy.from.is_file() {
            warnings.push(format!(
                "{}: {} is missing",
                copy.place,
                copy.from.display()
            ));
        } else if !same_bytes(&copy.from, &to).map_err(|error| Error::io(&to, "read", error))? {
            needed.push((copy, to));
        }
    }
    Ok(needed)
}

/// Whether the referenced file is in the model's folder, after links are followed; a missing one by its name.
fn is_inside(copy: &FileCopy) -> bool {
    let by_name = copy
        .relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let home = copy
        .from
        .ancestors()
        .nth(copy.relative.components().count());
    let home = home.map(|home| {
        if home.as_os_str().is_empty() {
            Path::new(".")
        } else {
            home
        }
    });
    let links = (copy.from.canonicalize(), home.map(Path::canonicalize));
    match links {
        (Ok(real), Some(Ok(home))) => by_name && real.starts_with(home),
        _ => by_name,
    }
}

/// Whether both names mean one existing file.
fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Whether `b` exists and holds what `a` holds.
fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    if !b.is_file() || a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    let (mut of_a, mut of_b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let n = a.read(&mut of_a)?;
        if n == 0 {
            return Ok(b.read(&mut of_b)? == 0);
        }
        if b.read_exact(&mut of_b[..n]).is_err() || of_a[..n] != of_b[..n] {
            return Ok(false);
        }
    }
}

/// Writes `to` by temporary file, in `scratch` or else beside it, and rename.
fn place(
    to: &Path,
    overwrite: bool,
    scratch: Option<&Path>,
    fill: impl FnOnce(&mut NamedTempFile) -> io::Result<()>,
) -> Result<(), Error> {
    let mut file = temporary(scratch.unwrap_or_else(|| folder_of(to)))
        .map_err(|error| Error::io(to, "create", error))?;
    fill(&mut file)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|error| Error::io(to, "write", error))?;
    let renamed = if overwrite {
        file.persist(to)
    } else {
        file.persist_noclobber(to)
    };
    match renamed {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Exists(to.to_path_buf()))
        }
        Err(error) => Err(Error::io(to, "create", error.error)),
    }
}

/// An empty temporary file in `folder`, readable for whoever new files are readable for.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".flounce-").suffix(".tmp");
    // Temporary files are private by default and would stay so under their final name.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
