//! Queues followed event by event: for disciplines under which later jobs bear on when a job leaves,
//! and for servers that fail.
//!
//! A calendar holds the next departure of every server that has jobs in service, and its next
//! failure or repair. What a server does between two events is worked out when the later one comes.
//! That costs more than [`Queues`](super::Queues), which know when a job leaves as soon as it comes;
//! where both can serve the same jobs they agree.
//!
//! A server that is down keeps its jobs, and goes on with them where it was. At equal times
//! departures come first, then failures and repairs, then whatever the caller does at that time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::occupancy::Counted;
use super::order::Order;
use super::{Failure, Occupancy, Outages, audit};

/// Who is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing: all at once, each by an equal part of the channels and by one at most.
    Ps,
    /// Last come, first served, and none is interrupted.
    Lifo,
}

/// All servers of a system.
#[derive(Clone, Debug)]
pub struct Stations {
    stations: Vec<Station>,
    discipline: Discipline,
    /// Channels of each server.
    channels: u32,
    /// Most jobs in each server, those in service included.
    capacity: u32,
    outages: Option<Outages>,
    /// Number of servers that are up.
    up: usize,
    /// Time of the last look.
    now: f64,
    /// Since when there is a count.
    from: f64,
    /// Time that servers spent with each number of jobs [server × time units].
    levels: Vec<f64>,
    calendar: BinaryHeap<Reverse<Event>>,
    /// For whoever asks for the shortest of all.
    order: Option<Order>,
    /// Servers that became idle, where that is asked for.
    emptied: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct Station {
    /// Those in service are in front, in any order under processor sharing.
    jobs: VecDeque<Job>,
    /// Time of the last change of their number.
    since: f64,
    /// Up to when their work is accounted for.
    worked: f64,
    /// Time of the next departure.
    next: f64,
    is_up: bool,
    /// Service time of a job of size 1.
    pace: f64,
    /// Since the count began: channels in use over time, times that jobs which left have been here,
    /// and numbers of jobs.
    busy: f64,
    spent: f64,
    before: u64,
    accepted: u64,
    finished: u64,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    /// When it came; NaN if it was there before time 0.
    came: f64,
    /// Start of its service; NaN before.
    start: f64,
    /// What a channel has yet to do [time units].
    left: f64,
}

/// What happens to a server next.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    time: f64,
    kind: Kind,
    server: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Departure,
    /// A failure or a repair.
    Change,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = (self.kind, self.server).cmp(&(other.kind, other.server));
        self.time.total_cmp(&other.time).then(rest)
    }
}

impl Discipline {
    /// Returns how many of some jobs are in service.
    fn served(self, jobs: usize, channels: u32) -> usize {
        if self == Discipline::Ps { jobs } else { jobs.min(channels as usize) }
    }

    /// Returns what is done for each of them [channels].
    fn rate(self, jobs: usize, channels: u32) -> f64 {
        match self {
            Discipline::Ps if jobs > channels as usize => f64::from(channels) / jobs as f64,
            _ => 1.0,
        }
    }
}

impl Station {
    /// Returns for how long channels have been in use since the work was last accounted for.
    fn since_last(&self, channels: u32, now: f64) -> f64 {
        let busy = if self.is_up { self.jobs.len().min(channels as usize) } else { 0 };
        (now - self.worked) * busy as f64
    }

    /// Puts the last of the jobs that came while it was down where they are served first.
    fn last_first(&mut self, channels: usize) {
        let (mut served, mut waiting): (VecDeque<Job>, VecDeque<Job>) =
            self.jobs.drain(..).partition(|job| !job.start.is_nan());
        let free = channels.saturating_sub(served.len()).min(waiting.len());
        served.extend(waiting.drain(waiting.len() - free..).rev());
        served.extend(waiting);
        self.jobs = served;
    }

