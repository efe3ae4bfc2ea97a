//! Building blocks of the simulation kernels: banks of channels, and the audit of a replication.

mod audit;
mod channels;

pub use audit::{Failure, audit};
pub use channels::Channels;
