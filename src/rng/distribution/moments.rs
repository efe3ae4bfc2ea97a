//! The exact moments of distributions, and whether their values are integers.

use super::Distribution;
use crate::rng::gamma::ln_gamma;

impl Distribution {
    /// Returns the exact mean of a checked distribution, for poisson with its truncation; the same on every machine.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Deterministic { value } => *value,
            Self::Poisson { mean } => mean / -libm::expm1(-mean),
            Self::Exponential { mean }
            | Self::Geometric { mean }
            | Self::Erlang { mean, .. }
            | Self::Lognormal { mean, .. }
            | Self::Gamma { mean, .. } => *mean,
            Self::Hyperexponential { probabilities, means } => mix(probabilities, means),
            Self::Uniform { low, high } => low + (high - low) / 2.0,
            Self::Weibull { shape, scale } => scale * libm::exp(ln_gamma(1.0 + 1.0 / shape)),
            Self::BoundedPareto { shape, low, high } => {
                low * pareto_moment(*shape, high / low, 1.0)
            }
            Self::Empirical { values } => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// Returns the exact variance of a checked distribution, for poisson with its truncation, for empirical that of
    /// the list itself (divided by its length).
    ///
    /// Weibull and bounded pareto lose digits to cancellation where the variance is tiny beside the squared mean: the
    /// relative error is some 10⁻¹⁴ of their ratio.
    pub fn variance(&self) -> f64 {
        match self {
            Self::Deterministic { .. } => 0.0,
            Self::Exponential { mean } => mean * mean,
            Self::Poisson { mean } => self.mean() * (1.0 + mean - self.mean()),
            Self::Geometric { mean } => mean * (mean - 1.0),
            Self::Erlang { shape, mean } => mean * mean / f64::from(*shape),
            Self::Hyperexponential { probabilities, means } => {
                let centre = self.mean();
                let about: Vec<f64> = means.iter().map(|m| m * m + (m - centre).powi(2)).collect();
                mix(probabilities, &about)
            }
            Self::Lognormal { mean, cv } => (mean * cv).powi(2),
            Self::Uniform { low, high } => (high - low).powi(2) / 12.0,
            Self::Weibull { shape, .. } => {
                let ratio = ln_gamma(1.0 + 2.0 / shape) - 2.0 * ln_gamma(1.0 + 1.0 / shape);
                self.mean().powi(2) * libm::expm1(ratio).max(0.0)
            }
            Self::BoundedPareto { shape, low, high } => {
                let [first, second] = [1.0, 2.0].map(|n| pareto_moment(*shape, high / low, n));
                let relative = second - first * first;
                // Not `max`, which would turn a NaN into a variance.
                low * low * if relative < 0.0 { 0.0 } else { relative }
            }
            Self::Gamma { shape, mean } => mean * mean / shape,
            Self::Empirical { values } => {
                let centre = self.mean();
                values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / values.len() as f64
            }
        }
    }

    /// Returns whether every value is an integer.
    pub fn is_integer(&self) -> bool {
        let whole = |value: &f64| value.fract() == 0.0;
        match self {
            Self::Deterministic { value } => whole(value),
            Self::Poisson { .. } | Self::Geometric { .. } => true,
            Self::Empirical { values } => values.iter().all(whole),
            _ => false,
        }
    }
}

/// Returns Σ p·x / Σ p.
fn mix(probabilities: &[f64], values: &[f64]) -> f64 {
    let sum: f64 = probabilities.iter().zip(values).map(|(p, x)| p * x).sum();
    sum / probabilities.iter().sum::<f64>()
}

/// Returns E[(X / low)ⁿ] of a bounded Pareto variable, g(shape − n) / g(shape) with
/// g(s) = ∫ x^(−s − 1) dx over [1, high / low] = (1 − (high / low)^−s) / s.
fn pareto_moment(shape: f64, ratio: f64, n: f64) -> f64 {
    let span = libm::log(ratio);
    let g = |s: f64| {
        if s == 0.0 { span } else { -libm::expm1(-s * span) / s }
    };
    g(shape - n) / g(shape)
}
