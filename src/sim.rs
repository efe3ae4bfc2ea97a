//! Building blocks of the simulation kernels: banks of channels, queues, and the audit of a
//! replication.

mod audit;
mod bins;
mod channels;
mod order;
mod queues;

pub use audit::{Failure, audit};
pub use bins::Bins;
pub use channels::Channels;
pub use queues::{Occupancy, Queues, Service};
