//! Queues by their numbers of jobs, so that the shortest is found without looking at all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::replace;
use std::ops::RangeInclusive;

/// When a queue's next job leaves, and which queue: the bits of the time, which sort as it does since
/// it isn't negative, above those of the number. One number is compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Departure(u128);

impl Departure {
    fn new(time: f64, queue: usize) -> Departure {
        Departure(u128::from(time.to_bits()) << 32 | queue as u128)
    }

    fn time(self) -> f64 {
        f64::from_bits((self.0 >> 32) as u64)
    }

    fn queue(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Lengths of queues that are told of every arrival and every departure.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Queues by number of jobs.
    levels: Vec<Vec<u32>>,
    /// Each queue's number of jobs.
    lengths: Vec<u32>,
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
        let (levels, lengths) = (vec![all.clone()], vec![0; queues]);
        Order { levels, lengths, places: all, least: 0, next: BinaryHeap::new(), emptied: None }
    }

    /// Returns a queue's number of jobs.
    pub(super) fn jobs(&self, queue: usize) -> u32 {
        self.lengths[queue]
    }

    /// Notes when a queue's next job leaves.
    pub(super) fn leaves(&mut self, queue: usize, time: f64) {
        self.next.push(Reverse(Departure::new(time, queue)));
    }

    /// Takes note of queues that become empty from now on.
    pub(super) fn note_emptied(&mut self) {
        self.emptied = Some(Vec::new());
    }

    /// Notes that a queue's last job left.
    pub(super) fn emptied(&mut self, queue: usize, time: f64) {
        if let Some(emptied) = &mut self.emptied {
            emptied.push(Departure::new(time, queue));
        }
    }

    /// Returns the queues that became empty since the last call, in order of time.
    pub(super) fn take_emptied(&mut self) -> impl Iterator<Item = usize> {
        // A queue tells of all its departures at once, so they come in another order.
        let emptied = self.emptied.iter_mut().flat_map(|emptied| {
            emptied.sort_unstable();
            emptied.drain(..)
        });
        emptied.map(Departure::queue)
    }

    /// Returns a queue with a departure that is due, if there is one; it may have been told before.
    pub(super) fn due(&mut self, now: f64) -> Option<usize> {
        let Reverse(departure) = self.next.peek()?;
        if departure.time() > now {
            return None;
        }
        self.next.pop().map(|Reverse(departure)| departure.queue())
    }

    /// Moves a queue to another number of jobs, and returns whether it is another.
    pub(super) fn moved(&mut self, queue: usize, to: u32) -> bool {
        let (from, to) = (replace(&mut self.lengths[queue], to) as usize, to as usize);
        if from == to {
            return false;
        }
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
        true
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
