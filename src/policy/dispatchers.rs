//! Several dispatchers: each routes what comes to it, and knows of nothing else.
//!
//! A request comes to one of them, each equally likely, whose router is its own: its pointer in round
//! robin, its memory, its θ. All of them begin alike, so that round robins start at the same server.

use super::{Outcome, Router};
use crate::rng::{Pcg32, below};

/// A router for each dispatcher.
#[derive(Clone)]
pub struct Dispatchers<R> {
    routers: Vec<R>,
    /// Which of them has the request.
    at: usize,
}

impl<R: Clone> Dispatchers<R> {
    /// Returns `count` ≥ 1 dispatchers that route as this fresh router does.
    pub fn new(router: R, count: usize) -> Dispatchers<R> {
        Dispatchers { routers: vec![router; count], at: 0 }
    }
}

impl<S: ?Sized, R: Router<S>> Router<S> for Dispatchers<R> {
    /// Draws the dispatcher, if there is a choice, before it routes.
    #[inline]
    fn route(&mut self, now: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        if let count @ 2.. = self.routers.len() {
            self.at = below(routing, count as u32) as usize;
        }
        self.routers[self.at].route(now, system, routing)
    }

    #[inline]
    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        self.routers[self.at].learn(attempted, outcome);
    }

    fn restart(&mut self, now: f64) {
        self.routers.iter_mut().for_each(|router| router.restart(now));
    }

    fn tries(&self) -> u32 {
        self.routers[self.at].tries()
    }

    fn looks_at_all(&self) -> bool {
        self.routers[self.at].looks_at_all()
    }

    fn messages(&self, now: f64) -> u64 {
        self.routers.iter().map(|router| router.messages(now)).sum()
    }

    /// Returns θ of the last request's dispatcher, and the sum over all.
    fn theta(&self) -> Option<(f64, f64)> {
        let (last, _) = self.routers[self.at].theta()?;
        let sums = self.routers.iter().filter_map(Router::theta).map(|(_, sum)| sum);
        Some((last, sums.sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Alternate;

    #[test]
    fn each_dispatcher_has_a_pointer_of_its_own() {
        let servers = 3;
        let fresh = Alternate { first: 0, flip_on_refusal: true }.router(servers);
        let mut router = Dispatchers::new(fresh, 4);
        let mut random = Pcg32::new(7, 11);
        let mut twin = random.clone();
        let mut pointers = [0; 4];
        for _ in 0..1000 {
            let dispatcher = below(&mut twin, 4) as usize;
            let server = router.route(0.0, &mut (), &mut random);
            assert_eq!(server, pointers[dispatcher]);
            Router::<()>::learn(&mut router, server, Outcome::Accepted);
            pointers[dispatcher] = (server + 1) % servers;
        }
        assert!(pointers.iter().any(|pointer| *pointer != pointers[0]));
    }

    #[test]
    fn a_single_dispatcher_takes_no_draw() {
        let fresh = Alternate { first: 1, flip_on_refusal: true }.router(2);
        let mut random = Pcg32::new(7, 11);
        let before = random.clone();
        assert_eq!(Dispatchers::new(fresh, 1).route(0.0, &mut (), &mut random), 1);
        assert_eq!(random, before);
    }
}
