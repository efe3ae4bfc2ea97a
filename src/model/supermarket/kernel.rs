//! The kernel of the supermarket: one replication, arrival by arrival.
//!
//! A replication is counted in periods: what comes before the first is the warm-up, and each
//! period gives a row. A period's end resets the counts and leaves the system as it has become.
//! Times of jobs are those of the jobs that arrive in the period, whenever they leave.

use super::servers::Servers;
use super::traffic::{Batches, Jobs, Process, Renewal};
use super::transient::Snapshots;
use super::view::{View, any_router, needs_more};
use super::{LEVELS, Length, QUANTILES, SHOWN, Supermarket};
use crate::model::Warmup;
use crate::policy::{Outcome, Policy, Router, with_router};
use crate::rng::{Invalid, Pcg32, Role, Sampler, StreamKey};
use crate::sim::{Bins, Discipline, Failure, Occupancy, Outages, Queues, Stations, audit};
use crate::stats::warmup::{BATCH, mser};

/// Most servers that are looked at one by one for the shortest queue.
const FEW: usize = 16;

/// A scenario of the supermarket, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    model: Supermarket,
    process: Process,
    service: Sampler,
    batch: Option<Sampler>,
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
        let process = Process::new(&self.interarrival)?;
        let service = self.service.sampler()?;
        let batch = self.batch.as_ref().map(|batch| batch.sampler()).transpose()?;
        let stretch = self.mean_interarrival() / self.own_interarrival();
        Ok(Compiled { process, service, batch, stretch, model: self.clone() })
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
            // All that comes is counted, at 0 too.
            Warmup::Time(0.0) => Edge { time: 0.0, arrivals: 0 },
            Warmup::Time(time) => Edge { time, arrivals: u64::MAX },
            Warmup::Arrivals(arrivals) => Edge { time: f64::INFINITY, arrivals },
            Warmup::Auto => {
                // Jobs in all servers, as arrivals find them.
                let mut jobs = Vec::new();
                let mut note = |all: u64| jobs.push(all as f64);
                let edges = [Edge { time: 0.0, arrivals: 0 }, end];
                self.run(policy, streams, &edges, Some(&mut note))?;
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
                // The last is the horizon itself, and not what rounding makes of it.
                let edge = |part| match part {
                    1.0 => end,
                    part => Edge { time: from + (horizon - from) * part, ..end },
                };
                edges.extend(parts.map(edge));
            }
            Length::Arrivals(all) => {
                let from = match self.model.warmup {
                    Warmup::Time(time) if time > 0.0 => self.arrivals_until(time, streams),
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
        self.run(policy, streams, &edges, None)
    }

    /// Returns a replication's jobs.
    fn jobs(&self, streams: &StreamKey) -> Batches<'_> {
        Batches::new((&self.process, &self.service, self.batch.as_ref()), self.stretch, streams)
    }

    /// Returns the time of the `n`th arrival of a replication, or 0 for n = 0.
    fn time_of_arrival(&self, n: u64, streams: &StreamKey) -> f64 {
        let mut jobs = self.jobs(streams);
        (0..n).fold(0.0, |now, _| jobs.next(now))
    }

    /// Returns the number of arrivals of a replication up to a time.
    fn arrivals_until(&self, end: f64, streams: &StreamKey) -> u64 {
        let mut jobs = self.jobs(streams);
        let (mut time, mut arrivals) = (0.0, 0);
        while arrivals <= self.model.max_arrivals {
            time = jobs.next(time);
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
        note: Option<&mut dyn FnMut(u64)>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let model = &self.model;
        let count = model.speeds.len();
        let (speeds, capacity) = (model.speeds.iter().copied(), model.capacity.unwrap_or(u32::MAX));
        let (capacities, dispatchers) = (vec![capacity; count], model.dispatchers as usize);
        let outages = Outages::new(
            count,
            &model.outages,
            model.breakdowns.clone().map(|breakdowns| (breakdowns, streams.stream(Role::Outages))),
        );
        let times = (streams, edges);
        let unmade = |why: &str| Failure::Audit(why.to_owned());
        if model.discipline != Discipline::Fcfs || outages.is_some() {
            let router = any_router(policy, &capacities, dispatchers).map_err(unmade)?;
            let all = Stations::new(speeds, model.discipline, model.channels, capacity, outages);
            let all = if router.takes_reports() { all.reporting() } else { all };
            let is_ordered = router.looks_at_all() && count > FEW;
            let all = if is_ordered { all.ordered() } else { all };
            return self.simulate(self.jobs(streams), all, router, times, note);
        }
        let all = Queues::new(speeds, model.channels, capacity);
        let queues = |(at_all, reports): (bool, bool)| match at_all && count > FEW {
            _ if reports => all.reporting(),
            true => all.ordered(),
            false => all,
        };
        match (&self.process, &self.batch) {
            (Process::Renewal(interarrival), None) if dispatchers == 1 && !needs_more(policy) => {
                let jobs = Renewal::new(interarrival, &self.service, self.stretch, streams);
                with_router!(
                    policy, &capacities,
                    router => {
                        let all = queues(asks::<View<Queues>>(&router));
                        self.simulate(jobs, all, router, times, note)
                    },
                    else Err(unmade("no router is made of the policy"))
                )
            }
            _ => {
                let router = any_router(policy, &capacities, dispatchers).map_err(unmade)?;
                let all = queues((router.looks_at_all(), router.takes_reports()));
                self.simulate(self.jobs(streams), all, router, times, note)
            }
        }
    }

    /// Simulates up to the last of the rising `edges`, and returns a row for each period between
    /// two; tells `note` the jobs in all servers that each arrival finds.
    fn simulate<J: Jobs, S: Servers, R: for<'s> Router<View<'s, S>>>(
        &self,
        mut jobs: J,
        mut servers: S,
        mut router: R,
        (streams, edges): (&StreamKey, &[Edge]),
        mut note: Option<&mut dyn FnMut(u64)>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let mut routing_stream = streams.stream(Role::Routing);
        for server in 0..servers.count() {
            for _ in 0..self.model.start {
                servers.place(server, jobs.size());
            }
        }
        let mut counts = Counts::new(self.model.service.mean());
        let mut halts = Halts::new(self, edges);
        let mut now = 0.0;
        // Arrivals in all.
        let mut arrivals = 0_u64;
        loop {
            let before = now;
            now = jobs.next(before);
            // NaN fails too.
            audit(now >= before, || format!("the clock went from {before} to {now}"))?;
            let look = router.looks_before(now, &mut routing_stream);
            if now >= halts.due || arrivals >= halts.limit || look.is_some() {
                let at = (before, now, arrivals);
                if halts.pass(self, at, look, &mut servers, &mut router, &mut counts)? {
                    return Ok(halts.snapshots.beside(halts.rows));
                }
            }
            arrivals += 1;
            let leave = &mut |wait, sojourn| counts.take(wait, sojourn);
            servers.advance(now, leave);
            if let Some(note) = &mut note {
                note(servers.all_jobs());
            }
            let size = jobs.size();
            let mut view = View { servers: &mut servers, size };
            let mut server = router.route(now, &mut view, &mut routing_stream);
            if view.servers.is_down(server) {
                server = send_again(server, now, view, &mut router, &mut routing_stream);
            }
            let leave = &mut |wait, sojourn| counts.take(wait, sojourn);
            let outcome = match servers.accept(now, server, size, leave) {
                true => Outcome::Accepted,
                false => {
                    counts.refused += 1;
                    Outcome::Refused
                }
            };
            router.learn(server, outcome);
        }
    }

    /// Returns a value per column for a period, after checking what must hold.
    fn row<S: Servers>(
        &self,
        counts: &Counts,
        occupancy: &Occupancy,
        router: &impl for<'s> Router<View<'s, S>>,
        (start, end, came): (f64, f64, u64),
    ) -> Result<Vec<f64>, Failure> {
        let refused = counts.refused;
        let taken: u64 = occupancy.accepted.iter().sum();
        audit(taken + refused == came, || {
            format!("{came} jobs came, servers took {taken} in, and {refused} were refused")
        })?;
        let arrivals = came as f64;
        let servers = occupancy.utilisation.len() as f64;
        let mean = occupancy.utilisation.iter().sum::<f64>() / servers;
        let squares = occupancy.utilisation.iter().map(|own| (own - mean).powi(2));
        let spread = (squares.sum::<f64>() / servers).sqrt();
        let levels = occupancy.levels.iter().enumerate();
        let jobs: f64 = levels.map(|(jobs, share)| jobs as f64 * share).sum();
        let (sojourn, sojourn_sd) = moments(counts.sojourns, counts.left);
        let (waiting, waiting_sd) = moments(counts.waits, counts.left);
        let refusals = 100.0 * refused as f64 / arrivals;
        let mut row = vec![arrivals, sojourn, sojourn_sd, waiting, waiting_sd, refusals];
        row.extend(counts.quantiles()?);
        row.push(jobs);
        row.extend((1..=LEVELS).map(|level| occupancy.levels.iter().skip(level).sum::<f64>()));
        row.extend([mean, spread]);
        if occupancy.accepted.len() <= SHOWN {
            row.extend(occupancy.accepted.iter().map(|&own| 100.0 * own as f64 / arrivals));
        }
        row.extend([router.messages(end) as f64 / arrivals, start]);
        Ok(row)
    }
}

