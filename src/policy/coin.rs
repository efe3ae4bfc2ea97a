//! The biased coin: an independent draw for every request.

use std::sync::Arc;

use super::{Outcome, Router};
use crate::rng::{Pcg32, unit};

/// Probabilities of the servers, one each, summing to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Coin {
    pub probabilities: Vec<f64>,
}

/// The coin at work. Stateless but for its cumulative probabilities.
#[derive(Clone)]
pub struct CoinRouter {
    /// Upper ends of all servers' intervals but the last, whose end is 1 whatever was rounded.
    ends: Arc<[f64]>,
}

impl Coin {
    /// Returns the coin of the paper: server 0 with probability `theta`, else server 1.
    pub fn two(theta: f64) -> Self {
        Coin { probabilities: vec![theta, 1.0 - theta] }
    }

    pub fn router(&self) -> CoinRouter {
        let mut sum = 0.0;
        let mut ends: Vec<f64> = self
            .probabilities
            .iter()
            .map(|p| {
                sum += p;
                sum
            })
            .collect();
        ends.pop();
        CoinRouter { ends: ends.into() }
    }
}

impl<S: ?Sized> Router<S> for CoinRouter {
    #[inline]
    fn route(&mut self, _: f64, _: &mut S, routing: &mut Pcg32) -> usize {
        let u = unit(routing);
        self.ends.iter().map(|&end| usize::from(u >= end)).sum()
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}
}
