//! How jobs come to the dispatcher.

use std::sync::Arc;

use crate::rng::{
    Ahead, Distribution, Draw, Exponential, Invalid, Pcg32, Role, Sampler, StreamKey, content_hash,
    unit,
};

/// How jobs come to the dispatcher.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Times between arrivals are independent, and alike.
    Renewal(Distribution),
    /// A Poisson stream whose rate changes (MMPP): the states come in turns, each for an exponential
    /// time. The first is one of them, as in the long run (W. Fischer, K. Meier-Hellstern, "The
    /// Markov-modulated Poisson process (MMPP) cookbook", 1993).
    Modulated {
        /// Arrivals in each state [1/time].
        rates: Vec<f64>,
        /// Mean time in each state [time units].
        durations: Vec<f64>,
    },
    /// As recorded: the same in every replication.
    Trace(Arc<Trace>),
}

/// Recorded jobs, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// When they come, never falling, the first at 0 or later [time units].
    pub times: Vec<f64>,
    /// Their service times at speed 1 [time units].
    pub sizes: Vec<f64>,
}

impl Arrivals {
    /// Returns the mean time between arrivals; of a trace from its first to its last [time units].
    pub fn mean(&self) -> f64 {
        match self {
            Arrivals::Renewal(interarrival) => interarrival.mean(),
            Arrivals::Modulated { rates, durations } => {
                let jobs: f64 = rates.iter().zip(durations).map(|(rate, time)| rate * time).sum();
                durations.iter().sum::<f64>() / jobs
            }
            Arrivals::Trace(trace) => {
                let last = trace.times.last().copied().unwrap_or(f64::NAN);
                let first = trace.times.first().copied().unwrap_or(last);
                // Jobs that all come at once have a mean of nothing, by which nothing is divided.
                if last > first { (last - first) / (trace.times.len() - 1) as f64 } else { last }
            }
        }
    }

    /// Returns a canonical text.
    pub(super) fn identity(&self) -> String {
        match self {
            Arrivals::Renewal(interarrival) => interarrival.identity(),
            Arrivals::Modulated { rates, durations } => {
                format!("mmpp(rates={rates:?},durations={durations:?})")
            }
            Arrivals::Trace(trace) => {
                let numbers = trace.times.iter().chain(&trace.sizes);
                let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
                format!("trace(count={},hash={:032x})", trace.times.len(), content_hash(&bytes))
            }
        }
    }
}

/// Whether every draw of a distribution is a whole number of at least 1, as the jobs of a batch are.
pub fn is_count(distribution: &Distribution) -> bool {
    let is_whole = |value: f64| value >= 1.0 && value.fract() == 0.0 && value < 1e9;
    match distribution {
        Distribution::Deterministic { value } => is_whole(*value),
        Distribution::Geometric { .. } => true,
        Distribution::Empirical { values } => values.iter().copied().all(is_whole),
        _ => false,
    }
}

/// Jobs, one after another.
pub(super) trait Jobs {
    /// Returns when the next one comes, after one at `now` or after the beginning at 0 [time units];
    /// after the last one never.
    fn next(&mut self, now: f64) -> f64;
    /// Returns the size of the one that came, or before the first that of one that is there at the
    /// start.
    fn size(&mut self) -> f64;
}

/// Independent times between arrivals, and sizes.
pub(super) struct Renewal<'a> {
    gaps: Ahead<'a, Sampler>,
    /// By what times between arrivals are stretched.
    stretch: f64,
    sizes: Ahead<'a, Sampler>,
}

impl<'a> Renewal<'a> {
    pub(super) fn new(
        interarrival: &'a Sampler,
        service: &'a Sampler,
        stretch: f64,
        streams: &StreamKey,
    ) -> Renewal<'a> {
        let gaps = interarrival.ahead(streams.stream(Role::Arrivals));
        Renewal { gaps, stretch, sizes: service.ahead(streams.stream(Role::Service)) }
    }
}

