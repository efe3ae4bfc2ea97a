//! A bank of parallel channels without a queue, as a loss server has it.
//!
//! A bank remembers one time per channel, when it is free from, sorted in a ring. Whether there
//! is room is one comparison with the head; a new job replaces the head and is sorted in from the
//! tail. Departed jobs need no event and are never looked for. Service times that vary little
//! make departures nearly first in, first out, and then sorting in moves less than one entry on
//! the average; with very variable ones it moves half the bank, which for the banks of practice
//! is still cheaper than the mispredicted branches of a heap.

/// The channels of one server.
#[derive(Clone, Debug)]
pub struct Channels {
    /// Times from which the channels are free [time units], rising from `head` around the ring.
    free_from: Box<[f64]>,
    head: usize,
    /// Sum of service times begun [channel × time units].
    work: f64,
    /// Jobs accepted since the start of the count.
    accepted: u64,
    /// Whether a job was ever taken in without a free channel.
    overfull: bool,
}

impl Channels {
    /// Returns `channels` ≥ 1 free channels.
    pub fn new(channels: u32) -> Self {
        Channels {
            free_from: vec![f64::NEG_INFINITY; channels as usize].into(),
            head: 0,
            work: 0.0,
            accepted: 0,
            overfull: false,
        }
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
        self.overfull |= ring[self.head] > now;
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

    /// Returns whether a job was ever taken in without a free channel, for the audit.
    pub fn overfull(&self) -> bool {
        self.overfull
    }

    /// Returns the number of jobs accepted since the start of the count.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Forgets what it has counted up to `now`: jobs in service stay, with the work left of them.
    pub fn restart(&mut self, now: f64) {
        self.work = self.work_beyond(now);
        self.accepted = 0;
    }

    /// Returns the time-average share of busy channels over \[`start`, `horizon`\], for a bank
    /// that was last restarted at `start`, or made at 0, and took no job in after `horizon`.
    pub fn utilisation(&self, start: f64, horizon: f64) -> f64 {
        let busy = self.work - self.work_beyond(horizon);
        busy / ((horizon - start) * self.free_from.len() as f64)
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
    fn a_job_too_many_is_noticed() {
        let mut bank = Channels::new(1);
        bank.accept(0.0, 10.0);
        assert!(!bank.overfull());
        bank.accept(9.0, 12.0);
        assert!(bank.overfull());
    }

    #[test]
    fn utilisation_counts_service_within_the_horizon_only() {
        let mut bank = Channels::new(2);
        bank.accept(0.0, 4.0);
        bank.accept(6.0, 16.0);
        // 4 + 4 channel-units of 2 × 10.
        assert_eq!(bank.utilisation(0.0, 10.0), 0.4);
        bank.restart(8.0);
        assert_eq!(bank.utilisation(8.0, 10.0), 0.5);
    }

    /// Against the obvious way: a vector scanned for a departed job.
    #[test]
    fn the_ring_agrees_with_a_scan() {
        let mut random = crate::rng::Pcg32::new(3, 5);
        for channels in 1..9_u32 {
            let mut bank = Channels::new(channels);
            let mut plain = vec![f64::NEG_INFINITY; channels as usize];
            for step in 0..20_000 {
                let now = f64::from(step / 3);
                let slot = plain.iter().position(|&departure| departure <= now);
                assert_eq!(bank.has_room(now), slot.is_some());
                assert_eq!(bank.free(now), plain.iter().filter(|&&d| d <= now).count());
                if let Some(slot) = slot {
                    let departure = now + f64::from(crate::rng::below(&mut random, 12));
                    bank.accept(now, departure);
                    plain[slot] = departure;
                }
            }
        }
    }
}
