//! Draws against independent distribution functions and against the exact moments.

use super::*;
use balancelab::rng::unit;
use statrs::distribution::{ChiSquared, ContinuousCDF, Gamma, LogNormal};

/// Continuous distributions with their distribution functions.
fn continuous() -> Vec<(Distribution, Function)> {
    let gamma_cdf = |shape: f64, mean: f64| -> Function {
        let oracle = Gamma::new(shape, shape / mean).expect("valid");
        Box::new(move |x| oracle.cdf(x))
    };
    let oracle =
        LogNormal::new(3f64.ln() - 1.25f64.ln() / 2.0, 1.25f64.ln().sqrt()).expect("valid");
    vec![
        (exponential(2.0), Box::new(|x| 1.0 - (-x / 2.0).exp())),
        (erlang(3, 2.0), gamma_cdf(3.0, 2.0)),
        (erlang(16, 2.0), gamma_cdf(16.0, 2.0)),
        (erlang(40, 2.0), gamma_cdf(40.0, 2.0)),
        (
            hyperexponential(&[0.05, 0.0, 0.65, 0.3], &[20.0, 9.0, 1.0, 4.0]),
            Box::new(|x| {
                1.0 - 0.05 * (-x / 20.0).exp() - 0.65 * (-x).exp() - 0.3 * (-x / 4.0).exp()
            }),
        ),
        (lognormal(3.0, 0.5), Box::new(move |x| oracle.cdf(x))),
        (uniform(1.0, 4.0), Box::new(|x| (x - 1.0) / 3.0)),
        (weibull(0.7, 3.0), Box::new(|x| 1.0 - (-(x / 3.0).powf(0.7)).exp())),
        (
            bounded_pareto(1.5, 2.0, 50.0),
            Box::new(|x| (1.0 - (2.0 / x).powf(1.5)) / (1.0 - 0.04f64.powf(1.5))),
        ),
        (gamma(0.5, 2.0), gamma_cdf(0.5, 2.0)),
        (gamma(2.5, 2.0), gamma_cdf(2.5, 2.0)),
    ]
}

/// Integer distributions with their mass functions.
fn integer() -> Vec<(Distribution, Function)> {
    let mut cases: Vec<(Distribution, Function)> = vec![
        (
            geometric(3.0),
            Box::new(|k| if k < 1.0 { 0.0 } else { (2f64 / 3.0).powf(k - 1.0) / 3.0 }),
        ),
        (
            empirical(&[3.0, 1.0, 4.0, 1.0, 7.0]),
            Box::new(|k| match k {
                1.0 => 0.4,
                3.0 | 4.0 | 7.0 => 0.2,
                _ => 0.0,
            }),
        ),
    ];
    for mean in [0.5, 15.0, 460.0, 50_000.0] {
        cases.push((poisson(mean), truncated_poisson(mean)));
    }
    cases
}

/// Asserts that a sample passes the Kolmogorov-Smirnov test at `FALSE_ALARM` (asymptotic).
fn assert_kolmogorov(name: &str, mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0f64, |worst, (i, &x)| {
        let f = cdf(x);
        worst.max(f - i as f64 / n).max((i + 1) as f64 / n - f)
    });
    let critical = ((2.0 / FALSE_ALARM).ln() / 2.0 / n).sqrt();
    assert!(distance < critical, "{name}: {distance} >= {critical}");
}

#[test]
fn continuous_draws_pass_kolmogorov_smirnov() {
    for (distribution, cdf) in continuous() {
        assert_kolmogorov(&distribution.identity(), sample(&distribution, DRAWS), cdf);
    }
}

#[test]
fn uniform_numbers_pass_kolmogorov_smirnov() {
    let mut rng = stream(0, Role::Routing);
    assert_kolmogorov("unit", (0..DRAWS).map(|_| unit(&mut rng)).collect(), |x| x);
}

#[test]
fn integer_draws_pass_chi_square() {
    for (distribution, pmf) in integer() {
        let name = distribution.identity();
        let sample = sample(&distribution, DRAWS);
        assert!(distribution.is_integer() && sample.iter().all(|x| x.fract() == 0.0), "{name}");
        let highest = sample.iter().copied().fold(0.0, f64::max) as usize;
        let mut counts = vec![0.0; highest + 1];
        sample.iter().for_each(|&x| counts[x as usize] += 1.0);

        // Neighbours are pooled until 25 are expected; all above the last full cell makes one more.
        let (mut statistic, mut freedom) = (0.0, 0.0);
        let (mut expected, mut observed, mut rest) = (0.0, 0.0, DRAWS as f64);
        for (k, count) in counts.iter().enumerate() {
            expected += DRAWS as f64 * pmf(k as f64);
            observed += count;
            if expected >= 25.0 && rest - expected >= 25.0 {
                statistic += (observed - expected).powi(2) / expected;
                freedom += 1.0;
                rest -= expected;
                (expected, observed) = (0.0, 0.0);
            }
        }
        statistic += (observed - rest).powi(2) / rest;
        let chance = ChiSquared::new(freedom).expect("valid").sf(statistic);
        assert!(
            chance > FALSE_ALARM,
            "{name}: {statistic} on {freedom} degrees of freedom, {chance}"
        );
    }
}

/// Five standard errors: a false alarm of some 6e-7 a comparison.
#[test]
fn sample_moments_agree_with_the_exact_ones() {
    for (distribution, _) in continuous().into_iter().chain(integer()) {
        let name = distribution.identity();
        let sample = sample(&distribution, DRAWS);
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let central = |power: i32| sample.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        let (variance, fourth) = (central(2), central(4));
        let z_mean = (mean - distribution.mean()) / (variance / n).sqrt();
        let z_variance =
            (variance - distribution.variance()) / ((fourth - variance * variance) / n).sqrt();
        assert!(z_mean.abs() < 5.0, "{name}: mean {mean}, {z_mean} standard errors off");
        assert!(
            z_variance.abs() < 5.0,
            "{name}: variance {variance}, {z_variance} standard errors off"
        );
    }
}
