//! Streams and distributions: that they never change unnoticed, and that they are right.
//!
//! Statistical tests have fixed seeds, so they pass or fail for good; the false-alarm rate that they state is the one
//! they would have under a fresh seed. Oracles are `statrs` or closed forms written here, never the code under test.

mod draws;

mod exact;

mod fit;

mod parameters;

mod streams;

use balancelab::rng::{Distribution, Pcg32, Role, StreamKey};
use statrs::distribution::{Discrete, Poisson};

const DRAWS: usize = 200_000;

/// Chance that a right distribution fails its goodness-of-fit test.
const FALSE_ALARM: f64 = 1e-4;

fn stream(replication: u32, role: Role) -> Pcg32 {
    StreamKey { seed: 20_240_607, scenario: 1, replication }.stream(role)
}

fn sample(distribution: &Distribution, count: usize) -> Vec<f64> {
    let sampler = distribution.sampler().expect("valid");
    let mut rng = stream(0, Role::Service);
    (0..count).map(|_| sampler.sample(&mut rng)).collect()
}

fn deterministic(value: f64) -> Distribution {
    Distribution::Deterministic { value }
}

fn exponential(mean: f64) -> Distribution {
    Distribution::Exponential { mean }
}

fn poisson(mean: f64) -> Distribution {
    Distribution::Poisson { mean }
}

fn geometric(mean: f64) -> Distribution {
    Distribution::Geometric { mean }
}

fn erlang(shape: u32, mean: f64) -> Distribution {
    Distribution::Erlang { shape, mean }
}

fn lognormal(mean: f64, cv: f64) -> Distribution {
    Distribution::Lognormal { mean, cv }
}

fn uniform(low: f64, high: f64) -> Distribution {
    Distribution::Uniform { low, high }
}

fn weibull(shape: f64, scale: f64) -> Distribution {
    Distribution::Weibull { shape, scale }
}

fn bounded_pareto(shape: f64, low: f64, high: f64) -> Distribution {
    Distribution::BoundedPareto { shape, low, high }
}

fn gamma(shape: f64, mean: f64) -> Distribution {
    Distribution::Gamma { shape, mean }
}

fn hyperexponential(probabilities: &[f64], means: &[f64]) -> Distribution {
    Distribution::Hyperexponential { probabilities: probabilities.into(), means: means.into() }
}

fn empirical(values: &[f64]) -> Distribution {
    Distribution::Empirical { values: values.into() }
}

type Function = Box<dyn Fn(f64) -> f64>;

fn truncated_poisson(mean: f64) -> Function {
    let oracle = Poisson::new(mean).expect("valid");
    let scale = -1.0 / (-mean).exp_m1();
    Box::new(move |k| if k < 1.0 { 0.0 } else { oracle.pmf(k as u64) * scale })
}
