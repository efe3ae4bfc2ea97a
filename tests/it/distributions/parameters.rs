//! What distributions refuse, and how they are told apart.

use super::*;
use balancelab::rng::Invalid;
use proptest::prelude::*;
use std::collections::HashSet;

#[test]
fn bad_parameters_are_refused_with_their_field_and_value() {
    let accepted = hyperexponential(&[0.05, 0.55, 0.3, 0.1], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(accepted.check(), Ok(()));
    let cases = [
        (
            hyperexponential(&[0.05, 0.55, 0.3, 0.11], &[1.0; 4]),
            "probabilities: the sum is `1.01`, not 1",
        ),
        (hyperexponential(&[], &[]), "probabilities: the list is empty"),
        (hyperexponential(&[-0.5, 1.5], &[1.0; 2]), "probabilities: `-0.5` is negative"),
        (hyperexponential(&[0.5, 0.5], &[1.0]), "means: `1` means for `2` probabilities"),
        (hyperexponential(&[0.5, 0.5], &[1.0, 0.0]), "means: `0` is not positive"),
        (exponential(f64::NAN), "mean: `NaN` is not finite"),
        (exponential(f64::INFINITY), "mean: `inf` is not finite"),
        (exponential(-3.0), "mean: `-3` is not positive"),
        (exponential(1e200), "variance: `inf` is not finite"),
        (deterministic(0.0), "value: `0` is not positive"),
        (poisson(0.0), "mean: `0` is not positive"),
        (poisson(2e6), "mean: `2000000` is above 1000000"),
        (geometric(0.5), "mean: `0.5` is below 1"),
        (geometric(1e10), "mean: `10000000000` is above 1000000000"),
        (erlang(0, 1.0), "shape: `0` is not positive"),
        (erlang(2, -1.0), "mean: `-1` is not positive"),
        (lognormal(1.0, 0.0), "cv: `0` is not positive"),
        (lognormal(1.0, 2e6), "cv: `2000000` is above 1000000"),
        (lognormal(f64::NAN, 1.0), "mean: `NaN` is not finite"),
        (uniform(-1.0, 1.0), "low: `-1` is negative"),
        (uniform(2.0, 2.0), "high: `2` is not above low, `2`"),
        (uniform(2.0, f64::INFINITY), "high: `inf` is not finite"),
        (weibull(0.0, 1.0), "shape: `0` is not positive"),
        (weibull(1.0, -1.0), "scale: `-1` is not positive"),
        (weibull(0.001, 1.0), "mean: `inf` is not finite"),
        (bounded_pareto(-1.0, 1.0, 2.0), "shape: `-1` is not positive"),
        (bounded_pareto(1.0, 0.0, 2.0), "low: `0` is not positive"),
        (bounded_pareto(1.0, 3.0, 2.0), "high: `2` is not above low, `3`"),
        (gamma(-1.0, 1.0), "shape: `-1` is not positive"),
        (gamma(1.0, 0.0), "mean: `0` is not positive"),
        (empirical(&[]), "values: the list is empty"),
        (empirical(&[0.0, 0.0]), "values: every value is `0`"),
        (empirical(&[1.0, -2.0]), "values: `-2` is negative"),
    ];
    for (distribution, message) in cases {
        let refusal = distribution.check().expect_err(message);
        assert_eq!(refusal.to_string(), message);
        assert_eq!(distribution.sampler().err(), Some(refusal));
    }
    let refusal = Invalid { field: "mean", message: "`-3` is not positive".into() };
    assert_eq!(exponential(-3.0).check(), Err(refusal));
}

#[test]
fn identities_tell_near_equal_distributions_apart() {
    let next = 0.3f64.next_up();
    let distributions = [
        exponential(0.3),
        exponential(next),
        poisson(0.3),
        gamma(1.0, 2.0),
        gamma(2.0, 1.0),
        erlang(2, 1.0),
        erlang(21, 1.0),
        erlang(2, 11.0),
        hyperexponential(&[0.3, 0.7], &[1.0, 2.0]),
        hyperexponential(&[next, 0.7], &[1.0, 2.0]),
        hyperexponential(&[0.7, 0.3], &[2.0, 1.0]),
        hyperexponential(&[1.0], &[1.0]),
        hyperexponential(&[1.0, 1.0], &[]),
        empirical(&[1.0, 2.0]),
        empirical(&[2.0, 1.0]),
        empirical(&[1.0, 2.0, 1.0, 2.0]),
        empirical(&[1.0, 2f64.next_up()]),
    ];
    let identities: HashSet<String> = distributions.iter().map(Distribution::identity).collect();
    assert_eq!(identities.len(), distributions.len());
    assert_eq!(poisson(15.0).identity(), "poisson(mean=15)");
    assert_eq!(
        hyperexponential(&[0.3, 0.7], &[1e-7, 2e300]).identity(),
        "hyperexponential(probabilities=[0.3,0.7],means=[1e-7,2e300])"
    );
    assert_eq!(uniform(-0.0, 1.0).identity(), "uniform(low=0,high=1)");
    assert_eq!(
        empirical(&[0.0, 1.5]).identity(),
        "empirical(count=2,hash=c098410d2a718c8eada1f5f8560e2269)"
    );
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    // Arbitrary bits find the refusals, sizes across the scale the distributions.
    let number =
        || prop_oneof![any::<f64>(), (-300f64..300.0).prop_map(|e| 10f64.powf(e)), 0.01..1e3];
    let list = || proptest::collection::vec(number(), 0..4);
    prop_oneof![
        number().prop_map(deterministic),
        number().prop_map(exponential),
        number().prop_map(poisson),
        number().prop_map(geometric),
        (any::<u32>(), number()).prop_map(|(shape, mean)| erlang(shape, mean)),
        (0..40u32, number()).prop_map(|(shape, mean)| erlang(shape, mean)),
        (0.0..=1.0, number(), number())
            .prop_map(|(p, a, b)| hyperexponential(&[p, 1.0 - p], &[a, b])),
        (list(), list()).prop_map(|(p, means)| hyperexponential(&p, &means)),
        (number(), number()).prop_map(|(mean, cv)| lognormal(mean, cv)),
        (number(), number()).prop_map(|(low, high)| uniform(low, high)),
        (number(), number()).prop_map(|(shape, scale)| weibull(shape, scale)),
        (number(), number(), number())
            .prop_map(|(shape, low, high)| bounded_pareto(shape, low, high)),
        (number(), number()).prop_map(|(shape, mean)| gamma(shape, mean)),
        list().prop_map(|values| empirical(&values)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5_000,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn accepted_distributions_draw_durations(distribution in any_distribution()) {
        if let Ok(sampler) = distribution.sampler() {
            prop_assert!(distribution.mean() > 0.0 && distribution.variance() >= 0.0);
            let mut rng = stream(0, Role::Service);
            for _ in 0..20 {
                let x = sampler.sample(&mut rng);
                prop_assert!(x.is_finite() && x >= 0.0, "{} drew {x}", distribution.identity());
            }
        }
    }
}
