//! The loss router with exponential times, solved as a Markov chain.
//!
//! Requests arrive in a Poisson stream of rate λ at a router that attempts one of n servers by its policy. A free
//! channel there takes the request; else one of another server may, by the redirect rule, which is an *error*; else the
//! request is *refused* and leaves. Server k has c_k channels of exponential service, rate μ_k each. A state is the
//! number of busy channels of each server and the server to be attempted next, so there are n·Π(c_k + 1) of them, and
//! Π(c_k + 1) for the coin, which remembers nothing.
//!
//! An arrival finds the state with its long-run probability: R. W. Wolff, "Poisson arrivals see time averages",
//! Operations Research 30 (1982) 223–231. So the chain's stationary distribution gives the fractions of arrivals that
//! are taken, redirected, refused and attempted elsewhere than the one before, exactly up to rounding.
//!
//! The model, and the policies, are those of K. V. Pervyshev, "Optimizing the work of a router", with exponential
//! times in place of integer ones. With equal μ and any redirection refusals are Erlang B of all channels together.

use std::cmp::Reverse;

use super::chain::{ChainError, stationary};

/// Most states of a chain: beyond, a solution takes seconds and says little that a simulation doesn't.
const MAX_STATES: usize = 200_000;
/// By how much probabilities may miss one in sum, from rounding in a file.
const MAX_PROBABILITY_GAP: f64 = 1e-9;

/// Where a request goes when the attempted server is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRedirect {
    /// Nowhere: it is refused.
    None,
    /// To the first server with a free channel among those after the attempted one, cyclically.
    Next,
    /// To one of the other servers with a free channel, each equally likely.
    Random,
    /// To the other server with the most free channels; the first of them on a tie.
    MostFree,
}

/// Which server a request is attempted at.
#[derive(Clone, Debug, PartialEq)]
pub enum LossPolicy {
    /// Server k with probability p_k, independently of everything.
    Coin(Vec<f64>),
    /// The same server until an error, then the one that took the redirected request. A refusal moves nothing.
    ///
    /// It starts at server 0, which matters only without redirection, where it stays there for ever.
    Trigger,
    /// The server after the last attempted one, cyclically; after a refusal the same again unless `flip_on_refusal`.
    Alternate { flip_on_refusal: bool },
}

/// A loss router with Poisson arrivals and exponential service.
#[derive(Clone, Debug, PartialEq)]
pub struct LossNetwork {
    /// Channels of each server, at least one each.
    pub channels: Vec<u32>,
    /// Arrival rate λ > 0 [1/time unit].
    pub arrival_rate: f64,
    /// Service rate μ_k > 0 of a channel of each server [1/time unit].
    pub service_rates: Vec<f64>,
    pub redirect: LossRedirect,
    pub policy: LossPolicy,
}

/// Long-run figures of a loss router; fractions are of **all** arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct LossFigures {
    /// Fraction of requests taken by another server than the attempted one.
    pub errors: f64,
    /// Fraction of requests that nobody took.
    pub refusals: f64,
    /// Fraction of requests that a server took, errors included.
    pub accepted: f64,
    /// Fraction of requests attempted at another server than the request before.
    pub switches: f64,
    /// Fraction of requests that each server took.
    pub server_share: Vec<f64>,
    /// Mean fraction of busy channels of each server.
    pub utilisation: Vec<f64>,
}

/// Why a loss router has no figures here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsolved {
    /// No servers, or one without channels.
    #[error("a loss router has at least one server, and each server at least one channel")]
    NoChannels,
    /// Lists of different lengths.
    #[error("{what} are {given}, but there are {servers} servers")]
    WrongLength { what: &'static str, given: usize, servers: usize },
    /// A rate that is zero, negative, infinite or NaN.
    #[error("a rate is {rate}; rates are finite and above 0")]
    BadRate { rate: f64 },
    /// Probabilities out of [0, 1] or that don't sum to one.
    #[error("the coin's probabilities {probabilities:?} are not in [0, 1] with sum 1")]
    BadProbabilities { probabilities: Vec<f64> },
    /// The chain resists.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// A state of the chain.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Busy channels of each server.
    busy: Vec<u32>,
    /// The server that the next request is attempted at; 0 for the coin.
    next: usize,
}

/// What may become of a request.
struct Fate {
    probability: f64,
    attempted: usize,
    /// The server that takes it; `None` for a refusal.
    taker: Option<usize>,
}

