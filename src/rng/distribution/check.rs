//! The ranges of distributions' parameters.
//!
//! Each check stops at the first parameter out of range, in the order in which the fields are declared. That mean and
//! variance are finite comes last, so that extremes whose moments leave the floats are refused and not drawn from.

use super::{Distribution, Invalid, number};
use crate::rng::alias::MAX_POISSON_MEAN;

/// Largest mean of a geometric distribution: beyond it one output of 32 bits would miss integers near the mean.
const MAX_GEOMETRIC_MEAN: f64 = 1e9;

/// Largest coefficient of variation: beyond it not even 10¹² draws would show the mean.
const MAX_CV: f64 = 1e6;

/// How far a sum of probabilities may be from 1; within it they are normalised.
const PROBABILITY_SLACK: f64 = 1e-9;

impl Distribution {
    /// Checks every parameter, and that mean and variance are finite.
    ///
    /// # Errors
    ///
    /// Returns the first parameter that lies outside the range given with its field.
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Deterministic { value } => positive("value", *value)?,
            Self::Exponential { mean } => positive("mean", *mean)?,
            Self::Poisson { mean } => {
                positive("mean", *mean)?;
                at_most("mean", *mean, MAX_POISSON_MEAN)?;
            }
            Self::Geometric { mean } => {
                positive("mean", *mean)?;
                if *mean < 1.0 {
                    return refuse("mean", format!("`{}` is below 1", number(*mean)));
                }
                at_most("mean", *mean, MAX_GEOMETRIC_MEAN)?;
            }
            Self::Erlang { shape, mean } => {
                positive("shape", f64::from(*shape))?;
                positive("mean", *mean)?;
            }
            Self::Hyperexponential { probabilities, means } => {
                check_branches(probabilities, means)?
            }
            Self::Lognormal { mean, cv } => {
                positive("mean", *mean)?;
                positive("cv", *cv)?;
                at_most("cv", *cv, MAX_CV)?;
            }
            Self::Uniform { low, high } => {
                not_negative("low", *low)?;
                above_low(*low, *high)?;
            }
            Self::Weibull { shape, scale } => {
                positive("shape", *shape)?;
                positive("scale", *scale)?;
            }
            Self::BoundedPareto { shape, low, high } => {
                positive("shape", *shape)?;
                positive("low", *low)?;
                above_low(*low, *high)?;
            }
            Self::Gamma { shape, mean } => {
                positive("shape", *shape)?;
                positive("mean", *mean)?;
            }
            Self::Empirical { values } => check_values(values)?,
        }
        finite("mean", self.mean())?;
        finite("variance", self.variance())
    }
}

/// Returns a refusal.
pub(super) fn refuse<T>(field: &'static str, message: String) -> Result<T, Invalid> {
    Err(Invalid { field, message })
}

fn finite(field: &'static str, x: f64) -> Result<(), Invalid> {
    if x.is_finite() { Ok(()) } else { refuse(field, format!("`{x}` is not finite")) }
}

fn positive(field: &'static str, x: f64) -> Result<(), Invalid> {
    finite(field, x)?;
    if x > 0.0 { Ok(()) } else { refuse(field, format!("`{}` is not positive", number(x))) }
}

fn not_negative(field: &'static str, x: f64) -> Result<(), Invalid> {
    finite(field, x)?;
    if x >= 0.0 { Ok(()) } else { refuse(field, format!("`{}` is negative", number(x))) }
}

fn at_most(field: &'static str, x: f64, bound: f64) -> Result<(), Invalid> {
    if x <= bound { Ok(()) } else { refuse(field, format!("`{}` is above {bound}", number(x))) }
}

fn above_low(low: f64, high: f64) -> Result<(), Invalid> {
    finite("high", high)?;
    if high > low {
        Ok(())
    } else {
        refuse("high", format!("`{}` is not above low, `{}`", number(high), number(low)))
    }
}

fn check_branches(probabilities: &[f64], means: &[f64]) -> Result<(), Invalid> {
    if probabilities.is_empty() {
        return refuse("probabilities", "the list is empty".into());
    }
    for &p in probabilities {
        not_negative("probabilities", p)?;
    }
    let sum: f64 = probabilities.iter().sum();
    if (sum - 1.0).abs() > PROBABILITY_SLACK {
        // Twelve digits show every refused sum, and none of the rounding noise behind them.
        let shown = number((sum * 1e12).round() / 1e12);
        return refuse("probabilities", format!("the sum is `{shown}`, not 1"));
    }
    if means.len() != probabilities.len() {
        return refuse(
            "means",
            format!("`{}` means for `{}` probabilities", means.len(), probabilities.len()),
        );
    }
    means.iter().try_for_each(|&mean| positive("means", mean))
}

fn check_values(values: &[f64]) -> Result<(), Invalid> {
    if values.is_empty() {
        return refuse("values", "the list is empty".into());
    }
    if u32::try_from(values.len()).is_err() {
        return refuse(
            "values",
            format!("`{}` values are more than one output can tell apart", values.len()),
        );
    }
    for &value in values {
        not_negative("values", value)?;
    }
    if values.iter().all(|&value| value == 0.0) {
        return refuse("values", "every value is `0`".into());
    }
    Ok(())
}
