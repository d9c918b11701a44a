//! Content hashes: what files hold, whatever they are called and whenever they were written.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// BLAKE3 of bytes, 64 hexadecimal digits; of a file that cannot be read, none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// Of what a file holds, which is not kept in memory.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of_file(file: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(file)?)?;
        Ok(Self(hasher.finalize().to_hex().to_string()))
    }

    /// Of what `value` says as JSON.
    pub(super) fn of_json<T: Serialize>(value: &T) -> Self {
        // What serde_json refuses (maps with keys that are no strings) does not occur here.
        Self::of(&serde_json::to_vec(value).unwrap_or_default())
    }

    /// The first 8 digits, for names and people.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_hash_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, b"abc").unwrap();
        let hash = ContentHash::of_file(&file).unwrap();
        assert_eq!(hash, ContentHash::of(b"abc"));
        // *BLAKE3*, test vector of the reference implementation.
        let abc = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!(hash.to_string(), abc);
        assert_eq!(hash.short(), "6437b3ac");
        assert!(ContentHash::of_file(&folder.path().join("b")).is_err());
    }
}
