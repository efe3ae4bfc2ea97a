//! What theory says of a supermarket, where it says something.

use super::transient::choices;
use super::{Arrivals, LEVELS, Length, QUANTILES, SYSTEM, Supermarket};
use crate::model::values::Values;
use crate::model::{Shape, Warmup};
use crate::policy::{BelowThreshold, IdleQueues, Load, Policy, Rank, Report, Sq, Tie};
use crate::rng::Distribution;
use crate::sim::Discipline;
use crate::theory::{
    Choice, ekm1_sojourn, few_servers, jiq_corrected, mean_field, mg1_wait, mmck,
    refined_mean_field, stable_load,
};

/// What theory covers, and under which assumptions; the values are those of the long run, which a
/// replication that starts empty approaches like its warm-up over its length.
pub const THEORY: &str = "messages_per_job of sq without memory and of jsq; and, with exponential \
    interarrival times, one job at a time and no outages (under ps and lifo numbers of jobs and mean times alone, \
    under ps of random and coin with any service): random (and sq of one choice) and coin (each server a queue of its own, M/M/c or M/M/c/K with \
    exponential service, mean times of M/G/1 with any other and one channel); queue_ge_at of random (and sq of one choice) with \
    exponential service, one channel, equal speeds and no capacity (M/M/1 at a time); and, with exponential \
    service and one channel too: round_robin of one dispatcher without capacity and with equal speeds (E_N/M/1); sq, \
    jsq and jiq with equal speeds, exactly for two or three servers (the Markov chain of queue \
    lengths, if it has at most 10 000 states) and else, for sq without capacity, by the mean field and its correction of order \
    1/servers, as long as that is below 3%: it is off by the order of 1/servers²; and \
    jiq with random reports to 100 dispatchers or more, in the limit of many, from which it is off by the order of \
    1/dispatchers; none elsewhere";

const QUANTILE_NAMES: [&str; QUANTILES.len()] =
    ["sojourn_p50", "sojourn_p90", "sojourn_p99", "sojourn_p999"];
/// Greatest correction of the mean field, as a share of it, with which it is given.
const SMALL: f64 = 0.03;
/// Fewest dispatchers for which the limit of many is given.
const MANY: u32 = 100;
/// Most servers for which the chain is solved.
const FEW: usize = 3;

impl Supermarket {
    /// Returns a theoretical value per column, nothing where there is none.
    pub(in crate::model) fn theory(&self, policy: &Policy) -> Vec<Option<f64>> {
        let servers = self.speeds.len();
        let mut values = Values::new(&SYSTEM, Shape { servers, snapshots: self.snapshots });
        match policy {
            // A job may have to be sent again.
            _ if self.fails() => {}
            Policy::Sq(Sq { d, memory: 0, beta, .. }) => {
                values.set("messages_per_job", 0, 2.0 * f64::from(*d) * beta);
            }
            Policy::Least(_) => values.set("messages_per_job", 0, 2.0 * servers as f64),
            _ => {}
        }
        if let (Warmup::Arrivals(from), Length::Arrivals(to)) = (self.warmup, self.length) {
            values.set("arrivals", 0, to as f64 - from as f64);
        }
        let is_poisson =
            matches!(self.interarrival, Arrivals::Renewal(Distribution::Exponential { .. }));
        if is_poisson && self.batch.is_none() {
            let rate = 1.0 / self.mean_interarrival();
            if let (Warmup::Time(from), Length::Time(to)) = (self.warmup, self.length) {
                values.set("arrivals", 0, (to - from) * rate);
                values.set("counted_from", 0, from);
            }
            if !self.fails() {
                self.long_run(policy, rate, &mut values);
                self.under_discipline(&mut values);
                self.on_the_way(policy, &mut values);
            }
        }
        values.columns()
    }

    /// Returns a value per column in the limit of many servers, nothing where there is none.
    pub(in crate::model) fn mean_field(&self, policy: &Policy) -> Vec<Option<f64>> {
        let shape = Shape { servers: self.speeds.len(), snapshots: self.snapshots };
        let mut values = Values::new(&SYSTEM, shape);
        _ = self.in_the_limit(policy, &mut values);
        self.under_discipline(&mut values);
        values.columns()
    }

