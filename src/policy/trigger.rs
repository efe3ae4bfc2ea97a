//! The trigger: stays with one server until an error moves it.

use super::{Outcome, Router};
use crate::rng::Pcg32;

/// Starts at server `first`; after an error it stays with the server that took the redirected
/// request. A refusal moves nothing. (With two servers that is "the other one", as published;
/// with more, following the redirected request is our reading.)
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    pub first: usize,
}

/// The trigger at work.
#[derive(Clone)]
pub struct TriggerRouter {
    current: usize,
}

impl Trigger {
    pub fn router(&self) -> TriggerRouter {
        TriggerRouter { current: self.first }
    }
}

impl<S: ?Sized> Router<S> for TriggerRouter {
    #[inline]
    fn route(&mut self, _: f64, _: &mut S, _: &mut Pcg32) -> usize {
        self.current
    }

    /// A refusal moves nothing.
    fn tries(&self) -> u32 {
        0
    }

    #[inline]
    fn learn(&mut self, _: usize, outcome: Outcome) {
        if let Outcome::Redirected(to) = outcome {
            self.current = to;
        }
    }
}
