//! Routing policies: who gets the next request, decided from what a router may see.
//!
//! A [`Policy`] is the declared, checked description that a spec carries. For every replication it
//! is turned into a fresh [`Router`], which lives as long as the replication does: it routes a
//! request, learns the [`Outcome`] of its attempt, and routes the next. State never survives into
//! another replication.
//!
//! What a router may see is a type. Blind ones see the times of requests and [`Outcome`]s, which
//! are the indicators I and J of the loss router's last request, and nothing else: they are routers
//! of any system. Others ask the system for what a trait of this module offers, and are routers of
//! systems that offer it. Kernels are compiled once per router type, so a policy costs no dynamic
//! dispatch per arrival; but for what is rarer (several dispatchers, old information, sizes, I-queues),
//! which shares a kernel that calls its router through a table.

mod alternate;
mod below_threshold;
mod board;
mod coin;
mod dispatchers;
#[cfg(test)]
mod fixed;
mod idle_first;
mod idle_queues;
mod information;
mod least;
mod ledger;
mod loads;
mod random;
mod sita;
mod sq;
mod theta;
mod trigger;
mod weighted;

pub use alternate::{Alternate, AlternateRouter};
pub use below_threshold::{BelowThreshold, BelowThresholdRouter};
pub use board::Board;
pub use coin::{Coin, CoinRouter};
pub use dispatchers::Dispatchers;
pub use idle_first::{IdleFirst, IdleFirstRouter};
pub use idle_queues::{IdleQueues, IdleQueuesRouter, Report};
pub use information::{Informed, InformedRouter, Update};
pub use least::{Least, LeastRouter};
pub use ledger::{Capacities, Compare, Ledger, LedgerRouter};
pub use loads::{Load, Loads, Rank, Reports, Sizes, Tie, scan_fewer};
pub use random::{Random, RandomRouter};
pub use sita::{Sita, SitaRouter};
pub use sq::{Sq, SqRouter};
pub use theta::{Rule, Theta, ThetaRouter};
pub use trigger::{Trigger, TriggerRouter};
pub use weighted::{Style, WeightedRoundRobin, WeightedRoundRobinRouter, gcd};

use crate::rng::Pcg32;

/// What became of a request that was sent to a server: all that an indicator policy learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The attempted server k had a free channel: I_k = 1.
    Accepted,
    /// The attempted server was full and the named other server k took it: J_k = 1, an error.
    Redirected(usize),
    /// No server took it: both indicators stay 0.
    Refused,
}

/// The state of one policy during one replication, in a system of which it may see what `S` shows.
pub trait Router<S: ?Sized> {
    /// Returns the index of the server to attempt with a request that comes at `now`, which never
    /// goes back; draws only from `routing`.
    fn route(&mut self, now: f64, system: &mut S, routing: &mut Pcg32) -> usize;
    /// Takes note of what became of the request sent to `attempted`.
    fn learn(&mut self, attempted: usize, outcome: Outcome);
    /// Returns when it looks at the system last before a request that comes at `now`, or at that very
    /// moment; nothing, if it doesn't since the request before. Asked once for each request, in order;
    /// draws only from `routing`.
    #[inline(always)]
    fn looks_before(&mut self, _now: f64, _routing: &mut Pcg32) -> Option<f64> {
        None
    }
    /// Looks at the system, which is as it is at `now`, without a request.
    fn look(&mut self, _now: f64, _system: &mut S) {}
    /// Returns how often it is worth asking it again for a request whose server is down, of which it is
    /// told as of a refusal: often enough for the rarest choice of a policy that draws or takes turns.
    fn tries(&self) -> u32 {
        100_000
    }
    /// Forgets what it has counted up to now, and nothing that it routes by: the warm-up is over.
    fn restart(&mut self, _now: f64) {}
    /// Returns whether it asks each time for the server with the fewest jobs of all, or for an idle
    /// one, so that the system had better keep them in order.
    fn looks_at_all(&self) -> bool {
        false
    }
    /// Returns whether it goes by what servers report, so that the system must take note of it.
    fn takes_reports(&self) -> bool {
        false
    }
    /// Returns the number of messages between router and servers from the last restart to now, requests
    /// themselves not counted.
    fn messages(&self, _now: f64) -> u64 {
        0
    }
    /// Returns θ now and the sum of the θs that routed the requests so far, where there is a θ.
    fn theta(&self) -> Option<(f64, f64)> {
        None
    }
}

impl<S: ?Sized, R: Router<S> + ?Sized> Router<S> for Box<R> {
    fn route(&mut self, now: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        (**self).route(now, system, routing)
    }
    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        (**self).learn(attempted, outcome);
    }
    fn looks_before(&mut self, now: f64, routing: &mut Pcg32) -> Option<f64> {
        (**self).looks_before(now, routing)
    }
    fn look(&mut self, now: f64, system: &mut S) {
        (**self).look(now, system);
    }
    fn restart(&mut self, now: f64) {
        (**self).restart(now);
    }
    fn tries(&self) -> u32 {
        (**self).tries()
    }
    fn looks_at_all(&self) -> bool {
        (**self).looks_at_all()
    }
    fn takes_reports(&self) -> bool {
        (**self).takes_reports()
    }
    fn messages(&self, now: f64) -> u64 {
        (**self).messages(now)
    }
    fn theta(&self) -> Option<(f64, f64)> {
        (**self).theta()
    }
}

