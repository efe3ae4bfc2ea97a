//! The least loaded of all servers: join the shortest queue, least work left, shortest expected
//! delay, by what counts as the load.

use super::loads::{Load, Loads, Rank};
use super::{Outcome, Router};
use crate::rng::Pcg32;

/// Looks at every server.
#[derive(Clone, Debug, PartialEq)]
pub struct Least {
    pub rank: Rank,
}

/// The comparison at work.
#[derive(Clone)]
pub struct LeastRouter {
    rank: Rank,
    messages: u64,
}

impl Least {
    pub fn router(&self) -> LeastRouter {
        LeastRouter { rank: self.rank, messages: 0 }
    }
}

impl<S: Loads + ?Sized> Router<S> for LeastRouter {
    #[inline]
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        self.messages += 2 * system.servers() as u64;
        system.best_of_all(self.rank, routing)
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self, _: f64) {
        self.messages = 0;
    }

    fn looks_at_all(&self) -> bool {
        matches!(self.rank.load, Load::InSystem | Load::Waiting)
    }

    fn messages(&self, _: f64) -> u64 {
        self.messages
    }
}
