//! Join-idle-queue of many dispatchers: each has an I-queue of servers that told it they are idle.
//!
//! Y. Lu, Q. Xie, G. Kliot, A. Geller, J. R. Larus, A. Greenberg, "Join-idle-queue: a novel load
//! balancing algorithm for dynamically scalable web services" (2011). A server that becomes idle
//! reports to one dispatcher: a random one, or the one with the shorter I-queue of two different ones
//! drawn at random (the first drawn if they are equal). A request comes to a random dispatcher, which
//! takes the first server of its I-queue, or any server if that is empty; a server that gets a job so
//! though it is idle leaves the I-queue that it is in. At the start all servers are idle and have
//! reported.

use std::collections::VecDeque;

use super::loads::{Load, Loads, Reports};
use super::{Outcome, Router};
use crate::rng::{Pcg32, below};

/// To whom a server reports that it is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Any dispatcher.
    Random,
    /// The one with the shorter I-queue of two.
    Sq,
}

/// An I-queue for each dispatcher.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleQueues {
    pub report: Report,
}

/// The I-queues at work.
pub struct IdleQueuesRouter {
    report: Report,
    dispatchers: Vec<Dispatcher>,
    servers: Vec<Server>,
    /// Whether the servers have reported that they are idle at the start.
    started: bool,
    /// Servers that became idle since the last request.
    idle: Vec<usize>,
    messages: u64,
}

/// The I-queue of a dispatcher.
#[derive(Clone, Default)]
struct Dispatcher {
    /// Servers by their reports; a report that isn't the server's last, or was used, is void.
    reports: VecDeque<(usize, u64)>,
    /// Reports that aren't void.
    len: usize,
}

/// What a server has reported.
#[derive(Clone, Copy, Default)]
struct Server {
    /// How often it has.
    report: u64,
    /// In whose I-queue it is.
    at: Option<usize>,
}

impl IdleQueues {
    pub fn router(&self, servers: usize, dispatchers: usize) -> IdleQueuesRouter {
        IdleQueuesRouter {
            report: self.report,
            dispatchers: vec![Dispatcher::default(); dispatchers],
            servers: vec![Server::default(); servers],
            started: false,
            idle: Vec::new(),
            messages: 0,
        }
    }
}

impl IdleQueuesRouter {
    /// Puts a server into the I-queue of the dispatcher to whom it reports.
    fn report(&mut self, server: usize, routing: &mut Pcg32) {
        let count = self.dispatchers.len() as u32;
        let one = below(routing, count) as usize;
        let at = match self.report {
            Report::Sq if count > 1 => {
                let other = below(routing, count - 1) as usize;
                let other = if other < one { other } else { other + 1 };
                let shorter = self.dispatchers[other].len < self.dispatchers[one].len;
                if shorter { other } else { one }
            }
            _ => one,
        };
        // A server that was repaired may still be in another.
        self.leave(server);
        let own = &mut self.servers[server];
        own.report += 1;
        own.at = Some(at);
        self.dispatchers[at].reports.push_back((server, own.report));
        self.dispatchers[at].len += 1;
    }

    /// Takes a server out of the I-queue that it is in.
    fn leave(&mut self, server: usize) {
        if let Some(at) = self.servers[server].at.take() {
            self.dispatchers[at].len -= 1;
        }
    }

    /// Returns the first server of a dispatcher's I-queue.
    fn first(&mut self, at: usize) -> Option<usize> {
        if self.dispatchers[at].len == 0 {
            // Or they would add up.
            self.dispatchers[at].reports.clear();
        }
        while let Some((server, report)) = self.dispatchers[at].reports.pop_front() {
            let own = self.servers[server];
            if own.report == report && own.at.is_some() {
                return Some(server);
            }
        }
        None
    }
}

