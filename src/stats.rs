//! Statistics of replications: moments and Student t intervals, and what is built on them.
//!
//! Replications are fed in one at a time and in order, so that a result never depends on how they
//! were shared among threads. Values carry their own unit; every procedure is free of scale.

pub mod batch;
pub mod best;
pub mod multiple;
pub mod paired;
pub mod selection;
pub mod stopping;
pub mod warmup;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Which values of a response are the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Good {
    Less,
    More,
}

impl Good {
    /// Returns a difference turned so that more is better.
    pub fn gain(self, difference: f64) -> f64 {
        match self {
            Good::Less => -difference,
            Good::More => difference,
        }
    }
}

/// Count, mean and sum of squared deviations of a sample; NaN values are not counted.
///
/// B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
/// Technometrics 4 (1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    mean: f64,
    squares: f64,
}

/// A two-sided confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Returns half the interval's length.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

impl Moments {
    /// Counts one value in; a NaN stands for "has none" and is passed over.
    pub fn push(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// Returns the number of values.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Returns the mean, or nothing of an empty sample.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// Returns the sample standard deviation (n − 1), or nothing below two values.
    pub fn sd(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt())
    }

    /// Returns the standard error of the mean, or nothing below two values.
    pub fn se(&self) -> Option<f64> {
        self.sd().map(|sd| sd / (self.n as f64).sqrt())
    }

    /// Returns the Student t interval of the mean at `confidence` in (0, 1), assuming independent
    /// values with a mean that is nearly normal; nothing below two values.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        Intervals::new(confidence).of(self)
    }
}

/// Student t intervals of many samples at one confidence.
///
/// Samples of an experiment mostly have one size, and the quantile is what costs time: it is
/// computed once for each run of equal sizes.
#[derive(Clone, Debug)]
pub struct Intervals {
    confidence: f64,
    last: Option<(u64, f64)>,
}

impl Intervals {
    /// Returns intervals at `confidence` in (0, 1).
    pub fn new(confidence: f64) -> Self {
        Intervals { confidence, last: None }
    }

    /// Returns the interval of a sample's mean, as [`Moments::interval`] does.
    pub fn of(&mut self, sample: &Moments) -> Option<Interval> {
        let se = sample.se()?;
        let quantile = match self.last {
            Some((n, quantile)) if n == sample.n => quantile,
            _ => t_quantile(0.5 + self.confidence / 2.0, sample.n - 1)?,
        };
        self.last = Some((sample.n, quantile));
        let half = se * quantile;
        Some(Interval { low: sample.mean - half, high: sample.mean + half })
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// Degrees of freedom from which the quantile is taken from the normal one: the inverse of the beta
/// function loses digits with them (2e-9 of the value here, a fifth of it at 10⁷), while the first
/// term left out of the expansion is below 2e-9 up to six standard deviations.
const NEARLY_NORMAL: f64 = 1e4;

/// Returns the quantile of Student's t with `freedom` ≥ 1 degrees of freedom.
///
/// Far out it is the expansion z + (z³ + z)/4ν + (5z⁵ + 16z³ + 3z)/96ν² of Abramowitz and Stegun,
/// "Handbook of Mathematical Functions" (1964), 26.7.5.
fn t_quantile(probability: f64, freedom: u64) -> Option<f64> {
    let freedom = freedom as f64;
    if freedom < NEARLY_NORMAL {
        return Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(probability));
    }
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(probability);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    Some(z + first / freedom + second / (freedom * freedom))
}

/// Returns the two-sided p value of the statistic `t` with `freedom` ≥ 1 degrees of freedom.
pub fn t_p_value(t: f64, freedom: u64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(2.0 * distribution.sf(t.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ten numbers of REFERENCE.md, section 8 (Law and Kelton's example).
    #[test]
    fn the_t_interval_equals_the_textbook() {
        let sample: Moments =
            [1.02, 0.73, 3.20, 0.23, 1.76, 0.47, 1.89, 1.45, 0.44, 0.23].into_iter().collect();
        let interval = sample.interval(0.9).unwrap();
        assert!((interval.low - 0.59328).abs() < 5e-6, "{interval:?}");
        assert!((interval.high - 1.69072).abs() < 5e-6, "{interval:?}");
    }

    #[test]
    fn one_value_has_a_mean_but_no_interval() {
        let one: Moments = [3.0].into_iter().collect();
        assert_eq!(one.mean(), Some(3.0));
        assert_eq!((one.sd(), one.se(), one.interval(0.95)), (None, None, None));
        assert_eq!(Moments::default().mean(), None);
    }

    #[test]
    fn nan_is_not_counted() {
        let some: Moments = [1.0, f64::NAN, 3.0].into_iter().collect();
        assert_eq!((some.n(), some.mean()), (2, Some(2.0)));
    }

    /// Printed tables: 2.262157 at ν = 9, and 1.959964 of the normal.
    #[test]
    fn quantiles_are_right_at_any_degrees_of_freedom() {
        let quantile = |freedom| t_quantile(0.975, freedom).unwrap();
        assert!((quantile(9) - 2.262_157).abs() < 1e-6);
        // The true ones differ by 1.2e-8 of their value.
        assert!((quantile(9_999) / quantile(10_000) - 1.0).abs() < 2e-8);
        for freedom in [1_000_000, 10_000_000] {
            assert!((quantile(freedom) - 1.959_964).abs() < 1e-5, "{}", quantile(freedom));
        }
    }

    /// t = 2.228 at 10 degrees of freedom is the 5 % point of every printed table.
    #[test]
    fn the_p_value_equals_the_printed_table() {
        let p = t_p_value(-2.228, 10).unwrap();
        assert!((p - 0.05).abs() < 1e-4, "{p}");
    }
}
