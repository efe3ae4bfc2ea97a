//! The power of d choices: the least loaded of d servers drawn at random.
//!
//! N. D. Vvedenskaya, R. L. Dobrushin, F. I. Karpelevich, "Queueing system with selection of the
//! shortest of two queues: an asymptotic approach" (1996); M. Mitzenmacher, "The power of two choices
//! in randomized load balancing" (2001). Memory: M. Mitzenmacher, B. Prabhakar, D. Shah, "Load
//! balancing with memory" (2002). (1 + β) choices: Y. Peres, K. Talwar, U. Wieder (2015).

use super::loads::{Loads, Rank};
use super::{Outcome, Router};
use crate::rng::{Pcg32, below, unit};

/// A sample of servers, and the best of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sq {
    /// Servers that are drawn, at least one.
    pub d: u32,
    /// Whether a server may be drawn twice.
    pub replace: bool,
    /// Servers remembered from one request to the next: the least loaded of those looked at.
    pub memory: u32,
    /// Probability that a request gets d choices; else it gets one.
    pub beta: f64,
    pub rank: Rank,
}

/// The sampling at work.
#[derive(Clone)]
pub struct SqRouter {
    policy: Sq,
    /// Whether requests always get two different servers, and nothing else.
    pair: bool,
    /// The servers to look at.
    sample: Vec<usize>,
    remembered: Vec<usize>,
    messages: u64,
}

impl Sq {
    pub fn router(&self) -> SqRouter {
        let (sample, remembered) = (Vec::new(), Vec::new());
        let pair = self.d == 2 && !self.replace && self.memory == 0 && self.beta >= 1.0;
        SqRouter { policy: self.clone(), pair, sample, remembered, messages: 0 }
    }
}

impl SqRouter {
    /// Draws d servers; without replacement every set of d is equally likely (R. W. Floyd's
    /// algorithm), and an output of the stream is taken for each either way.
    #[inline]
    fn draw(&mut self, servers: u32, routing: &mut Pcg32) {
        self.sample.clear();
        if self.policy.replace {
            let draws = (0..self.policy.d).map(|_| below(routing, servers) as usize);
            self.sample.extend(draws);
            return;
        }
        for last in servers - self.policy.d..servers {
            let drawn = below(routing, last + 1) as usize;
            let new = if self.sample.contains(&drawn) { last as usize } else { drawn };
            self.sample.push(new);
        }
    }
}

impl<S: Loads + ?Sized> Router<S> for SqRouter {
    #[inline(always)]
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        let servers = system.servers() as u32;
        if self.pair {
            // The same draws as below, without a list.
            self.messages += 4;
            let one = below(routing, servers - 1) as usize;
            let other = below(routing, servers) as usize;
            let other = if other == one { servers as usize - 1 } else { other };
            return system.better(one, other, self.policy.rank, routing);
        }
        let Sq { d, memory, beta, rank, .. } = self.policy;
        if beta < 1.0 && unit(routing) >= beta {
            return below(routing, servers) as usize;
        }
        self.messages += u64::from(2 * d);
        self.draw(servers, routing);
        if memory == 0 {
            return system.best(self.sample.iter().copied(), rank, routing);
        }
        let new = self.remembered.iter().filter(|server| !self.sample.contains(server));
        let all: Vec<usize> = self.sample.iter().chain(new).copied().collect();
        let chosen = system.best(all.iter().copied(), rank, routing);
        // Who is remembered of those with equal loads doesn't depend on the order of the draws, in which
        // servers aren't alike.
        let mut loads: Vec<(f64, u32, usize)> = all
            .into_iter()
            .map(|server| {
                let load = match server == chosen {
                    true => system.load_with(server, rank.load),
                    false => system.load(server, rank.load),
                };
                (load, below(routing, u32::MAX), server)
            })
            .collect();
        loads.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.remembered.clear();
        self.remembered.extend(loads.iter().take(memory as usize).map(|&(.., server)| server));
        chosen
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self, _: f64) {
        self.messages = 0;
    }

    fn messages(&self, _: f64) -> u64 {
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::{self, near};
    use crate::policy::{Load, Tie};

    fn shares(policy: &Sq, loads: &[f64]) -> Vec<f64> {
        fixed::shares(policy.router(), loads)
    }

    #[test]
    fn choices_have_the_probabilities_of_their_definition() {
        let rank = Rank { load: Load::InSystem, tie: Tie::Random, full: true };
        let pair = Sq { d: 2, replace: false, memory: 0, beta: 1.0, rank };
        let loads = [0.0, 1.0, 5.0, 9.0];
        near(&shares(&pair, &loads), &[1.0 / 2.0, 1.0 / 3.0, 1.0 / 6.0, 0.0]);
        // The k-th best of n is the best of d with replacement with ((n-k+1)/n)^d - ((n-k)/n)^d.
        let replace = Sq { replace: true, ..pair.clone() };
        near(&shares(&replace, &loads), &[7.0 / 16.0, 5.0 / 16.0, 3.0 / 16.0, 1.0 / 16.0]);
        near(&shares(&Sq { d: 3, ..pair.clone() }, &loads), &[0.75, 0.25, 0.0, 0.0]);
        near(&shares(&Sq { d: 4, ..pair.clone() }, &loads), &[1.0, 0.0, 0.0, 0.0]);
        let half = Sq { beta: 0.5, ..pair.clone() };
        near(&shares(&half, &loads), &[3.0 / 8.0, 7.0 / 24.0, 5.0 / 24.0, 1.0 / 8.0]);
        // Ties: at random, to the first, to the fastest.
        let equal = [2.0; 4];
        near(&shares(&Sq { d: 3, ..pair.clone() }, &equal), &[0.25; 4]);
        let tie = |tie| Sq { d: 4, rank: Rank { tie, ..rank }, ..pair.clone() };
        near(&shares(&tie(Tie::First), &equal), &[1.0, 0.0, 0.0, 0.0]);
        near(&shares(&tie(Tie::Fastest), &equal), &[0.0, 0.0, 0.0, 1.0]);
        // A full server is chosen where all are full, or if it may be.
        let skip = Sq { rank: Rank { full: false, ..rank }, ..pair.clone() };
        near(&shares(&skip, &[9.0, 9.0, 10.0]), &[0.5, 0.5, 0.0]);
        near(&shares(&Sq { d: 1, ..skip }, &[9.0, 1.0]), &[0.5, 0.5]);
        // Memory: the best of the last sample stays in sight.
        let memory = Sq { d: 1, memory: 1, ..pair };
        assert!(shares(&memory, &[0.0, 3.0, 5.0, 9.0])[0] > 0.99);
    }
}
