//! The servers of a supermarket, however they are simulated.

use crate::policy::{Load, Loads, Rank, Tie, scan_fewer};
use crate::rng::{Pcg32, below};
use crate::sim::{Failure, Occupancy, Queues, Service, Stations};

/// Servers at work.
pub(super) trait Servers {
    /// Returns how many there are.
    fn count(&self) -> usize;
    /// Returns the number of jobs in a server, those in service included.
    fn jobs(&mut self, server: usize) -> u32;
    /// Returns how many of so many jobs in a server wait for a channel.
    fn wait_of(&self, jobs: u32) -> u32;
    /// Returns the channels of each server.
    fn channels(&self) -> u32;
    /// Returns most jobs in a server, those in service included.
    fn capacity(&self) -> u32;
    /// Returns the work left in a server [time units of a channel].
    fn work(&mut self, server: usize) -> f64;
    /// Returns whether a server has as many jobs as it can.
    fn is_full(&mut self, server: usize) -> bool;
    /// Returns the speed of a server's channels together [size/time].
    fn speed(&self, server: usize) -> f64;
    /// Returns the servers with the fewest jobs, or the fewest that wait, as lists; nothing where they
    /// are in no order.
    fn shortest(&self, waiting: bool) -> Option<&[Vec<u32>]>;
    /// Returns the servers with fewer jobs than so many, as lists; nothing where they are in no order.
    fn fewer(&self, jobs: u32) -> Option<&[Vec<u32>]>;
    /// Moves the clock on, never back. `leave` is told the waiting time and the sojourn time of each
    /// job: at its arrival by servers that know them then, which are those of jobs served first come,
    /// first served, and else when it leaves.
    fn advance(&mut self, now: f64, leave: &mut impl FnMut(f64, f64));
    /// Takes a job in that comes now, if there is room; returns whether there is.
    fn accept(
        &mut self,
        now: f64,
        server: usize,
        size: f64,
        leave: &mut impl FnMut(f64, f64),
    ) -> bool;
    /// Gives a server a job at time 0 that has been there before, and whose times nobody is told.
    fn place(&mut self, server: usize, size: f64);
    /// Lets pass what has to be past for [`Servers::jobs_at`] this time.
    fn look(&mut self, _time: f64, _leave: &mut impl FnMut(f64, f64)) {}
    /// Returns the number of jobs in a server at a time that was let pass, before the next event; it
    /// changes nothing.
    fn jobs_at(&self, server: usize, time: f64) -> u32;
    /// Returns whether a server has failed and isn't repaired yet, while another is up: where all are
    /// down it makes no difference.
    fn is_down(&self, _: usize) -> bool {
        false
    }
    /// Adds the servers that became idle, or were repaired while they were, since the last call, in
    /// order of time; none if it takes no note of it.
    fn emptied(&mut self, to: &mut Vec<usize>);
    /// Returns the jobs in all servers.
    fn all_jobs(&mut self) -> u64 {
        (0..self.count()).map(|server| u64::from(self.jobs(server))).sum()
    }
    /// Forgets what was counted up to now.
    fn restart(&mut self, now: f64);
    /// Returns what was counted from `start`, where the count began, to now.
    ///
    /// # Errors
    /// [`Failure::Audit`].
    fn occupancy(&mut self, start: f64, now: f64) -> Result<Occupancy, Failure>;
}

/// What both kinds of servers have under the same names.
macro_rules! shared {
    () => {
        fn count(&self) -> usize {
            self.len()
        }

        #[inline(always)]
        fn jobs(&mut self, server: usize) -> u32 {
            Self::jobs(self, server)
        }

        fn wait_of(&self, jobs: u32) -> u32 {
            Self::wait_of(self, jobs)
        }

        fn channels(&self) -> u32 {
            Self::channels(self)
        }

        fn capacity(&self) -> u32 {
            Self::capacity(self)
        }

        fn work(&mut self, server: usize) -> f64 {
            Self::work(self, server)
        }

        fn is_full(&mut self, server: usize) -> bool {
            Self::is_full(self, server)
        }

        fn speed(&self, server: usize) -> f64 {
            Self::speed(self, server)
        }

        fn shortest(&self, waiting: bool) -> Option<&[Vec<u32>]> {
            Self::shortest(self, waiting)
        }

        fn fewer(&self, jobs: u32) -> Option<&[Vec<u32>]> {
            Self::fewer(self, jobs)
        }

        fn emptied(&mut self, to: &mut Vec<usize>) {
            to.extend(Self::emptied(self));
        }
    };
}

impl Servers for Queues {
    shared!();

    #[inline(always)]
    fn advance(&mut self, now: f64, _: &mut impl FnMut(f64, f64)) {
        Queues::advance(self, now);
    }

