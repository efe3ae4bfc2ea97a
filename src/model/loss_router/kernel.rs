//! The kernel of the loss router: one replication, arrival by arrival.
//!
//! A replication is counted in periods: what comes before the first is the warm-up, and each
//! period gives a row. A period's end resets the counts and leaves the system as it has become.

use super::{LossRouter, Redirect};
use crate::model::Warmup;
use crate::policy::{Load, Loads, Outcome, Policy, Router, with_router};
use crate::rng::{AliasTable, Draw, Invalid, Pcg32, Role, Sampler, StreamKey, below};
use crate::sim::{Channels, Failure, audit};
use crate::stats::warmup::{BATCH, mser};

/// A scenario of the loss router, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    model: LossRouter,
    interarrival: Sampler,
    service: Sampler,
}

impl LossRouter {
    /// Returns the scenario with its distributions compiled.
    ///
    /// # Errors
    /// [`Invalid`] names the parameter that a distribution can't have.
    pub fn compile(&self) -> Result<Compiled, Invalid> {
        Ok(Compiled {
            interarrival: self.interarrival.sampler()?,
            service: self.service.sampler()?,
            model: self.clone(),
        })
    }
}

impl Compiled {
    /// Simulates one replication, its time after the warm-up cut into `periods` ≥ 1 equal ones,
    /// and returns a row for each.
    pub(in crate::model) fn replicate(
        &self,
        policy: &Policy,
        streams: &StreamKey,
        periods: u32,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let start = match self.model.warmup {
            Warmup::Time(time) => time,
            Warmup::Arrivals(n) => self.time_of_arrival(n, streams),
            Warmup::Auto => {
                // Busy channels, and not losses: while a system fills up nothing is lost, and a
                // start without variance would look like the best part of the run.
                let mut busy = Vec::new();
                let note = |servers: &[Channels], now| {
                    busy.push(servers.iter().map(|server| server.busy(now)).sum::<usize>() as f64);
                };
                self.run(policy, streams, &[0.0, self.model.horizon], note)?;
                let cut = mser(&busy, BATCH).map_or(0, |cut| cut.dropped);
                self.time_of_arrival(cut as u64, streams)
            }
        };
        let left = self.model.horizon - start;
        if left <= 0.0 {
            return Err(Failure::Warmup { start, horizon: self.model.horizon });
        }
        let inner = (1..periods).map(|i| start + left * f64::from(i) / f64::from(periods));
        let edges: Vec<f64> =
            [start].into_iter().chain(inner).chain([self.model.horizon]).collect();
        self.run(policy, streams, &edges, |_, _| {})
    }

    /// Returns the time of the `n`th arrival of a replication, or 0 for n = 0.
    fn time_of_arrival(&self, n: u64, streams: &StreamKey) -> f64 {
        let mut stream = streams.stream(Role::Arrivals);
        (0..n).fold(0.0, |time, _| time + self.interarrival.sample(&mut stream))
    }

    fn run(
        &self,
        policy: &Policy,
        streams: &StreamKey,
        edges: &[f64],
        note: impl FnMut(&[Channels], f64),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let capacities = &self.model.channels;
        with_router!(
            policy, capacities, router => self.route(router, streams, edges, note),
            else Err(Failure::Audit("the policy needs what the loss router doesn't show".to_owned()))
        )
    }

    fn route(
        &self,
        router: impl for<'m> Router<Banks<'m>>,
        streams: &StreamKey,
        edges: &[f64],
        note: impl FnMut(&[Channels], f64),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        // The published systems draw both times from tables; compiled for that alone, the kernel
        // has no branch on the kind of distribution.
        match (&self.interarrival, &self.service) {
            (Sampler::Alias(interarrival), Sampler::Alias(service)) => {
                let draws: (&AliasTable, &AliasTable) = (interarrival, service);
                self.model.simulate(draws, router, streams, edges, note)
            }
            draws => self.model.simulate(draws, router, streams, edges, note),
        }
    }
}

