//! The supermarket: parallel queues behind a dispatcher.
//!
//! A job joins the queue that the policy names and stays there; queues are served first come, first
//! served, by one or more channels each. Sources: N. D. Vvedenskaya, R. L. Dobrushin,
//! F. I. Karpelevich (1996) and M. Mitzenmacher (2001) for the power of two choices, Y. Lu and others
//! (2011) for join-idle-queue.
//!
//! The size of a job is drawn when it arrives, and each role has its own stream, so all policies of a
//! scenario meet the same jobs. At equal times departures come before arrivals.

use crate::rng::Distribution;
use crate::sim::{Breakdowns, Discipline, Outage};
use crate::stats::Good;

use super::{Columns, Response, System, Warmup};

mod kernel;
mod servers;
mod theory;
mod traffic;
mod transient;
mod view;

pub use kernel::Compiled;
pub use traffic::{Arrivals, Trace, is_count};

/// The supermarket among the systems.
pub const SYSTEM: System =
    System { name: "supermarket", responses: RESPONSES, theory: theory::THEORY };

/// How much of traffic a replication is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Up to this time [time units]; an arrival at that very time still counts.
    Time(f64),
    /// Up to this arrival.
    Arrivals(u64),
}

/// A scenario of the supermarket.
#[derive(Clone, Debug, PartialEq)]
pub struct Supermarket {
    /// Speed of each server's channels, by which sizes are divided [size/time].
    pub speeds: Vec<f64>,
    /// Channels of each server.
    pub channels: u32,
    /// Most jobs in each server, those in service included; none is any number.
    pub capacity: Option<u32>,
    /// Dispatchers among which jobs are split at random.
    pub dispatchers: u32,
    /// Who is served.
    pub discipline: Discipline,
    /// When servers are down, by a list and by chance.
    pub outages: Vec<Outage>,
    pub breakdowns: Option<Breakdowns>,
    /// Time between arrivals [time units].
    pub interarrival: Arrivals,
    /// Jobs that come together at each of these times, 1 or more; none is one job.
    pub batch: Option<Distribution>,
    /// What all servers together are to be loaded with, to which the times between arrivals are
    /// stretched; none leaves them as they are.
    pub load: Option<f64>,
    /// Size of a job: its service time at speed 1 [time units].
    pub service: Distribution,
    pub length: Length,
    /// Jobs in each server at time 0. Their sizes are drawn from the service stream before those of
    /// all arrivals, server by server. They aren't arrivals, and their times aren't measured.
    pub start: u32,
    /// Instants at which queues are looked at, k·horizon/n for k = 1, …, n; departures at that very
    /// time have happened then, arrivals haven't. Of a replication that ends by time.
    pub snapshots: u32,
    /// What isn't counted at the start of a replication, though it leaves the system as it is.
    pub warmup: Warmup,
    /// Arrivals after which a replication is given up as failed.
    pub max_arrivals: u64,
}

/// Shares of jobs for which there is a sojourn time that they don't exceed.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Queue lengths i for which the share of time with at least i jobs is a response.
const LEVELS: usize = 10;
/// Most servers whose own shares are responses.
const SHOWN: usize = 16;

/// Most jobs of all servers together at the start.
const MAX_START: u64 = 100_000_000;

/// What the supermarket measures, in the order of its columns.
#[rustfmt::skip]
const RESPONSES: &[Response] = &[
    Response::new("arrivals", "jobs", None, "jobs counted"),
    Response { headline: true, ..Response::new("sojourn_time", "time", Some(Good::Less), "mean time from arrival to departure of the jobs counted and taken in") },
    Response::new("sojourn_sd", "time", Some(Good::Less), "standard deviation of those times"),
    Response { headline: true, ..Response::new("waiting_time", "time", Some(Good::Less), "mean time from arrival to the start of service") },
    Response::new("waiting_sd", "time", Some(Good::Less), "standard deviation of those times"),
    Response { headline: true, ..Response::new("refusals_pct", "% of arrivals", Some(Good::Less), "jobs sent to a server without room, which are lost") },
    Response::new("sojourn_p50", "time", Some(Good::Less), "median of the times from arrival to departure, to half a percent or a thousandth of a mean service time"),
    Response::new("sojourn_p90", "time", Some(Good::Less), "what 90% of those times don't exceed, as exactly"),
    Response::new("sojourn_p99", "time", Some(Good::Less), "what 99% of those times don't exceed, as exactly"),
    Response::new("sojourn_p999", "time", Some(Good::Less), "what 99.9% of those times don't exceed, as exactly"),
    Response::new("jobs_per_server", "jobs", Some(Good::Less), "time average of the jobs in a server, over all servers"),
    Response { columns: Columns::Levels(LEVELS), ..Response::new("queue_ge", "share", Some(Good::Less), "share of time that a server has at least so many jobs, over all servers") },
    Response::new("utilisation", "share", None, "time average of the busy channels over the channels, of all servers"),
    Response::new("utilisation_sd", "share", Some(Good::Less), "standard deviation of the servers' own utilisations: the imbalance of work"),
    Response { columns: Columns::PerServer(SHOWN), ..Response::new("server_share_pct", "% of arrivals", None, "jobs that the server took in") },
    Response::new("messages_per_job", "messages", Some(Good::Less), "messages between dispatcher and servers for a job, beside the job itself: request and reply for each server looked at, or one for each report of a server that is idle, or below a threshold, or brings its line of a board up to date"),
    Response::new("counted_from", "time", None, "end of the warm-up"),
    Response { columns: Columns::Snapshots(LEVELS), ..Response::new("queue_ge_at", "share", Some(Good::Less), "share of servers with at least so many jobs at the snapshot of that number, whatever the warm-up is") },
];

