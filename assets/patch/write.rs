//! Writing: files appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

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
/// last, so that a reader never finds it without its keys. Where files beside it are going to change, a main file that is
/// overwritten goes before they do: whoever reads or kills in between finds no main file rather than an old one with new
/// keys. All temporary files are whole by then, so that a full disk costs nothing. Referenced buffers and images are copied byte for byte
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

/// As [`write()`], with the temporary files in `scratch`; `None`: each in the folder of its file.
///
/// A file that is on another file system than `scratch` is copied to a temporary file in its folder and renamed there. Who owns the folder `scratch` can clear it of what a killed process left there.
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
    let mut ready = Vec::new();
    for (copy, to) in copies {
        let mut from =
            File::open(&copy.from).map_err(|error| Error::io(&copy.from, "read", error))?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, "create", error))?;
        }
        let fill = |file: &mut NamedTempFile| io::copy(&mut from, file).map(|_| ());
        ready.push((prepare(&to, scratch, fill)?, to));
    }
    for ((_, bytes), to) in patched.side_files.iter().zip(sides) {
        ready.push((prepare(&to, scratch, |file| file.write_all(bytes))?, to));
    }
    let main = prepare(out, scratch, |file| file.write_all(&patched.main))?;
    if overwrite && !ready.is_empty() && exists(out) {
        fs::remove_file(out).map_err(|error| Error::io(out, "overwrite", error))?;
    }
    ready.push((main, out.to_path_buf()));
    for (file, to) in ready {
        place(file, &to, overwrite)?;
        written.files.push(to);
    }
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
    place(
        prepare(file, None, |to| to.write_all(bytes))?,
        file,
        overwrite,
    )
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

/// A temporary file, in `scratch` or else beside `to`, that holds what `to` is going to hold. Closed: there may be many.
fn prepare(
    to: &Path,
    scratch: Option<&Path>,
    fill: impl FnOnce(&mut NamedTempFile) -> io::Result<()>,
) -> Result<TempPath, Error> {
    let mut file = temporary(scratch.unwrap_or_else(|| folder_of(to)))
        .map_err(|error| Error::io(to, "create", error))?;
    fill(&mut file)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|error| Error::io(to, "write", error))?;
    Ok(file.into_temp_path())
}

/// Renames `file` to `to`.
fn place(file: TempPath, to: &Path, overwrite: bool) -> Result<(), Error> {
    let rename = |file: TempPath| {
        if overwrite {
            file.persist(to)
        } else {
            file.persist_noclobber(to)
        }
    };
    let renamed = match rename(file) {
        // A folder that is a link or a mount.
        Err(far) if far.error.kind() == io::ErrorKind::CrossesDevices => {
            let copy = |file: &mut NamedTempFile| io::copy(&mut File::open(&far.path)?, file);
            rename(prepare(to, None, |file| copy(file).map(|_| ()))?)
        }
        renamed => renamed,
    };
    match renamed {
        Ok(()) => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(keys: &[u8]) -> Patched {
        Patched {
            main: [b"main of ", keys].concat(),
            side_files: vec![(PathBuf::from("a.baked.bin"), keys.to_vec())],
            copies: Vec::new(),
            warnings: Vec::new(),
            quantization: Vec::new(),
        }
    }

    #[test]
    fn an_old_main_file_is_never_beside_new_keys() {
        let folder = tempfile::tempdir().unwrap();
        let (out, side) = (
            folder.path().join("a.gltf"),
            folder.path().join("a.baked.bin"),
        );
        write(&patched(b"one"), &out, true).unwrap();
        write(&patched(b"two"), &out, true).unwrap();
        assert_eq!(fs::read(&out).unwrap(), b"main of two");
        assert_eq!(fs::read(&side).unwrap(), b"two");
        // It stops where a killed process might: no file can take the place of a folder.
        fs::remove_file(&side).unwrap();
        fs::create_dir_all(side.join("full")).unwrap();
        assert!(write(&patched(b"three"), &out, true).is_err());
        assert!(!out.exists(), "an old main file whose keys may be new");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "temporary files are left");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_on_another_file_system_gets_its_files() {
        use std::os::unix::fs::MetadataExt;
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
            return;
        };
        let disk = tempfile::tempdir().unwrap();
        let device = |folder: &tempfile::TempDir| folder.path().metadata().unwrap().dev();
        if device(&memory) == device(&disk) {
            return;
        }
        for overwrite in [false, true] {
            let out = memory.path().join("a.gltf");
            write_through(&patched(b"one"), &out, overwrite, Some(disk.path())).unwrap();
            assert_eq!(fs::read(&out).unwrap(), b"main of one");
        }
        assert_eq!(fs::read_dir(memory.path()).unwrap().count(), 2);
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    }
}
