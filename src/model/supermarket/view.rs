//! What a router sees of the supermarket: the queues, and the job that is to be routed.

use crate::policy::{Dispatchers, Load, Loads, Policy, Rank, Reports, Router, Sizes, with_router};
use crate::rng::Pcg32;

use super::servers::Servers;

/// The servers at the moment when a job of a size comes.
pub(super) struct View<'s, S> {
    pub servers: &'s mut S,
    pub size: f64,
}

impl<S: Servers> Loads for View<'_, S> {
    fn servers(&self) -> usize {
        self.servers.servers()
    }

    #[inline(always)]
    fn load(&mut self, server: usize, load: Load) -> f64 {
        self.servers.load(server, load)
    }

    fn load_with(&mut self, server: usize, load: Load) -> f64 {
        let now = self.servers.load(server, load);
        if Loads::is_full(self.servers, server) {
            // It won't get it.
            return now;
        }
        let jobs = self.servers.jobs(server);
        match load {
            Load::InSystem => now + 1.0,
            Load::Waiting => f64::from(self.servers.wait_of(jobs + 1)),
            Load::Work => {
                let channels = f64::from(self.servers.channels());
                now + self.size * channels / Loads::speed(self.servers, server)
            }
            Load::Delay => now + 1.0 / Loads::speed(self.servers, server),
        }
    }

    #[inline]
    fn is_full(&mut self, server: usize) -> bool {
        Loads::is_full(self.servers, server)
    }

    fn speed(&self, server: usize) -> f64 {
        Loads::speed(self.servers, server)
    }

    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        self.servers.best_of_all(rank, routing)
    }

    fn fewer(&mut self, jobs: u32, routing: &mut Pcg32) -> Option<usize> {
        Loads::fewer(self.servers, jobs, routing)
    }
}

impl<S> Sizes for View<'_, S> {
    fn size(&self) -> f64 {
        self.size
    }
}

impl<S: Servers> Reports for View<'_, S> {
    fn became_idle(&mut self, to: &mut Vec<usize>) {
        self.servers.emptied(to);
    }
}

/// A router of any policy.
pub(super) type AnyRouter<S> = Box<dyn for<'s> Router<View<'s, S>>>;

/// Whether a policy needs more than [`Loads`].
pub(super) fn needs_more(policy: &Policy) -> bool {
    matches!(policy, Policy::Sita(_) | Policy::IdleQueues(_) | Policy::Informed(_))
}

/// Returns the router of any policy, of several dispatchers too, for servers that have room for so
/// many jobs each.
///
/// They are boxed, so that one kernel is compiled for all of them: a call through a table is lost
/// beside the rest of a job, and as many kernels as there are combinations would be a program several
/// times as large.
///
/// # Errors
/// A sentence, if a policy within another isn't one that can be.
pub(super) fn any_router<S: Servers>(
    policy: &Policy,
    capacities: &[u32],
    dispatchers: usize,
) -> Result<AnyRouter<S>, &'static str> {
    Ok(match policy {
        // A job's server is the same whichever dispatcher it comes to.
        Policy::Sita(sita) => Box::new(sita.router()),
        Policy::IdleQueues(policy) => Box::new(policy.router(capacities.len(), dispatchers)),
        Policy::Informed(informed) => with_router!(
            &*informed.policy, capacities,
            router => Box::new(informed.router(Dispatchers::new(router, dispatchers))),
            else return Err("no router is made of the policy that goes by old information")
        ),
        policy => with_router!(
            policy, capacities,
            router => Box::new(Dispatchers::new(router, dispatchers)),
            else return Err("no router is made of the policy")
        ),
    })
}
