//! Gauss–Seidel sweeps over the balance equations of a Markov chain.
//!
//! Each step sets π_j = Σ_i π_i·q_ij / Σ_l q_jl with the newest values at hand, upwards through the states and then
//! downwards: a sweep in one direction alone may go round in circles. W. J. Stewart, "Introduction to the Numerical
//! Solution of Markov Chains" (1994), chapter 3.
//!
//! A sweep that changes little is no proof of being near, as a chain may mix slowly. Two guards stand against that.
//! When changes shrink by a factor r a sweep, what is still to come is change/(1 − r), and the sweeps go on until
//! *that* is small. And they are made twice, from starts far apart: where parts of a chain meet so rarely that their
//! weights never move, the two ends differ. Such a chain gets no solution.

use super::chain::{Rates, reversed};

/// Largest sum of absolute errors of the probabilities, estimated from the last two changes.
const MAX_ERROR: f64 = 1e-12;
/// Most sweeps from a start. A chain that needs more mixes so slowly that rounding hides what is still to come.
const MAX_SWEEPS: usize = 20_000;
/// Most transitions passed over from a start; a few seconds' work.
const MAX_STEPS: usize = 2_000_000_000;

/// Returns the stationary probabilities of an irreducible chain of at least two states, or `None` if the sweeps don't
/// get there.
pub(super) fn solve(rates: &Rates) -> Option<Vec<f64>> {
    let n = rates.len();
    let into = reversed(rates);
    let out: Vec<f64> = rates.iter().map(|row| row.iter().map(|&(_, rate)| rate).sum()).collect();
    let even = sweep(&into, &out, vec![1.0; n])?;
    // All but nothing in the last state, which the first sweep reads before it overwrites it. Not nothing at all,
    // lest all weight be swept away.
    let mut uneven = vec![1e-30; n];
    uneven[n - 1] = 1.0;
    let uneven = sweep(&into, &out, uneven)?;
    let apart: f64 = even.iter().zip(&uneven).map(|(a, b)| (a - b).abs()).sum();
    (apart <= 2.0 * MAX_ERROR).then_some(even)
}

/// Returns where the sweeps lead from `weights`.
fn sweep(into: &Rates, out: &[f64], mut weights: Vec<f64>) -> Option<Vec<f64>> {
    let n = out.len();
    let transitions: usize = into.iter().map(Vec::len).sum();
    let mut change_before = f64::INFINITY;
    for _ in 0..MAX_SWEEPS.min(MAX_STEPS / (2 * transitions)) {
        let before = weights.clone();
        for j in (0..n).chain((0..n).rev()) {
            weights[j] = into[j].iter().map(|&(i, rate)| weights[i] * rate).sum::<f64>() / out[j];
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let change: f64 = weights.iter().zip(&before).map(|(w, b)| (w - b).abs()).sum();
        if change <= MAX_ERROR * (1.0 - change / change_before) {
            return Some(weights);
        }
        change_before = change;
    }
    None
}