impl<S: Loads + Reports + ?Sized> Router<S> for IdleQueuesRouter {
    fn route(&mut self, _: f64, system: &mut S, routing: &mut Pcg32) -> usize {
        let mut idle = std::mem::take(&mut self.idle);
        system.became_idle(&mut idle);
        if !self.started {
            self.started = true;
            for server in 0..self.servers.len() {
                // Others have become so since.
                if system.load(server, Load::InSystem) == 0.0 && !idle.contains(&server) {
                    self.report(server, routing);
                }
            }
        }
        self.messages += idle.len() as u64;
        idle.drain(..).for_each(|server| self.report(server, routing));
        self.idle = idle;
        let at = below(routing, self.dispatchers.len() as u32) as usize;
        let any = self.servers.len() as u32;
        let server = self.first(at).unwrap_or_else(|| below(routing, any) as usize);
        self.leave(server);
        server
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}

    fn restart(&mut self, _: f64) {
        self.messages = 0;
    }

    fn takes_reports(&self) -> bool {
        true
    }

    fn messages(&self, _: f64) -> u64 {
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::near;

    /// A system whose servers become idle when it is said.
    struct Told {
        servers: usize,
        idle: Vec<usize>,
    }

    impl Loads for Told {
        fn servers(&self) -> usize {
            self.servers
        }
        fn load(&mut self, _: usize, _: Load) -> f64 {
            0.0
        }
        fn is_full(&mut self, _: usize) -> bool {
            false
        }
        fn speed(&self, _: usize) -> f64 {
            1.0
        }
    }

    impl Reports for Told {
        fn became_idle(&mut self, to: &mut Vec<usize>) {
            to.append(&mut self.idle);
        }
    }

    #[test]
    fn a_dispatcher_takes_idle_servers_in_the_order_of_their_reports() {
        let mut system = Told { servers: 4, idle: Vec::new() };
        let mut router = IdleQueues { report: Report::Random }.router(4, 1);
        let mut random = Pcg32::new(5, 8);
        let mut next = |idle: &[usize]| {
            system.idle = idle.to_vec();
            router.route(0.0, &mut system, &mut random)
        };
        assert_eq!([next(&[]), next(&[]), next(&[1, 0])], [0, 1, 2]);
        assert_eq!([next(&[2]), next(&[]), next(&[]), next(&[])], [3, 1, 0, 2]);
        assert_eq!(Router::<Told>::messages(&router, 0.0), 3);
    }

    /// Two dispatchers and a single server, which one of them has: the other finds it by chance.
    #[test]
    fn a_server_that_is_hit_by_chance_leaves_its_i_queue() {
        for report in [Report::Random, Report::Sq] {
            let mut system = Told { servers: 1, idle: Vec::new() };
            let mut router = IdleQueues { report }.router(1, 2);
            let mut random = Pcg32::new(5, 8);
            for _ in 0..100 {
                router.route(0.0, &mut system, &mut random);
                assert!(router.dispatchers.iter().all(|dispatcher| dispatcher.len == 0));
                system.idle.push(0);
            }
            // What is void is dropped by the next request.
            assert!(router.dispatchers.iter().all(|dispatcher| dispatcher.reports.len() < 20));
        }
    }

    /// Three dispatchers with I-queues of 2, 0 and 1: the shorter of two is the second in two of three
    /// pairs, and the third in one.
    #[test]
    fn reports_go_where_they_are_said_to() {
        let share = |report| {
            let mut counts = [0.0; 3];
            let mut random = Pcg32::new(5, 8);
            for _ in 0..200_000 {
                let mut router = IdleQueues { report }.router(1, 3);
                router.dispatchers[0].len = 2;
                router.dispatchers[2].len = 1;
                router.report(0, &mut random);
                counts[router.servers[0].at.unwrap()] += 1.0 / 200_000.0;
            }
            counts
        };
        near(&share(Report::Random), &[1.0 / 3.0; 3]);
        near(&share(Report::Sq), &[0.0, 2.0 / 3.0, 1.0 / 3.0]);
        // Equal ones are equally likely.
        let mut random = Pcg32::new(5, 8);
        let mut counts = [0.0; 3];
        for _ in 0..200_000 {
            let mut router = IdleQueues { report: Report::Sq }.router(1, 3);
            router.report(0, &mut random);
            counts[router.servers[0].at.unwrap()] += 1.0 / 200_000.0;
        }
        near(&counts, &[1.0 / 3.0; 3]);
    }
}
