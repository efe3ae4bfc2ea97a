//! Queues by their numbers of jobs, so that the shortest is found without looking at all of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// When a queue's next job leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Departure {
    time: f64,
    queue: u32,
}

impl Eq for Departure {}

impl PartialOrd for Departure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Departure {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then(self.queue.cmp(&other.queue))
    }
}

/// Lengths of queues that are told of every arrival and every departure.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Queues by number of jobs.
    levels: Vec<Vec<u32>>,
    /// Where each queue is in its level.
    places: Vec<u32>,
    /// The first level that isn't empty.
    least: usize,
    /// A next departure of every queue that has jobs, and some that have become another's.
    next: BinaryHeap<Reverse<Departure>>,
    /// Queues that became empty, where that is asked for, and when.
    emptied: Option<Vec<Departure>>,
}

impl Order {
    /// Starts with so many empty queues.
    pub(super) fn new(queues: usize) -> Order {
        let all: Vec<u32> = (0..queues as u32).collect();
        let (levels, next) = (vec![all.clone()], BinaryHeap::new());
        Order { levels, places: all, least: 0, next, emptied: None }
    }

    /// Notes when a queue's next job leaves.
    pub(super) fn leaves(&mut self, queue: usize, time: f64) {
        self.next.push(Reverse(Departure { time, queue: queue as u32 }));
    }

    /// Takes note of queues that become empty from now on.
    pub(super) fn note_emptied(&mut self) {
        self.emptied = Some(Vec::new());
    }

    /// Notes that a queue's last job left.
    pub(super) fn emptied(&mut self, queue: usize, time: f64) {
        if let Some(emptied) = &mut self.emptied {
            emptied.push(Departure { time, queue: queue as u32 });
        }
    }

    /// Returns the queues that became empty since the last call, in order of time.
    pub(super) fn take_emptied(&mut self) -> impl Iterator<Item = usize> {
        // A queue tells of all its departures at once, so they come in another order.
        let emptied = self.emptied.iter_mut().flat_map(|emptied| {
            emptied.sort_unstable();
            emptied.drain(..)
        });
        emptied.map(|departure| departure.queue as usize)
    }

    /// Returns a queue with a departure that is due, if there is one; it may have been told before.
    pub(super) fn due(&mut self, now: f64) -> Option<usize> {
        let Reverse(departure) = self.next.peek()?;
        if departure.time > now {
            return None;
        }
        self.next.pop().map(|Reverse(departure)| departure.queue as usize)
    }

    /// Moves a queue from one number of jobs to another.
    pub(super) fn moved(&mut self, queue: usize, from: u32, to: u32) {
        let (from, to) = (from as usize, to as usize);
        let place = self.places[queue] as usize;
        self.levels[from].swap_remove(place);
        if let Some(&other) = self.levels[from].get(place) {
            self.places[other as usize] = place as u32;
        }
        if self.levels.len() <= to {
            self.levels.resize(to + 1, Vec::new());
        }
        self.places[queue] = self.levels[to].len() as u32;
        self.levels[to].push(queue as u32);
        self.least = self.least.min(to);
        while self.levels[self.least].is_empty() {
            self.least += 1;
        }
    }

    /// Returns the queues of the least level, and of those above it up to `equal`, which count as
    /// equal to it, as lists.
    pub(super) fn shortest(&self, equal: usize) -> &[Vec<u32>] {
        let levels: RangeInclusive<usize> =
            self.least..=self.least.max(equal.min(self.levels.len() - 1));
        &self.levels[levels]
    }

    /// Returns the queues with fewer jobs than so many, as lists.
    pub(super) fn fewer(&self, jobs: usize) -> &[Vec<u32>] {
        &self.levels[..jobs.min(self.levels.len())]
    }
}
