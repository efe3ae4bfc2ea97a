//! Weighted round robin: each server gets its share of the requests, in a fixed order.

use std::sync::Arc;

use super::{Outcome, Router};
use crate::rng::Pcg32;

/// Turns in proportion to weights.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedRoundRobin {
    /// A weight of at least one for each server.
    pub weights: Vec<u32>,
    pub style: Style,
}

/// How turns are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Turns of a server are spread as evenly as can be, as nginx has them: every server's credit
    /// grows by its weight, the first with the most is taken and pays the sum of all weights.
    Smooth,
    /// Rounds at falling thresholds of the weight, as the Linux Virtual Server has them.
    Interleaved,
}

/// The turns at work: a cycle as long as the sum of the weights over their common divisor.
#[derive(Clone)]
pub struct WeightedRoundRobinRouter {
    /// One for all dispatchers.
    cycle: Arc<[u32]>,
    next: usize,
}

impl WeightedRoundRobin {
    /// Greatest sum of weights, over their greatest common divisor: the cycle is kept.
    pub const MAX_CYCLE: u64 = 1 << 20;

    /// Returns the servers of a cycle in turn.
    pub fn cycle(&self) -> Vec<u32> {
        let divisor = self.weights.iter().copied().fold(0, gcd).max(1);
        let weights: Vec<u64> = self.weights.iter().map(|w| u64::from(w / divisor)).collect();
        let sum: u64 = weights.iter().sum();
        match self.style {
            Style::Smooth => {
                let mut credits = vec![0_i64; weights.len()];
                let turn = |_| {
                    let mut best = 0;
                    for (server, &weight) in weights.iter().enumerate() {
                        credits[server] += weight as i64;
                        if credits[server] > credits[best] {
                            best = server;
                        }
                    }
                    credits[best] -= sum as i64;
                    best as u32
                };
                (0..sum).map(turn).collect()
            }
            Style::Interleaved => {
                let most = weights.iter().copied().max().unwrap_or(0);
                let round = |least| {
                    let servers = weights.iter().enumerate();
                    servers.filter(move |&(_, &weight)| weight >= least).map(|(k, _)| k as u32)
                };
                (1..=most).rev().flat_map(round).collect()
            }
        }
    }

    pub fn router(&self) -> WeightedRoundRobinRouter {
        WeightedRoundRobinRouter { cycle: self.cycle().into(), next: 0 }
    }
}

/// Returns the greatest common divisor, where that of 0 and n is n.
pub fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<S: ?Sized> Router<S> for WeightedRoundRobinRouter {
    #[inline]
    fn route(&mut self, _: f64, _: &mut S, _: &mut Pcg32) -> usize {
        let server = self.cycle[self.next];
        self.next = if self.next + 1 == self.cycle.len() { 0 } else { self.next + 1 };
        server as usize
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(weights: &[u32], style: Style) -> String {
        let policy = WeightedRoundRobin { weights: weights.to_vec(), style };
        policy.cycle().iter().map(|&k| char::from(b'a' + k as u8)).collect()
    }

    #[test]
    fn turns_come_in_the_order_of_nginx_and_of_lvs() {
        assert_eq!(cycle(&[5, 1, 1], Style::Smooth), "aabacaa");
        assert_eq!(cycle(&[10, 2, 2], Style::Smooth), "aabacaa");
        assert_eq!(cycle(&[1, 1, 1], Style::Smooth), "abc");
        // The example of the LVS documentation: weights 4, 3, 2 give AABABCABC.
        assert_eq!(cycle(&[4, 3, 2], Style::Interleaved), "aababcabc");
        for style in [Style::Smooth, Style::Interleaved] {
            let turns = cycle(&[3, 7, 2, 6], style);
            let count = |c: char| turns.chars().filter(|&turn| turn == c).count();
            assert_eq!(['a', 'b', 'c', 'd'].map(count), [3, 7, 2, 6]);
        }
    }
}