    fn in_the_limit(&self, policy: &Policy, values: &mut Values) -> Option<()> {
        if !self.has_mean_field() {
            return None;
        }
        let load = self.offered();
        let levels = mean_field(load, choices(policy)?)?;
        let mut shown = [0.0; LEVELS];
        shown.iter_mut().zip(&levels).for_each(|(shown, level)| *shown = *level);
        let rate = 1.0 / self.mean_interarrival();
        self.set_jobs(values, (levels.iter().sum(), &shown, 0.0, load), rate);
        Some(())
    }

    /// Sets what holds in the long run under Poisson arrivals of a rate.
    fn long_run(&self, policy: &Policy, rate: f64, values: &mut Values) {
        let servers = self.speeds.len();
        let equal = self.speeds.iter().all(|&speed| speed == self.speeds[0]);
        let exponential = matches!(self.service, Distribution::Exponential { .. });
        let shares = match policy {
            Policy::Random(_) | Policy::Sq(Sq { d: 1, memory: 0, .. }) => {
                Some(vec![1.0 / servers as f64; servers])
            }
            Policy::Coin(coin) => Some(coin.probabilities.clone()),
            _ => None,
        };
        if let Some(shares) = shares {
            // Under processor sharing numbers of jobs depend on the mean of their sizes alone
            // (L. Kleinrock 1976, sec. 4.4; F. P. Kelly 1979, sec. 3.3).
            if self.capacity.is_none() {
                for (server, share) in shares.iter().enumerate() {
                    values.set("server_share_pct", server, 100.0 * share);
                }
            }
            match exponential || self.discipline == Discipline::Ps {
                true => self.split_exponential(&shares, rate, values),
                false => self.split_general(&shares, rate, values),
            };
        } else if exponential && equal && self.channels == 1 {
            match policy {
                Policy::Alternate(_) if self.dispatchers > 1 => None,
                Policy::Alternate(_) if self.capacity.is_none() => self.in_turns(rate, values),
                _ => self.exchangeable(policy, rate, values),
            };
        }
    }

    /// Sets what holds at the snapshots. Under one choice servers are queues of their own, so that
    /// the mean field is exact; else it is off by the order of 1/servers, and has no place here.
    fn on_the_way(&self, policy: &Policy, values: &mut Values) -> Option<()> {
        let exact = choices(policy)? == 1;
        let states = exact.then(|| self.mean_field_at_snapshots(policy))??;
        for (at, levels) in states.iter().enumerate() {
            for level in 0..LEVELS {
                let share = levels.get(level).copied().unwrap_or(0.0);
                values.set("queue_ge_at", at * LEVELS + level, share);
            }
        }
        Some(())
    }

    /// Takes back what was set for jobs served first come, first served, and doesn't hold for others.
    ///
    /// Numbers of jobs, and so mean times, are the same where sizes aren't looked at and service is
    /// exponential, or where none is interrupted.
    fn under_discipline(&self, values: &mut Values) {
        if self.discipline == Discipline::Fcfs {
            return;
        }
        for name in ["sojourn_sd", "waiting_sd"].into_iter().chain(QUANTILE_NAMES) {
            values.unset(name);
        }
        if self.discipline == Discipline::Ps {
            values.set("waiting_time", 0, 0.0);
            values.set("waiting_sd", 0, 0.0);
        }
    }

    /// Each server gets a share of a Poisson stream, and serves exponential times, or any under
    /// processor sharing.
    fn split_exponential(&self, shares: &[f64], rate: f64, values: &mut Values) -> Option<()> {
        let size = self.service.mean();
        let servers = shares.len() as f64;
        let (mut jobs, mut refused, mut busy) = (0.0, 0.0, 0.0);
        let mut levels = [0.0; LEVELS];
        for (&speed, &share) in self.speeds.iter().zip(shares) {
            let offered = rate * share * size / speed;
            let queue = mmck(offered, self.channels, self.capacity, LEVELS)?;
            jobs += queue.jobs / servers;
            refused += share * queue.refused;
            busy += offered * (1.0 - queue.refused) / f64::from(self.channels) / servers;
            levels.iter_mut().zip(&queue.levels).for_each(|(sum, level)| *sum += level / servers);
        }
        self.set_jobs(values, (jobs, &levels, refused, busy), rate);
        let [speed, others @ ..] = &*self.speeds else { return None };
        let alike = others.iter().all(|other| other == speed)
            && shares.iter().all(|share| *share == shares[0]);
        if alike && self.channels == 1 && self.capacity.is_none() {
            // Sojourn times are exponential, and waiting times so but for those that are 0.
            let sojourn = size / speed / (1.0 - busy);
            self.exponential_sojourn(sojourn, values);
            values.set("waiting_sd", 0, sojourn * (busy * (2.0 - busy)).sqrt());
        }
        Some(())
    }

