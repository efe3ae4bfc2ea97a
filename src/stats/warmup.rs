//! The end of a run's warm-up: the marginal standard error rule, MSER.
//!
//! Of a run x_1 … x_n, the first d* = argmin Σ_{i>d} (x_i − x̄_d)² / (n − d)² values are dropped,
//! x̄_d being the mean of those after d: the cut where the interval of the remaining mean would be
//! narrowest. MSER-5 does the same to means of batches of five.
//!
//! K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69 (1997), 323–334. K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five
//! steady-state truncation heuristics for simulation", Proc. Winter Simulation Conference (2000),
//! 755–760.
//!
//! Assumes a run that starts outside its steady state and settles in it. A minimum in the second
//! half says that the run is too short, not where it settles, so that only cuts in the first half
//! are looked at. The cut is counted in the run's own values (observations).

/// Values a batch in MSER-5, which White, Cobb and Spratt found the most robust of their rules:
/// five even out the oscillations that make the plain rule cut too late.
pub const BATCH: usize = 5;

/// A chosen cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Values to drop from the start of the run.
    pub dropped: usize,
    /// Whether it is the last cut that was looked at: the run is then most likely too short.
    pub at_limit: bool,
}

/// Returns the cut of the rule on means of `batch` ≥ 1 values: 1 is MSER, [`BATCH`] is MSER-5.
///
/// Of equally good cuts it is the first. The values that don't fill a last batch are not looked
/// at. Nothing comes of fewer than two batches, of batches of 0, and of values that are not finite.
pub fn mser(values: &[f64], batch: usize) -> Option<Cut> {
    let means: Vec<f64> = values
        .chunks_exact(if batch > 0 { batch } else { return None })
        .map(|values| values.iter().sum::<f64>() / batch as f64)
        .collect();
    if means.len() < 2 || !means.iter().all(|mean| mean.is_finite()) {
        return None;
    }
    let limit = means.len() / 2;
    // Welford's recursion from the end, which gives the sums of every tail in one pass.
    let (mut mean, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (0, f64::INFINITY);
    for (cut, &value) in means.iter().enumerate().rev() {
        let count = (means.len() - cut) as f64;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        let error = squares / (count * count);
        if cut <= limit && error <= least {
            (best, least) = (cut, error);
        }
    }
    Some(Cut { dropped: best * batch, at_limit: best == limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten 10s followed by 45 pairs (0, 1).
    fn settling() -> Vec<f64> {
        let pairs = (0..90).map(|i| f64::from(i % 2));
        [10.0; 10].into_iter().chain(pairs).collect()
    }

    #[test]
    fn the_cut_is_where_the_transient_ends() {
        assert_eq!(mser(&settling(), 1), Some(Cut { dropped: 10, at_limit: false }));
        assert_eq!(mser(&settling(), BATCH), Some(Cut { dropped: 10, at_limit: false }));
    }

    /// The rule as its equation stands, in quadratic time.
    #[test]
    fn one_pass_equals_the_equation() {
        let values: Vec<f64> = (0..61)
            .map(|i| 1e6 + f64::from(i * i % 17) + 40.0 * (-0.3 * f64::from(i)).exp())
            .collect();
        let error = |cut: usize| {
            let rest = &values[cut..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        let best = (0..=30).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap();
        assert!(best > 3 && best < 30, "{best}");
        assert_eq!(mser(&values, 1), Some(Cut { dropped: best, at_limit: false }));
    }

    #[test]
    fn a_run_that_never_settles_is_cut_at_the_limit() {
        let trend: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser(&trend, 1), Some(Cut { dropped: 50, at_limit: true }));
    }

    #[test]
    fn a_constant_run_loses_nothing() {
        assert_eq!(mser(&[0.1; 37], BATCH), Some(Cut { dropped: 0, at_limit: false }));
    }

    #[test]
    fn too_little_or_undefined_gives_no_cut() {
        assert_eq!(mser(&[1.0; 9], BATCH), None);
        assert_eq!(mser(&[1.0; 9], 0), None);
        assert_eq!(mser(&[1.0, f64::NAN, 1.0, 1.0], 1), None);
    }
}
