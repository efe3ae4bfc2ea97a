//! The kernel of the supermarket: one replication, arrival by arrival.
//!
//! A replication is counted in periods: what comes before the first is the warm-up, and each
//! period gives a row. A period's end resets the counts and leaves the system as it has become.
//! Times of jobs are those of the jobs that arrive in the period, whenever they leave.

use hdrhistogram::Histogram;

use super::transient::Snapshots;
use super::{LEVELS, Length, QUANTILES, Supermarket};
use crate::model::Warmup;
use crate::policy::{Load, Loads, Outcome, Policy, Rank, Router, Tie, scan_idle, with_router};
use crate::rng::{Draw, Exponential, Invalid, Pcg32, Role, Sampler, StreamKey, below};
use crate::sim::{Failure, Occupancy, Queues, Service, audit};
use crate::stats::warmup::{BATCH, mser};

/// Most servers that are looked at one by one for the shortest queue.
const FEW: usize = 16;

/// A scenario of the supermarket, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    model: Supermarket,
    interarrival: Sampler,
    service: Sampler,
    /// By what times between arrivals are stretched.
    stretch: f64,
}

/// Where a period begins or ends: after so many arrivals, or at this time, whatever comes first.
#[derive(Clone, Copy, Debug)]
struct Edge {
    time: f64,
    arrivals: u64,
}

impl Supermarket {
    /// Returns the scenario with its distributions compiled.
    ///
    /// # Errors
    /// [`Invalid`] names the parameter that a distribution can't have.
    pub fn compile(&self) -> Result<Compiled, Invalid> {
        let interarrival = self.interarrival.sampler()?;
        let service = self.service.sampler()?;
        let stretch = self.mean_interarrival() / self.interarrival.mean();
        Ok(Compiled { interarrival, service, stretch, model: self.clone() })
    }

    /// Returns the queues, in order if it pays for the policy.
    fn queues(&self, ordered: bool) -> Queues {
        let capacity = self.capacity.unwrap_or(u32::MAX);
        let queues = Queues::new(self.speeds.iter().copied(), self.channels, capacity);
        if ordered && self.speeds.len() > FEW { queues.ordered() } else { queues }
    }
}

impl Loads for Queues {
    fn servers(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn load(&mut self, server: usize, load: Load) -> f64 {
        match load {
            Load::InSystem => f64::from(self.jobs(server)),
            Load::Waiting => f64::from(self.waiting(server)),
            Load::Work => self.work(server),
            Load::Delay => f64::from(self.jobs(server) + 1) / Queues::speed(self, server),
        }
    }

    #[inline]
    fn is_full(&mut self, server: usize) -> bool {
        Queues::is_full(self, server)
    }

    fn speed(&self, server: usize) -> f64 {
        Queues::speed(self, server)
    }

    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        let lists = match rank.load {
            Load::InSystem => self.shortest(false),
            Load::Waiting => self.shortest(true),
            Load::Work | Load::Delay => None,
        };
        // Where the shortest are full all are, so whether they may be chosen makes no difference.
        let Some(lists) = lists else { return self.best(0..self.len(), rank, routing) };
        let all = || lists.iter().flatten().map(|&server| server as usize);
        let speed = |server: usize| Queues::speed(self, server);
        let chosen = match rank.tie {
            Tie::Random => {
                let count = lists.iter().map(Vec::len).sum::<usize>() as u32;
                all().nth(below(routing, count) as usize)
            }
            Tie::First => all().min(),
            Tie::Fastest => all().min_by(|&a, &b| speed(b).total_cmp(&speed(a)).then(a.cmp(&b))),
        };
        chosen.unwrap_or(0)
    }

    fn idle(&mut self, routing: &mut Pcg32) -> Option<usize> {
        let Some(idle) = Queues::idle(self) else { return scan_idle(self, routing) };
        match idle.len() {
            0 => None,
            count => Some(idle[below(routing, count as u32) as usize] as usize),
        }
    }
}

