//! Samplers: distributions compiled for drawing.
//!
//! A [`Sampler`] comes from [`Distribution::sampler`](super::Distribution::sampler), which has checked every parameter,
//! so it never fails; it holds no state, and any number of replications draw from one, each with its own generator.
//!
//! An integer draw takes one output, a continuous one takes two (53 bits) and inverts the distribution function. So a
//! stream's position follows from the number of draws, and two scenarios that differ in a parameter, or in the
//! distribution, stay in step: but for the alias tables every draw grows with the uniform number beneath it. The price is the granularity: no exponential draw is above
//! 53 ln 2 ≈ 36.7 means. Where inversion would be slow (gamma) the number of outputs varies and these gifts are lost.

use super::logarithm::ln;
use super::normal::standard_normal;
use super::{AliasTable, Pcg32, below, unit, unit_open};
use rand::Rng;
use rand_distr::Distribution as _;
use std::sync::Arc;

/// Anything that gives durations: lets a kernel be compiled for alias tables alone.
pub trait Draw {
    /// Whether no draw can be negative, by its type and not by its values.
    const UNSIGNED: bool = false;

    /// Whether one draw is as quick as one of many, so that none is made ahead.
    const ALONE: bool = false;

    /// Returns a duration, in the unit of the distribution's parameters.
    fn draw(&self, rng: &mut Pcg32) -> f64;

    /// Returns the next durations, the same as one by one.
    fn draws(&self, rng: &mut Pcg32) -> [f64; AHEAD] {
        [(); AHEAD].map(|()| self.draw(rng))
    }

    /// Returns all durations that a stream gives, drawn some ahead.
    fn ahead(&self, stream: Pcg32) -> Ahead<'_, Self>
    where
        Self: Sized,
    {
        Ahead { source: self, stream, drawn: [0.0; AHEAD], next: AHEAD }
    }
}

/// Durations that are drawn ahead at a time.
const AHEAD: usize = 64;

/// Durations of a stream of their own, drawn many at a time: logarithms are quicker together.
#[derive(Debug)]
pub struct Ahead<'a, D> {
    source: &'a D,
    stream: Pcg32,
    drawn: [f64; AHEAD],
    /// Place of the next one.
    next: usize,
}

impl<D: Draw> Ahead<'_, D> {
    /// Returns the next duration.
    #[inline(always)]
    pub fn draw(&mut self) -> f64 {
        if D::ALONE {
            return self.source.draw(&mut self.stream);
        }
        if self.next >= AHEAD {
            self.more();
        }
        let duration = self.drawn[self.next];
        self.next += 1;
        duration
    }

    #[cold]
    #[inline(never)]
    fn more(&mut self) {
        self.drawn = self.source.draws(&mut self.stream);
        self.next = 0;
    }
}

/// A distribution in the form it is drawn from.
///
/// | distribution | outputs a draw | method |
/// |---|---|---|
/// | deterministic | 0 | |
/// | poisson | 1 | alias table, see [`AliasTable`] |
/// | geometric | 1 | inversion; cumulative distribution off by at most 2⁻³³ |
/// | empirical | 1 | multiply and shift |
/// | exponential, weibull, bounded pareto, uniform | 2 | inversion |
/// | hyperexponential | 2 | inversion: branch and remainder of one uniform number |
/// | lognormal | 2 | inversion, AS 241 |
/// | erlang, shape ≤ 16 | 2 · shape | logarithm of a product of uniform numbers |
/// | erlang, shape > 16 | varies | as gamma |
/// | gamma | varies, about 4 | Marsaglia and Tsang 2000 |
#[derive(Clone, Debug)]
pub enum Sampler {
    /// Always the same value.
    Constant(f64),
    /// Consecutive integers by alias table.
    Alias(AliasTable),
    /// Integers from 1 up.
    Geometric {
        /// 1 / ln(1 − p), where p is the probability of 1; −0 if p = 1.
        inverse_log: f64,
    },
    /// One of a list, each value equally likely.
    Empirical(Arc<[f64]>),
    /// −mean · ln u.
    Exponential {
        /// Mean, in units of the draw.
        mean: f64,
    },
    /// Sum of up to [`Sampler::MAX_PRODUCT`] exponential phases.
    Erlang {
        /// Number of phases.
        shape: u32,
        /// Mean of one phase, in units of the draw.
        phase_mean: f64,
    },
    /// Mixture of exponential branches; their upper bounds ascend and the last is 1.
    Hyperexponential(Box<[Branch]>),
    /// exp(mu + sigma · z) with a standard normal z.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// low + width · u.
    Uniform {
        /// Smallest value, in units of the draw.
        low: f64,
        /// Largest value less the smallest.
        width: f64,
    },
    /// scale · (−ln u)^power.
    Weibull {
        /// Scale, in units of the draw.
        scale: f64,
        /// 1 / shape.
        power: f64,
    },
    /// low · (1 − range · u)^(−power).
    BoundedPareto {
        /// Smallest value, in units of the draw.
        low: f64,
        /// Largest value, in units of the draw.
        high: f64,
        /// 1 / shape.
        power: f64,
        /// 1 − (low / high)^shape.
        range: f64,
    },
    /// Gamma by rejection.
    Gamma(rand_distr::Gamma<f64>),
}

