//! What a router sees of the supermarket: the queues, and the job that is to be routed.

use crate::policy::{Dispatchers, Load, Loads, Policy, Rank, Reports, Router, Sizes, with_router};
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

impl Reports for View<'_> {
    fn became_idle(&mut self, to: &mut Vec<usize>) {
        to.extend(self.queues.emptied());
    }
}

/// Returns the router of a policy that needs more than [`Loads`], or is that of several dispatchers,
/// for servers that have room for so many jobs each; nothing for any other.
///
/// They are boxed, so that one kernel is compiled for all of them: a call through a table is lost
/// beside the rest of a job, and as many kernels as pairs of wrapper and policy would double the
/// program.
pub fn boxed(
    policy: &Policy,
    capacities: &[u32],
    dispatchers: usize,
) -> Option<Box<dyn for<'q> Router<View<'q>>>> {
    match policy {
        // A job's server is the same whichever dispatcher it comes to.
        Policy::Sita(sita) => Some(Box::new(sita.router())),
        Policy::IdleQueues(policy) => Some(Box::new(policy.router(capacities.len(), dispatchers))),
        Policy::Informed(informed) => with_router!(
            &*informed.policy, capacities,
            router => Some(Box::new(informed.router(Dispatchers::new(router, dispatchers)))),
            else None
        ),
        _ if dispatchers > 1 => with_router!(
            policy, capacities,
            router => Some(Box::new(Dispatchers::new(router, dispatchers))),
            else None
        ),
        _ => None,
    }
}
