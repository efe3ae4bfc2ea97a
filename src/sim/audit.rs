//! The audit of a replication: what must hold whatever was drawn.
//!
//! A replication that breaks an invariant is a failed replication, never a row with a warning.

use serde::{Deserialize, Serialize};

/// Why a replication gave no row.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum Failure {
    /// The event cap stopped it.
    #[error("more than {cap} arrivals before the horizon (raise `max_arrivals` if that is meant)")]
    TooManyArrivals { cap: u64 },
    /// Nothing was left to count.
    #[error("the warm-up up to {start} leaves nothing before the horizon, {horizon}")]
    Warmup { start: f64, horizon: f64 },
    /// There are fewer arrivals to count than periods that are to have some.
    #[error(
        "{left} arrivals are left after the warm-up, fewer than the periods to count: {periods}"
    )]
    TooFewArrivals { left: u64, periods: u32 },
    /// An invariant is broken: a fault of this program, to be reported.
    #[error("audit failed: {0}; this is a fault of balancelab, please report it")]
    Audit(String),
    /// The code panicked: a fault of this program, to be reported.
    #[error("panicked: {0}; this is a fault of balancelab, please report it")]
    Panic(String),
}

/// Returns an audit failure that quotes `what` unless `holds`.
///
/// # Errors
/// [`Failure::Audit`].
pub fn audit(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Audit(what())) }
}
