//! Stochastic optimisation: the least (or greatest) mean of a noisy function over a box.
//!
//! A search sees its function through [`Evaluate`] alone: points, streams, noisy values. It knows
//! no simulator, and is tested on functions with known answers. All methods work in the unit cube
//! that a [`Space`] maps to natural units, and get their values from a [`Search`], which owns what
//! an executor of deterministic solvers gets wrong under noise: the budget is counted in
//! replications, a failed evaluation costs one retry and then itself alone, every evaluation is
//! traced, and nothing is ever called the best for a lucky sample.
//!
//! Source of the method that names the module's purpose: J. C. Spall, "Multivariate stochastic
//! approximation using a simultaneous perturbation gradient approximation", IEEE Trans. Autom.
//! Control 37 (1992) 332-341; its one-measurement form is that of O. N. Granichin (1992) and
//! B. T. Polyak and A. B. Tsybakov (1990).

mod confirm;
mod gains;
mod search;
mod space;
mod spsa;

pub use confirm::{Confirmation, Measured, Plan, Regret, RivalResult, confirm};
pub use gains::Gains;
pub use search::{Phase, Search, Step, Stop};
pub use space::{Parameter, Space};

use crate::rng::StreamKey;
use crate::spec::Method;
use crate::stats::Interval;

/// What is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A point of the box, in natural units, whole where the parameter is.
    Point(Vec<f64>),
    /// A declared rival, by its position.
    Rival(usize),
}

/// Some replications at one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub target: Target,
    /// Streams of the first replication; the others follow it.
    pub streams: StreamKey,
    pub replications: u32,
}

/// A noisy function of a point in a box.
pub trait Evaluate {
    /// Returns a value per replication for each request; nothing for a replication that failed.
    ///
    /// A value depends on the target and the replication's streams alone. Requests of one call may
    /// be evaluated side by side.
    ///
    /// # Errors
    /// [`Stop`], which ends the search: it was interrupted, or can't go on.
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop>;
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// In the unit cube.
    pub unit: Vec<f64>,
    /// Standard error of each coordinate [share of the box], where the method can tell.
    pub se: Option<Vec<f64>>,
    /// The method that was used, and for `auto` why.
    pub method: &'static str,
    pub why: String,
    /// Gains of an SPSA.
    pub gains: Option<Gains>,
}

/// A search of an experiment in one scenario, from its first replication to its confirmation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Position of the search in the experiment.
    pub search: usize,
    /// Number of the scenario, and its first point.
    pub scenario: u64,
    pub point: u32,
    pub found: Found,
    /// The point found, its standard errors and the ends of its intervals, in natural units.
    pub at: Vec<f64>,
    pub se: Option<Vec<f64>>,
    pub interval: Option<Vec<Interval>>,
    /// Replications of the search.
    pub spent: u64,
    /// Evaluations that failed and were made once more, and those that failed again.
    pub retried: u32,
    pub skipped: u32,
    pub steps: Vec<Step>,
    pub confirmation: Confirmation,
}

/// Searches with the given method until its budget is spent; `start` is in natural units.
///
/// # Errors
/// [`Stop`], when the search was interrupted or can't go on.
pub fn search(search: &mut Search, method: &Method, start: &[f64]) -> Result<Found, Stop> {
    let start = search.space().unit(start);
    match method {
        Method::Spsa(options) => spsa::search(search, options, &start),
        _ => spsa::search(search, &Default::default(), &start),
    }
}