/// One branch of a hyperexponential sampler: a piece of the unit interval and the mean that belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Upper end of the branch's piece, itself not in it.
    pub(super) upper: f64,
    /// Length of the piece: the branch's probability.
    pub(super) width: f64,
    /// Mean of the branch, in units of the draw.
    pub(super) mean: f64,
}

impl Sampler {
    /// Most phases whose uniform numbers, none below 2⁻⁵³, are multiplied: 2⁻⁸⁴⁸ is far above the underflow.
    pub const MAX_PRODUCT: u32 = 16;

    /// Returns one draw, in the unit of the distribution's parameters.
    #[inline]
    pub fn sample(&self, rng: &mut Pcg32) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Alias(table) => table.draw(rng),
            Self::Geometric { inverse_log } => {
                // The middle of the output's interval: neither 0 nor 1, and rounding favours no side.
                let u = (f64::from(!rng.next_u32()) + 0.5) * 2f64.powi(-32);
                1.0 + (libm::log(u) * inverse_log).floor()
            }
            Self::Empirical(values) => values[below(rng, values.len() as u32) as usize],
            Self::Exponential { mean } => Exponential { mean: *mean }.draw(rng),
            Self::Erlang { shape, phase_mean } => {
                let product: f64 = (0..*shape).map(|_| unit_open(rng)).product();
                -phase_mean * libm::log(product)
            }
            Self::Hyperexponential(branches) => hyperexponential(branches, unit(rng)),
            Self::Lognormal { mu, sigma } => libm::exp(mu + sigma * standard_normal(rng)),
            Self::Uniform { low, width } => low + width * unit(rng),
            Self::Weibull { scale, power } => scale * libm::pow(-libm::log(unit_open(rng)), *power),
            Self::BoundedPareto { low, high, power, range } => {
                let x = low * libm::exp(-power * libm::log1p(-range * unit(rng)));
                // Rounding may carry the last values past the bound.
                x.min(*high)
            }
            Self::Gamma(gamma) => gamma.sample(rng),
        }
    }
}

/// An exponential distribution, drawn as [`Sampler::Exponential`] is.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// Mean, in units of the draw.
    pub mean: f64,
}

impl Draw for Exponential {
    #[inline]
    fn draw(&self, rng: &mut Pcg32) -> f64 {
        -self.mean * ln(unit_open(rng))
    }

    /// Two at a time, as many as a SIMD register holds everywhere: while their logarithms are computed
    /// the generator goes on.
    fn draws(&self, rng: &mut Pcg32) -> [f64; AHEAD] {
        let mut durations = [0.0; AHEAD];
        for pair in durations.as_chunks_mut::<2>().0 {
            let uniform = [unit_open(rng), unit_open(rng)];
            *pair = uniform.map(|u| -self.mean * ln(u));
        }
        durations
    }
}

impl Draw for Sampler {
    #[inline]
    fn draw(&self, rng: &mut Pcg32) -> f64 {
        self.sample(rng)
    }

    fn draws(&self, rng: &mut Pcg32) -> [f64; AHEAD] {
        match self {
            Self::Exponential { mean } => Exponential { mean: *mean }.draws(rng),
            _ => [(); AHEAD].map(|()| self.sample(rng)),
        }
    }
}

/// Returns the draw that belongs to `u` in [0, 1): the branch is the piece that holds it, and how far it lies below
/// the piece's end, as a part of its length, is the uniform number in (0, 1] of an exponential draw.
///
/// A branch of probability p is thereby drawn with 53 + log₂ p bits.
fn hyperexponential(branches: &[Branch], u: f64) -> f64 {
    let index = branches.partition_point(|branch| branch.upper <= u);
    let Branch { upper, width, mean } = branches[index];
    -mean * libm::log((upper - u) / width)
}
