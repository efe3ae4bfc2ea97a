//! Routing policies: who gets the next request, decided from what a router may see.
//!
//! A [`Policy`] is the declared, checked description that a spec carries. For every replication it
//! is turned into a fresh [`Router`], which lives as long as the replication does: it routes a
//! request, learns the [`Outcome`] of its attempt, and routes the next. State never survives into
//! another replication.
//!
//! What a router may see is a type: the routers of this family see the times of requests and
//! [`Outcome`]s, which are the indicators I and J of the loss router's last request, and nothing
//! else: no load. Kernels are compiled once per router type, so a policy costs no dynamic dispatch
//! per arrival.

mod alternate;
mod coin;
mod ledger;
mod theta;
mod trigger;

pub use alternate::{Alternate, AlternateRouter};
pub use coin::{Coin, CoinRouter};
pub use ledger::{Capacities, Compare, Ledger, LedgerRouter};
pub use theta::{Rule, Theta, ThetaRouter};
pub use trigger::{Trigger, TriggerRouter};

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

/// The state of one policy during one replication.
pub trait Router {
    /// Returns the index of the server to attempt with a request that comes at `now`, which never
    /// goes back; draws only from `routing`.
    fn route(&mut self, now: f64, routing: &mut Pcg32) -> usize;
    /// Takes note of what became of the request sent to `attempted`.
    fn learn(&mut self, attempted: usize, outcome: Outcome);
    /// Forgets what it has counted, and nothing that it routes by: the warm-up is over.
    fn restart(&mut self) {}
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
}

impl Policy {
    /// Checks that the policy can route among `servers` servers.
    ///
    /// # Errors
    /// A sentence that names the field at odds with the number of servers.
    pub fn check_servers(&self, servers: usize) -> Result<(), String> {
        let first = |first: usize| {
            if first < servers {
                Ok(())
            } else {
                Err(format!(
                    "`first: {first}` names no server: the model has {servers}, counted from 0"
                ))
            }
        };
        match self {
            Policy::Coin(coin) if coin.probabilities.len() != servers => Err(format!(
                "the coin chooses among {} servers but the model has {servers}",
                coin.probabilities.len()
            )),
            Policy::Theta(_) if servers != 2 => {
                Err(format!("theta policies choose between 2 servers but the model has {servers}"))
            }
            Policy::Trigger(trigger) => first(trigger.first),
            Policy::Alternate(alternate) => first(alternate.first),
            _ => Ok(()),
        }
    }
}
