//! The ledger: a blind router that keeps books of what it sent where, and when.
//!
//! It sees no load, but it has a clock. A request that server k took at time t, whether attempted
//! there or redirected, stands in the books of k until t + m (at t + m it has left); a refused one
//! never does. With o_k requests in the books and n_k channels, the next request is attempted at
//! the first of the servers with
//!
//! > the greatest n_k − o_k (`free`), or the greatest (n_k − o_k)/n_k (`free_share`).
//!
//! Nothing else corrects the books. Where m is longer than service they hold more than is there,
//! and free channels go below 0, to no end: the least overbooked server is the best. Where m is
//! shorter, a server may be full that has room in the books. If every service takes exactly m and
//! departures come before arrivals, the books are the truth and no request is ever redirected.
//! The extremes are simpler policies: with m = 0 the books are always empty, and with m beyond
//! the horizon they are tallies, so that `free_share` becomes a weighted round robin.
//!
//! With *learned* capacities n_k starts at 1, and the j-th surprise about server k moves it by
//! 1/√j: up if k takes a request that makes o_k exceed n_k, down (never below 1) if k is attempted
//! and full while o_k < n_k: a stochastic approximation of the occupancy by the books at which
//! the server is full, which is half its channels, about, if m is half of the service. (If nothing
//! is ever forgotten there is none, and the estimate lags behind the tallies.) Steps of 1/j would
//! take e²⁰ surprises to reach 20 channels. Of simpler estimates, the greatest occupancy
//! that was still accepted only ever rises, with every lucky moment; and the occupancy when last
//! found full, or its mean, is too low, since a server is attempted when its books are low.
//!
//! Records expire in the order in which they were made, so a request costs O(servers). The books
//! hold the requests taken within m: all of a replication, if m is that long.

use std::collections::VecDeque;

use super::{Outcome, Router};
use crate::rng::Pcg32;

/// What the servers are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Channels free by the books.
    Free,
    /// Share of the channels that is free by the books.
    FreeShare,
}

/// Where the router has the servers' capacities from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacities {
    /// The model's channels.
    Known,
    /// Estimates from the indicators I and J.
    Learned,
}

/// A ledger, for any number of servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// How long a request stands in the books, ≥ 0 [time units].
    pub memory: f64,
    pub compare: Compare,
    pub capacities: Capacities,
}

/// A ledger at work.
#[derive(Clone)]
pub struct LedgerRouter {
    memory: f64,
    compare: Compare,
    capacities: Capacities,
    now: f64,
    /// Time of expiry and server of each record, in the order of both.
    records: VecDeque<(f64, usize)>,
    books: Vec<Book>,
}

/// The books of one server.
#[derive(Clone)]
struct Book {
    /// Records that have not expired. A float, since capacities are.
    occupied: f64,
    /// Channels, or the estimate of the occupancy at which the server is full.
    capacity: f64,
    /// Surprises so far.
    surprises: f64,
}

impl Ledger {
    /// Returns the ledger at work on servers with these numbers of `channels`.
    pub fn router(&self, channels: &[u32]) -> LedgerRouter {
        let book = |&channels: &u32| Book {
            occupied: 0.0,
            capacity: match self.capacities {
                Capacities::Known => f64::from(channels),
                Capacities::Learned => 1.0,
            },
            surprises: 0.0,
        };
        LedgerRouter {
            memory: self.memory,
            compare: self.compare,
            capacities: self.capacities,
            now: 0.0,
            records: VecDeque::new(),
            books: channels.iter().map(book).collect(),
        }
    }
}

impl Book {
    fn free(&self) -> f64 {
        self.capacity - self.occupied
    }

    /// Returns the length of the next step of the estimate.
    fn step(&mut self) -> f64 {
        self.surprises += 1.0;
        1.0 / self.surprises.sqrt()
    }

    fn learn_that_it_took_one(&mut self) {
        if self.occupied > self.capacity {
            self.capacity += self.step();
        }
    }

    fn learn_that_it_is_full(&mut self) {
        if self.occupied < self.capacity {
            self.capacity = (self.capacity - self.step()).max(1.0);
        }
    }
}

impl LedgerRouter {
    /// Returns whether server `a` is freer than server `b` by the books.
    #[inline]
    fn freer(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.books[a], &self.books[b]);
        match self.compare {
            Compare::Free => a.free() > b.free(),
            // Less of it is occupied; by products, which are exact where capacities are whole.
            Compare::FreeShare => a.occupied * b.capacity < b.occupied * a.capacity,
        }
    }
}

impl<S: ?Sized> Router<S> for LedgerRouter {
    #[inline]
    fn route(&mut self, now: f64, _: &mut S, _: &mut Pcg32) -> usize {
        self.now = now;
        while let Some(&(expiry, server)) = self.records.front()
            && expiry <= now
        {
            self.records.pop_front();
            self.books[server].occupied -= 1.0;
        }
        (1..self.books.len()).fold(0, |best, k| if self.freer(k, best) { k } else { best })
    }

