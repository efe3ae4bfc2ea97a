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

use crate::rng::Distribution;
use crate::stats::Good;

use super::{Columns, Response, System, Warmup};

mod kernel;
mod theory;

pub use kernel::Compiled;

/// The loss router among the systems.
pub const SYSTEM: System =
    System { name: "loss_router", responses: RESPONSES, theory: theory::THEORY };

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
    /// What isn't counted at the start of a replication, though it leaves the system as it is.
    pub warmup: Warmup,
    pub redirect: Redirect,
    /// Whether a departure frees its channel before an arrival at the same time.
    pub departure_first: bool,
    /// Arrivals after which a replication is given up as failed.
    pub max_arrivals: u64,
}

/// What the loss router measures, in the order of its columns.
#[rustfmt::skip]
const RESPONSES: &[Response] = &[
    Response::new("arrivals", "requests", None, "requests counted, up to the horizon"),
    Response { headline: true, ..Response::new("errors_pct", "% of arrivals", Some(Good::Less), "redirected requests") },
    Response { headline: true, ..Response::new("refusals_pct", "% of arrivals", Some(Good::Less), "requests that no server took") },
    Response::new("accepted_pct", "% of arrivals", Some(Good::More), "requests that a server took, redirected ones included"),
    Response::new("switches_pct", "% of arrivals", None, "requests attempted at another server than the request before"),
    Response::new("theta_final", "probability", None, "θ after the last request; null for policies without θ"),
    Response::new("theta_mean", "probability", None, "mean over requests of the θ that routed them; null for policies without θ"),
    Response::new("counted_from", "time", None, "end of the warm-up"),
    Response { columns: Columns::PerServer(usize::MAX), ..Response::new("server_share_pct", "% of arrivals", None, "requests that the server took") },
    Response { columns: Columns::PerServer(usize::MAX), ..Response::new("utilisation", "share", None, "time average of the server's busy channels over its channels") },
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
        let (warm, of) = match self.warmup {
            Warmup::Time(time) => (time, self.horizon),
            Warmup::Arrivals(n) => (n as f64, self.expected_arrivals()),
            Warmup::Auto => (0.0, self.horizon),
        };
        if warm >= of {
            return Err(format!(
                "`warmup` of {warm} leaves nothing of a replication of {of} to count; \
                 shorten it or move the horizon"
            ));
        }
        if !self.speeds.is_empty() && self.speeds.len() != self.channels.len() {
            return Err(format!(
                "`speeds` has {} items for the {} servers of `channels`; give one a server",
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
}