impl Supermarket {
    /// Returns the canonical text of everything that bears on a replication's traffic and fate.
    ///
    /// Fields that a later version adds must be left out at their default, so that the streams of
    /// existing specs stay what they are.
    pub fn identity(&self) -> String {
        let mut text = match self.speeds.iter().all(|&speed| speed == 1.0) {
            true => format!("supermarket servers={}", self.speeds.len()),
            false => format!("supermarket speeds={:?}", self.speeds),
        };
        let (interarrival, service) = (self.interarrival.identity(), self.service.identity());
        text += &format!(" interarrival={interarrival} service={service} {:?}", self.length);
        if let Some(load) = self.load {
            text += &format!(" load={load:?}");
        }
        if self.channels != 1 {
            text += &format!(" channels={}", self.channels);
        }
        if let Some(capacity) = self.capacity {
            text += &format!(" capacity={capacity}");
        }
        if let Some(batch) = &self.batch {
            text += &format!(" batch={}", batch.identity());
        }
        if self.discipline != Discipline::Fcfs {
            text += &format!(" {:?}", self.discipline);
        }
        if !self.outages.is_empty() {
            text += &format!(" outages={:?}", self.outages);
        }
        if let Some(breakdowns) = &self.breakdowns {
            text += &format!(" {breakdowns:?}");
        }
        if self.dispatchers != 1 {
            text += &format!(" dispatchers={}", self.dispatchers);
        }
        if self.start != 0 {
            text += &format!(" start={}", self.start);
        }
        text
    }

    /// Returns the mean time between arrivals of single jobs [time units].
    pub fn mean_interarrival(&self) -> f64 {
        match self.load {
            Some(load) => self.service.mean() / (load * self.speed()),
            None => self.own_interarrival(),
        }
    }

    /// Returns when the n-th job comes, of a trace exactly and else in the mean [time units].
    fn time_of(&self, n: u64) -> f64 {
        let recorded = match &self.interarrival {
            Arrivals::Trace(trace) => {
                trace.times.get((n as usize).saturating_sub(1)).or(trace.times.last())
            }
            _ => None,
        };
        let stretch = self.mean_interarrival() / self.own_interarrival();
        recorded.map_or(n as f64 * self.mean_interarrival(), |time| time * stretch)
    }

    /// Returns what it is before it is stretched.
    fn own_interarrival(&self) -> f64 {
        self.interarrival.mean() / self.batch.as_ref().map_or(1.0, |batch| batch.mean())
    }

    /// Returns the speed of all channels together [size/time].
    fn speed(&self) -> f64 {
        self.speeds.iter().sum::<f64>() * f64::from(self.channels)
    }

    /// Returns the load of all servers together: the work that comes over what they can do.
    pub fn offered(&self) -> f64 {
        self.load.unwrap_or_else(|| self.service.mean() / (self.own_interarrival() * self.speed()))
    }

    pub fn expected_arrivals(&self) -> f64 {
        if let (Arrivals::Trace(trace), Length::Time(horizon)) = (&self.interarrival, self.length) {
            let stretch = self.mean_interarrival() / self.own_interarrival();
            return trace.times.partition_point(|time| time * stretch <= horizon) as f64;
        }
        match self.length {
            Length::Time(horizon) => horizon / self.mean_interarrival(),
            Length::Arrivals(n) => n as f64,
        }
    }

