//! The start of a replication: what queues are like at instants on the way.

use super::servers::Servers;
use super::{Arrivals, LEVELS, Length, Supermarket};
use crate::model::Moment;
use crate::policy::{Load, Policy, Sq};
use crate::rng::Distribution;
use crate::theory::transient_mean_field;

impl Supermarket {
    /// Returns the times of the snapshots, which rise to the horizon.
    pub(super) fn snapshot_times(&self) -> Vec<f64> {
        let Length::Time(horizon) = self.length else { return Vec::new() };
        let n = f64::from(self.snapshots);
        // Rounded once, so that whole times are whole; the last is the horizon itself.
        let time = |k: u32| if k == self.snapshots { horizon } else { horizon * f64::from(k) / n };
        (1..=self.snapshots).map(time).collect()
    }

    /// Returns what the columns of the snapshots are about, and what theory says of them.
    pub(in crate::model) fn transient(&self, policy: &Policy) -> Vec<Moment> {
        let mean_field = self.mean_field_at_snapshots(policy);
        let moment = |(at, time): (usize, f64), level: usize| {
            let of = |levels: &Vec<f64>| levels.get(level).copied().unwrap_or(0.0);
            let mean_field = mean_field.as_ref().map(|states| of(&states[at]));
            Moment { snapshot: at as u32 + 1, time, jobs: level as u32 + 1, mean_field }
        };
        let times = self.snapshot_times().into_iter().enumerate();
        times.flat_map(|time| (0..LEVELS).map(move |level| moment(time, level))).collect()
    }

    /// Returns the levels of the mean field at each snapshot, where it is the limit of many servers.
    pub(super) fn mean_field_at_snapshots(&self, policy: &Policy) -> Option<Vec<Vec<f64>>> {
        if self.snapshots == 0 || !self.has_mean_field() {
            return None;
        }
        let start = vec![1.0; self.start as usize];
        let service = self.service.mean() / self.speeds.first()?;
        let d = choices(policy)?;
        transient_mean_field(d, self.offered(), &start, service, &self.snapshot_times())
    }

    /// Returns whether the mean field is the limit of many such servers.
    pub(super) fn has_mean_field(&self) -> bool {
        let exponential = |times: &Distribution| matches!(times, Distribution::Exponential { .. });
        matches!(&self.interarrival, Arrivals::Renewal(times) if exponential(times))
            && exponential(&self.service)
            && self.batch.is_none()
            && !self.fails()
            && self.speeds.iter().all(|speed| *speed == self.speeds[0])
            && self.channels == 1
            && self.capacity.is_none()
    }
}

/// Returns the number of servers of which the one with the fewest jobs gets a job, where a policy
/// does just that.
pub(super) fn choices(policy: &Policy) -> Option<u32> {
    match policy {
        Policy::Random(_) | Policy::Sq(Sq { d: 1, memory: 0, .. }) => Some(1),
        // Servers are equal, so that by delay is by jobs, and it makes no difference which of those
        // with equally many jobs is taken.
        Policy::Sq(Sq { d, memory: 0, beta: 1.0, rank, .. })
            if matches!(rank.load, Load::InSystem | Load::Delay) =>
        {
            Some(*d)
        }
        _ => None,
    }
}

/// The snapshots of a replication.
pub(super) struct Snapshots {
    times: Vec<f64>,
    /// Time of the next one.
    next: f64,
    /// Of each that was taken the shares of servers with at least 1, 2, … jobs.
    taken: Vec<f64>,
}

impl Snapshots {
    pub(super) fn new(times: Vec<f64>) -> Snapshots {
        let next = times.first().copied().unwrap_or(f64::INFINITY);
        Snapshots { taken: Vec::with_capacity(times.len() * LEVELS), times, next }
    }

    /// Returns the time of the next one, infinite after the last.
    pub(super) fn next(&self) -> f64 {
        self.next
    }

    /// Takes those that are due at a time, to which nothing has happened yet but departures.
    pub(super) fn take(
        &mut self,
        now: f64,
        servers: &mut impl Servers,
        leave: &mut impl FnMut(f64, f64),
    ) {
        while self.next <= now {
            self.take_one(servers, leave);
        }
    }

    fn take_one(&mut self, servers: &mut impl Servers, leave: &mut impl FnMut(f64, f64)) {
        servers.look(self.next, leave);
        let (count, mut with) = (servers.count(), [0_u32; LEVELS + 1]);
        for server in 0..count {
            with[LEVELS.min(servers.jobs_at(server, self.next) as usize)] += 1;
        }
        let mut fewer = 0;
        let shares = with[..LEVELS].iter().map(|&with| {
            fewer += with;
            (count - fewer as usize) as f64 / count as f64
        });
        self.taken.extend(shares);
        let next = self.times.get(self.taken.len() / LEVELS);
        self.next = next.copied().unwrap_or(f64::INFINITY);
    }

    /// Returns rows with the snapshots at their ends.
    pub(super) fn beside(&self, mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        rows.iter_mut().for_each(|row| row.extend(&self.taken));
        rows
    }
}
