//! Queues served first come, first served, each by parallel channels of its own.
//!
//! The time at which a job leaves is known when it comes, so a queue remembers those times, sorted,
//! and nothing moves between events: whoever looks at a queue lets those leave first that are due.
//! A job costs a few memory accesses whatever the number of queues is, and no calendar. What is
//! counted (the time spent with each number of jobs) is brought up to date with every change.
//!
//! At equal times departures come before arrivals.

use super::order::Order;
use super::{Failure, audit};

/// All queues of a system.
#[derive(Clone, Debug)]
pub struct Queues {
    queues: Vec<Queue>,
    /// Channels of each queue.
    channels: u32,
    /// Most jobs in each queue, those in service included.
    capacity: u32,
    /// Time of the last look.
    now: f64,
    /// Time that queues spent with each number of jobs [queue × time units].
    levels: Vec<f64>,
    /// For whoever asks for the shortest of all.
    order: Option<Order>,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Queue {
    /// Times at which its jobs leave [time units], rising from `head` around the ring, whose length
    /// is a power of two.
    leaves: Box<[f64]>,
    head: u32,
    len: u32,
    /// Time of the last change.
    since: f64,
    /// Sum of the times that jobs need a channel for, taken in since the start of the count.
    work: f64,
    /// Times that the jobs in it, and those that came and left, have spent here.
    spent: f64,
    /// Service time of a job of size 1.
    pace: f64,
    accepted: u64,
}

/// When a job gets a channel, and when it leaves [time units].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    pub start: f64,
    pub end: f64,
}

/// What queues did over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Time that queues spent with each number of jobs, as a share of all time.
    pub levels: Vec<f64>,
    /// Time average of each queue's busy channels over its channels.
    pub utilisation: Vec<f64>,
    /// Jobs that each queue took in.
    pub accepted: Vec<u64>,
}

impl Queue {
    #[inline(always)]
    fn slot(&self, position: u32) -> usize {
        self.head.wrapping_add(position) as usize & (self.leaves.len() - 1)
    }

    /// Lets jobs leave that are due.
    #[inline(always)]
    fn sync(&mut self, now: f64, levels: &mut [f64]) {
        while self.len > 0 {
            let next = self.leaves[self.slot(0)];
            if next > now {
                break;
            }
            levels[self.len as usize] += next - self.since;
            self.since = next;
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
        }
    }

    /// Makes room for more.
    #[cold]
    fn grow(&mut self) {
        let sorted: Vec<f64> = (0..self.len).map(|at| self.leaves[self.slot(at)]).collect();
        self.leaves = sorted.into_iter().chain((0..self.len).map(|_| 0.0)).collect();
        self.head = 0;
    }

    /// Returns the time from which the next job could be served.
    #[inline(always)]
    fn free_from(&self, channels: u32, now: f64) -> f64 {
        if self.len < channels { now } else { self.leaves[self.slot(self.len - channels)] }
    }

    /// Returns the work left [time units of a channel].
    fn backlog(&self, channels: u32, now: f64) -> f64 {
        // A channel's last job is among the latest to leave.
        let last = self.len.saturating_sub(channels)..self.len;
        last.map(|at| (self.leaves[self.slot(at)] - now).max(0.0)).sum()
    }

    /// Returns the sum of the times that its jobs have yet to spend here.
    fn ahead(&self, now: f64) -> f64 {
        (0..self.len).map(|at| self.leaves[self.slot(at)] - now).sum()
    }
}

impl Queues {
    /// Returns empty queues: one for each speed [size/time], of `channels` ≥ 1 channels and with
    /// room for `capacity` ≥ 1 jobs each.
    pub fn new(speeds: impl Iterator<Item = f64>, channels: u32, capacity: u32) -> Queues {
        let queue = |speed: f64| Queue {
            leaves: vec![0.0; 4].into(),
            head: 0,
            len: 0,
            since: 0.0,
            work: 0.0,
            spent: 0.0,
            pace: 1.0 / speed,
            accepted: 0,
        };
        let queues = speeds.map(queue).collect();
        Queues { queues, channels, capacity, now: 0.0, levels: vec![0.0; 5], order: None }
    }

    /// Returns them, in order by their numbers of jobs from now on: the shortest of all is found at
    /// once, and every departure costs a little more.
    pub fn ordered(self) -> Queues {
        let order = Some(Order::new(self.queues.len()));
        Queues { order, ..self }
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
        self.now = now;
        if self.order.is_some() {
            self.let_leave();
        }
    }

    /// Lets all jobs leave that are due, in order.
    #[inline(never)]
    fn let_leave(&mut self) {
        let now = self.now;
        let Some(order) = &mut self.order else { return };
        while let Some(due) = order.due(now) {
            let queue = &mut self.queues[due];
            let before = queue.len;
            queue.sync(now, &mut self.levels);
            if queue.len < before {
                order.moved(due, before, queue.len);
                if queue.len > 0 {
                    order.leaves(due, queue.leaves[queue.slot(0)]);
                }
            }
        }
    }