impl Compiled {
    /// Simulates one replication, cut after the warm-up into `periods` ≥ 1 equal parts, and returns
    /// a row for each.
    pub(in crate::model) fn replicate(
        &self,
        policy: &Policy,
        streams: &StreamKey,
        periods: u32,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let end = match self.model.length {
            Length::Time(time) => Edge { time, arrivals: u64::MAX },
            Length::Arrivals(arrivals) => Edge { time: f64::INFINITY, arrivals },
        };
        let start = match self.model.warmup {
            Warmup::Time(time) => Edge { time, arrivals: u64::MAX },
            Warmup::Arrivals(arrivals) => Edge { time: f64::INFINITY, arrivals },
            Warmup::Auto => {
                // Jobs in all servers, as arrivals find them.
                let mut jobs = Vec::new();
                let note = |queues: &mut Queues| {
                    jobs.push((0..queues.len()).map(|k| f64::from(queues.jobs(k))).sum());
                };
                self.run(policy, streams, &[Edge { time: 0.0, arrivals: 0 }, end], note)?;
                let cut = mser(&jobs, BATCH).map_or(0, |cut| cut.dropped);
                Edge { time: f64::INFINITY, arrivals: cut as u64 }
            }
        };
        let parts = (1..=periods).map(|period| f64::from(period) / f64::from(periods));
        let mut edges = vec![start];
        match self.model.length {
            Length::Time(horizon) => {
                let from = match self.model.warmup {
                    Warmup::Time(time) => time,
                    _ => self.time_of_arrival(start.arrivals, streams),
                };
                if from >= horizon {
                    return Err(Failure::Warmup { start: from, horizon });
                }
                let edge = |part| Edge { time: from + (horizon - from) * part, ..end };
                edges.extend(parts.map(edge));
            }
            Length::Arrivals(all) => {
                let from = match self.model.warmup {
                    Warmup::Time(time) => self.arrivals_until(time, streams),
                    _ => start.arrivals,
                };
                let left = all.saturating_sub(from);
                if left < u64::from(periods) {
                    return Err(Failure::TooFewArrivals { left, periods });
                }
                let edge = |part| Edge { arrivals: from + (left as f64 * part) as u64, ..end };
                edges.extend(parts.map(edge));
            }
        }
        self.run(policy, streams, &edges, |_| {})
    }

    /// Returns the time of the `n`th arrival of a replication, or 0 for n = 0.
    fn time_of_arrival(&self, n: u64, streams: &StreamKey) -> f64 {
        let mut stream = streams.stream(Role::Arrivals);
        (0..n).fold(0.0, |time, _| time + self.interarrival.sample(&mut stream) * self.stretch)
    }

    /// Returns the number of arrivals of a replication up to a time.
    fn arrivals_until(&self, end: f64, streams: &StreamKey) -> u64 {
        let mut stream = streams.stream(Role::Arrivals);
        let (mut time, mut arrivals) = (0.0, 0);
        while arrivals <= self.model.max_arrivals {
            time += self.interarrival.sample(&mut stream) * self.stretch;
            if time > end {
                break;
            }
            arrivals += 1;
        }
        arrivals
    }

    fn run(
        &self,
        policy: &Policy,
        streams: &StreamKey,
        edges: &[Edge],
        note: impl FnMut(&mut Queues),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let capacity = self.model.capacity.unwrap_or(u32::MAX);
        let capacities = vec![capacity; self.model.speeds.len()];
        with_router!(policy, &capacities, router => self.route(router, streams, edges, note))
    }

    fn route(
        &self,
        router: impl Router<Queues>,
        streams: &StreamKey,
        edges: &[Edge],
        note: impl FnMut(&mut Queues),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        // The systems of the literature draw both times by logarithms; compiled for that alone, the
        // kernel has no branch on the kind of distribution.
        match (&self.interarrival, &self.service) {
            (&Sampler::Exponential { mean: gap }, &Sampler::Exponential { mean: size }) => {
                let draws = (&Exponential { mean: gap }, &Exponential { mean: size });
                self.simulate(draws, router, streams, edges, note)
            }
            draws => self.simulate(draws, router, streams, edges, note),
        }
    }

    /// Simulates up to the last of the rising `edges`, and returns a row for each period between
    /// two; shows `note` the queues at each arrival, before it is routed.
    fn simulate<D: Draw, R: Router<Queues>>(
        &self,
        (interarrival, service): (&D, &D),
        mut router: R,
        streams: &StreamKey,
        edges: &[Edge],
        mut note: impl FnMut(&mut Queues),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let mut arrivals_stream = streams.stream(Role::Arrivals);
        let mut service_stream = streams.stream(Role::Service);
        let mut routing_stream = streams.stream(Role::Routing);
        let mut queues = self.model.queues(router.looks_at_all());
        for server in 0..queues.len() {
            for _ in 0..self.model.start {
                queues.accept(server, service.draw(&mut service_stream));
            }
        }
        let mut snapshots = Snapshots::new(self.model.snapshot_times());
        let mut rows = Vec::with_capacity(edges.len() - 1);
        let mut counts = Counts::new(self.model.service.mean())?;
        let mut passed = 0;
        let mut edge = edges[0];
        let (mut start, mut before, mut now) = (0.0, 0.0, 0.0);
        // Arrivals in all.
        let mut arrivals = 0_u64;
        loop {
            let gap = interarrival.draw(&mut arrivals_stream) * self.stretch;
            // NaN fails too.
            audit(gap >= 0.0, || format!("the clock went from {now} by {gap}"))?;
            before = if arrivals == 0 { before } else { now };
            now += gap;
            while now > edge.time || arrivals >= edge.arrivals {
                // A period that ends by arrivals ends with the last of them.
                let end = if now > edge.time { edge.time } else { before };
                snapshots.take(end, &queues);
                if passed > 0 {
                    let occupancy = queues.occupancy(start, end)?;
                    rows.push(self.row(&counts, &occupancy, &router, start)?);
                }
                queues.restart(end);
                router.restart();
                counts.restart();
                start = end;
                passed += 1;
                match edges.get(passed) {
                    Some(&next) => edge = next,
                    None => return Ok(snapshots.beside(rows)),
                }
            }
            snapshots.take(now, &queues);
            if arrivals == self.model.max_arrivals {
                return Err(Failure::TooManyArrivals { cap: self.model.max_arrivals });
            }
            arrivals += 1;
            queues.advance(now);
            note(&mut queues);
            let size = service.draw(&mut service_stream);
            let server = router.route(now, &mut queues, &mut routing_stream);
            let outcome = match queues.accept(server, size) {
                Some(Service { start, end }) => {
                    counts.take(start - now, end - now);
                    Outcome::Accepted
                }
                None => {
                    counts.refused += 1;
                    Outcome::Refused
                }
            };
            router.learn(server, outcome);
        }
    }

