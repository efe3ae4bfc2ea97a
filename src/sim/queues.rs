//! Queues served first come, first served, each by parallel channels of its own.
//!
//! The time at which a job leaves is known when it comes, so a queue remembers those times, the
//! latest first, and nothing moves between events: its jobs are those that leave after now. The
//! latest few times are in the queue itself and stay there when they have passed, so counting jobs,
//! taking one in and counting the time spent with each number of jobs go without a branch; only
//! what is longer has a list. A job costs a few memory accesses whatever the number of queues is,
//! and no calendar.
//!
//! At equal times departures come before arrivals.

use std::collections::VecDeque;

use super::occupancy::Counted;
use super::order::Order;
use super::{Failure, Occupancy};

/// Departures that a queue holds itself: with two choices at a load of .9 it has as many jobs for
/// 1/750 of the time.
const FEW: usize = 6;

/// 2⁵², the least number whose last bit is worth one.
const UNIT: f64 = 1.0 / f64::EPSILON;

/// All queues of a system. Pairs of sums are added to at once, and begin where no cache line ends.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub struct Queues {
    /// Time that queues spent with at least 1, 2, …, [`FEW`] jobs, but no more than those [queue ×
    /// time units].
    few: [f64; FEW],
    queues: Vec<Queue>,
    /// Of each queue, the times at which its jobs before the latest [`FEW`] leave, rising.
    earlier: Vec<VecDeque<f64>>,
    /// Channels of each queue.
    channels: u32,
    /// Most jobs in each queue, those in service included.
    capacity: u32,
    /// Time that queues spent with exactly each greater number of jobs.
    many: Vec<f64>,
    /// For whoever asks for the shortest of all.
    order: Option<Box<Order>>,
    /// Time of the last look. At the very end, where nothing can be read along with it, not even what
    /// fills up: a store is passed on at once only to a load of the same size.
    now: f64,
}

/// What is read to choose a queue and to tell when a job leaves is a cache line, the first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Queue {
    /// Times at which the latest jobs leave [time units], falling; those that passed count no more.
    latest: [f64; FEW],
    /// Up to when its time is counted.
    since: f64,
    /// Service time of a job of size 1.
    pace: f64,
    /// Sum of the times that jobs need a channel for, taken in since the start of the count.
    work: f64,
    /// Times that the jobs in it, and those that came and left, have spent or are to spend here.
    spent: f64,
    accepted: u64,
}

/// When a job gets a channel, and when it leaves [time units].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    pub start: f64,
    pub end: f64,
}

impl Queue {
    /// Returns how many of the latest jobs are here after a time.
    #[inline(always)]
    fn few(&self, time: f64) -> usize {
        // As numbers, in an order that suits SIMD registers of two.
        let one = |at: usize| if self.latest[at] > time { 1.0 } else { 0.0 };
        let lane = |at: usize| one(at) + one(at + 2) + one(at + 4);
        // In the last bits of a number whose unit is one: shorter than a conversion.
        (UNIT + (lane(0) + lane(1))).to_bits() as usize & 0xf
    }

    /// Returns whether there may be jobs before the latest, or were when its time was last counted.
    #[inline(always)]
    fn may_be_long(&self) -> bool {
        self.latest[FEW - 1] > self.since
    }

    /// Counts the time up to now, through which no job came and all were among the latest.
    #[inline(always)]
    fn count(&mut self, now: f64, few: &mut [f64; FEW]) {
        // There were at least i jobs until the i-th latest left.
        let since = self.since;
        let times = self.latest.map(|leaves| {
            // Not `max` and `min`, which are longer for the sake of NaN.
            let from = if leaves > since { leaves } else { since };
            (if from < now { from } else { now }) - since
        });
        few.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        self.since = now;
    }

    /// Puts a job before all others, and returns the one that falls out of the latest.
    #[inline(always)]
    fn put_first(&mut self, leaves: f64) -> f64 {
        let [a, b, c, d, e, last] = self.latest;
        self.latest = [leaves, a, b, c, d, e];
        last
    }

    /// Puts a job in its place, and returns the one that falls out, which may be itself.
    #[cold]
    #[inline(never)]
    fn put(&mut self, place: usize, leaves: f64) -> f64 {
        if place == FEW {
            return leaves;
        }
        self.latest[place..].rotate_right(1);
        std::mem::replace(&mut self.latest[place], leaves)
    }
}

impl Queues {
    /// Returns empty queues: one for each speed [size/time], of `channels` ≥ 1 channels and with
    /// room for `capacity` ≥ 1 jobs each.
    pub fn new(speeds: impl Iterator<Item = f64>, channels: u32, capacity: u32) -> Queues {
        let queue = |speed: f64| Queue {
            latest: [0.0; FEW],
            since: 0.0,
            work: 0.0,
            spent: 0.0,
            pace: 1.0 / speed,
            accepted: 0,
        };
        let queues: Vec<Queue> = speeds.map(queue).collect();
        let earlier = vec![VecDeque::new(); queues.len()];
        Queues {
            queues,
            earlier,
            channels,
            capacity,
            now: 0.0,
            few: [0.0; FEW],
            many: Vec::new(),
            order: None,
        }
    }