    #[inline(always)]
    fn accept(
        &mut self,
        now: f64,
        server: usize,
        size: f64,
        leave: &mut impl FnMut(f64, f64),
    ) -> bool {
        let service = Queues::accept(self, server, size);
        if let Some(Service { start, end }) = service {
            leave(start - now, end - now);
        }
        service.is_some()
    }

    fn place(&mut self, server: usize, size: f64) {
        Queues::accept(self, server, size);
    }

    fn jobs_at(&self, server: usize, time: f64) -> u32 {
        Queues::jobs_at(self, server, time)
    }

    fn restart(&mut self, now: f64) {
        Queues::restart(self, now);
    }

    fn occupancy(&mut self, start: f64, now: f64) -> Result<Occupancy, Failure> {
        Queues::occupancy(self, start, now)
    }
}

impl Servers for Stations {
    shared!();

    fn advance(&mut self, now: f64, leave: &mut impl FnMut(f64, f64)) {
        Stations::advance(self, now, leave);
    }

    fn accept(&mut self, _: f64, server: usize, size: f64, _: &mut impl FnMut(f64, f64)) -> bool {
        Stations::accept(self, server, size)
    }

    fn place(&mut self, server: usize, size: f64) {
        Stations::place(self, server, size);
    }

    fn look(&mut self, time: f64, leave: &mut impl FnMut(f64, f64)) {
        Stations::advance(self, time, leave);
    }

    fn jobs_at(&self, server: usize, _: f64) -> u32 {
        self.jobs(server)
    }

    fn is_down(&self, server: usize) -> bool {
        Stations::is_down(self, server)
    }

    fn restart(&mut self, _: f64) {
        Stations::restart(self);
    }

    fn occupancy(&mut self, _: f64, _: f64) -> Result<Occupancy, Failure> {
        Stations::occupancy(self)
    }
}

impl<S: Servers> Loads for S {
    fn servers(&self) -> usize {
        self.count()
    }

    /// Whatever the load of a server is that is down, it is more than any other's.
    #[inline(always)]
    fn load(&mut self, server: usize, load: Load) -> f64 {
        if self.is_down(server) {
            return f64::INFINITY;
        }
        match load {
            Load::InSystem => f64::from(self.jobs(server)),
            Load::Waiting => {
                let jobs = self.jobs(server);
                f64::from(self.wait_of(jobs))
            }
            Load::Work => self.work(server),
            Load::Delay => f64::from(self.jobs(server) + 1) / Servers::speed(self, server),
        }
    }

    /// A server that is down has no room for anyone.
    #[inline]
    fn is_full(&mut self, server: usize) -> bool {
        self.is_down(server) || Servers::is_full(self, server)
    }

    fn speed(&self, server: usize) -> f64 {
        Servers::speed(self, server)
    }

    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        let lists = match rank.load {
            Load::InSystem => self.shortest(false),
            // Of servers where equally many wait some may be full.
            Load::Waiting if rank.full || self.capacity() == u32::MAX => self.shortest(true),
            Load::Waiting | Load::Work | Load::Delay => None,
        };
        match lists {
            Some(lists) => chosen(lists, rank.tie, |server| Servers::speed(self, server), routing),
            None => self.best(0..self.count(), rank, routing),
        }
    }

    fn fewer(&mut self, jobs: u32, routing: &mut Pcg32) -> Option<usize> {
        match Servers::fewer(self, jobs) {
            Some(lists) => one_of(lists, routing),
            None => scan_fewer(self, jobs, routing),
        }
    }
}

/// Returns who of the shortest queues gets a job. Where those with the fewest jobs are full all are,
/// so whether full ones may be chosen makes no difference.
fn chosen(
    lists: &[Vec<u32>],
    tie: Tie,
    speed: impl Fn(usize) -> f64,
    routing: &mut Pcg32,
) -> usize {
    let all = || lists.iter().flatten().map(|&server| server as usize);
    let chosen = match tie {
        Tie::Random => one_of(lists, routing),
        Tie::First => all().min(),
        Tie::Fastest => all().min_by(|&a, &b| speed(b).total_cmp(&speed(a)).then(a.cmp(&b))),
    };
    chosen.unwrap_or(0)
}

/// Returns one of some servers, each equally likely, if there is one.
fn one_of(lists: &[Vec<u32>], routing: &mut Pcg32) -> Option<usize> {
    match lists.iter().map(Vec::len).sum::<usize>() {
        0 => None,
        count => {
            let mut all = lists.iter().flatten().map(|&server| server as usize);
            all.nth(below(routing, count as u32) as usize)
        }
    }
}