    /// Returns a value per column for a period, after checking what must hold.
    fn row(
        &self,
        counts: &Counts,
        occupancy: &Occupancy,
        router: &impl Router<Queues>,
        start: f64,
    ) -> Result<Vec<f64>, Failure> {
        let &Counts { accepted, refused, .. } = counts;
        let taken: u64 = occupancy.accepted.iter().sum();
        audit(taken == accepted, || format!("servers took {taken} jobs in, not {accepted}"))?;
        let arrivals = (accepted + refused) as f64;
        let servers = occupancy.utilisation.len() as f64;
        let mean = occupancy.utilisation.iter().sum::<f64>() / servers;
        let squares = occupancy.utilisation.iter().map(|own| (own - mean).powi(2));
        let spread = (squares.sum::<f64>() / servers).sqrt();
        let levels = occupancy.levels.iter().enumerate();
        let jobs: f64 = levels.map(|(jobs, share)| jobs as f64 * share).sum();
        let (sojourn, sojourn_sd) = moments(counts.sojourns, accepted);
        let (waiting, waiting_sd) = moments(counts.waits, accepted);
        let refusals = 100.0 * refused as f64 / arrivals;
        let mut row = vec![arrivals, sojourn, sojourn_sd, waiting, waiting_sd, refusals];
        row.extend(QUANTILES.iter().map(|&share| counts.quantile(share)));
        row.push(jobs);
        row.extend((1..=LEVELS).map(|level| occupancy.levels.iter().skip(level).sum::<f64>()));
        row.extend([mean, spread, router.messages() as f64 / arrivals, start]);
        Ok(row)
    }
}

/// Counts of a period.
struct Counts {
    accepted: u64,
    refused: u64,
    /// Sum and sum of squares.
    sojourns: (f64, f64),
    waits: (f64, f64),
    /// Sojourn times in units of a part of the mean service time.
    histogram: Histogram<u64>,
    units: f64,
}

/// Units of the histogram in a mean service time.
const UNITS: f64 = 1024.0;
/// Greatest value in it: a million mean service times.
const MAX_UNITS: u64 = 1 << 30;
/// Digits of its values: bins are at most 1/128 of their values wide.
const DIGITS: u8 = 2;

impl Counts {
    fn new(service: f64) -> Result<Counts, Failure> {
        let histogram = Histogram::new_with_bounds(1, MAX_UNITS, DIGITS)
            .map_err(|error| Failure::Audit(error.to_string()))?;
        let (sojourns, waits) = Default::default();
        let units = UNITS / service;
        Ok(Counts { accepted: 0, refused: 0, sojourns, waits, histogram, units })
    }

    fn restart(&mut self) {
        (self.accepted, self.refused) = (0, 0);
        (self.sojourns, self.waits) = Default::default();
        self.histogram.reset();
    }

    /// Returns the time that so much of the jobs' sojourn times are at most, to half a bin.
    fn quantile(&self, share: f64) -> f64 {
        if self.accepted == 0 {
            return f64::NAN;
        }
        let value = self.histogram.value_at_quantile(share);
        let low = self.histogram.lowest_equivalent(value);
        (low as f64 + value as f64 + 1.0) / 2.0 / self.units
    }

    #[inline(always)]
    fn take(&mut self, wait: f64, sojourn: f64) {
        self.accepted += 1;
        self.histogram.saturating_record((sojourn * self.units) as u64);
        self.sojourns.0 += sojourn;
        self.sojourns.1 += sojourn * sojourn;
        self.waits.0 += wait;
        self.waits.1 += wait * wait;
    }
}

/// Returns mean and standard deviation from sum and sum of squares.
fn moments((sum, squares): (f64, f64), count: u64) -> (f64, f64) {
    let n = count as f64;
    let mean = sum / n;
    (mean, ((squares / n - mean * mean).max(0.0) * n / (n - 1.0)).sqrt())
}