    /// Returns them, in order by their numbers of jobs from now on: the shortest of all is found at
    /// once, and every departure costs a little more.
    pub fn ordered(self) -> Queues {
        let order = Some(Box::new(Order::new(self.queues.len())));
        Queues { order, ..self }
    }

    /// Returns them, in order and taking note of those that become empty, for [`Queues::emptied`].
    pub fn reporting(self) -> Queues {
        let mut queues = self.ordered();
        queues.order.iter_mut().for_each(|order| order.note_emptied());
        queues
    }

    /// Returns the queues that became empty since the last call, in order of time; none where they
    /// take no note of it.
    pub fn emptied(&mut self) -> impl Iterator<Item = usize> {
        self.order.iter_mut().flat_map(|order| order.take_emptied())
    }

    /// Returns the number of queues.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Moves the clock on, never back.
    #[inline]
    pub fn advance(&mut self, now: f64) {
        if self.order.is_some() {
            self.let_leave(now);
        }
        self.now = now;
    }

    /// Lets all jobs leave that are due, in order.
    #[inline(never)]
    fn let_leave(&mut self, now: f64) {
        self.now = now;
        let Some(mut order) = self.order.take() else { return };
        while let Some(due) = order.due(now) {
            let left = self.jobs(due);
            if order.moved(due, left) {
                match left {
                    0 => order.emptied(due, self.queues[due].latest[0]),
                    _ => order.leaves(due, self.next(due)),
                }
            }
        }
        self.order = Some(order);
    }

    /// Returns when the next of a queue's jobs leaves, of which there must be one.
    fn next(&self, number: usize) -> f64 {
        let queue = &self.queues[number];
        let few = queue.few(self.now).max(1);
        // Of those before the latest all are gone, whether they were counted or not, if one of the
        // latest is.
        let earlier = self.earlier[number].front().filter(|_| few == FEW);
        earlier.copied().unwrap_or(queue.latest[few - 1])
    }

    /// Lets jobs leave that are due of those before the latest, and returns how many stay.
    #[cold]
    #[inline(never)]
    fn sync_earlier(&mut self, queue: usize) -> usize {
        let Queue { since, .. } = &mut self.queues[queue];
        let earlier = &mut self.earlier[queue];
        while let Some(&next) = earlier.front() {
            let until = next.min(self.now);
            self.many[earlier.len() - 1] += until - *since;
            *since = until;
            if next > self.now {
                break;
            }
            earlier.pop_front();
        }
        earlier.len()
    }

    /// Makes a job one of those before the latest.
    #[cold]
    #[inline(never)]
    fn put_earlier(&mut self, queue: usize, leaves: f64) {
        let earlier = &mut self.earlier[queue];
        let at = earlier.partition_point(|&other| other <= leaves);
        earlier.insert(at, leaves);
        if self.many.len() < earlier.len() {
            self.many.resize(earlier.len(), 0.0);
        }
    }

    /// Returns the queues with the fewest jobs, or the fewest that wait, as lists; nothing where they
    /// are in no order.
    pub fn shortest(&self, waiting: bool) -> Option<&[Vec<u32>]> {
        let equal = if waiting { self.channels as usize } else { 0 };
        self.order.as_ref().map(|order| order.shortest(equal))
    }

    /// Returns the queues with fewer jobs than so many, as lists; nothing where they are in no order.
    pub fn fewer(&self, jobs: u32) -> Option<&[Vec<u32>]> {
        self.order.as_ref().map(|order| order.fewer(jobs as usize))
    }

    /// Returns the number of jobs in a queue, those in service included.
    #[inline(always)]
    pub fn jobs(&mut self, queue: usize) -> u32 {
        let few = self.queues[queue].few(self.now);
        (if few < FEW { few } else { FEW + self.sync_earlier(queue) }) as u32
    }

    /// Returns the number of jobs that a queue has at a time, not before the last look nor after the
    /// next job comes. It changes nothing, not even the order in which jobs are let leave.
    pub fn jobs_at(&self, queue: usize, time: f64) -> u32 {
        let few = self.queues[queue].few(time);
        let earlier = self.earlier[queue].iter().filter(|&&leaves| leaves > time);
        (few + earlier.count()) as u32
    }

    /// Returns how many of so many jobs in a queue wait for a channel.
    pub fn wait_of(&self, jobs: u32) -> u32 {
        jobs.saturating_sub(self.channels)
    }

    /// Returns the channels of each queue.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Returns most jobs in each queue, those in service included.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns the work left in a queue [time units of a channel].
    pub fn work(&mut self, queue: usize) -> f64 {
        self.left(queue, self.channels as usize)
    }

