//! The loss router: servers of parallel channels without a queue behind one blind router.
//!
//! A request goes to the server that the policy names. A free channel there takes it; else
//! another server with a free channel does, which is an *error*; else it is *refused* and leaves.
//! Source: K. V. Pervyshev, "Optimizing the work of a router", after O. N. Granichin and
//! B. T. Polyak (2003). The source has two servers, integer times and equal service everywhere.
//!
//! The service time of a request is drawn when it arrives, taken or not, and each role has its
//! own stream. So all policies of a scenario meet the same arrivals and the same sizes, and since
//! service doesn't depend on the server, refusals are the same for every policy, path by path.
//!
//! Times are `f64` throughout: integer ticks are exact in it up to 2⁵³.

use crate::policy::{Outcome, Policy, Router};
use crate::rng::{AliasTable, Distribution, Draw, Invalid, Pcg32, Role, Sampler, StreamKey, below};
use crate::sim::{Channels, Failure, audit};
use crate::stats::Good;

use super::Response;

mod theory;

pub use theory::THEORY;

/// Which other server a request is redirected to when the attempted one is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// None: the request is refused, though others may be free.
    None,
    /// The first with a free channel among those after the attempted one, cyclically.
    Next,
    /// One of those with a free channel, each equally likely.
    Random,
    /// The one with the most free channels; the first of them on a tie.
    MostFree,
}

/// A scenario of the loss router.
#[derive(Clone, Debug, PartialEq)]
pub struct LossRouter {
    /// Channels of each server, at least one each.
    pub channels: Vec<u32>,
    /// Time between arrivals [time units].
    pub interarrival: Distribution,
    /// Size of a request: its service time at speed 1 [time units].
    pub service: Distribution,
    /// Speed of each server, by which the sizes of its requests are divided; none is 1 for all.
    pub speeds: Vec<f64>,
    /// End of the replication [time units]; an arrival at that very time still counts.
    pub horizon: f64,
    /// Start of the count, before `horizon` [time units]: what happens up to it leaves the system
    /// as it is but isn't counted.
    pub warmup: f64,
    pub redirect: Redirect,
    /// Whether a departure frees its channel before an arrival at the same time.
    pub departure_first: bool,
    /// Arrivals after which a replication is given up as failed.
    pub max_arrivals: u64,
}

const fn response(
    name: &'static str,
    unit: &'static str,
    good: Option<Good>,
    about: &'static str,
) -> Response {
    Response { name, per_server: false, unit, about, good, headline: false }
}

/// What the loss router measures, in the order of its columns.
#[rustfmt::skip]
pub const RESPONSES: &[Response] = &[
    response("arrivals", "requests", None, "requests up to the horizon"),
    Response { headline: true, ..response("errors_pct", "% of arrivals", Some(Good::Less), "redirected requests") },
    Response { headline: true, ..response("refusals_pct", "% of arrivals", Some(Good::Less), "requests that no server took") },
    response("accepted_pct", "% of arrivals", Some(Good::More), "requests that a server took, redirected ones included"),
    response("switches_pct", "% of arrivals", None, "requests attempted at another server than the request before"),
    response("theta_final", "probability", None, "θ after the last request; null for policies without θ"),
    response("theta_mean", "probability", None, "mean over requests of the θ that routed them; null for policies without θ"),
    Response { per_server: true, ..response("server_share_pct", "% of arrivals", None, "requests that the server took") },
    Response { per_server: true, ..response("utilisation", "share", None, "time average of the server's busy channels over its channels") },
];

impl LossRouter {
    /// Returns the canonical text of everything that bears on a replication's traffic and fate.
    ///
    /// Fields that a later version adds must be left out at their default, so that the streams of
    /// existing specs stay what they are.
    pub fn identity(&self) -> String {
        let channels: Vec<String> = self.channels.iter().map(u32::to_string).collect();
        let mut text = format!(
            "loss_router channels=[{}] interarrival={} service={} horizon={:?}",
            channels.join(","),
            self.interarrival.identity(),
            self.service.identity(),
            self.horizon,
        );
        match self.redirect {
            Redirect::Next => {}
            Redirect::None => text += " redirect=none",
            Redirect::Random => text += " redirect=random",
            Redirect::MostFree => text += " redirect=most_free",
        }
        if !self.departure_first {
            text += " departure_first=false";
        }
        if !self.speeds.is_empty() {
            text += &format!(" speeds={:?}", self.speeds);
        }
        // Not the warm-up: it bears on what is counted, and not on what happens.
        text
    }

    /// Returns the speed of a server.
    fn speed(&self, server: usize) -> f64 {
        self.speeds.get(server).copied().unwrap_or(1.0)
    }

    pub fn expected_arrivals(&self) -> f64 {
        self.horizon / self.interarrival.mean()
    }

