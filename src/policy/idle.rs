//! Join-idle-queue: an idle server if there is one, else any.
//!
//! Y. Lu, Q. Xie, G. Kliot, A. Geller, J. R. Larus, A. Greenberg, "Join-idle-queue: a novel load
//! balancing algorithm for dynamically scalable web services" (2011), with a single dispatcher: idle
//! servers report to one pool.

use super::loads::Loads;
use super::{Outcome, Router};
use crate::rng::{Pcg32, below};

/// An idle server, each equally likely; a random one where none is.
#[derive(Clone, Debug, PartialEq)]
pub struct Jiq;

/// The pool at work.
#[derive(Clone)]
pub struct JiqRouter {
    messages: u64,
}

impl Jiq {
    pub fn router(&self) -> JiqRouter {
        JiqRouter { messages: 0 }
    }
}

impl<S: Loads + ?Sized> Router<S> for JiqRouter {
    #[inline]
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        let chosen = system.fewer(1, routing);
        // A server reports each time it becomes idle, so as often as it is taken from the pool.
        self.messages += u64::from(chosen.is_some());
        chosen.unwrap_or_else(|| below(routing, system.servers() as u32) as usize)
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self) {
        self.messages = 0;
    }

    fn looks_at_all(&self) -> bool {
        true
    }

    fn messages(&self) -> u64 {
        self.messages
    }
}
