//! Join below threshold: a server with fewer jobs than a threshold if there is one, else any.
//!
//! X. Zhou, F. Wu, J. Tan, Y. Sun, N. Shroff, "Designing low-complexity heavy-traffic delay-optimal
//! load balancing schemes: theory to algorithms" (2017), with a single pool of the servers that have
//! reported. With a threshold of one it is join-idle-queue (Y. Lu, Q. Xie, G. Kliot, A. Geller,
//! J. R. Larus, A. Greenberg 2011).

use super::loads::{Load, Loads};
use super::{Outcome, Router};
use crate::rng::{Pcg32, below};

/// A server with fewer jobs than the threshold, each equally likely; a random one where none is.
#[derive(Clone, Debug, PartialEq)]
pub struct BelowThreshold {
    /// Jobs, at least one.
    pub threshold: u32,
}

/// The pool at work.
#[derive(Clone)]
pub struct BelowThresholdRouter {
    threshold: u32,
    messages: u64,
}

impl BelowThreshold {
    pub fn router(&self) -> BelowThresholdRouter {
        BelowThresholdRouter { threshold: self.threshold, messages: 0 }
    }
}

impl<S: Loads + ?Sized> Router<S> for BelowThresholdRouter {
    #[inline]
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        let Some(chosen) = system.fewer(self.threshold, routing) else {
            return below(routing, system.servers() as u32) as usize;
        };
        // A server reports each time it falls below the threshold, so as often as it is filled to it.
        let fills = system.load(chosen, Load::InSystem) + 1.0 == f64::from(self.threshold);
        self.messages += u64::from(fills);
        chosen
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self, _: f64) {
        self.messages = 0;
    }

    fn looks_at_all(&self) -> bool {
        true
    }

    fn messages(&self, _: f64) -> u64 {
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::{Fixed, near, shares};

    #[test]
    fn servers_below_the_threshold_are_equally_likely() {
        let router = |threshold| BelowThreshold { threshold }.router();
        let loads = [0.0, 2.0, 1.0, 3.0];
        near(&shares(router(1), &loads), &[1.0, 0.0, 0.0, 0.0]);
        near(&shares(router(2), &loads), &[0.5, 0.0, 0.5, 0.0]);
        near(&shares(router(3), &loads), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
        near(&shares(router(2), &[2.0, 4.0, 3.0, 2.0]), &[0.25; 4]);
    }

    #[test]
    fn a_server_reports_once_it_has_been_filled() {
        let messages = |loads: &[f64]| {
            let mut router = BelowThreshold { threshold: 2 }.router();
            router.route(0.0, &mut Fixed(loads.to_vec()), &mut Pcg32::new(5, 8));
            Router::<Fixed>::messages(&router, 0.0)
        };
        assert_eq!(
            [messages(&[0.0, 5.0]), messages(&[1.0, 5.0]), messages(&[2.0, 5.0])],
            [0, 1, 0]
        );
    }
}