impl Jobs for Renewal<'_> {
    #[inline(always)]
    fn next(&mut self, now: f64) -> f64 {
        now + self.gaps.draw() * self.stretch
    }

    #[inline(always)]
    fn size(&mut self) -> f64 {
        self.sizes.draw()
    }
}

/// How jobs come, compiled, for any that don't come one by one at independent times.
#[derive(Clone, Debug)]
pub(super) enum Process {
    Renewal(Sampler),
    Modulated { rates: Vec<f64>, durations: Vec<f64> },
    Trace(Arc<Trace>),
}

impl Process {
    pub(super) fn new(arrivals: &Arrivals) -> Result<Process, Invalid> {
        Ok(match arrivals {
            Arrivals::Renewal(interarrival) => Process::Renewal(interarrival.sampler()?),
            Arrivals::Modulated { rates, durations } => {
                Process::Modulated { rates: rates.clone(), durations: durations.clone() }
            }
            Arrivals::Trace(trace) => Process::Trace(trace.clone()),
        })
    }
}

/// Jobs of any process, maybe several at once.
pub(super) struct Batches<'a> {
    process: &'a Process,
    service: &'a Sampler,
    batch: Option<&'a Sampler>,
    stretch: f64,
    arrivals: Pcg32,
    sizes: Pcg32,
    /// The state of a modulated process, and how long it still lasts.
    state: usize,
    lasts: f64,
    /// Jobs of a trace that have come.
    done: usize,
    /// Jobs that come with the last one.
    more: u64,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        (process, service, batch): (&'a Process, &'a Sampler, Option<&'a Sampler>),
        stretch: f64,
        streams: &StreamKey,
    ) -> Batches<'a> {
        let mut arrivals = streams.stream(Role::Arrivals);
        let sizes = streams.stream(Role::Service);
        let (mut state, mut lasts) = (0, f64::INFINITY);
        if let Process::Modulated { durations, .. } = process {
            let mut left = unit(&mut arrivals) * durations.iter().sum::<f64>();
            while left >= durations[state] && state + 1 < durations.len() {
                left -= durations[state];
                state += 1;
            }
            lasts = exponential(durations[state], &mut arrivals);
        }
        Batches {
            process,
            service,
            batch,
            stretch,
            arrivals,
            sizes,
            state,
            lasts,
            done: 0,
            more: 0,
        }
    }

    /// Returns the time that passes before the next batch [time units].
    fn gap(&mut self) -> f64 {
        match self.process {
            Process::Renewal(interarrival) => interarrival.draw(&mut self.arrivals),
            Process::Modulated { rates, durations } => {
                let mut gap = 0.0;
                loop {
                    // Without memory, so drawn anew in every state.
                    let wait = match rates[self.state] {
                        0.0 => f64::INFINITY,
                        rate => exponential(1.0 / rate, &mut self.arrivals),
                    };
                    if wait < self.lasts {
                        self.lasts -= wait;
                        return gap + wait;
                    }
                    gap += self.lasts;
                    self.state = (self.state + 1) % rates.len();
                    self.lasts = exponential(durations[self.state], &mut self.arrivals);
                }
            }
            Process::Trace(_) => f64::INFINITY,
        }
    }
}

fn exponential(mean: f64, stream: &mut Pcg32) -> f64 {
    Exponential { mean }.draw(stream)
}

impl Jobs for Batches<'_> {
    fn next(&mut self, now: f64) -> f64 {
        if let Process::Trace(trace) = self.process {
            self.done += 1;
            let time = trace.times.get(self.done - 1);
            return time.map_or(f64::INFINITY, |time| time * self.stretch);
        }
        let mut time = now;
        if self.more == 0 {
            time += self.gap() * self.stretch;
            self.more = self.batch.map_or(1, |batch| batch.draw(&mut self.arrivals) as u64).max(1);
        }
        self.more -= 1;
        time
    }

    fn size(&mut self) -> f64 {
        match self.process {
            Process::Trace(trace) if self.done > 0 => {
                trace.sizes.get(self.done - 1).copied().unwrap_or(0.0)
            }
            _ => self.service.draw(&mut self.sizes),
        }
    }
}
