//! Distributions of durations.
//!
//! A [`Distribution`] is written down by whoever describes a scenario, checked by [`Distribution::check`], named in the
//! scenario's content by [`Distribution::identity`] and compiled by [`Distribution::sampler`]. Its moments are exact, so
//! that loads and theory follow from the same parameters as the draws.
//!
//! Parameters are what people quote (a mean and a shape, a mean and a coefficient of variation), not what textbooks
//! parametrise by. All values are durations: never negative, in whatever unit the parameters are given in.

mod check;
mod moments;

use super::alias::AliasTable;
use super::content_hash;
use super::sampler::{Branch, Sampler};
use check::refuse;
use std::sync::Arc;

/// A distribution of durations, by the parameters that people quote.
///
/// ```
/// use balancelab::rng::{Distribution, Role, StreamKey};
///
/// let service = Distribution::Erlang { shape: 4, mean: 2.0 };
/// assert_eq!(service.variance(), 1.0);
/// let mut rng = StreamKey { seed: 1, scenario: 0, replication: 0 }.stream(Role::Service);
/// assert!(service.sampler()?.sample(&mut rng) > 0.0);
/// # Ok::<(), balancelab::rng::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same duration.
    Deterministic {
        /// The duration, positive.
        value: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean, positive.
        mean: f64,
    },
    /// Poisson conditioned on being at least 1 (zero-truncated): an integer ≥ 1.
    Poisson {
        /// Poisson parameter λ, in (0, 10⁶]; the mean itself is λ / (1 − e^−λ).
        mean: f64,
    },
    /// Geometric on 1, 2, …: an integer ≥ 1.
    Geometric {
        /// Mean, in [1, 10⁹]; the probability of 1 is its inverse.
        mean: f64,
    },
    /// Sum of equal exponential phases.
    Erlang {
        /// Number of phases, at least 1.
        shape: u32,
        /// Mean of the sum, positive.
        mean: f64,
    },
    /// Mixture of exponential branches.
    Hyperexponential {
        /// Probability of each branch, not negative; the sum is 1 within 10⁻⁹.
        probabilities: Vec<f64>,
        /// Mean of each branch, positive, as many as probabilities.
        means: Vec<f64>,
    },
    /// Lognormal.
    Lognormal {
        /// Mean of the variable itself, positive.
        mean: f64,
        /// Standard deviation of the variable itself over its mean, in (0, 10⁶].
        cv: f64,
    },
    /// Uniform on [low, high].
    Uniform {
        /// Lower end, not negative.
        low: f64,
        /// Upper end, above the lower.
        high: f64,
    },
    /// Weibull: P(X > x) = exp(−(x / scale)^shape).
    Weibull {
        /// Shape, positive.
        shape: f64,
        /// Scale, positive.
        scale: f64,
    },
    /// Pareto conditioned on [low, high]: density proportional to x^(−shape − 1) there.
    BoundedPareto {
        /// Shape (tail index), positive.
        shape: f64,
        /// Smallest value, positive.
        low: f64,
        /// Largest value, above the smallest.
        high: f64,
    },
    /// Gamma; a shape far below 0.01 may draw zeros, where the true value is below the smallest float.
    Gamma {
        /// Shape, positive.
        shape: f64,
        /// Mean, positive.
        mean: f64,
    },
    /// One of a list, each value equally likely.
    Empirical {
        /// The values, not negative, not all zero, fewer than 2³².
        values: Arc<[f64]>,
    },
}

/// A parameter that a distribution refuses.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// The field's name, as in [`Distribution`], or `mean` or `variance` for a moment that is not a finite number.
    pub field: &'static str,
    /// What is wrong, the offending value in backquotes.
    pub message: String,
}