    /// Starts those of the first `served` jobs that have waited.
    fn start(&mut self, served: usize, now: f64) {
        let waited = self.jobs.iter_mut().take(served).filter(|job| job.start.is_nan());
        waited.for_each(|job| job.start = now);
    }
}

impl Stations {
    /// Returns idle servers: one for each speed [size/time], of `channels` ≥ 1 channels and with
    /// room for `capacity` ≥ 1 jobs each. They fail as `outages` has it.
    pub fn new(
        speeds: impl Iterator<Item = f64>,
        discipline: Discipline,
        channels: u32,
        capacity: u32,
        outages: Option<Outages>,
    ) -> Stations {
        let station = |speed: f64| Station {
            jobs: VecDeque::new(),
            since: 0.0,
            worked: 0.0,
            next: f64::INFINITY,
            is_up: true,
            pace: 1.0 / speed,
            busy: 0.0,
            spent: 0.0,
            before: 0,
            accepted: 0,
            finished: 0,
        };
        let mut all = Stations {
            stations: speeds.map(station).collect(),
            discipline,
            channels,
            capacity,
            outages,
            up: 0,
            now: 0.0,
            from: 0.0,
            levels: vec![0.0; 2],
            calendar: BinaryHeap::new(),
            order: None,
            emptied: None,
        };
        all.up = all.stations.len();
        for server in 0..all.stations.len() {
            all.plan_change(server, 0.0);
        }
        all
    }

    /// Returns them, in order by their numbers of jobs from now on. Servers that fail are in none.
    pub fn ordered(self) -> Stations {
        let order = self.outages.is_none().then(|| Order::new(self.stations.len()));
        Stations { order, ..self }
    }

    /// Returns the number of servers.
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// Returns the servers with the fewest jobs, or the fewest that wait, as lists; nothing where they
    /// are in no order.
    pub fn shortest(&self, waiting: bool) -> Option<&[Vec<u32>]> {
        // Under processor sharing none waits.
        let equal = match (waiting, self.discipline) {
            (false, _) => 0,
            (true, Discipline::Ps) => usize::MAX,
            (true, _) => self.channels as usize,
        };
        self.order.as_ref().map(|order| order.shortest(equal))
    }

    /// Returns the servers with fewer jobs than so many, as lists; nothing where they are in no order.
    pub fn fewer(&self, jobs: u32) -> Option<&[Vec<u32>]> {
        self.order.as_ref().map(|order| order.fewer(jobs as usize))
    }

    /// Takes note of servers that become idle from now on, for [`Stations::emptied`].
    pub fn reporting(self) -> Stations {
        Stations { emptied: Some(Vec::new()), ..self }
    }

    /// Returns the servers that became idle, or were repaired while they were, since the last call, in
    /// order of time; none where it takes no note of it.
    pub fn emptied(&mut self) -> impl Iterator<Item = usize> {
        self.emptied.iter_mut().flat_map(|emptied| emptied.drain(..))
    }

    /// Returns the number of jobs in a server, those in service included.
    pub fn jobs(&self, server: usize) -> u32 {
        self.stations[server].jobs.len() as u32
    }

    /// Returns how many of so many jobs in a server wait for a channel.
    pub fn wait_of(&self, jobs: u32) -> u32 {
        jobs - self.discipline.served(jobs as usize, self.channels) as u32
    }

    /// Returns the channels of each server.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Returns most jobs in each server, those in service included.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns the work left in a server [time units of a channel].
    pub fn work(&mut self, server: usize) -> f64 {
        self.progress(server, self.now);
        self.stations[server].jobs.iter().map(|job| job.left.max(0.0)).sum()
    }

    /// Returns whether a server has as many jobs as it can.
    pub fn is_full(&self, server: usize) -> bool {
        self.jobs(server) >= self.capacity
    }

    /// Returns whether a server has failed and isn't repaired yet, while another is up.
    pub fn is_down(&self, server: usize) -> bool {
        !self.stations[server].is_up && self.up > 0
    }

