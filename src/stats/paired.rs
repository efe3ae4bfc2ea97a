//! A paired comparison with a baseline on common random numbers.
//!
//! With D_r = X_r − Y_r the difference of ours and the baseline in replication r, the interval is
//! D̄ ± t(n−1) · S_D/√n, and "no difference" is tested by t = D̄ √n / S_D with n − 1 degrees of
//! freedom. Since Var D = Var X + Var Y − 2 Cov(X, Y), pairing divides the variance of the
//! difference by (Var X + Var Y)/Var D against two independent runs of the same length.
//!
//! A. M. Law, "Simulation Modeling and Analysis", 5th ed. (2015), sections 10.2.1 (paired-t
//! interval) and 11.2 (common random numbers).
//!
//! Sides that differ by less than a part in 10¹² are equal: what has been summed up in another order
//! differs by as much, and would be judged as if it were a difference.
//!
//! Assumes pairs independent of each other, and differences with a mean that is nearly normal; the
//! two sides may depend on each other and differ in variance.

use super::{Interval, Moments, t_p_value};

/// Part of the greater side below which a difference is none.
const ROUNDING: f64 = 1e-12;

/// Both sides of a comparison and their difference, ours − baseline, pair by pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Paired {
    ours: Moments,
    baseline: Moments,
    difference: Moments,
}

impl Paired {
    /// Counts one replication in; one without a difference (a side is NaN) is passed over.
    pub fn push(&mut self, ours: f64, baseline: f64) {
        let mut difference = ours - baseline;
        if difference.is_nan() {
            return;
        }
        if difference.abs() < ROUNDING * ours.abs().max(baseline.abs()) {
            difference = 0.0;
        }
        self.ours.push(ours);
        self.baseline.push(baseline);
        self.difference.push(difference);
    }

    /// Returns the sample of differences, ours − baseline, in the response's unit.
    pub fn difference(&self) -> &Moments {
        &self.difference
    }

    /// Returns the t interval of the difference at `confidence` in (0, 1); nothing below two pairs.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        self.difference.interval(confidence)
    }

    /// Returns the two-sided p value of "no difference"; nothing below two pairs.
    ///
    /// Differences that are all the same are certain: p is 1 if they are 0, else 0.
    pub fn p_value(&self) -> Option<f64> {
        let (mean, se) = (self.difference.mean()?, self.difference.se()?);
        if mean == 0.0 {
            return Some(1.0);
        }
        t_p_value(mean / se, self.difference.n() - 1)
    }

    /// Returns how many times less the variance of the difference is than without pairing.
    ///
    /// It is infinite where the differences are all the same although a side varies, and nothing
    /// where no side varies or below two pairs. Below 1, pairing did harm.
    pub fn variance_reduction(&self) -> Option<f64> {
        let variance = |sample: &Moments| sample.sd().map(|sd| sd * sd);
        let unpaired = variance(&self.ours)? + variance(&self.baseline)?;
        (unpaired > 0.0).then_some(unpaired / variance(&self.difference)?)
    }
}

impl FromIterator<(f64, f64)> for Paired {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let mut paired = Paired::default();
        pairs.into_iter().for_each(|(ours, baseline)| paired.push(ours, baseline));
        paired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_example_comes_out() {
        let paired: Paired = [(2.0, 1.0), (5.0, 3.0), (9.0, 6.0), (4.0, 2.0)].into_iter().collect();
        // Mean 2, variance 2/3; sides: variances 26/3 and 14/3.
        let interval = paired.interval(0.95).unwrap();
        let half = 3.182_446 * (2.0_f64 / 3.0 / 4.0).sqrt();
        assert!((interval.low - (2.0 - half)).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - (2.0 + half)).abs() < 1e-6, "{interval:?}");
        assert!((paired.variance_reduction().unwrap() - 20.0).abs() < 1e-9);
        // t = 4.899 with 3 degrees of freedom.
        assert!((paired.p_value().unwrap() - 0.016_28).abs() < 1e-4, "{paired:?}");
    }

    #[test]
    fn equal_samples_do_not_differ() {
        let paired: Paired = [(0.1, 0.1), (0.7, 0.7), (0.3, 0.3)].into_iter().collect();
        assert_eq!(paired.difference().mean(), Some(0.0));
        assert_eq!(paired.interval(0.95), Some(Interval { low: 0.0, high: 0.0 }));
        assert_eq!(paired.p_value(), Some(1.0));
        assert_eq!(paired.variance_reduction(), Some(f64::INFINITY));
    }

    /// Sums of the same parts in another order are no difference, however many times they are seen.
    #[test]
    fn rounding_is_no_difference() {
        let paired: Paired = [(0.1 + 0.2, 0.3), (0.7, 0.7), (0.6 - 0.4, 0.2)].into_iter().collect();
        assert_eq!((paired.difference().mean(), paired.p_value()), (Some(0.0), Some(1.0)));
        let paired: Paired = [(1e9 + 1.0, 1e9), (1e9 + 2.0, 1e9)].into_iter().collect();
        assert_eq!(paired.difference().mean(), Some(1.5));
    }

    #[test]
    fn a_constant_difference_is_certain() {
        let paired: Paired = [(2.0, 1.0), (5.0, 4.0), (9.0, 8.0)].into_iter().collect();
        assert_eq!(paired.p_value(), Some(0.0));
        assert_eq!(paired.variance_reduction(), Some(f64::INFINITY));
        let constant: Paired = [(2.0, 1.0), (2.0, 1.0)].into_iter().collect();
        assert_eq!(constant.variance_reduction(), None);
    }

    #[test]
    fn a_pair_without_a_difference_is_passed_over_on_both_sides() {
        let pairs = [(1.0, 0.0), (f64::NAN, 9.0), (9.0, f64::NAN), (f64::INFINITY, f64::INFINITY)];
        let paired: Paired = pairs.into_iter().chain([(3.0, 1.0)]).collect();
        assert_eq!(paired, [(1.0, 0.0), (3.0, 1.0)].into_iter().collect());
    }

    #[test]
    fn one_pair_claims_nothing() {
        let paired: Paired = [(2.0, 1.0)].into_iter().collect();
        assert_eq!((paired.interval(0.95), paired.p_value()), (None, None));
        assert_eq!(paired.variance_reduction(), None);
    }
}