    /// Returns the sum of the times that the latest so many of a queue's jobs have yet to spend here.
    /// Of its channels' numbers it is the work left: a channel's last job is among the latest to
    /// leave.
    fn left(&self, queue: usize, latest: usize) -> f64 {
        let times = self.queues[queue].latest.iter().chain(self.earlier[queue].iter().rev());
        times.take(latest).map(|leaves| (leaves - self.now).max(0.0)).sum()
    }

    /// Returns whether a queue has as many jobs as it can.
    #[inline]
    pub fn is_full(&mut self, queue: usize) -> bool {
        self.jobs(queue) >= self.capacity
    }

    /// Returns the speed of a queue's channels together [size/time].
    pub fn speed(&self, queue: usize) -> f64 {
        f64::from(self.channels) / self.queues[queue].pace
    }

    /// Counts a queue's time up to now, and returns it.
    #[inline(always)]
    fn count(&mut self, queue: usize) -> &mut Queue {
        if self.queues[queue].may_be_long() {
            self.sync_earlier(queue);
        }
        let queue = &mut self.queues[queue];
        queue.count(self.now, &mut self.few);
        queue
    }

    /// Takes a job in that comes now, if there is room.
    #[inline(always)]
    pub fn accept(&mut self, number: usize, size: f64) -> Option<Service> {
        let now = self.now;
        if self.capacity < u32::MAX && self.is_full(number) {
            return None;
        }
        let channels = self.channels as usize;
        // A channel is free as soon as the last job but so many leaves.
        let taken = if channels > FEW { self.last_but(number, channels - 1) } else { now };
        let queue = self.count(number);
        let taken = queue.latest.get(channels - 1).copied().unwrap_or(taken);
        let start = if taken > now { taken } else { now };
        let size = size * queue.pace;
        let end = start + size;
        queue.work += size;
        queue.spent += end - now;
        queue.accepted += 1;
        // Behind those that leave later.
        let place = if channels == 1 { 0 } else { queue.few(end) };
        let earlier = if place == 0 { queue.put_first(end) } else { queue.put(place, end) };
        if earlier > now {
            self.put_earlier(number, earlier);
        }
        if self.order.is_some() {
            self.put_in_order(number, end);
        }
        Some(Service { start, end })
    }

    /// Returns when the job leaves that is followed by so many others, some of them not among the
    /// latest; 0 if there is none.
    #[cold]
    #[inline(never)]
    fn last_but(&self, queue: usize, others: usize) -> f64 {
        self.earlier[queue].iter().rev().nth(others - FEW).copied().unwrap_or(0.0)
    }

    /// Tells the order of a job that came, and when it leaves.
    fn put_in_order(&mut self, queue: usize, leaves: f64) {
        let Some(mut order) = self.order.take() else { return };
        order.moved(queue, order.jobs(queue) + 1);
        if self.next(queue) >= leaves {
            order.leaves(queue, leaves);
        }
        self.order = Some(order);
    }

    /// Forgets what was counted up to a time, to which all queues are brought.
    pub fn restart(&mut self, time: f64) {
        self.advance(time);
        for number in 0..self.queues.len() {
            self.count(number);
            let work = self.work(number);
            let spent = self.left(number, usize::MAX);
            let queue = &mut self.queues[number];
            (queue.work, queue.spent, queue.accepted) = (work, spent, 0);
        }
        self.few.fill(0.0);
        self.many.fill(0.0);
    }

    /// Returns what was counted from `start`, where the count began, to `end`.
    ///
    /// # Errors
    /// [`Failure::Audit`] when the jobs' times don't add up to the queues' (Little's law on a sample
    /// path), or a queue was fuller than it can be.
    pub fn occupancy(&mut self, start: f64, end: f64) -> Result<Occupancy, Failure> {
        self.advance(end);
        let (mut spent, mut greatest) = (0.0, 0.0);
        let mut utilisation = Vec::with_capacity(self.queues.len());
        for number in 0..self.queues.len() {
            self.count(number);
            let Queue { work, spent: own, .. } = self.queues[number];
            spent += own - self.left(number, usize::MAX);
            greatest += own;
            let busy = work - self.work(number);
            utilisation.push((busy / ((end - start) * f64::from(self.channels))).max(0.0));
        }
        // The rest of all time they were empty.
        let all = (end - start) * self.queues.len() as f64;
        let idle = all - self.few[0] - self.many.iter().sum::<f64>();
        let few = (0..FEW).map(|k| self.few[k] - self.few.get(k + 1).unwrap_or(&0.0));
        let times = [idle].into_iter().chain(few).chain(self.many.iter().copied());
        let levels: Vec<f64> = times.map(|time| time.max(0.0)).collect();
        let accepted = self.queues.iter().map(|queue| queue.accepted).collect();
        let capacity = self.capacity;
        Counted { levels: &levels, spent, greatest, capacity, start, end }
            .check(utilisation, accepted)
    }
}

#[cfg(test)]
mod tests;