/// A declared policy, ready to be turned into a router.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    Coin(Coin),
    Trigger(Trigger),
    Alternate(Alternate),
    Theta(Theta),
    Ledger(Ledger),
    Random(Random),
    WeightedRoundRobin(WeightedRoundRobin),
    Sq(Sq),
    Least(Least),
    IdleFirst(IdleFirst),
    BelowThreshold(BelowThreshold),
    IdleQueues(IdleQueues),
    Sita(Sita),
    Informed(Informed),
}

/// Evaluates an expression with a fresh router of a policy, whatever its type is, for servers that
/// have room for so many jobs each: `with_router!(policy, &capacities, router => expression, else
/// other)`. Those are the policies that go by nothing but [`Loads`]; of others it gives the other.
macro_rules! with_router {
    ($policy:expr, $capacities:expr, $router:ident => $run:expr, else $other:expr) => {
        with_router!(@ $policy, $router => $run, $other,
            Coin(policy) policy.router(),
            Trigger(policy) policy.router(),
            Alternate(policy) policy.router($capacities.len()),
            Theta(policy) policy.router(),
            Ledger(policy) policy.router($capacities),
            Random(_policy) $crate::policy::RandomRouter,
            WeightedRoundRobin(policy) policy.router(),
            Sq(policy) policy.router(),
            Least(policy) policy.router(),
            IdleFirst(policy) policy.router(),
            BelowThreshold(policy) policy.router(),
        )
    };
    (@ $policy:expr, $router:ident => $run:expr, $other:expr,
        $($kind:ident($own:ident) $new:expr,)*) => {
        match $policy {
            $($crate::policy::Policy::$kind($own) => {
                let $router = $new;
                $run
            })*
            _ => $other,
        }
    };
}
pub(crate) use with_router;

/// What a model shows to policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Number of servers.
    pub servers: usize,
    /// Whether servers refuse jobs, so that there are indicators.
    pub refusals: bool,
    /// Whether jobs wait in servers, so that those are a load.
    pub queues: bool,
    /// Whether the size of a job is known when it is routed.
    pub sizes: bool,
    /// Whether it is told what happens between jobs: servers that become idle, updates of a board.
    pub between: bool,
}

impl Policy {
    /// Checks that the policy can route in a model that offers this.
    ///
    /// # Errors
    /// A sentence that names the field at odds with the model.
    pub fn check(&self, offers: Offers) -> Result<(), String> {
        let Offers { servers, refusals, queues, sizes, between } = offers;
        let first = |first: usize| {
            if first < servers {
                Ok(())
            } else {
                Err(format!(
                    "`first: {first}` names no server: the model has {servers}, counted from 0"
                ))
            }
        };
        let rank = |rank: Rank| match rank.load {
            Load::Waiting | Load::Work if !queues => Err(
                "the model's servers have no queues: there are neither waiting jobs nor work left \
                 to compare"
                    .to_owned(),
            ),
            _ => Ok(()),
        };
        match self {
            Policy::Trigger(_) | Policy::Theta(_) | Policy::Ledger(_) if !refusals => Err(
                "the policy goes by refusals, and the model's servers have room for any number of \
                 jobs"
                    .to_owned(),
            ),
            Policy::Coin(coin) if coin.probabilities.len() != servers => Err(format!(
                "the coin chooses among {} servers but the model has {servers}",
                coin.probabilities.len()
            )),
            Policy::Theta(_) if servers != 2 => {
                Err(format!("theta policies choose between 2 servers but the model has {servers}"))
            }
            Policy::WeightedRoundRobin(policy) if policy.weights.len() != servers => Err(format!(
                "there are {} weights for the model's {servers} servers",
                policy.weights.len()
            )),
            Policy::Sq(sq) | Policy::IdleFirst(IdleFirst { otherwise: sq })
                if !sq.replace && sq.d as usize > servers =>
            {
                Err(format!("`d: {}` different servers can't be drawn of {servers}", sq.d))
            }
            Policy::IdleQueues(_) if !between => Err(
                "the model's servers don't report that they are idle: `report: pool` only looks \
                 at them when a request comes"
                    .to_owned(),
            ),
            Policy::Sita(_) if !sizes => {
                Err("the policy goes by sizes, which the model doesn't show".to_owned())
            }
            Policy::Sita(sita) if sita.cutoffs.len() + 1 != servers => Err(format!(
                "{} `cutoffs` make {} intervals for the model's {servers} servers",
                sita.cutoffs.len(),
                sita.cutoffs.len() + 1
            )),
            Policy::Informed(_) if !between => {
                Err("the model has no board to read old `information` from".to_owned())
            }
            Policy::Informed(informed) => informed.policy.check(offers),
            Policy::Trigger(trigger) => first(trigger.first),
            Policy::Alternate(alternate) => first(alternate.first),
            Policy::Sq(sq) | Policy::IdleFirst(IdleFirst { otherwise: sq }) => rank(sq.rank),
            Policy::Least(least) => rank(least.rank),
            _ => Ok(()),
        }
    }
}
