//! Batch means of one long run in its steady state.
//!
//! A run of n values is cut into b batches of m = ⌊n/b⌋; the n − bm left over are dropped from its
//! start, where bias of the start would be. The batch means Y_1 … Y_b are taken for independent,
//! so that their t interval with b − 1 degrees of freedom is the run's. Whether they are, von
//! Neumann's ratio tells: with C = 1 − Σ (Y_{i+1} − Y_i)² / 2 Σ (Y_i − Ȳ)², an estimate of their
//! lag-1 autocorrelation, C / √((b − 2)/(b² − 1)) is nearly standard normal if they are.
//!
//! A. M. Law, "Simulation Modeling and Analysis", 5th ed. (2015), section 9.5.3. C. Alexopoulos and
//! A. F. Seila, "Output data analysis", in J. Banks (ed.), "Handbook of Simulation" (1998), section
//! 7.3. J. von Neumann, "Distribution of the ratio of the mean square successive difference to the
//! variance", Ann. Math. Statist. 12 (1941); the normal law serves from 8 batches on: G. S. Fishman
//! and L. S. Yarberry, "An implementation of the batch means method", INFORMS J. Computing 9 (1997).
//!
//! Assumes a stationary run whose autocorrelation dies out well within a batch. Values and interval
//! are in the response's unit, autocorrelation is a pure number.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Interval, Moments};

/// Batches where nothing else is asked for: beyond 30 the t quantile hardly falls any more, while
/// shorter batches depend on each other more (B. Schmeiser, "Batch size effects in the analysis of
/// simulation output", Operations Research 30 (1982)).
pub const BATCHES: usize = 30;

/// The batch means of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMeans {
    size: usize,
    moments: Moments,
    /// Σ (Y_{i+1} − Y_i)².
    successive: f64,
}

impl BatchMeans {
    /// Returns the means of `batches` ≥ 2 batches; nothing where a value is not finite or there are fewer
    /// values than batches.
    pub fn new(values: &[f64], batches: usize) -> Option<Self> {
        if batches < 2 || values.len() < batches {
            return None;
        }
        let size = values.len() / batches;
        let means: Vec<f64> = values[values.len() % batches..]
            .chunks_exact(size)
            .map(|batch| batch.iter().sum::<f64>() / size as f64)
            .collect();
        if !means.iter().all(|mean| mean.is_finite()) {
            return None;
        }
        let successive = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        Some(BatchMeans { size, moments: means.into_iter().collect(), successive })
    }

    /// Returns the values a batch.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the sample of batch means, whose mean is the run's.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns the t interval of the run's mean at `confidence` in (0, 1).
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        self.moments.interval(confidence)
    }

    /// Returns the estimated lag-1 autocorrelation of the batch means; nothing if they are equal.
    pub fn autocorrelation(&self) -> Option<f64> {
        let sd = self.moments.sd()?;
        let squares = sd * sd * (self.moments.n() - 1) as f64;
        (squares > 0.0).then(|| 1.0 - self.successive / (2.0 * squares))
    }

    /// Returns the one-sided p value of "the batch means are not positively correlated"; nothing
    /// below three batches or if all are equal. A small one says that the batches are too short and
    /// the interval too narrow.
    pub fn p_uncorrelated(&self) -> Option<f64> {
        let batches = self.moments.n() as f64;
        let sd = ((batches - 2.0) / (batches * batches - 1.0)).sqrt();
        let ratio = self.autocorrelation()? / sd;
        (sd > 0.0).then_some(Normal::new(0.0, 1.0).ok()?.sf(ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remainder_is_dropped_from_the_start() {
        let run = [99.0, 99.0, 1.0, 2.0, 3.0, 6.0, 7.0, 8.0, 3.0, 4.0, 5.0];
        let batches = BatchMeans::new(&run, 3).unwrap();
        assert_eq!((batches.size(), batches.moments().mean()), (3, Some(13.0 / 3.0)));
        // Means 2, 7, 4: squares 38/3, successive 25 + 9.
        let autocorrelation = batches.autocorrelation().unwrap();
        assert!((autocorrelation - (1.0 - 34.0 * 3.0 / 76.0)).abs() < 1e-12, "{autocorrelation}");
    }

    #[test]
    fn a_trend_is_taken_for_too_short_batches() {
        let trend: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(BatchMeans::new(&trend, 10).unwrap().p_uncorrelated().unwrap() < 0.01);
    }

    #[test]
    fn too_little_or_undefined_gives_no_batches() {
        assert_eq!(BatchMeans::new(&[1.0; 9], 10), None);
        assert_eq!(BatchMeans::new(&[1.0; 9], 1), None);
        assert_eq!(BatchMeans::new(&[1.0, f64::NAN], 2), None);
        assert_eq!(BatchMeans::new(&[1.0; 9], 3).unwrap().p_uncorrelated(), None);
        assert_eq!(BatchMeans::new(&[1.0, 2.0], 2).unwrap().p_uncorrelated(), None);
    }
}
