//! Checking.
use crate::rig::Rig;
use std::fmt;
/// x
#[derive(Default)]
pub struct Use;
/// x
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum Severity {
    /// x
    Note,
    /// y
    Warning,
}
/// x
pub struct Finding {
    /// x
    pub severity: Severity,
}
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("x")
    }
}
/// x
pub fn inspect(_rig: &Rig, _how: &Use) -> Vec<Finding> {
    vec![]
}
