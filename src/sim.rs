//! Building blocks of the simulation kernels: banks of channels, queues, and the audit of a
//! replication.

mod audit;
mod channels;
mod order;
mod queues;

pub use audit::{Failure, audit};
pub use channels::Channels;
pub use queues::{Occupancy, Queues, Service};
