//! A bank of parallel channels without a queue, as a loss server has it.
//!
//! A bank remembers one time per channel, when it is free from, sorted in a ring. Whether there
//! is room is one comparison with the head; a new job replaces the head and is sorted in from the
//! tail. Departed jobs need no event and are never looked for. Service times that vary little
//! make departures nearly first in, first out, and then sorting in moves less than one entry on
//! the average; with very variable ones it moves half the bank, which for the banks of practice
//! is still cheaper than the mispredicted branches of a heap.

use super::{Failure, audit};

/// The channels of one server.
#[derive(Clone, Debug)]
pub struct Channels {
    /// Times from which the channels are free [time units], rising from `head` around the ring.
    free_from: Box<[f64]>,
    head: usize,
    /// Sum of service times begun [channel × time units].
    work: f64,
    /// Sum of the times for which channels stood free before they were taken [channel × time units].
    idle: f64,
    /// Jobs accepted since the start of the count.
    accepted: u64,
    /// Whether a job was ever taken in without a free channel.
    overfull: bool,
}

impl Channels {
    /// Returns `channels` ≥ 1 free channels.
    pub fn new(channels: u32) -> Self {
        // Any time before the first arrival does, as long as it is finite.
        let free_from = vec![-1.0; channels as usize].into();
        let mut bank =
            Channels { free_from, head: 0, work: 0.0, idle: 0.0, accepted: 0, overfull: false };
        bank.restart(0.0);
        bank
    }

    /// Returns whether a channel is free, where jobs that depart at or before `now` have left.
    #[inline]
    pub fn has_room(&self, now: f64) -> bool {
        self.free_from[self.head] <= now
    }

    /// Returns the number of free channels, where jobs that depart at or before `now` have left.
    pub fn free(&self, now: f64) -> usize {
        self.free_from.iter().filter(|&&from| from <= now).count()
    }

    /// Returns the number of busy channels, where jobs that depart at or before `now` have left.
    pub fn busy(&self, now: f64) -> usize {
        self.free_from.len() - self.free(now)
    }

    /// Takes a job in for the time from `now` to `departure`. There must be room.
    #[inline]
    pub fn accept(&mut self, now: f64, departure: f64) {
        let ring = &mut *self.free_from;
        let idle = now - ring[self.head];
        self.overfull |= idle < 0.0;
        self.idle += idle;
        let mut hole = self.head;
        for _ in 1..ring.len() {
            let before = if hole == 0 { ring.len() - 1 } else { hole - 1 };
            if ring[before] <= departure {
                break;
            }
            ring[hole] = ring[before];
            hole = before;
        }
        ring[hole] = departure;
        self.head = if self.head + 1 == ring.len() { 0 } else { self.head + 1 };
        self.work += departure - now;
        self.accepted += 1;
    }

    /// Returns the number of jobs accepted since the start of the count.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Forgets what it has counted up to `now`: jobs in service stay, with the work left of them.
    pub fn restart(&mut self, now: f64) {
        self.work = self.work_beyond(now);
        self.idle = -self.idle_until(now);
        self.accepted = 0;
    }

    /// Returns the time-average share of busy channels over \[`start`, `horizon`\], for a bank
    /// that was last restarted at `start`, or made at 0, and took no job in after `horizon`.
    ///
    /// # Errors
    /// [`Failure::Audit`] when a job was taken in without a free channel, or when the times that
    /// jobs spent in the bank don't add up to the times that channels were busy: Little's law on a
    /// sample path (S. Stidham, "A last word on L = λW", Operations Research 22, 1974).
    pub fn utilisation(&self, start: f64, horizon: f64) -> Result<f64, Failure> {
        audit(!self.overfull, || "a server held more than its channels".to_owned())?;
        let all = (horizon - start) * self.free_from.len() as f64;
        let busy = (self.work - self.work_beyond(horizon)) / all;
        let idle = (self.idle + self.idle_until(horizon)) / all;
        // Both are differences of sums of times up to `horizon`.
        let rounding = 1e-9 * horizon / (horizon - start);
        audit(
            (busy + idle - 1.0).abs() <= rounding && busy >= -rounding && idle >= -rounding,
            || {
                format!(
                    "jobs were in service for {busy} of the channels' time, free for {idle} of it"
                )
            },
        )?;
        Ok(busy.max(0.0))
    }

    /// Returns for how long the channels free at `time` have been so.
    fn idle_until(&self, time: f64) -> f64 {
        self.free_from.iter().map(|&from| (time - from).max(0.0)).sum()
    }

    /// Returns the work left at `time` of jobs taken in before.
    fn work_beyond(&self, time: f64) -> f64 {
        self.free_from.iter().map(|&from| (from - time).max(0.0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_free_again_at_the_departure_and_not_before() {
        let mut bank = Channels::new(2);
        bank.accept(0.0, 10.0);
        bank.accept(1.0, 5.0);
        assert!(!bank.has_room(4.0));
        assert!(bank.has_room(5.0));
        bank.accept(5.0, 20.0);
        assert!(!bank.has_room(9.999));
        assert_eq!(bank.free(10.0), 1);
        assert_eq!(bank.free(20.0), 2);
    }

    #[test]
    fn a_job_too_many_fails_the_audit() {
        let mut bank = Channels::new(1);
        bank.accept(0.0, 10.0);
        assert_eq!(bank.utilisation(0.0, 20.0), Ok(0.5));
        bank.accept(9.0, 12.0);
        let failure = bank.utilisation(0.0, 20.0).unwrap_err().to_string();
        assert!(failure.contains("more than its channels"), "{failure}");
    }

    #[test]
    fn a_job_lost_from_the_ring_fails_the_audit() {
        let mut bank = Channels::new(2);
        bank.accept(0.0, 4.0);
        bank.accept(1.0, 8.0);
        bank.free_from[0] = 8.0;
        let failure = bank.utilisation(0.0, 10.0).unwrap_err().to_string();
        assert!(failure.contains("free for"), "{failure}");
    }

    #[test]
    fn utilisation_counts_service_within_the_horizon_only() {
        let mut bank = Channels::new(2);
        bank.accept(0.0, 4.0);
        bank.accept(6.0, 16.0);
        // 4 + 4 channel-units of 2 × 10.
        assert_eq!(bank.utilisation(0.0, 10.0), Ok(0.4));
        bank.restart(8.0);
        assert_eq!(bank.utilisation(8.0, 10.0), Ok(0.5));
    }

    /// Against the obvious way: a vector scanned for a departed job.
    #[test]
    fn the_ring_agrees_with_a_scan() {
        let mut random = crate::rng::Pcg32::new(3, 5);
        for channels in 1..9_u32 {
            let mut bank = Channels::new(channels);
            let mut start = 0.0;
            let mut plain = vec![f64::NEG_INFINITY; channels as usize];
            for step in 0..20_000 {
                let now = f64::from(step / 3);
                let slot = plain.iter().position(|&departure| departure <= now);
                assert_eq!(bank.has_room(now), slot.is_some());
                assert_eq!(bank.free(now), plain.iter().filter(|&&d| d <= now).count());
                if step > 0 && step % 5_000 == 0 {
                    assert!(bank.utilisation(start, now).is_ok());
                    start = now;
                    bank.restart(now);
                }
                if let Some(slot) = slot {
                    let departure = now + f64::from(crate::rng::below(&mut random, 12));
                    bank.accept(now, departure);
                    plain[slot] = departure;
                }
            }
        }
    }
}
