//! Any server, each equally likely.

use super::loads::Loads;
use super::{Outcome, Router};
use crate::rng::{Pcg32, below};

/// A uniform draw for every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Random;

/// The draw at work.
#[derive(Clone)]
pub struct RandomRouter;

impl<S: Loads + ?Sized> Router<S> for RandomRouter {
    #[inline]
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        below(routing, system.servers() as u32) as usize
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}
}