    /// Each server gets a share of a Poisson stream, and serves any times with a single channel.
    fn split_general(&self, shares: &[f64], rate: f64, values: &mut Values) -> Option<()> {
        if self.channels != 1 || self.capacity.is_some() {
            return None;
        }
        let (mean, variance) = (self.service.mean(), self.service.variance());
        let servers = shares.len() as f64;
        let (mut wait, mut service, mut busy) = (0.0, 0.0, 0.0);
        for (&speed, &share) in self.speeds.iter().zip(shares) {
            let (mean, second) = (mean / speed, (variance + mean * mean) / (speed * speed));
            wait += share * mg1_wait(rate * share, mean, second)?;
            service += share * mean;
            busy += stable_load(rate * share * mean, 1.0)? / servers;
        }
        values.set("waiting_time", 0, wait);
        values.set("sojourn_time", 0, wait + service);
        values.set("jobs_per_server", 0, rate * (wait + service) / servers);
        values.set("queue_ge", 0, busy);
        values.set("utilisation", 0, busy);
        values.set("refusals_pct", 0, 0.0);
        Some(())
    }

    /// Every server gets each N-th job: E_N/M/1 (L. Kleinrock 1975, ch. 6), where an arrival finds n
    /// jobs with (1 − σ)σⁿ.
    fn in_turns(&self, rate: f64, values: &mut Values) -> Option<()> {
        let servers = self.speeds.len();
        let (rate, service) = (rate / servers as f64, self.service.mean() / self.speeds[0]);
        let sojourn = ekm1_sojourn(servers as u32, rate, 1.0 / service)?;
        let (busy, sigma) = (rate * service, 1.0 - service / sojourn);
        values.set("sojourn_time", 0, sojourn);
        self.exponential_sojourn(sojourn, values);
        values.set("waiting_time", 0, sojourn - service);
        values.set("waiting_sd", 0, sojourn * (sigma * (2.0 - sigma)).sqrt());
        values.set("refusals_pct", 0, 0.0);
        values.set("jobs_per_server", 0, rate * sojourn);
        values.set("utilisation", 0, busy);
        for level in 0..LEVELS {
            values.set("queue_ge", level, busy * sigma.powi(level as i32));
        }
        Some(())
    }

    /// Sojourn times are exponential.
    fn exponential_sojourn(&self, mean: f64, values: &mut Values) {
        values.set("sojourn_sd", 0, mean);
        for (name, share) in QUANTILE_NAMES.into_iter().zip(QUANTILES) {
            values.set(name, 0, -mean * libm::log1p(-share));
        }
    }

