//! What the spring benches share: the workload, the port that the engine is compared with, the record of results.

pub mod kernel;
pub mod port;
pub mod record;
pub mod workload;
