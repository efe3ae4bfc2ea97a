//! Old information: the router sees a board that is brought up to date now and then.
//!
//! M. Mitzenmacher, "How useful is old information?" (2000): with periodic updates all jobs of a
//! period go by the same board, so the better a policy follows it the more they herd to the servers
//! that were the shortest. All dispatchers read one board; at the start it says that the system is
//! empty. An update shows the servers as they are at its own time, whenever the next request comes,
//! and, if that is the same moment, before it.

use super::board::Board;
use super::loads::Loads;
use super::{Outcome, Policy, Router};
use crate::rng::{Draw, Exponential, Pcg32};

/// When the board is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// At all multiples of the age.
    Periodic,
    /// After exponential times whose mean is the age.
    Exponential,
}

/// A policy that goes by a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Informed {
    /// Time between updates, above 0 [time units].
    pub age: f64,
    pub update: Update,
    pub policy: Box<Policy>,
}

/// The board and the router that reads it, at work.
pub struct InformedRouter<R> {
    age: f64,
    update: Update,
    board: Board,
    /// Time of the last request.
    last: f64,
    /// Time of the last update.
    updated: f64,
    router: R,
    /// Since when messages are counted.
    counted_from: f64,
}

impl Informed {
    /// Returns the board with the router of the policy as its reader.
    pub fn router<R: Router<Board>>(&self, router: R) -> InformedRouter<R> {
        let &Informed { age, update, .. } = self;
        let (board, last, updated, counted_from) = (Board::default(), 0.0, 0.0, 0.0);
        InformedRouter { age, update, board, last, updated, router, counted_from }
    }
}

impl<R> InformedRouter<R> {
    /// Writes that the system is empty, if nothing has been written.
    fn begin<S: Loads + ?Sized>(&mut self, system: &S) {
        if self.board.is_blank() {
            self.board = Board::empty(system);
        }
    }
}

impl<S: Loads + ?Sized, R: Router<Board>> Router<S> for InformedRouter<R> {
    fn route(&mut self, now: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        self.begin(system);
        self.router.route(now, &mut self.board, routing)
    }

    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        self.router.learn(attempted, outcome);
    }

    /// Only the last update before a request matters. If they are periodic, that is the last multiple
    /// of the age. If they are a Poisson process, it is an exponential time ago (the process looks the
    /// same backwards), and if that is before the last request there was none since: one draw a
    /// request, however many updates.
    fn looks_before(&mut self, now: f64, routing: &mut Pcg32) -> Option<f64> {
        if now == f64::INFINITY {
            // The last request has been.
            return None;
        }
        let (time, since) = match self.update {
            Update::Periodic => (((now / self.age).floor() * self.age).min(now), self.updated),
            Update::Exponential => (now - Exponential { mean: self.age }.draw(routing), self.last),
        };
        self.last = now;
        (time > since).then_some(time)
    }

    fn look(&mut self, now: f64, system: &mut S) {
        self.begin(system);
        self.board.update(system);
        self.updated = now;
    }

    /// What the board says stays the same, and may know of no server but one that is down.
    fn tries(&self) -> u32 {
        100
    }

    fn restart(&mut self, now: f64) {
        self.counted_from = now;
        self.router.restart(now);
    }

    /// Returns one for each server at each update, whether a request comes after it or not, and none
    /// of the policy's own: who reads a board asks no server. Of exponential updates it is their mean
    /// number, one an age.
    fn messages(&self, now: f64) -> u64 {
        let ages = |time: f64| match self.update {
            Update::Periodic => (time / self.age).floor(),
            Update::Exponential => time / self.age,
        };
        ((ages(now) - ages(self.counted_from)) * self.board.servers() as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::Fixed;
    use crate::policy::{Least, Load, Rank, Tie};

    fn jsq(age: f64, update: Update) -> InformedRouter<impl Router<Board>> {
        let rank = Rank { load: Load::InSystem, tie: Tie::First, full: true };
        let least = Least { rank };
        Informed { age, update, policy: Policy::Least(least.clone()).into() }.router(least.router())
    }

    #[test]
    fn periodic_updates_are_at_multiples_of_the_age() {
        let mut router = jsq(1.5, Update::Periodic);
        let mut random = Pcg32::new(5, 8);
        let mut system = Fixed(vec![3.0, 2.0, 4.0]);
        for (now, look, server) in [
            (1.0, None, 0),
            (1.4, None, 0),
            (1.5, Some(1.5), 1),
            (2.9, None, 1),
            (9.5, Some(9.0), 1),
        ] {
            let at = Router::<Fixed>::looks_before(&mut router, now, &mut random);
            assert_eq!(at, look);
            if let Some(at) = at {
                router.look(at, &mut system);
            }
            assert_eq!(router.route(now, &mut system, &mut random), server);
        }
        // Up to 9.5 there were six updates, at each of which three servers told of themselves; up to
        // 30.5, though no request came, another fourteen.
        let messages = |router: &_, now| Router::<Fixed>::messages(router, now);
        assert_eq!(messages(&router, 9.5), 18);
        assert_eq!(Router::<Fixed>::looks_before(&mut router, f64::INFINITY, &mut random), None);
        Router::<Fixed>::restart(&mut router, 9.5);
        assert_eq!((messages(&router, 9.5), messages(&router, 30.5)), (0, 42));
    }

    /// Of Poisson updates of rate 1/a, one at least falls between requests that are t apart with
    /// probability 1 - exp(-t/a), and the last of them is as old as an exponential time cut at t.
    #[test]
    fn exponential_updates_are_a_poisson_process() {
        let (age, gap, requests) = (2.0, 3.0, 200_000);
        let mut router = jsq(age, Update::Exponential);
        let mut random = Pcg32::new(5, 8);
        let (mut looks, mut ages) = (0.0, 0.0);
        for request in 1..=requests {
            let now = f64::from(request) * gap;
            let at = Router::<Fixed>::looks_before(&mut router, now, &mut random);
            if let Some(at) = at {
                assert!(at > now - gap && at <= now);
                (looks, ages) = (looks + 1.0, ages + now - at);
            }
        }
        let missed = (-gap / age).exp();
        let n = f64::from(requests);
        let noise = (missed * (1.0 - missed) / n).sqrt();
        assert!((looks / n - (1.0 - missed)).abs() < 4.0 * noise);
        let mean = age - gap * missed / (1.0 - missed);
        assert!((ages / looks - mean).abs() < 4.0 * age / looks.sqrt());
    }
}
