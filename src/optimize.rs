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

mod auto;
mod cma;
mod confirm;
mod direct;
mod gains;
mod sampling;
mod search;
mod space;
mod spsa;
mod surface;
#[cfg(test)]
mod trials;

pub use confirm::{Confirmation, Measured, Plan, Regret, RivalResult, confirm};
pub use gains::Gains;
pub use search::{Failures, Phase, Search, Step, Stop};
pub use space::Space;

use crate::rng::StreamKey;
use crate::spec::Method;

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
    /// Standard error of each coordinate [share of the box], where the method can tell; NaN for one
    /// that it can't tell of. It is of where the search settles, as searches on other streams show
    /// it, and not of the distance to the optimum: the bias of the method is not in it.
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
    /// The point found and its standard errors, in natural units.
    pub at: Vec<f64>,
    pub se: Option<Vec<f64>>,
    /// Replications of the search.
    pub spent: u64,
    pub failures: Failures,
    pub steps: Vec<Step>,
    pub confirmation: Confirmation,
}

/// Searches with the given method until its budget is spent; `start` is in natural units.
///
/// # Errors
/// [`Stop`], when the search was interrupted or can't go on.
pub fn search(search: &mut Search, method: &Method, start: &[f64]) -> Result<Found, Stop> {
    let start = search.space().unit(start);
    let mut found = by(search, method, &start)?;
    found.unit = search.space().actual(&found.unit);
    Ok(found)
}

/// Searches from `start`, a point of the unit cube.
fn by(search: &mut Search, method: &Method, start: &[f64]) -> Result<Found, Stop> {
    match *method {
        Method::Auto => auto::search(search, start),
        Method::Spsa(ref options) => spsa::search(search, options, start),
        Method::GoldenSection { replications } => direct::golden_section(search, replications),
        Method::Brent { replications } => direct::brent(search, replications),
        Method::NelderMead { replications } => direct::nelder_mead(search, replications, start),
        Method::ParticleSwarm { particles, replications } => {
            direct::particle_swarm(search, particles, replications, start)
        }
        Method::CmaEs { population, replications } => {
            cma::search(search, population, replications, start)
        }
        Method::Random { points } => sampling::random(search, points, start),
        Method::Sobol { points } => sampling::sobol(search, points, start),
        Method::Grid { points, delta, confidence } => {
            sampling::grid(search, points, delta, confidence)
        }
        Method::ResponseSurface { rounds } => surface::search(search, rounds, start),
    }
}
