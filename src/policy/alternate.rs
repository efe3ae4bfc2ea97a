//! The alternation: each request goes to the server after the last attempted one.

use super::{Outcome, Router};
use crate::rng::Pcg32;

/// Starts at server `first` and moves one on, cyclically, after every request; after a refusal
/// only if `flip_on_refusal`, as the published figures have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternate {
    pub first: usize,
    pub flip_on_refusal: bool,
}

/// The alternation at work.
#[derive(Clone)]
pub struct AlternateRouter {
    next: usize,
    servers: usize,
    flip_on_refusal: bool,
}

impl Alternate {
    pub fn router(&self, servers: usize) -> AlternateRouter {
        AlternateRouter { next: self.first, servers, flip_on_refusal: self.flip_on_refusal }
    }
}

impl<S: ?Sized> Router<S> for AlternateRouter {
    #[inline]
    fn route(&mut self, _: f64, _: &mut S, _: &mut Pcg32) -> usize {
        self.next
    }

    fn tries(&self) -> u32 {
        if self.flip_on_refusal { self.servers as u32 } else { 0 }
    }

    #[inline]
    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        if self.flip_on_refusal || outcome != Outcome::Refused {
            self.next = if attempted + 1 == self.servers { 0 } else { attempted + 1 };
        }
    }
}