/// The servers, as a router may see them.
struct Banks<'a> {
    servers: Vec<Channels>,
    /// Up to when jobs have left.
    freed_by: f64,
    model: &'a LossRouter,
}

impl Loads for Banks<'_> {
    fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Busy channels, since nothing waits.
    fn load(&mut self, server: usize, load: Load) -> f64 {
        let busy = self.servers[server].busy(self.freed_by) as f64;
        match load {
            Load::InSystem => busy,
            Load::Delay => (busy + 1.0) / self.speed(server),
            // No policy that asks for it is accepted.
            Load::Waiting | Load::Work => 0.0,
        }
    }

    fn is_full(&mut self, server: usize) -> bool {
        !self.servers[server].has_room(self.freed_by)
    }

    fn speed(&self, server: usize) -> f64 {
        f64::from(self.model.channels[server]) * self.model.speed(server)
    }
}

/// Counts of a period.
#[derive(Default)]
struct Counts {
    arrivals: u64,
    errors: u64,
    refusals: u64,
    switches: u64,
}

impl LossRouter {
    /// Simulates up to the last of the rising `edges`, and returns a row for each period between
    /// two; shows `note` the servers at each request, before it is routed.
    fn simulate<D: Draw, R: for<'m> Router<Banks<'m>>>(
        &self,
        (interarrival, service): (&D, &D),
        mut router: R,
        streams: &StreamKey,
        edges: &[f64],
        mut note: impl FnMut(&[Channels], f64),
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let mut gaps = interarrival.ahead(streams.stream(Role::Arrivals));
        let mut sizes = service.ahead(streams.stream(Role::Service));
        let mut routing_stream = streams.stream(Role::Routing);
        let mut redirect_stream = streams.stream(Role::Redirect);
        let servers = self.channels.iter().map(|&n| Channels::new(n)).collect();
        let mut banks = Banks { servers, freed_by: 0.0, model: self };
        let pace: Vec<f64> = (0..self.channels.len()).map(|k| 1.0 / self.speed(k)).collect();
        let horizon = edges[edges.len() - 1];
        let mut rows = Vec::with_capacity(edges.len() - 1);
        let mut counts = Counts::default();
        // The edges passed, and the next.
        let mut passed = usize::from(edges[0] <= 0.0);
        let mut edge = edges[passed];
        // Arrivals allowed before the next edge.
        let mut allowed = self.max_arrivals;
        // No server, so that the first request of all is taken for a switch and taken off again.
        let mut last = usize::MAX;
        let mut now = 0.0;
        loop {
            let gap = gaps.draw();
            // NaN fails too.
            let forward = D::UNSIGNED || gap >= 0.0;
            audit(forward, || format!("the clock went from {now} by {gap}"))?;
            now += gap;
            while now > edge {
                if allowed == self.max_arrivals {
                    counts.switches = counts.switches.saturating_sub(1);
                }
                allowed -= counts.arrivals;
                if passed > 0 {
                    let period = (edges[passed - 1], edge);
                    rows.push(self.row(&counts, &banks.servers, &router, period)?);
                }
                counts = Counts::default();
                banks.servers.iter_mut().for_each(|server| server.restart(edge));
                router.restart(edge);
                passed += 1;
                edge = edges.get(passed).copied().unwrap_or(f64::INFINITY);
            }
            if now > horizon {
                return Ok(rows);
            }
            if counts.arrivals == allowed {
                return Err(Failure::TooManyArrivals { cap: self.max_arrivals });
            }
            counts.arrivals += 1;
            note(&banks.servers, now);
            let size = sizes.draw();
            let freed_by = if self.departure_first { now } else { now.next_down() };
            banks.freed_by = freed_by;
            let attempted = router.route(now, &mut banks, &mut routing_stream);
            let servers = &mut banks.servers;
            counts.switches += u64::from(last != attempted);
            last = attempted;
            let outcome = if servers[attempted].has_room(freed_by) {
                servers[attempted].accept(now, now + size * pace[attempted]);
                Outcome::Accepted
            } else {
                match self.other(servers, attempted, freed_by, &mut redirect_stream) {
                    Some(other) => {
                        servers[other].accept(now, now + size * pace[other]);
                        counts.errors += 1;
                        Outcome::Redirected(other)
                    }
                    None => {
                        counts.refusals += 1;
                        Outcome::Refused
                    }
                }
            };
            router.learn(attempted, outcome);
        }
    }

