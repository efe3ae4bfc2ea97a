//! Claims: a published value against the simulated one, to a verdict.
//!
//! A published figure is one run. Without a tolerance it is therefore judged by the spread of a
//! *single run*, s, and not by the standard error of our mean x̄ of n runs; and having been
//! rounded to a last digit of unit u, it may be off by u/2 more:
//!
//! > t = max(0, |figure − x̄| − u/2) / (s·√(1 + 1/n)), a pass up to 3.
//!
//! The p value is the two-sided one of t with n − 1 degrees of freedom: the prediction interval
//! of one further run (W. Q. Meeker, G. J. Hahn, L. A. Escobar, "Statistical Intervals", 2nd
//! edition, 2017, section 4.7). With a tolerance, the figure passes when it is no further than
//! that from the mean; p is then that of the true mean lying within it, with se = s/√n.

use crate::frame::{Cell, Table};
use crate::spec::{Bound, Claim, Experiment};
use crate::stats::{Interval, Moments, t_p_value};

/// Greatest t of a claim that passes.
const LIMIT: f64 = 3.0;

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The number of the point.
    pub point: u32,
    pub policy: String,
    pub response: String,
    /// The point's swept values, as the claim names them.
    pub at: String,
    pub published: f64,
    /// The published value as the spec has it.
    pub written: String,
    /// Mean over replications; nothing if all failed.
    pub simulated: Option<f64>,
    pub interval: Option<Interval>,
    /// Standard deviation of a single run.
    pub sd_run: Option<f64>,
    pub p: Option<f64>,
    pub tolerance: Option<f64>,
    pub passed: bool,
}

/// Judges a claim by the moments of its point's columns.
pub fn judge(experiment: &Experiment, claim: &Claim, moments: Option<&Vec<Moments>>) -> Judged {
    let sample = moments.map(|moments| moments[claim.column]).unwrap_or_default();
    let distance = sample.mean().map(|mean| (claim.value - mean).abs());
    let (allowed, spread) = match claim.bound {
        Bound::Tolerance(tolerance) => (tolerance, sample.se()),
        Bound::Rounding(half_unit) => {
            let n = sample.n() as f64;
            (half_unit, sample.sd().map(|sd| sd * (1.0 + 1.0 / n).sqrt()))
        }
    };
    let excess = distance.map(|distance| (distance - allowed).max(0.0));
    let t = excess.zip(spread).map(|(excess, spread)| match excess {
        0.0 => 0.0,
        _ => excess / spread,
    });
    let passed = match claim.bound {
        Bound::Tolerance(_) => excess == Some(0.0),
        Bound::Rounding(_) => t.is_some_and(|t| t <= LIMIT),
    };
    Judged {
        point: claim.point,
        policy: experiment.labels[claim.policy].clone(),
        response: experiment.columns[claim.column].clone(),
        at: claim.at.clone(),
        published: claim.value,
        written: claim.written.clone(),
        simulated: sample.mean(),
        interval: sample.interval(experiment.confidence),
        sd_run: sample.sd(),
        p: t.and_then(|t| t_p_value(t, sample.n().saturating_sub(1).max(1))),
        tolerance: match claim.bound {
            Bound::Tolerance(tolerance) => Some(tolerance),
            Bound::Rounding(_) => None,
        },
        passed,
    }
}

impl Judged {
    /// Returns whether there was anything to judge by: one run, or two where the spread of runs is.
    pub fn is_judged(&self) -> bool {
        self.simulated.is_some() && (self.tolerance.is_some() || self.sd_run.is_some())
    }

    /// Returns the verdict's name in files.
    pub fn verdict(&self) -> &'static str {
        if self.passed { "pass" } else { "fail" }
    }
}

/// Returns the table of `claims.csv`.
pub fn table(judged: &[Judged]) -> Table {
    let columns = [
        "policy",
        "response",
        "published",
        "simulated",
        "ci_low",
        "ci_high",
        "sd_run",
        "p",
        "verdict",
        "at",
        "tolerance",
        "point",
    ]
    .map(String::from)
    .to_vec();
    let rows = judged.iter().map(|claim| {
        vec![
            Cell::Text(claim.policy.clone()),
            Cell::Text(claim.response.clone()),
            Cell::Number(Some(claim.published)),
            Cell::Number(claim.simulated),
            Cell::Number(claim.interval.map(|interval| interval.low)),
            Cell::Number(claim.interval.map(|interval| interval.high)),
            Cell::Number(claim.sd_run),
            Cell::Number(claim.p),
            Cell::Text(claim.verdict().to_owned()),
            Cell::Text(claim.at.clone()),
            Cell::Number(claim.tolerance),
            Cell::Whole(claim.point.into()),
        ]
    });
    Table { columns, rows: rows.collect() }
}
