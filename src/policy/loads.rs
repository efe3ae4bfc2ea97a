//! What routers may see of the servers' loads.

use std::hint::select_unpredictable;

use crate::rng::{Pcg32, below};

/// What counts as the load of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Jobs in it, those in service included.
    InSystem,
    /// Jobs that wait for service.
    Waiting,
    /// Work left: the time that one channel needs for it.
    Work,
    /// Jobs in it and one more, over its speed: the delay to be expected where sizes aren't known
    /// (shortest expected delay).
    Delay,
}

/// Who gets a job where loads are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// One of them, each equally likely.
    Random,
    /// The first of them, in the order of the servers.
    First,
    /// The fastest, and of several the first.
    Fastest,
}

/// How servers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    pub load: Load,
    pub tie: Tie,
    /// Whether a server without room may be chosen where others have room.
    pub full: bool,
}

/// A system that shows the loads of its servers, all as they are at the request that is routed.
pub trait Loads {
    /// Returns the number of servers.
    fn servers(&self) -> usize;
    /// Returns the load of a server, in jobs or time units.
    fn load(&mut self, server: usize, load: Load) -> f64;
    /// Returns what the load of a server will be once it has the job that is routed now, as far as is
    /// known: not by how much work it grows, where sizes aren't shown.
    fn load_with(&mut self, server: usize, load: Load) -> f64 {
        let now = self.load(server, load);
        if self.is_full(server) {
            // It won't get it.
            return now;
        }
        now + match load {
            Load::InSystem | Load::Waiting => 1.0,
            Load::Delay => 1.0 / self.speed(server),
            Load::Work => 0.0,
        }
    }
    /// Returns whether a server has no room for another job.
    fn is_full(&mut self, server: usize) -> bool;
    /// Returns the speed of a server's channels together [size/time].
    fn speed(&self, server: usize) -> f64;

    /// Returns the best of some servers, which must be one at least; takes an output of `routing`
    /// for each that is as good as the best so far.
    #[inline(always)]
    fn best(
        &mut self,
        among: impl Iterator<Item = usize>,
        rank: Rank,
        routing: &mut Pcg32,
    ) -> usize {
        // Full servers are behind all that have room.
        let mut best = (true, f64::INFINITY, usize::MAX);
        let mut equals = 0;
        for server in among {
            let load = self.load(server, rank.load);
            let full = !rank.full && self.is_full(server);
            let (best_full, best_load, chosen) = best;
            if (!full && best_full)
                || (full == best_full && load < best_load)
                || chosen == usize::MAX
            {
                (best, equals) = ((full, load, server), 1);
            } else if full == best_full && load == best_load {
                equals += 1;
                let better = match rank.tie {
                    Tie::Random => below(routing, equals) == 0,
                    Tie::First => server < chosen,
                    Tie::Fastest => {
                        let (ours, other) = (self.speed(server), self.speed(chosen));
                        ours > other || ours == other && server < chosen
                    }
                };
                if better {
                    best.2 = server;
                }
            }
        }
        best.2
    }

    /// Returns the better of two servers; where jobs are compared, ties go at random and full servers
    /// may be chosen, takes an output of `routing` whatever they are.
    #[inline(always)]
    fn better(&mut self, one: usize, other: usize, rank: Rank, routing: &mut Pcg32) -> usize {
        let Rank { load: Load::InSystem, tie: Tie::Random, full: true } = rank else {
            return self.best([one, other].into_iter(), rank, routing);
        };
        // Without a branch: nobody could foresee which it is.
        let coin = below(routing, 2) == 0;
        let (first, second) = (self.load(one, Load::InSystem), self.load(other, Load::InSystem));
        select_unpredictable((first < second) | ((first == second) & coin), one, other)
    }

    /// Returns the best of all servers.
    #[inline]
    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        self.best(0..self.servers(), rank, routing)
    }

    /// Returns a server with fewer jobs than so many, each equally likely, if there is one; with
    /// fewer than one it is idle.
    fn fewer(&mut self, jobs: u32, routing: &mut Pcg32) -> Option<usize> {
        scan_fewer(self, jobs, routing)
    }
}

/// A system that shows the size of the job that is to be routed.
pub trait Sizes {
    /// Returns its service time at speed 1.
    fn size(&self) -> f64;
}

/// A system whose servers report when they become idle.
pub trait Reports {
    /// Adds the servers that became idle since the last call, in order of time.
    fn became_idle(&mut self, to: &mut Vec<usize>);
}

/// Looks for a server with fewer jobs than so many one by one.
pub fn scan_fewer<S: Loads + ?Sized>(
    system: &mut S,
    jobs: u32,
    routing: &mut Pcg32,
) -> Option<usize> {
    let (mut found, mut chosen) = (0, None);
    for server in 0..system.servers() {
        if system.load(server, Load::InSystem) < f64::from(jobs) {
            found += 1;
            if below(routing, found) == 0 {
                chosen = Some(server);
            }
        }
    }
    chosen
}
