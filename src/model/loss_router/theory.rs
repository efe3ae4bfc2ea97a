//! What theory says of a loss router, where it says something.

use super::{LossRouter, Redirect, SYSTEM};
use crate::model::values::Values;
use crate::model::{Shape, Warmup};
use crate::policy::Policy;
use crate::rng::Distribution;
use crate::theory::{LossNetwork, LossPolicy, LossRedirect, erlang_b};

/// What theory covers, and under which assumptions; the values are those of the long run, which a
/// replication that starts empty approaches like its warm-up over its horizon.
pub const THEORY: &str = "arrivals with exponential interarrival times; refusals_pct and \
    accepted_pct with exponential interarrival times, any service, equal speeds and redirection \
    (Erlang B of all channels together); every response but θ (switches after a \
    warm-up only) with exponential interarrival and service times under coin, random, trigger, \
    alternate, and theta with alpha 0 and no limit on runs (the Markov chain of busy channels, solved exactly); none elsewhere";

impl LossRouter {
    /// Returns a theoretical value per column, nothing where there is none.
    pub(in crate::model) fn theory(&self, policy: &Policy) -> Vec<Option<f64>> {
        let mut values = Values::new(&SYSTEM, Shape { servers: self.channels.len(), snapshots: 0 });
        let Distribution::Exponential { mean: interarrival } = self.interarrival else {
            return values.columns();
        };
        if let Warmup::Time(start) = self.warmup {
            values.set("arrivals", 0, (self.horizon - start) / interarrival);
            values.set("counted_from", 0, start);
        }
        let equal = self.speeds.iter().all(|&speed| speed == self.speed(0));
        if equal && self.redirect != Redirect::None {
            let channels = self.channels.iter().sum();
            let offered = self.service.mean() / self.speed(0) / interarrival;
            let refused = erlang_b(channels, offered);
            values.set("refusals_pct", 0, 100.0 * refused);
            values.set("accepted_pct", 0, 100.0 * (1.0 - refused));
        }
        let solved = self.network(policy, interarrival).and_then(|network| network.solve().ok());
        if let Some(figures) = solved {
            values.set("errors_pct", 0, 100.0 * figures.errors);
            values.set("refusals_pct", 0, 100.0 * figures.refusals);
            values.set("accepted_pct", 0, 100.0 * figures.accepted);
            // The very first request switches from none; it counts unless a warm-up hides it.
            if self.warmup != Warmup::Time(0.0) {
                values.set("switches_pct", 0, 100.0 * figures.switches);
            }
            for (k, share) in figures.server_share.iter().enumerate() {
                values.set("server_share_pct", k, 100.0 * share);
            }
            for (k, &utilisation) in figures.utilisation.iter().enumerate() {
                values.set("utilisation", k, utilisation);
            }
        }
        values.columns()
    }

    /// Returns the chain of the scenario under a policy, where it is one.
    fn network(&self, policy: &Policy, interarrival: f64) -> Option<LossNetwork> {
        let Distribution::Exponential { mean: service } = self.service else { return None };
        let redirect = match self.redirect {
            Redirect::None => LossRedirect::None,
            Redirect::Next => LossRedirect::Next,
            Redirect::Random => LossRedirect::Random,
            Redirect::MostFree => LossRedirect::MostFree,
        };
        let policy = match policy {
            Policy::Coin(coin) => LossPolicy::Coin(coin.probabilities.clone()),
            // Without redirection the first server is the only one for ever.
            Policy::Trigger(trigger) if trigger.first > 0 && redirect == LossRedirect::None => {
                return None;
            }
            Policy::Trigger(_) => LossPolicy::Trigger,
            Policy::Alternate(policy) => {
                LossPolicy::Alternate { flip_on_refusal: policy.flip_on_refusal }
            }
            Policy::Theta(theta) if theta.alpha == 0.0 && theta.max_run.is_none() => {
                LossPolicy::Coin(vec![theta.start, 1.0 - theta.start])
            }
            Policy::Random(_) => {
                let servers = self.channels.len();
                LossPolicy::Coin(vec![1.0 / servers as f64; servers])
            }
            _ => return None,
        };
        let rates = (0..self.channels.len()).map(|k| self.speed(k) / service);
        Some(LossNetwork {
            channels: self.channels.clone(),
            arrival_rate: 1.0 / interarrival,
            service_rates: rates.collect(),
            redirect,
            policy,
        })
    }
}