    /// Returns the speed of a server's channels together [size/time].
    pub fn speed(&self, server: usize) -> f64 {
        f64::from(self.channels) / self.stations[server].pace
    }

    /// Moves the clock on, never back; tells `leave` the waiting time and the sojourn time of every
    /// job that leaves, in order.
    pub fn advance(&mut self, now: f64, leave: &mut impl FnMut(f64, f64)) {
        while let Some(&Reverse(Event { time, kind, server })) = self.calendar.peek() {
            if time > now {
                break;
            }
            self.calendar.pop();
            let server = server as usize;
            match kind {
                // It may have become another's turn since this was planned.
                Kind::Departure if self.stations[server].next == time => {
                    let (wait, sojourn) = self.depart(server, time);
                    if !sojourn.is_nan() {
                        leave(wait, sojourn);
                    }
                }
                Kind::Departure => {}
                Kind::Change => {
                    self.progress(server, time);
                    let station = &mut self.stations[server];
                    station.is_up ^= true;
                    if station.is_up {
                        self.up += 1;
                        if self.discipline == Discipline::Lifo {
                            station.last_first(self.channels as usize);
                        }
                        let served = self.discipline.served(station.jobs.len(), self.channels);
                        station.start(served, time);
                    } else {
                        self.up -= 1;
                    }
                    if station.is_up && station.jobs.is_empty() {
                        self.emptied.iter_mut().for_each(|emptied| emptied.push(server));
                    }
                    self.plan_departure(server);
                    self.plan_change(server, time);
                }
            }
        }
        self.now = now;
    }

    /// Gives a server a job that has been there since before time 0, of whose times nobody is told.
    pub fn place(&mut self, server: usize, size: f64) {
        if self.accept(server, size)
            && let Some(job) = self.stations[server].jobs.back_mut()
        {
            job.came = f64::NAN;
        }
    }

    /// Takes a job in that comes now, if there is room; returns whether there is.
    pub fn accept(&mut self, server: usize, size: f64) -> bool {
        let (now, channels) = (self.now, self.channels as usize);
        if self.is_full(server) {
            return false;
        }
        self.count_level(server, now);
        let station = &mut self.stations[server];
        let jobs = station.jobs.len();
        // Jobs that only wait change nothing for those in service.
        let at_once = self.discipline == Discipline::Ps || jobs < channels;
        station.accepted += 1;
        let start = if at_once && station.is_up { now } else { f64::NAN };
        let job = Job { came: now, start, left: size * station.pace };
        if at_once {
            self.progress(server, now);
        }
        self.stations[server].jobs.push_back(job);
        if at_once {
            self.plan_departure(server);
        }
        if let Some(order) = &mut self.order {
            order.moved(server, jobs as u32 + 1);
        }
        true
    }

