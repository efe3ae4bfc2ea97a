//! Servers with loads that stay, for tests of what is chosen with which probability.

use super::{Load, Loads, Router};
use crate::rng::Pcg32;

/// Loads of servers, of any kind; from nine a server is full, and the later the faster it is.
pub struct Fixed(pub Vec<f64>);

impl Loads for Fixed {
    fn servers(&self) -> usize {
        self.0.len()
    }
    fn load(&mut self, server: usize, _: Load) -> f64 {
        self.0[server]
    }
    fn is_full(&mut self, server: usize) -> bool {
        self.0[server] >= 9.0
    }
    fn speed(&self, server: usize) -> f64 {
        server as f64
    }
}

/// Returns which share of 200 000 requests each server gets.
pub fn shares(mut router: impl Router<Fixed>, loads: &[f64]) -> Vec<f64> {
    let mut system = Fixed(loads.to_vec());
    let mut random = Pcg32::new(5, 8);
    let mut counts = vec![0_u32; loads.len()];
    for _ in 0..200_000 {
        counts[router.route(0.0, &mut system, &mut random)] += 1;
    }
    counts.into_iter().map(|count| f64::from(count) / 200_000.0).collect()
}

/// Checks that shares are near their probabilities: within four standard deviations, and equal where
/// there is no chance.
pub fn near(shares: &[f64], expected: &[f64]) {
    assert_eq!(shares.len(), expected.len());
    for (share, expected) in shares.iter().zip(expected) {
        let noise = 4.0 * (expected * (1.0 - expected) / 200_000.0).sqrt();
        assert!((share - expected).abs() <= noise, "{shares:?} {expected}");
    }
}