    /// Returns the queues with the fewest jobs, or the fewest that wait, as lists; nothing where they
    /// are in no order.
    pub fn shortest(&self, waiting: bool) -> Option<&[Vec<u32>]> {
        let equal = if waiting { self.channels as usize } else { 0 };
        self.order.as_ref().map(|order| order.shortest(equal))
    }

    /// Returns the empty queues; nothing where they are in no order.
    pub fn idle(&self) -> Option<&[u32]> {
        self.order.as_ref().map(Order::idle)
    }

    /// Returns the number of jobs in a queue, those in service included.
    #[inline(always)]
    pub fn jobs(&mut self, queue: usize) -> u32 {
        let queue = &mut self.queues[queue];
        queue.sync(self.now, &mut self.levels);
        queue.len
    }

    /// Returns the number of jobs that a queue has at a time, not before the last look nor after the
    /// next job comes. It changes nothing, not even the order in which jobs are let leave.
    pub fn jobs_at(&self, queue: usize, time: f64) -> u32 {
        let queue = &self.queues[queue];
        let due = (0..queue.len).take_while(|&at| queue.leaves[queue.slot(at)] <= time);
        queue.len - due.count() as u32
    }

    /// Returns the number of jobs that wait for a channel.
    #[inline]
    pub fn waiting(&mut self, queue: usize) -> u32 {
        self.jobs(queue).saturating_sub(self.channels)
    }