impl Distribution {
    /// Checks the distribution and compiles it for drawing.
    ///
    /// # Errors
    ///
    /// Returns what [`check`](Self::check) refuses.
    pub fn sampler(&self) -> Result<Sampler, Invalid> {
        self.check()?;
        Ok(match self {
            Self::Deterministic { value } => Sampler::Constant(*value),
            Self::Exponential { mean } => Sampler::Exponential { mean: *mean },
            Self::Poisson { mean } => Sampler::Alias(AliasTable::poisson(*mean)),
            Self::Geometric { mean } => {
                Sampler::Geometric { inverse_log: 1.0 / libm::log1p(-1.0 / mean) }
            }
            Self::Erlang { shape, mean } if *shape <= Sampler::MAX_PRODUCT => {
                Sampler::Erlang { shape: *shape, phase_mean: mean / f64::from(*shape) }
            }
            Self::Erlang { shape, mean } => gamma_sampler(f64::from(*shape), *mean)?,
            Self::Hyperexponential { probabilities, means } => {
                Sampler::Hyperexponential(branches(probabilities, means))
            }
            Self::Lognormal { mean, cv } => {
                let variance = libm::log1p(cv * cv);
                Sampler::Lognormal { mu: libm::log(*mean) - variance / 2.0, sigma: variance.sqrt() }
            }
            Self::Uniform { low, high } => Sampler::Uniform { low: *low, width: high - low },
            Self::Weibull { shape, scale } => {
                Sampler::Weibull { scale: *scale, power: 1.0 / shape }
            }
            Self::BoundedPareto { shape, low, high } => Sampler::BoundedPareto {
                low: *low,
                high: *high,
                power: 1.0 / shape,
                range: -libm::expm1(shape * libm::log(low / high)),
            },
            Self::Gamma { shape, mean } => gamma_sampler(*shape, *mean)?,
            Self::Empirical { values } => Sampler::Empirical(Arc::clone(values)),
        })
    }

    /// Returns the canonical text of the distribution: equal for equal parameters and different for different ones.
    ///
    /// Numbers are written in the fewest digits that read back exactly, `-0` as `0`; an empirical list is its length
    /// and the [`content_hash`] of its values as little-endian IEEE bits, in order.
    pub fn identity(&self) -> String {
        match self {
            Self::Deterministic { value } => text("deterministic", &[("value", *value)]),
            Self::Exponential { mean } => text("exponential", &[("mean", *mean)]),
            Self::Poisson { mean } => text("poisson", &[("mean", *mean)]),
            Self::Geometric { mean } => text("geometric", &[("mean", *mean)]),
            Self::Erlang { shape, mean } => {
                text("erlang", &[("shape", f64::from(*shape)), ("mean", *mean)])
            }
            Self::Hyperexponential { probabilities, means } => {
                format!(
                    "hyperexponential(probabilities={},means={})",
                    list(probabilities),
                    list(means)
                )
            }
            Self::Lognormal { mean, cv } => text("lognormal", &[("mean", *mean), ("cv", *cv)]),
            Self::Uniform { low, high } => text("uniform", &[("low", *low), ("high", *high)]),
            Self::Weibull { shape, scale } => {
                text("weibull", &[("shape", *shape), ("scale", *scale)])
            }
            Self::BoundedPareto { shape, low, high } => {
                text("bounded_pareto", &[("shape", *shape), ("low", *low), ("high", *high)])
            }
            Self::Gamma { shape, mean } => text("gamma", &[("shape", *shape), ("mean", *mean)]),
            Self::Empirical { values } => {
                let bytes: Vec<u8> = values.iter().flat_map(|v| (v + 0.0).to_le_bytes()).collect();
                format!("empirical(count={},hash={:032x})", values.len(), content_hash(&bytes))
            }
        }
    }
}

/// Returns the branches with a non-zero piece of the unit interval, normalised so that the last piece ends at 1 exactly.
fn branches(probabilities: &[f64], means: &[f64]) -> Box<[Branch]> {
    let total: f64 = probabilities.iter().sum();
    let (mut sum, mut lower) = (0.0, 0.0);
    let mut found = Vec::with_capacity(means.len());
    for (p, &mean) in probabilities.iter().zip(means) {
        sum += p;
        let upper = sum / total;
        if upper > lower {
            found.push(Branch { upper, width: upper - lower, mean });
        }
        lower = upper;
    }
    found.into()
}

fn gamma_sampler(shape: f64, mean: f64) -> Result<Sampler, Invalid> {
    match rand_distr::Gamma::new(shape, mean / shape) {
        Ok(gamma) => Ok(Sampler::Gamma(gamma)),
        Err(error) => refuse("shape", format!("`{}` does not do: {error}", number(shape))),
    }
}

fn text(name: &str, fields: &[(&str, f64)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(field, x)| format!("{field}={}", number(*x))).collect();
    format!("{name}({})", fields.join(","))
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|&x| number(x)).collect();
    format!("[{}]", values.join(","))
}

/// Returns the fewest digits that read back as the same number, without a trailing `.0`.
fn number(x: f64) -> String {
    // Adding 0 makes −0 a plain 0: the two are one parameter.
    let digits = format!("{:?}", x + 0.0);
    digits.strip_suffix(".0").map_or(digits.clone(), str::to_owned)
}
