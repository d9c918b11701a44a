//! Instruction sets: which registers the lanes lie in, chosen once at start.
//!
//! All give the same bits. `FLOUNCE_ISA=scalar|sse2|avx2|avx512` forces one, for tests and comparisons.

use std::sync::OnceLock;

use bevy_ecs::resource::Resource;
use thiserror::Error;

/// The environment variable that forces an instruction set.
pub const VARIABLE: &str = "FLOUNCE_ISA";

/// Instructions that the kernels are compiled for. As a resource of a World: those that its actors run on.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// One lane at a time on x86-64; plain arrays of four lanes elsewhere.
    Scalar,
    /// 8 lanes.
    Sse2,
    /// 16 lanes, and 8.
    Avx2,
    /// 32 lanes, and 16 and 8.
    Avx512,
}

/// Why an instruction set was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InstructionSetError {
    /// No such name.
    #[error(
        "{VARIABLE}: found \"{found}\", expected one of {}",
        names(InstructionSet::all())
    )]
    Unknown {
        /// What the variable says.
        found: String,
    },
    /// Not on this processor.
    #[error(
        "{VARIABLE}: this processor has no {found}; it has {}",
        names(InstructionSet::available())
    )]
    Missing {
        /// What the variable asks for.
        found: &'static str,
    },
}

fn names(of: impl Iterator<Item = InstructionSet>) -> String {
    of.map(InstructionSet::name).collect::<Vec<_>>().join(", ")
}

impl InstructionSet {
    /// All that there are, narrow first.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Scalar, Self::Sse2, Self::Avx2, Self::Avx512].into_iter()
    }

    /// Those that this processor has.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::all().filter(|set| set.is_available())
    }

    /// As the variable spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse2 => "sse2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar | Self::Sse2 => true,
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
            }
        }
    }

    /// Whether this processor has it.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Self::Scalar
    }

    /// The widths of groups that it serves besides one lane, narrow first; on a processor without it those of the next
    /// narrower one that is there.
    pub fn widths(self) -> &'static [usize] {
        let there = Self::available().filter(|&set| set <= self).last();
        match there.unwrap_or(Self::Scalar) {
            #[cfg(target_arch = "x86_64")]
            Self::Scalar => &[],
            #[cfg(not(target_arch = "x86_64"))]
            Self::Scalar => &[4],
            Self::Sse2 => &[8],
            Self::Avx2 => &[8, 16],
            Self::Avx512 => &[8, 16, 32],
        }
    }

    /// What [`VARIABLE`] asks for; `None` where it is not set.
    ///
    /// # Errors
    /// [`InstructionSetError`] for a name that is none, and for instructions that this processor lacks.
    pub fn from_environment() -> Result<Option<Self>, InstructionSetError> {
        let Some(found) = std::env::var_os(VARIABLE) else {
            return Ok(None);
        };
        let named = Self::all().find(|set| found == set.name());
        let Some(set) = named else {
            return Err(InstructionSetError::Unknown {
                found: found.to_string_lossy().into_owned(),
            });
        };
        if set.is_available() {
            Ok(Some(set))
        } else {
            Err(InstructionSetError::Missing { found: set.name() })
        }
    }
}

/// What [`VARIABLE`] asks for, else the widest that there is. A variable that cannot be followed is named in an error
/// of the log; the program refuses it.
impl Default for InstructionSet {
    fn default() -> Self {
        static CHOSEN: OnceLock<InstructionSet> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let widest = Self::available().last().unwrap_or(Self::Scalar);
            Self::from_environment()
                .unwrap_or_else(|fault| {
                    tracing::error!("{fault}; {} runs instead", widest.name());
                    None
                })
                .unwrap_or(widest)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_sets_come_later_and_the_first_is_everywhere() {
        let sets: Vec<_> = InstructionSet::available().collect();
        assert_eq!(sets[0], InstructionSet::Scalar);
        assert!(sets.is_sorted_by_key(|set| set.widths().last().copied().unwrap_or(1)));
    }
}