/// Returns where a job goes whose server is down: it is sent again, to where the policy says then,
/// which has been told of a refusal; in the end to the next server that is up, of which the policy is
/// told as of a redirection.
#[cold]
fn send_again<S: Servers>(
    first: usize,
    now: f64,
    view: View<S>,
    router: &mut impl for<'s> Router<View<'s, S>>,
    routing: &mut Pcg32,
) -> usize {
    let (mut server, View { servers, size }) = (first, view);
    for _ in 0..router.tries() {
        router.learn(server, Outcome::Refused);
        server = router.route(now, &mut View { servers, size }, routing);
        if !servers.is_down(server) {
            return server;
        }
    }
    let all = servers.count();
    let next = (1..all).map(|step| (server + step) % all).find(|&next| !servers.is_down(next));
    if let Some(next) = next {
        router.learn(server, Outcome::Redirected(next));
    }
    next.unwrap_or(server)
}

/// Returns whether a router looks at all servers, and whether it takes their reports.
fn asks<S>(router: &impl Router<S>) -> (bool, bool) {
    (router.looks_at_all(), router.takes_reports())
}

/// What is done between jobs: ends of periods, snapshots, looks of the router.
struct Halts<'e> {
    /// Where the next period ends, and after that.
    edges: &'e [Edge],
    /// When the period began, once the warm-up is over.
    start: Option<f64>,
    rows: Vec<Vec<f64>>,
    snapshots: Snapshots,
    /// Most arrivals of a replication.
    cap: u64,
    /// Time from which, and number of arrivals after which, something is to be done.
    due: f64,
    limit: u64,
}