    /// Servers that are equal, and are chosen by their queues alone.
    fn exchangeable(&self, policy: &Policy, rate: f64, values: &mut Values) -> Option<()> {
        let servers = self.speeds.len();
        let least = |d: u32, replace: bool, rank: Rank| match (rank.load, rank.tie) {
            (Load::Waiting, _) if self.discipline == Discipline::Ps => None,
            // Where nobody can wait a full server and an idle one are told apart only by that.
            (Load::Waiting, _) if !rank.full && self.capacity == Some(1) => {
                Some(Choice::Least { d, replace, waiting: false })
            }
            (Load::InSystem | Load::Delay, _) => Some(Choice::Least { d, replace, waiting: false }),
            // An idle server and one with a single job are equal, but not in what becomes of them.
            (Load::Waiting, Tie::Random) => Some(Choice::Least { d, replace, waiting: true }),
            _ => None,
        };
        let choice = match policy {
            Policy::Sq(Sq { d, replace, memory: 0, beta: 1.0, rank }) => {
                least(*d, *replace, *rank)?
            }
            Policy::Least(policy) => least(servers as u32, false, policy.rank)?,
            Policy::BelowThreshold(BelowThreshold { threshold: 1 }) => Choice::Idle,
            Policy::IdleQueues(policy) => return self.reports(policy, rate, values),
            _ => return None,
        };
        let load = rate * self.service.mean() / self.speeds[0] / servers as f64;
        if self.capacity.is_none() {
            stable_load(load, 1.0)?;
        }
        let exact = match servers <= FEW {
            true => few_servers(load, choice, servers as u32, self.capacity).ok(),
            false => None,
        };
        let Some(levels) = exact else { return self.many(choice, load, rate, values) };
        let busy = levels.first().copied().unwrap_or(0.0);
        // What servers do is what comes and is not refused.
        let refused = if self.capacity.is_some() { 1.0 - busy / load } else { 0.0 };
        let mut shown = [0.0; LEVELS];
        shown.iter_mut().zip(&levels).for_each(|(shown, level)| *shown = *level);
        self.set_jobs(values, (levels.iter().sum(), &shown, refused, busy), rate);
        Some(())
    }

    /// Idle servers that report to one of many dispatchers at random.
    fn reports(&self, policy: &IdleQueues, rate: f64, values: &mut Values) -> Option<()> {
        let (servers, dispatchers) = (self.speeds.len() as f64, f64::from(self.dispatchers));
        let possible = policy.report == Report::Random && self.capacity.is_none();
        if !possible || self.dispatchers < MANY {
            return None;
        }
        let service = self.service.mean() / self.speeds[0];
        let load = rate * service / servers;
        let sojourn = jiq_corrected(load, servers / dispatchers)?.sojourn * service;
        values.set("sojourn_time", 0, sojourn);
        values.set("waiting_time", 0, sojourn - service);
        values.set("jobs_per_server", 0, rate * sojourn / servers);
        values.set("utilisation", 0, load);
        values.set("refusals_pct", 0, 0.0);
        Some(())
    }

    /// Many equal servers under d choices: the mean field, corrected.
    fn many(&self, choice: Choice, load: f64, rate: f64, values: &mut Values) -> Option<()> {
        let Choice::Least { d, replace, waiting: false } = choice else { return None };
        let servers = self.speeds.len() as u32;
        if self.capacity.is_some() || d >= servers {
            return None;
        }
        let point = mean_field(load, d)?;
        let levels = refined_mean_field(load, d, replace, servers)?;
        let is_small = |refined: f64, point: f64| (refined - point).abs() <= SMALL * point;
        let jobs: f64 = levels.iter().sum();
        if is_small(jobs, point.iter().sum()) {
            let sojourn = jobs * f64::from(servers) / rate;
            values.set("sojourn_time", 0, sojourn);
            values.set("waiting_time", 0, sojourn - self.service.mean() / self.speeds[0]);
            values.set("jobs_per_server", 0, jobs);
        }
        for (at, (&refined, &point)) in levels.iter().zip(&point).take(LEVELS).enumerate() {
            if is_small(refined, point) {
                values.set("queue_ge", at, refined);
            }
        }
        values.set("utilisation", 0, load);
        values.set("refusals_pct", 0, 0.0);
        Some(())
    }

    /// Sets the values that follow from jobs a server, levels, the fraction refused, and utilisation.
    fn set_jobs(
        &self,
        values: &mut Values,
        (jobs, levels, refused, busy): (f64, &[f64; LEVELS], f64, f64),
        rate: f64,
    ) {
        let servers = self.speeds.len() as f64;
        // Little's law.
        let taken = rate * (1.0 - refused);
        values.set("sojourn_time", 0, jobs * servers / taken);
        let in_service = busy * servers * f64::from(self.channels);
        let waiting = jobs * servers - in_service;
        let is_rounding = waiting < 1e-12 * in_service;
        values.set("waiting_time", 0, if is_rounding { 0.0 } else { waiting / taken });
        values.set("refusals_pct", 0, 100.0 * refused);
        values.set("jobs_per_server", 0, jobs);
        values.set("utilisation", 0, busy);
        levels.iter().enumerate().for_each(|(at, &level)| values.set("queue_ge", at, level));
    }
}