    pub fn check(&self) -> Result<(), String> {
        let expected = self.expected_arrivals();
        let (warm, of) = match (self.warmup, self.length) {
            (Warmup::Time(time), Length::Time(horizon)) => (time, horizon),
            (Warmup::Time(time), Length::Arrivals(n)) => (time, self.time_of(n)),
            (Warmup::Arrivals(n), _) => (n as f64, expected),
            (Warmup::Auto, _) => (0.0, f64::INFINITY),
        };
        if warm >= of {
            return Err(format!(
                "`warmup` of {warm} leaves nothing of a replication of {of} to count; shorten it or \
                 lengthen the replication"
            ));
        }
        if expected > self.max_arrivals as f64 {
            return Err(format!(
                "a replication expects {expected:.3e} arrivals, more than `max_arrivals: {}`; shorten \
                 it or raise the cap",
                self.max_arrivals
            ));
        }
        if self.snapshots > 0 && matches!(self.length, Length::Arrivals(_)) {
            return Err(
                "`snapshots` are taken at equal parts of a `horizon`, and there is none; give \
                        `horizon` in place of `arrivals`, or leave them out"
                    .to_owned(),
            );
        }
        let start = self.start;
        if let Some(capacity) = self.capacity.filter(|&capacity| capacity < start) {
            return Err(format!(
                "`start: {start}` jobs in each server are more than its `capacity` of {capacity}; \
                 start with fewer"
            ));
        }
        let all = u64::from(start) * self.speeds.len() as u64;
        if all > MAX_START {
            return Err(format!(
                "`start: {start}` makes {all} jobs in all servers, of at most {MAX_START}; start with \
                 fewer"
            ));
        }
        self.check_outages()?;
        if let (Arrivals::Trace(trace), Length::Arrivals(n)) = (&self.interarrival, self.length)
            && n > trace.times.len() as u64
        {
            let there = trace.times.len();
            return Err(format!("the trace has {there} jobs, not {n}; take fewer `arrivals`"));
        }
        let offered = self.offered() / self.availability();
        // What is recorded has an end.
        let is_endless = !matches!(self.interarrival, Arrivals::Trace(_));
        if is_endless
            && offered >= 1.0
            && self.capacity.is_none()
            && matches!(self.length, Length::Arrivals(_))
        {
            return Err(format!(
                "unstable: the load is {offered:.6}, so there is no steady state; take it below 1, \
                 give servers a `capacity`, or study the transient up to a `horizon`"
            ));
        }
        Ok(())
    }

    /// Returns what servers that fail by chance can do in the long run, as a share of what they could
    /// if they didn't.
    fn availability(&self) -> f64 {
        let Some(Breakdowns { mtbf, mttr, servers }) = &self.breakdowns else { return 1.0 };
        let fails = |server: usize| match servers {
            Some(servers) => servers.binary_search(&(server as u32)).is_ok(),
            None => true,
        };
        let up = |server| if fails(server) { mtbf / (mtbf + mttr) } else { 1.0 };
        let speeds = self.speeds.iter().enumerate();
        speeds.map(|(server, speed)| speed * up(server)).sum::<f64>()
            / self.speeds.iter().sum::<f64>()
    }

    /// Returns whether servers may be down.
    pub(super) fn fails(&self) -> bool {
        !self.outages.is_empty() || self.breakdowns.is_some()
    }

    fn check_outages(&self) -> Result<(), String> {
        let count = self.speeds.len();
        let named = self.outages.iter().map(|outage| outage.server);
        let failing = self.breakdowns.iter().filter_map(|breakdowns| breakdowns.servers.as_ref());
        let mut all = named.chain(failing.flatten().copied());
        if let Some(server) = all.find(|&server| server as usize >= count) {
            return Err(format!(
                "there is no server {server} to fail; the model has {count}, counted from 0"
            ));
        }
        let fails = |server: u32| match &self.breakdowns {
            Some(Breakdowns { servers: Some(servers), .. }) => servers.contains(&server),
            breakdowns => breakdowns.is_some(),
        };
        if let Some(outage) = self.outages.iter().find(|outage| fails(outage.server)) {
            let server = outage.server;
            return Err(format!(
                "server {server} has `outages` and `failures`; give it one of them"
            ));
        }
        let mut sorted: Vec<&Outage> = self.outages.iter().collect();
        sorted.sort_by(|a, b| a.server.cmp(&b.server).then(a.from.total_cmp(&b.from)));
        for pair in sorted.windows(2) {
            if pair[0].server == pair[1].server && pair[1].from < pair[0].to {
                let (server, from) = (pair[0].server, pair[1].from);
                return Err(format!(
                    "`outages` of server {server} overlap at {from}; make one of them"
                ));
            }
        }
        Ok(())
    }
}