    /// Returns a value per column for a period that ends now, after checking what must hold.
    fn row(
        &self,
        counts: &Counts,
        servers: &[Channels],
        router: &impl for<'m> Router<Banks<'m>>,
        (start, end): (f64, f64),
    ) -> Result<Vec<f64>, Failure> {
        let Counts { arrivals, errors, refusals, switches } = *counts;
        let accepted: u64 = servers.iter().map(Channels::accepted).sum();
        audit(arrivals == accepted + refusals, || {
            format!("{arrivals} arrivals are not {accepted} accepted and {refusals} refused")
        })?;
        audit(errors <= accepted, || format!("{errors} errors among {accepted} accepted"))?;
        let pct = |count: u64| 100.0 * count as f64 / arrivals as f64;
        let (theta_final, theta_sum) = router.theta().unwrap_or((f64::NAN, f64::NAN));
        let mut row = vec![
            arrivals as f64,
            pct(errors),
            pct(refusals),
            pct(accepted),
            pct(switches),
            theta_final,
            theta_sum / arrivals as f64,
            start,
        ];
        row.extend(servers.iter().map(|server| pct(server.accepted())));
        for server in servers {
            row.push(server.utilisation(start, end)?);
        }
        Ok(row)
    }

    /// Returns the server that takes a request which `attempted` has no room for.
    #[inline]
    fn other(
        &self,
        servers: &[Channels],
        attempted: usize,
        freed_by: f64,
        redirect: &mut Pcg32,
    ) -> Option<usize> {
        let n = servers.len();
        // Not a remainder: a division on every error would be felt.
        let mut others = (attempted + 1..attempted + n).map(|k| if k < n { k } else { k - n });
        match self.redirect {
            Redirect::None => None,
            Redirect::Next => others.find(|&k| servers[k].has_room(freed_by)),
            Redirect::Random => {
                let open: Vec<usize> = others.filter(|&k| servers[k].has_room(freed_by)).collect();
                match open.len() {
                    0 => None,
                    n => Some(open[below(redirect, n as u32) as usize]),
                }
            }
            Redirect::MostFree => (0..n)
                .filter(|&k| k != attempted)
                .map(|k| (servers[k].free(freed_by), std::cmp::Reverse(k)))
                .max()
                .filter(|&(free, _)| free > 0)
                .map(|(_, std::cmp::Reverse(k))| k),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Trigger;
    use crate::rng::Distribution;

    /// Gives the same duration each time.
    struct Always(f64);

    impl Draw for Always {
        fn draw(&self, _: &mut Pcg32) -> f64 {
            self.0
        }
    }

    fn run(gap: f64, service: f64) -> Result<Vec<Vec<f64>>, Failure> {
        let model = LossRouter {
            channels: vec![2, 4],
            interarrival: Distribution::Exponential { mean: 1.0 },
            service: Distribution::Exponential { mean: 1.0 },
            speeds: Vec::new(),
            horizon: 100.0,
            warmup: Warmup::Time(10.0),
            redirect: Redirect::Next,
            departure_first: true,
            max_arrivals: 1000,
        };
        let key = StreamKey { seed: 1, scenario: 1, replication: 0 };
        let router = Trigger { first: 0 }.router();
        model.simulate((&Always(gap), &Always(service)), router, &key, &[10.0, 100.0], |_, _| {})
    }

    #[test]
    fn a_clock_that_goes_back_or_stops_making_sense_fails_the_replication() {
        assert!(run(1.0, 3.0).is_ok());
        for gap in [-1.0, f64::NAN] {
            let failure = run(gap, 3.0).unwrap_err().to_string();
            assert!(failure.contains("the clock went from 0 by"), "{failure}");
        }
    }
}