impl<'e> Halts<'e> {
    fn new(of: &Compiled, edges: &'e [Edge]) -> Halts<'e> {
        let snapshots = Snapshots::new(of.model.snapshot_times());
        let (rows, cap) = (Vec::with_capacity(edges.len()), of.model.max_arrivals);
        let mut halts = Halts { edges, start: None, rows, snapshots, cap, due: 0.0, limit: 0 };
        halts.look_ahead();
        halts
    }

    fn look_ahead(&mut self) {
        let edge = self.edges.first();
        self.due = edge.map_or(f64::INFINITY, |edge| edge.time).min(self.snapshots.next());
        self.limit = edge.map_or(u64::MAX, |edge| edge.arrivals).min(self.cap);
    }

    /// Does what is due before the job that comes `now`, after so many `arrivals` of which the last
    /// was `before`; returns whether the replication is over.
    #[cold]
    #[inline(never)]
    fn pass<S: Servers>(
        &mut self,
        of: &Compiled,
        (before, now, arrivals): (f64, f64, u64),
        mut look: Option<f64>,
        servers: &mut S,
        router: &mut impl for<'s> Router<View<'s, S>>,
        counts: &mut Counts,
    ) -> Result<bool, Failure> {
        while let Some(edge) = self.edges.first()
            && (now > edge.time || arrivals >= edge.arrivals)
        {
            // A period that ends by arrivals ends with the last of them.
            let end = if now > edge.time { edge.time } else { before };
            self.look_by(end, &mut look, servers, router, counts);
            servers.advance(end, &mut |wait, sojourn| counts.take(wait, sojourn));
            if let Some(start) = self.start {
                let occupancy = servers.occupancy(start, end)?;
                let came = arrivals - counts.came_before;
                self.rows.push(of.row(counts, &occupancy, router, (start, end, came))?);
            }
            servers.restart(end);
            router.restart(end);
            counts.restart(arrivals);
            self.start = Some(end);
            self.edges = &self.edges[1..];
        }
        if self.edges.is_empty() {
            return Ok(true);
        }
        if arrivals == self.cap {
            return Err(Failure::TooManyArrivals { cap: self.cap });
        }
        self.look_by(now, &mut look, servers, router, counts);
        self.look_ahead();
        Ok(false)
    }

    /// Lets the router look, if that is due by a time, and then no more, and takes the snapshots that
    /// are due.
    fn look_by<S: Servers>(
        &mut self,
        time: f64,
        look: &mut Option<f64>,
        servers: &mut S,
        router: &mut impl for<'s> Router<View<'s, S>>,
        counts: &mut Counts,
    ) {
        let leave = &mut |wait, sojourn| counts.take(wait, sojourn);
        if let Some(at) = look.take_if(|at| *at <= time) {
            self.snapshots.take(at, servers, leave);
            servers.advance(at, leave);
            // No job comes with it.
            router.look(at, &mut View { servers, size: f64::NAN });
        }
        self.snapshots.take(time, servers, leave);
    }
}

/// Counts of a period. Pairs of sums are added to at once, and begin where no cache line ends.
#[repr(C, align(16))]
struct Counts {
    /// Sum and sum of squares.
    sojourns: (f64, f64),
    waits: (f64, f64),
    /// Jobs whose times are known.
    left: u64,
    /// Jobs that came before it.
    came_before: u64,
    refused: u64,
    /// Sojourn times in units of a part of the mean service time.
    bins: Bins,
    units: f64,
}

/// Units of the bins in a mean service time.
const UNITS: f64 = 1024.0;

impl Counts {
    fn new(service: f64) -> Counts {
        let (sojourns, waits, bins) = Default::default();
        let units = UNITS / service;
        Counts { came_before: 0, refused: 0, left: 0, sojourns, waits, bins, units }
    }

