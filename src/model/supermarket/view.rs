//! What a router sees of the supermarket: the queues, and the job that is to be routed.

use crate::policy::{Load, Loads, Policy, Rank, Router, Sizes};
use crate::rng::Pcg32;
use crate::sim::Queues;

/// The queues at the moment when a job of a size comes.
pub struct View<'q> {
    pub queues: &'q mut Queues,
    pub size: f64,
}

impl Loads for View<'_> {
    fn servers(&self) -> usize {
        self.queues.servers()
    }

    #[inline(always)]
    fn load(&mut self, server: usize, load: Load) -> f64 {
        self.queues.load(server, load)
    }

    #[inline]
    fn is_full(&mut self, server: usize) -> bool {
        Loads::is_full(self.queues, server)
    }

    fn speed(&self, server: usize) -> f64 {
        Loads::speed(self.queues, server)
    }

    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        self.queues.best_of_all(rank, routing)
    }

    fn fewer(&mut self, jobs: u32, routing: &mut Pcg32) -> Option<usize> {
        Loads::fewer(self.queues, jobs, routing)
    }
}

impl Sizes for View<'_> {
    fn size(&self) -> f64 {
        self.size
    }
}

/// Returns the router of a policy that needs more than [`Loads`]; nothing for any other.
///
/// It is boxed, so that one kernel is compiled for all of its kind: a call through a table is lost
/// beside the rest of a job.
pub fn boxed(policy: &Policy) -> Option<Box<dyn for<'q> Router<View<'q>>>> {
    match policy {
        Policy::Sita(sita) => Some(Box::new(sita.router())),
        _ => None,
    }
}
