//! Idle first: an idle server if there is one, else the least loaded of d drawn at random.
//!
//! Join-idle-queue (Y. Lu and others 2011) leaves a job to chance where no server is idle; here the
//! power of d choices (M. Mitzenmacher 2001) has it then. With one choice it is join-idle-queue.

use super::loads::Loads;
use super::sq::{Sq, SqRouter};
use super::{Outcome, Router};
use crate::rng::Pcg32;

/// Idle servers first, each equally likely.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleFirst {
    /// Where none is idle.
    pub otherwise: Sq,
}

/// The pool and the sampling at work.
#[derive(Clone)]
pub struct IdleFirstRouter {
    otherwise: SqRouter,
    reports: u64,
}

impl IdleFirst {
    pub fn router(&self) -> IdleFirstRouter {
        IdleFirstRouter { otherwise: self.otherwise.router(), reports: 0 }
    }
}

impl<S: Loads + ?Sized> Router<S> for IdleFirstRouter {
    #[inline]
    fn route(&mut self, now: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        match system.fewer(1, routing) {
            Some(idle) => {
                // A server reports each time it becomes idle, so as often as it is taken.
                self.reports += 1;
                idle
            }
            None => self.otherwise.route(now, system, routing),
        }
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self, now: f64) {
        self.reports = 0;
        Router::<S>::restart(&mut self.otherwise, now);
    }

    fn looks_at_all(&self) -> bool {
        true
    }

    fn messages(&self, now: f64) -> u64 {
        self.reports + Router::<S>::messages(&self.otherwise, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::{near, shares};
    use crate::policy::{Load, Rank, Tie};

    #[test]
    fn idle_servers_come_first_and_then_the_best_of_d() {
        let rank = Rank { load: Load::InSystem, tie: Tie::Random, full: true };
        let pair = Sq { d: 2, replace: false, memory: 0, beta: 1.0, rank };
        let router = |otherwise: &Sq| IdleFirst { otherwise: otherwise.clone() }.router();
        near(
            &shares(router(&pair), &[0.0, 1.0, 0.0, 0.0]),
            &[1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0],
        );
        near(
            &shares(router(&pair), &[1.0, 2.0, 5.0, 9.0]),
            &[1.0 / 2.0, 1.0 / 3.0, 1.0 / 6.0, 0.0],
        );
        let half = Sq { beta: 0.5, ..pair.clone() };
        near(
            &shares(router(&half), &[1.0, 2.0, 5.0, 9.0]),
            &[3.0 / 8.0, 7.0 / 24.0, 5.0 / 24.0, 1.0 / 8.0],
        );
        near(&shares(router(&half), &[1.0, 0.0, 5.0, 9.0]), &[0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_report_is_one_message_and_a_look_two() {
        let rank = Rank { load: Load::InSystem, tie: Tie::Random, full: true };
        let otherwise = Sq { d: 3, replace: false, memory: 0, beta: 1.0, rank };
        let messages = |loads: &[f64]| {
            let mut router = IdleFirst { otherwise: otherwise.clone() }.router();
            let mut system = crate::policy::fixed::Fixed(loads.to_vec());
            router.route(0.0, &mut system, &mut Pcg32::new(5, 8));
            Router::<crate::policy::fixed::Fixed>::messages(&router, 0.0)
        };
        assert_eq!((messages(&[1.0, 0.0, 2.0]), messages(&[1.0, 1.0, 2.0])), (1, 6));
    }
}
