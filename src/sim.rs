//! Building blocks of the simulation kernels: banks of channels, queues, and the audit of a
//! replication.

mod audit;
mod bins;
mod channels;
mod occupancy;
mod order;
mod outages;
mod queues;
mod stations;

pub use audit::{Failure, audit};
pub use bins::Bins;
pub use channels::Channels;
pub use occupancy::Occupancy;
pub use outages::{Breakdowns, Outage, Outages};
pub use queues::{Queues, Service};
pub use stations::{Discipline, Stations};
