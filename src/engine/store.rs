//! Where the engine finds rows of earlier runs, and leaves those that it makes.

use std::ops::Range;

use crate::sim::Failure;

/// What came of a replication: a value per column of the experiment, NaN where there is none.
pub type Fate = Result<Vec<f64>, Failure>;

/// Rows by the [identity](super::Case::identity) of their point.
///
/// The engine asks before it simulates, and hands over what it simulated, so a run that was
/// stopped goes on, and one that grew adds to what is there.
pub trait Store<E>: Sync {
    /// Returns what is known of some replications, in their order.
    ///
    /// # Errors
    /// What was there can't be read any more.
    fn recall(&self, identity: u128, replications: Range<u32>) -> Result<Vec<Option<Fate>>, E>;

    /// Takes new replications of a point, rising. They are safe some seconds later.
    ///
    /// # Errors
    /// They can't be stored.
    fn keep<'a>(
        &self,
        identity: u128,
        point: u32,
        rows: &mut dyn Iterator<Item = (u32, Result<&'a [f64], &'a Failure>)>,
    ) -> Result<(), E>;
}

/// A store that knows nothing and keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoStore;

impl<E> Store<E> for NoStore {
    fn recall(&self, _: u128, replications: Range<u32>) -> Result<Vec<Option<Fate>>, E> {
        Ok(vec![None; replications.len()])
    }

    fn keep<'a>(
        &self,
        _: u128,
        _: u32,
        _: &mut dyn Iterator<Item = (u32, Result<&'a [f64], &'a Failure>)>,
    ) -> Result<(), E> {
        Ok(())
    }
}
