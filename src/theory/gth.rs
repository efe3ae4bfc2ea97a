//! Elimination of the states of a Markov chain, one by one, without subtractions.
//!
//! Watching the chain only while it is in states 0..k makes another chain with the same proportions. Its rates are
//! q_ij + q_ik·q_kj / Σ_l q_kl (i, j, l < k), and its state k held π_k = Σ_i π_i·q_ik / Σ_l q_kl. Only positive
//! numbers are added, multiplied and divided, so each probability comes out with a small *relative* error, however
//! rare the state and however slowly parts of the chain mix.
//!
//! W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for Markov
//! chains", Operations Research 33 (1985) 1107–1116; the error is bounded in C. A. O'Cinneide, "Entrywise perturbation
//! theory and error analysis for Markov chains", Numerische Mathematik 65 (1993) 109–120.
//!
//! States of a breadth-first search have their neighbours close by. The new rates of an elimination lie between
//! neighbours, so all rates stay in a band around the diagonal, and n states of half-width b take n·b² steps.

use super::chain::Rates;

/// Most steps of an elimination (one addition, one multiplication); about a second's work.
const MAX_STEPS: f64 = 2e9;
/// Most rates stored on either side of the diagonal; 8 bytes each.
const MAX_STORED: usize = 10_000_000;
/// Weight at which the probabilities found so far are scaled down: far from overflow, and rarely reached.
const MAX_WEIGHT: f64 = 1e200;

/// The rates of a chain within a band.
pub(super) struct Band {
    /// Lowest state that k has rates to or from, or will have while those above k are eliminated; ascending.
    first: Vec<usize>,
    /// Rates from k to each of `first[k]..k`.
    down: Vec<Vec<f64>>,
    /// Rates from each of `first[k]..k` to k; once k is eliminated, divided by the rate from k to all of them.
    up: Vec<Vec<f64>>,
}

impl Band {
    /// Returns the band of an irreducible chain, or `None` if its elimination would be long.
    pub(super) fn of(rates: &Rates) -> Option<Self> {
        let n = rates.len();
        let mut first: Vec<usize> = (0..n).collect();
        for (from, row) in rates.iter().enumerate() {
            for &(to, _) in row {
                let (low, high) = (from.min(to), from.max(to));
                first[high] = first[high].min(low);
            }
        }
        for k in (1..n).rev() {
            first[k - 1] = first[k - 1].min(first[k]);
        }
        let widths = || first.iter().enumerate().map(|(k, first)| k - first);
        if widths().sum::<usize>() > MAX_STORED
            || widths().map(|width| (width as f64).powi(2)).sum::<f64>() > MAX_STEPS
        {
            return None;
        }
        let empty: Vec<Vec<f64>> = widths().map(|width| vec![0.0; width]).collect();
        let mut band = Self { down: empty.clone(), up: empty, first };
        for (from, row) in rates.iter().enumerate() {
            for &(to, rate) in row {
                if to < from {
                    band.down[from][to - band.first[from]] += rate;
                } else {
                    band.up[to][from - band.first[to]] += rate;
                }
            }
        }
        Some(band)
    }

    /// Returns the stationary probabilities.
    pub(super) fn solve(mut self) -> Vec<f64> {
        for k in (1..self.first.len()).rev() {
            self.eliminate(k);
        }
        let mut weights = vec![1.0];
        for (first, up) in self.first.iter().zip(&self.up).skip(1) {
            let weight: f64 = weights[*first..].iter().zip(up).map(|(w, up)| w * up).sum();
            weights.push(weight);
            if weight > MAX_WEIGHT {
                weights.iter_mut().for_each(|w| *w /= weight);
            }
        }
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    /// Lets the states below k bypass it.
    fn eliminate(&mut self, k: usize) {
        let down = std::mem::take(&mut self.down[k]);
        let mut up = std::mem::take(&mut self.up[k]);
        let out: f64 = down.iter().sum();
        up.iter_mut().for_each(|rate| *rate /= out);
        let first = self.first[k];
        for i in first + 1..k {
            let (below, from) = (i - first, first - self.first[i]);
            add_multiple(&mut self.down[i][from..], up[below], &down[..below]);
            add_multiple(&mut self.up[i][from..], down[below], &up[..below]);
        }
        self.up[k] = up;
    }
}

/// Adds `factor` times `row` to `sums`.
fn add_multiple(sums: &mut [f64], factor: f64, row: &[f64]) {
    if factor != 0.0 {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += factor * x;
        }
    }
}