    fn restart(&mut self, came_before: u64) {
        (self.came_before, self.refused, self.left) = (came_before, 0, 0);
        (self.sojourns, self.waits) = Default::default();
        self.bins.clear();
    }

    /// Returns for each of the quantiles the time that so many of the jobs' sojourn times are at
    /// most, to half a bin.
    fn quantiles(&self) -> Result<[f64; QUANTILES.len()], Failure> {
        if self.left == 0 {
            return Ok([f64::NAN; QUANTILES.len()]);
        }
        let histogram = self.bins.histogram().map_err(|error| Failure::Audit(error.to_string()))?;
        Ok(QUANTILES.map(|share| {
            let value = histogram.value_at_quantile(share);
            let low = histogram.lowest_equivalent(value);
            (low as f64 + value as f64 + 1.0) / 2.0 / self.units
        }))
    }

    #[inline(always)]
    fn take(&mut self, wait: f64, sojourn: f64) {
        self.left += 1;
        self.bins.record(sojourn * self.units);
        self.sojourns.0 += sojourn;
        self.sojourns.1 += sojourn * sojourn;
        self.waits.0 += wait;
        self.waits.1 += wait * wait;
    }
}

/// Returns mean and standard deviation from sum and sum of squares.
fn moments((sum, squares): (f64, f64), count: u64) -> (f64, f64) {
    if count == 0 {
        return (f64::NAN, f64::NAN);
    }
    let n = count as f64;
    let mean = sum / n;
    (mean, ((squares / n - mean * mean).max(0.0) * n / (n - 1.0)).sqrt())
}
