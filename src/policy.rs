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
//! dispatch per arrival.

mod alternate;
mod coin;
mod idle;
mod least;
mod ledger;
mod loads;
mod random;
mod sq;
mod theta;
mod trigger;
mod weighted;

pub use alternate::{Alternate, AlternateRouter};
pub use coin::{Coin, CoinRouter};
pub use idle::{Jiq, JiqRouter};
pub use least::{Least, LeastRouter};
pub use ledger::{Capacities, Compare, Ledger, LedgerRouter};
pub use loads::{Load, Loads, Rank, Tie, scan_idle};
pub use random::{Random, RandomRouter};
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
    /// Forgets what it has counted, and nothing that it routes by: the warm-up is over.
    fn restart(&mut self) {}
    /// Returns whether it asks each time for the server with the fewest jobs of all, or for an idle
    /// one, so that the system had better keep them in order.
    fn looks_at_all(&self) -> bool {
        false
    }
    /// Returns the number of messages between router and servers since the last restart, requests
    /// themselves not counted.
    fn messages(&self) -> u64 {
        0
    }
    /// Returns θ now and the sum of the θs that routed the requests so far, where there is a θ.
    fn theta(&self) -> Option<(f64, f64)> {
        None
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
    Jiq(Jiq),
}

/// Evaluates an expression with a fresh router of a policy, whatever its type is, for servers that
/// have room for so many jobs each: `with_router!(policy, &capacities, router => expression)`.
macro_rules! with_router {
    ($policy:expr, $capacities:expr, $router:ident => $run:expr) => {
        with_router!(@ $policy, $router => $run,
            Coin(policy) policy.router(),
            Trigger(policy) policy.router(),
            Alternate(policy) policy.router($capacities.len()),
            Theta(policy) policy.router(),
            Ledger(policy) policy.router($capacities),
            Random(_policy) $crate::policy::RandomRouter,
            WeightedRoundRobin(policy) policy.router(),
            Sq(policy) policy.router(),
            Least(policy) policy.router(),
            Jiq(policy) policy.router(),
        )
    };
    (@ $policy:expr, $router:ident => $run:expr, $($kind:ident($own:ident) $new:expr,)*) => {
        match $policy {
            $($crate::policy::Policy::$kind($own) => {
                let $router = $new;
                $run
            })*
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
}

impl Policy {
    /// Checks that the policy can route in a model that offers this.
    ///
    /// # Errors
    /// A sentence that names the field at odds with the model.
    pub fn check(&self, offers: Offers) -> Result<(), String> {
        let Offers { servers, refusals, queues } = offers;
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
            Policy::Sq(sq) if !sq.replace && sq.d as usize > servers => {
                Err(format!("`d: {}` different servers can't be drawn of {servers}", sq.d))
            }
            Policy::Trigger(trigger) => first(trigger.first),
            Policy::Alternate(alternate) => first(alternate.first),
            Policy::Sq(sq) => rank(sq.rank),
            Policy::Least(least) => rank(least.rank),
            _ => Ok(()),
        }
    }
}