    pub fn check(&self) -> Result<(), String> {
        if self.warmup >= self.horizon {
            return Err(format!(
                "`warmup: {}` leaves nothing before `horizon: {}` to count",
                self.warmup, self.horizon
            ));
        }
        if !self.speeds.is_empty() && self.speeds.len() != self.channels.len() {
            return Err(format!(
                "`speeds` has {} items for the {} servers of `channels`",
                self.speeds.len(),
                self.channels.len()
            ));
        }
        let expected = self.expected_arrivals();
        if expected > self.max_arrivals as f64 {
            return Err(format!(
                "a replication expects {expected:.3e} arrivals (`horizon` over the mean \
                 `interarrival`), more than `max_arrivals: {}`; shorten the horizon or raise the cap",
                self.max_arrivals
            ));
        }
        Ok(())
    }

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

/// A scenario of the loss router, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    model: LossRouter,
    interarrival: Sampler,
    service: Sampler,
}

impl Compiled {
    pub(super) fn replicate(
        &self,
        policy: &Policy,
        streams: &StreamKey,
    ) -> Result<Vec<f64>, Failure> {
        match policy {
            Policy::Coin(coin) => self.with_router(coin.router(), streams),
            Policy::Trigger(trigger) => self.with_router(trigger.router(), streams),
            Policy::Alternate(alternate) => {
                self.with_router(alternate.router(self.model.channels.len()), streams)
            }
            Policy::Theta(theta) => self.with_router(theta.router(), streams),
        }
    }

    fn with_router(&self, router: impl Router, streams: &StreamKey) -> Result<Vec<f64>, Failure> {
        // The published systems draw both times from tables; compiled for that alone, the kernel
        // has no branch on the kind of distribution.
        match (&self.interarrival, &self.service) {
            (Sampler::Alias(interarrival), Sampler::Alias(service)) => {
                self.model.simulate::<AliasTable, _>(interarrival, service, router, streams)
            }
            (interarrival, service) => self.model.simulate(interarrival, service, router, streams),
        }
    }
}

impl LossRouter {
    fn simulate<D: Draw, R: Router>(
        &self,
        interarrival: &D,
        service: &D,
        mut router: R,
        streams: &StreamKey,
    ) -> Result<Vec<f64>, Failure> {
        let mut arrivals_stream = streams.stream(Role::Arrivals);
        let mut service_stream = streams.stream(Role::Service);
        let mut routing_stream = streams.stream(Role::Routing);
        let mut redirect_stream = streams.stream(Role::Redirect);
        let mut servers: Vec<Channels> = self.channels.iter().map(|&n| Channels::new(n)).collect();
        let pace: Vec<f64> = (0..servers.len()).map(|k| 1.0 / self.speed(k)).collect();
        let (mut arrivals, mut errors, mut refusals, mut switches) = (0u64, 0u64, 0u64, 0u64);
        let mut seen = 0u64;
        let mut warm = if self.warmup > 0.0 { self.warmup } else { f64::INFINITY };
        let mut last = None;
        let mut now = 0.0;
        loop {
            now += interarrival.draw(&mut arrivals_stream);
            if now > self.horizon {
                break;
            }
            if now > warm {
                seen = arrivals;
                (arrivals, errors, refusals, switches) = (0, 0, 0, 0);
                servers.iter_mut().for_each(|server| server.restart(warm));
                router.restart();
                warm = f64::INFINITY;
            }
            if seen + arrivals == self.max_arrivals {
                return Err(Failure::TooManyArrivals { cap: self.max_arrivals });
            }
            arrivals += 1;
            let size = service.draw(&mut service_stream);
            let freed_by = if self.departure_first { now } else { now.next_down() };
            let attempted = router.route(&mut routing_stream);
            switches += u64::from(last.is_some_and(|last| last != attempted));
            last = Some(attempted);
            let outcome = if servers[attempted].has_room(freed_by) {
                servers[attempted].accept(now, now + size * pace[attempted]);
                Outcome::Accepted
            } else {
                match self.other(&servers, attempted, freed_by, &mut redirect_stream) {
                    Some(other) => {
                        servers[other].accept(now, now + size * pace[other]);
                        errors += 1;
                        Outcome::Redirected(other)
                    }
                    None => {
                        refusals += 1;
                        Outcome::Refused
                    }
                }
            };
            router.learn(attempted, outcome);
        }
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
        ];
        row.extend(servers.iter().map(|server| pct(server.accepted())));
        for server in &servers {
            let utilisation = server.utilisation(self.warmup, self.horizon);
            audit((0.0..=1.0 + 1e-9).contains(&utilisation), || {
                format!("a server was busy for {utilisation} of its capacity")
            })?;
            row.push(utilisation);
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