    /// Lets the job leave whose turn it is; returns its waiting time and its sojourn time.
    fn depart(&mut self, server: usize, now: f64) -> (f64, f64) {
        self.count_level(server, now);
        self.progress(server, now);
        let (discipline, channels, from) = (self.discipline, self.channels, self.from);
        let station = &mut self.stations[server];
        let served = discipline.served(station.jobs.len(), channels);
        let left = station.jobs.iter().map(|job| job.left).take(served).enumerate();
        let first = left.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at);
        let job = match discipline {
            // The last one takes its place.
            Discipline::Lifo | Discipline::Ps => station.jobs.swap_remove_back(first),
            Discipline::Fcfs => station.jobs.remove(first),
        };
        // There is one, or it wouldn't have been planned.
        let Some(job) = job else { return (0.0, 0.0) };
        station.start(discipline.served(station.jobs.len(), channels), now);
        station.finished += 1;
        station.spent += now - job.came.max(from);
        let jobs = station.jobs.len() as u32;
        if jobs == 0 {
            self.emptied.iter_mut().for_each(|emptied| emptied.push(server));
        }
        self.plan_departure(server);
        if let Some(order) = &mut self.order {
            order.moved(server, jobs);
        }
        (job.start - job.came, now - job.came)
    }

    /// Works out what a server has done up to a time.
    fn progress(&mut self, server: usize, now: f64) {
        let station = &mut self.stations[server];
        let jobs = station.jobs.len();
        station.busy += station.since_last(self.channels, now);
        if station.is_up {
            let done = (now - station.worked) * self.discipline.rate(jobs, self.channels);
            let served = self.discipline.served(jobs, self.channels);
            station.jobs.iter_mut().take(served).for_each(|job| job.left -= done);
        }
        station.worked = now;
    }

    /// Notes when a server's next job leaves, from what it has left at the moment of its last
    /// progress.
    fn plan_departure(&mut self, server: usize) {
        let station = &mut self.stations[server];
        let jobs = station.jobs.len();
        let served = self.discipline.served(jobs, self.channels);
        let rate = self.discipline.rate(jobs, self.channels);
        let left = station.jobs.iter().take(served).map(|job| job.left.max(0.0));
        station.next = match left.min_by(f64::total_cmp) {
            Some(left) if station.is_up => station.worked + left / rate,
            _ => f64::INFINITY,
        };
        if station.next < f64::INFINITY {
            let (time, server) = (station.next, server as u32);
            self.calendar.push(Reverse(Event { time, kind: Kind::Departure, server }));
        }
    }

    /// Notes when a server fails or is repaired next, if it does.
    fn plan_change(&mut self, server: usize, now: f64) {
        let is_up = self.stations[server].is_up;
        let next = self.outages.as_mut().and_then(|outages| outages.next(server, is_up, now));
        if let Some(time) = next {
            let server = server as u32;
            self.calendar.push(Reverse(Event { time, kind: Kind::Change, server }));
        }
    }

    fn count_level(&mut self, server: usize, now: f64) {
        let station = &mut self.stations[server];
        let jobs = station.jobs.len();
        if self.levels.len() <= jobs + 1 {
            self.levels.resize(2 * (jobs + 1), 0.0);
        }
        self.levels[jobs] += now - station.since;
        station.since = now;
    }

    /// Forgets what was counted up to now.
    pub fn restart(&mut self) {
        let now = self.now;
        self.from = now;
        for station in &mut self.stations {
            station.since = now;
            // It will be counted with what follows.
            station.busy = -station.since_last(self.channels, now);
            station.spent = 0.0;
            (station.accepted, station.finished) = (0, 0);
            station.before = station.jobs.len() as u64;
        }
        self.levels.fill(0.0);
    }

    /// Returns what was counted from the start of the count to now.
    ///
    /// # Errors
    /// [`Failure::Audit`] when the jobs' times don't add up to the servers' (Little's law on a sample
    /// path), a job was lost or made, or a server was fuller than it can be.
    pub fn occupancy(&mut self) -> Result<Occupancy, Failure> {
        let (now, from) = (self.now, self.from);
        let (mut spent, mut utilisation) = (0.0, Vec::new());
        for server in 0..self.stations.len() {
            self.count_level(server, now);
            let station = &self.stations[server];
            let (jobs, Station { before, accepted, finished, .. }) =
                (station.jobs.len() as u64, station);
            audit(before + accepted == finished + jobs, || {
                format!(
                    "server {server} had {before} jobs, took {accepted} in, let {finished} go and has {jobs}"
                )
            })?;
            let present = station.jobs.iter().map(|job| now - job.came.max(from));
            spent += station.spent + present.sum::<f64>();
            let busy = station.busy + station.since_last(self.channels, now);
            utilisation.push(busy / ((now - from) * f64::from(self.channels)));
        }
        let accepted = self.stations.iter().map(|station| station.accepted).collect();
        let (levels, greatest, capacity) = (&*self.levels, spent, self.capacity);
        let counted = Counted { levels, spent, greatest, capacity, start: from, end: now };
        counted.check(utilisation, accepted)
    }
}

#[cfg(test)]
mod tests;