impl LossNetwork {
    /// Returns the long-run figures.
    ///
    /// They are exact up to rounding, of the order of 1e-15, and below 1e-12 for chains of more than a few thousand
    /// states.
    ///
    /// # Errors
    /// See [`Unsolved`]; above 200 000 states it is [`ChainError::TooManyStates`].
    ///
    /// ```
    /// use balancelab::theory::{LossNetwork, LossPolicy, LossRedirect, erlang_b};
    /// let network = LossNetwork {
    ///     channels: vec![2, 4],
    ///     arrival_rate: 1.0 / 15.0,
    ///     service_rates: vec![1.0 / 80.0; 2],
    ///     redirect: LossRedirect::Next,
    ///     policy: LossPolicy::Trigger,
    /// };
    /// let figures = network.solve().unwrap();
    /// assert!((figures.refusals - erlang_b(6, 80.0 / 15.0)).abs() < 1e-14);
    /// ```
    pub fn solve(&self) -> Result<LossFigures, Unsolved> {
        self.check()?;
        let start = State { busy: vec![0; self.channels.len()], next: 0 };
        let chain = stationary(start, MAX_STATES, |state, to| self.transitions(state, to))?;
        let n = self.channels.len();
        let (mut errors, mut refusals, mut moves) = (0.0, 0.0, 0.0);
        let (mut server_share, mut utilisation) = (vec![0.0; n], vec![0.0; n]);
        for (state, &p) in chain.states.iter().zip(&chain.probabilities) {
            for ((sum, &busy), &channels) in
                utilisation.iter_mut().zip(&state.busy).zip(&self.channels)
            {
                *sum += p * f64::from(busy) / f64::from(channels);
            }
            for Fate { probability, attempted, taker } in self.fates(state) {
                let weight = p * probability;
                match taker {
                    Some(k) => server_share[k] += weight,
                    None => refusals += weight,
                }
                if taker.is_some_and(|k| k != attempted) {
                    errors += weight;
                }
                if self.next(attempted, taker) != attempted {
                    moves += weight;
                }
            }
        }
        let switches = match &self.policy {
            LossPolicy::Coin(p) => 1.0 - p.iter().map(|p| p * p).sum::<f64>(),
            LossPolicy::Trigger | LossPolicy::Alternate { .. } => moves,
        };
        let accepted = server_share.iter().sum();
        Ok(LossFigures { errors, refusals, accepted, switches, server_share, utilisation })
    }

    fn check(&self) -> Result<(), Unsolved> {
        let servers = self.channels.len();
        if servers == 0 || self.channels.contains(&0) {
            return Err(Unsolved::NoChannels);
        }
        let of_length = |what, given| {
            if given == servers {
                Ok(())
            } else {
                Err(Unsolved::WrongLength { what, given, servers })
            }
        };
        of_length("service rates", self.service_rates.len())?;
        let mut rates = self.service_rates.iter().chain([&self.arrival_rate]);
        if let Some(&rate) = rates.find(|rate| !(rate.is_finite() && **rate > 0.0)) {
            return Err(Unsolved::BadRate { rate });
        }
        if let LossPolicy::Coin(p) = &self.policy {
            of_length("the coin's probabilities", p.len())?;
            let gap = (p.iter().sum::<f64>() - 1.0).abs();
            if gap > MAX_PROBABILITY_GAP || !p.iter().all(|p| (0.0..=1.0).contains(p)) {
                return Err(Unsolved::BadProbabilities { probabilities: p.clone() });
            }
        }
        Ok(())
    }

    /// Reports where an arrival and a departure lead from a state, and at which rates.
    fn transitions(&self, state: &State, to: &mut dyn FnMut(State, f64)) {
        for Fate { probability, attempted, taker } in self.fates(state) {
            let mut after = State { next: self.next(attempted, taker), ..state.clone() };
            if let Some(k) = taker {
                after.busy[k] += 1;
            }
            to(after, self.arrival_rate * probability);
        }
        for (k, &busy) in state.busy.iter().enumerate().filter(|(_, busy)| **busy > 0) {
            let mut after = state.clone();
            after.busy[k] -= 1;
            to(after, f64::from(busy) * self.service_rates[k]);
        }
    }

    /// Returns all that may become of a request that finds `state`.
    fn fates(&self, state: &State) -> Vec<Fate> {
        let attempts = match &self.policy {
            LossPolicy::Coin(p) => p.iter().copied().enumerate().collect(),
            LossPolicy::Trigger | LossPolicy::Alternate { .. } => vec![(state.next, 1.0)],
        };
        let mut fates = Vec::new();
        for (attempted, p) in attempts {
            let takers = self.takers(&state.busy, attempted);
            if takers.is_empty() {
                fates.push(Fate { probability: p, attempted, taker: None });
            }
            let probability = p / takers.len() as f64;
            fates.extend(takers.iter().map(|&k| Fate { probability, attempted, taker: Some(k) }));
        }
        fates
    }

    /// Returns the servers that may take a request attempted at one of them, each equally likely.
    fn takers(&self, busy: &[u32], attempted: usize) -> Vec<usize> {
        let n = self.channels.len();
        let free = |k: usize| self.channels[k] - busy[k];
        if free(attempted) > 0 {
            return vec![attempted];
        }
        let mut open = (1..n).map(|step| (attempted + step) % n).filter(|&k| free(k) > 0);
        match self.redirect {
            LossRedirect::None => Vec::new(),
            LossRedirect::Next => open.next().into_iter().collect(),
            LossRedirect::Random => open.collect(),
            LossRedirect::MostFree => {
                open.max_by_key(|&k| (free(k), Reverse(k))).into_iter().collect()
            }
        }
    }

    /// Returns the server that the request after one is attempted at; 0 for the coin.
    fn next(&self, attempted: usize, taker: Option<usize>) -> usize {
        match self.policy {
            LossPolicy::Coin(_) => 0,
            LossPolicy::Trigger => taker.unwrap_or(attempted),
            LossPolicy::Alternate { flip_on_refusal } => {
                if taker.is_some() || flip_on_refusal {
                    (attempted + 1) % self.channels.len()
                } else {
                    attempted
                }
            }
        }
    }
}