    #[inline]
    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        let learns = self.capacities == Capacities::Learned;
        if learns && outcome != Outcome::Accepted {
            self.books[attempted].learn_that_it_is_full();
        }
        let taker = match outcome {
            Outcome::Accepted => attempted,
            Outcome::Redirected(to) => to,
            Outcome::Refused => return,
        };
        self.records.push_back((self.now + self.memory, taker));
        self.books[taker].occupied += 1.0;
        if learns {
            self.books[taker].learn_that_it_took_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Accepted, Redirected, Refused};

    fn ledger(memory: f64, compare: Compare, capacities: Capacities, n: &[u32]) -> LedgerRouter {
        Ledger { memory, compare, capacities }.router(n)
    }

    /// Routes a request and lets the router know what became of it.
    fn send(router: &mut LedgerRouter, now: f64, outcome: Outcome) -> usize {
        let attempted = router.route(now, &mut (), &mut Pcg32::new(7, 11));
        Router::<()>::learn(router, attempted, outcome);
        attempted
    }

    /// Memory 10 and channels 2 and 3, by hand.
    #[test]
    fn a_request_stands_in_the_books_of_the_taker_for_the_memory() {
        let mut router = ledger(10.0, Compare::Free, Capacities::Known, &[2, 3]);
        assert_eq!(send(&mut router, 0.0, Accepted), 1, "2 or 3 free");
        assert_eq!(send(&mut router, 1.0, Accepted), 0, "2 or 2: the first");
        assert_eq!(send(&mut router, 2.0, Refused), 1, "1 or 2");
        assert_eq!(send(&mut router, 3.0, Redirected(0)), 1, "1 or 2: nothing was taken");
        assert_eq!(send(&mut router, 9.0, Accepted), 1, "0 or 2: server 0 took the last");
        assert_eq!(send(&mut router, 9.5, Accepted), 1, "0 or 1");
        assert_eq!(send(&mut router, 9.75, Accepted), 0, "0 or 0");
        assert_eq!(send(&mut router, 9.875, Accepted), 1, "-1 or 0");
        assert_eq!(send(&mut router, 9.875, Accepted), 0, "-1 or -1");
        assert_eq!(send(&mut router, 10.0, Accepted), 1, "-2 or 0: the first request has left");
        assert_eq!(send(&mut router, 1e9, Accepted), 1, "2 or 3: all have");
        assert_eq!(router.records.len(), 1);
    }

    #[test]
    fn shares_are_compared_where_that_is_asked_for() {
        let route = |compare| {
            let mut router = ledger(1e9, compare, Capacities::Known, &[2, 4]);
            (0..7).map(|i| send(&mut router, f64::from(i), Accepted)).collect::<Vec<_>>()
        };
        assert_eq!(route(Compare::Free), [1, 1, 0, 1, 0, 1, 0]);
        // Occupied 0/2 and 0/4; 1/2 and 0/4; 1/2 and 1/4; 1/2 and 2/4; …: a weighted round robin.
        assert_eq!(route(Compare::FreeShare), [0, 1, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn without_memory_the_books_are_empty() {
        let mut router = ledger(0.0, Compare::Free, Capacities::Known, &[2, 5, 5]);
        for now in [1.0, 1.0, 1.5] {
            assert_eq!(send(&mut router, now, Accepted), 1);
        }
    }

    /// The estimate of server 0 in its books, surprise by surprise.
    #[test]
    fn capacities_are_learned_in_shrinking_steps() {
        let mut router = ledger(100.0, Compare::Free, Capacities::Learned, &[7, 7]);
        let expect = |router: &LedgerRouter, capacities: [f64; 2]| {
            assert_eq!([router.books[0].capacity, router.books[1].capacity], capacities);
        };
        expect(&router, [1.0, 1.0]);
        Router::<()>::learn(&mut router, 0, Accepted);
        expect(&router, [1.0, 1.0]);
        Router::<()>::learn(&mut router, 0, Accepted);
        expect(&router, [2.0, 1.0]);
        Router::<()>::learn(&mut router, 0, Accepted);
        expect(&router, [2.0 + 0.5_f64.sqrt(), 1.0]);
        // 3 requests are no less than 2.7 channels, so that it is full is no surprise.
        Router::<()>::learn(&mut router, 0, Redirected(1));
        expect(&router, [2.0 + 0.5_f64.sqrt(), 1.0]);
        // Server 1, whose books hold that one request, is full: as it should be.
        Router::<()>::learn(&mut router, 1, Redirected(0));
        let higher = 2.0 + 0.5_f64.sqrt() + 1.0 / 3.0_f64.sqrt();
        expect(&router, [higher, 1.0]);
        // At 100 all have left, and a server found full now has fewer channels than was thought.
        router.route(100.0, &mut (), &mut Pcg32::new(7, 11));
        Router::<()>::learn(&mut router, 0, Refused);
        expect(&router, [higher - 0.5, 1.0]);
        Router::<()>::learn(&mut router, 1, Refused);
        expect(&router, [higher - 0.5, 1.0]);
    }

    #[test]
    fn known_capacities_stay_what_they_are() {
        let mut router = ledger(100.0, Compare::Free, Capacities::Known, &[1, 7]);
        for outcome in [Accepted, Accepted, Redirected(1), Refused] {
            Router::<()>::learn(&mut router, 0, outcome);
        }
        assert_eq!([router.books[0].capacity, router.books[1].capacity], [1.0, 7.0]);
    }
}