    /// Returns the work left in a queue [time units of a channel].
    pub fn work(&mut self, queue: usize) -> f64 {
        self.jobs(queue);
        self.queues[queue].backlog(self.channels, self.now)
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

    /// Takes a job in that comes now, if there is room.
    #[inline(always)]
    pub fn accept(&mut self, number: usize, size: f64) -> Option<Service> {
        let (now, channels) = (self.now, self.channels);
        let queue = &mut self.queues[number];
        queue.sync(now, &mut self.levels);
        if queue.len >= self.capacity {
            return None;
        }
        self.levels[queue.len as usize] += now - queue.since;
        queue.since = now;
        if queue.len as usize == queue.leaves.len() {
            queue.grow();
            let most = queue.leaves.len() + 1;
            if self.levels.len() < most {
                self.levels.resize(most, 0.0);
            }
        }
        let size = size * queue.pace;
        let start = queue.free_from(channels, now);
        let end = start + size;
        let mut at = queue.len;
        if channels > 1 {
            while at > 0 && queue.leaves[queue.slot(at - 1)] > end {
                queue.leaves[queue.slot(at)] = queue.leaves[queue.slot(at - 1)];
                at -= 1;
            }
        }
        queue.leaves[queue.slot(at)] = end;
        queue.len += 1;
        queue.work += size;
        queue.spent += end - now;
        queue.accepted += 1;
        if let Some(order) = &mut self.order {
            order.moved(number, queue.len - 1, queue.len);
            if at == 0 {
                order.leaves(number, end);
            }
        }
        Some(Service { start, end })
    }

    /// Forgets what was counted up to a time, to which all queues are brought.
    pub fn restart(&mut self, time: f64) {
        self.advance(time);
        for queue in &mut self.queues {
            queue.sync(time, &mut self.levels);
            queue.since = time;
            queue.work = queue.backlog(self.channels, time);
            queue.spent = queue.ahead(time);
            queue.accepted = 0;
        }
        self.levels.fill(0.0);
    }

    /// Returns what was counted from `start`, where the count began, to `end`.
    ///
    /// # Errors
    /// [`Failure::Audit`] when the jobs' times don't add up to the queues' (Little's law on a sample
    /// path), or a queue was fuller than it can be.
    pub fn occupancy(&mut self, start: f64, end: f64) -> Result<Occupancy, Failure> {
        self.advance(end);
        let length = end - start;
        let all = length * self.queues.len() as f64;
        if length <= 0.0 {
            // Nothing is the share of no time.
            let accepted = self.queues.iter().map(|queue| queue.accepted).collect();
            let utilisation = vec![f64::NAN; self.queues.len()];
            return Ok(Occupancy {
                levels: vec![f64::NAN; self.levels.len()],
                utilisation,
                accepted,
            });
        }
        let (mut spent, mut utilisation) = (0.0, Vec::with_capacity(self.queues.len()));
        let mut greatest = 0.0;
        for queue in &mut self.queues {
            queue.sync(end, &mut self.levels);
            self.levels[queue.len as usize] += end - queue.since;
            queue.since = end;
            spent += queue.spent - queue.ahead(end);
            greatest += queue.spent;
            let busy = queue.work - queue.backlog(self.channels, end);
            utilisation.push((busy / (length * f64::from(self.channels))).max(0.0));
        }
        let levels: Vec<f64> = self.levels.iter().map(|time| time / all).collect();
        let by_level: f64 =
            levels.iter().enumerate().map(|(jobs, share)| jobs as f64 * share).sum();
        let by_job = spent / all;
        // Both come of sums, and of differences of sums, that may be much greater.
        let rounding = 1e-9 * (1.0 + by_level) * end / length + 1e-12 * greatest / all;
        audit((by_level - by_job).abs() <= rounding, || {
            format!("queues held {by_level} jobs each in the mean, and jobs were in {by_job}")
        })?;
        audit((levels.iter().sum::<f64>() - 1.0).abs() <= rounding, || {
            "queues spent more or less time than there was".to_owned()
        })?;
        let most = levels.iter().rposition(|&share| share > 0.0).unwrap_or(0);
        audit(most as u64 <= u64::from(self.capacity), || {
            format!("a queue of {} held {most}", self.capacity)
        })?;
        let accepted = self.queues.iter().map(|queue| queue.accepted).collect();
        Ok(Occupancy { levels, utilisation, accepted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Pcg32, below};

    /// Against the obvious way: jobs one by one, channels by the time from which they are free.
    #[test]
    fn queues_agree_with_jobs_followed_one_by_one() {
        for channels in 1..4_u32 {
            let mut random = Pcg32::new(channels.into(), 7);
            let mut queues = Queues::new([1.0, 2.0].into_iter(), channels, 9);
            let mut ordered = queues.clone().ordered();
            let mut jobs: [Vec<(f64, f64)>; 2] = Default::default();
            let mut free = [(); 2].map(|()| vec![0.0_f64; channels as usize]);
            let mut taken = [0; 2];
            for step in 0..3_000_u32 {
                let now = f64::from(step / 2);
                queues.advance(now);
                ordered.advance(now);
                let lengths = [0, 1].map(|k| queues.jobs(k));
                let least = lengths.into_iter().min().unwrap();
                let shortest = |waiting: bool| {
                    let lists = ordered.shortest(waiting).unwrap();
                    let mut all: Vec<u32> = lists.concat();
                    all.sort_unstable();
                    all
                };
                let equal = |most: u32| -> Vec<u32> {
                    (0..2).filter(|&k| lengths[k as usize] <= most).collect()
                };
                assert_eq!(shortest(false), equal(least));
                assert_eq!(shortest(true), equal(least.max(channels)));
                assert_eq!(ordered.idle().unwrap().len(), equal(0).len());
                let k = below(&mut random, 2) as usize;
                let size = f64::from(below(&mut random, 4 * channels)) * [0.5, 1.0][k];
                let present = jobs[k].iter().filter(|job| job.1 > now).count() as u32;
                assert_eq!(queues.jobs(k), present);
                let left: f64 = free[k].iter().map(|&from| (from - now).max(0.0)).sum();
                assert_eq!(queues.work(k), left);
                let service = queues.accept(k, size);
                assert_eq!(service.is_some(), present < 9);
                assert_eq!(ordered.accept(k, size), service);
                if let Some(Service { start, end }) = service {
                    let first = free[k].iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
                    assert_eq!(start, first.max(now));
                    assert_eq!(end, start + size / [1.0, 2.0][k]);
                    *first = end;
                    jobs[k].push((now, end));
                    taken[k] += 1;
                }
                if step == 1_000 {
                    queues.restart(now);
                    ordered.restart(now);
                    taken = [0; 2];
                }
            }
            let (start, end) = (500.0, 1499.0);
            let counted = queues.occupancy(start, end).unwrap();
            assert_eq!(counted.accepted, taken);
            assert_eq!(ordered.occupancy(start, end).unwrap(), counted);
            // Moment by moment: every time is a multiple of a quarter.
            let mut expected = [0.0; 10];
            for jobs in &jobs {
                for moment in (2000..4 * 1499_u32).map(|quarter| f64::from(quarter) / 4.0) {
                    let present = jobs.iter().filter(|job| job.0 <= moment && job.1 > moment);
                    expected[present.count()] += 0.25 / (2.0 * (end - start));
                }
            }
            for (level, share) in expected.iter().enumerate() {
                let counted = counted.levels.get(level).copied().unwrap_or(0.0);
                assert!((counted - share).abs() < 1e-9, "{level}");
            }
        }
    }

    #[test]
    fn a_job_lost_from_the_ring_fails_the_audit() {
        let mut queues = Queues::new([1.0].into_iter(), 1, 5);
        queues.advance(1.0);
        queues.accept(0, 4.0);
        assert!(queues.clone().occupancy(0.0, 10.0).is_ok());
        queues.queues[0].leaves[0] = 4.0;
        let failure = queues.occupancy(0.0, 10.0).unwrap_err().to_string();
        assert!(failure.contains("jobs were in"), "{failure}");
    }
}
