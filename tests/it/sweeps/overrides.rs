//! Overrides: that `--set` reaches each field, and nothing else.

use super::{MODEL, column, spec, try_load};
use balancelab::model::{Model, Redirect};
use balancelab::policy::Policy;
use balancelab::rng::Distribution;
use balancelab::spec::{Experiment, Override, load};

fn set(overrides: &[&str]) -> Experiment {
    let policies = [
        "trigger",
        "coin: 0.25",
        "theta: {rule: j, alpha: 0.01}",
        "theta: {label: limited, rule: j, alpha: 0.5, max_run: 2}",
    ];
    let claims = "published:\n  claims:\n    - {policy: coin, response: errors_pct, value: 22.7}\n";
    let text = spec(MODEL, &policies, claims);
    try_load(&text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn model(overrides: &[&str]) -> balancelab::model::LossRouter {
    let experiment = set(overrides);
    let Model::LossRouter(model) = experiment.model(&experiment.design.point(0)).unwrap() else {
        panic!("another model")
    };
    model
}

fn policy(position: u32, overrides: &[&str]) -> Policy {
    let experiment = set(overrides);
    experiment.policy(&experiment.design.point(position)).unwrap()
}

fn theta(position: u32, overrides: &[&str]) -> balancelab::policy::Theta {
    match policy(position, overrides) {
        Policy::Theta(theta) => theta,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_field_of_the_model_is_set() {
    assert_eq!(model(&["model.loss_router.horizon=50000"]).horizon, 50_000.0);
    assert_eq!(
        model(&[
            "model.loss_router.channels=[3, 5, 7]",
            "policies=[trigger]",
            "published={claims: []}"
        ])
        .channels,
        [3, 5, 7]
    );
    assert_eq!(model(&["model.loss_router.channels.1=9"]).channels, [2, 9]);
}

#[test]
fn a_field_left_at_its_default_is_set() {
    assert_eq!(model(&["model.loss_router.redirect=random"]).redirect, Redirect::Random);
    assert_eq!(theta(2, &["policies.theta.max_run=3"]).max_run, Some([3, 3]));
    let one_more = ["policies.theta.max_run=[2, 4]", "policies.theta.max_run.1=5"];
    assert_eq!(theta(2, &one_more[..1]).max_run, Some([2, 4]));
    assert_eq!(theta(2, &one_more).max_run, Some([2, 5]));
    assert_eq!(set(&["confidence=0.9"]).confidence, 0.9);
}

#[test]
fn values_with_colons_and_distributions_are_yaml() {
    let exponential = Distribution::Exponential { mean: 70.0 };
    assert_eq!(model(&["model.loss_router.service={exponential: 70}"]).service, exponential);
    assert_eq!(
        model(&["model.loss_router.service={exponential: {mean: 70}}"]).service,
        exponential
    );
    let poisson = Distribution::Poisson { mean: 70.0 };
    assert_eq!(model(&["model.loss_router.service.poisson=70"]).service, poisson);
    assert_eq!(model(&["model.loss_router.service.poisson.mean=70"]).service, poisson);
    assert_eq!(set(&["about='a: b = c'"]).about.as_deref(), Some("a: b = c"));
}

#[test]
fn a_policy_goes_by_its_label_its_number_and_with_or_without_its_kind() {
    for path in [
        "policies.theta.alpha",
        "policies.2.alpha",
        "policies.theta.theta.alpha",
        "policies.2.theta.alpha",
    ] {
        let experiment = set(&[&format!("{path}=0.75")]);
        let alphas: Vec<f64> = (2..4)
            .map(|point| match experiment.policy(&experiment.design.point(point)).unwrap() {
                Policy::Theta(theta) => theta.alpha,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(alphas, [0.75, 0.5], "{path}");
    }
    assert_eq!(theta(3, &["policies.limited.alpha=0.75"]).alpha, 0.75);
}

#[test]
fn bare_policies_take_fields() {
    let first = |policy| match policy {
        Policy::Trigger(trigger) => trigger.first,
        other => panic!("{other:?}"),
    };
    assert_eq!(first(policy(0, &["policies.trigger.first=1"])), 1);
    assert_eq!(first(policy(0, &["policies.0={trigger: {first: 1}}"])), 1);
    let coin = |policy| match policy {
        Policy::Coin(coin) => coin.probabilities,
        other => panic!("{other:?}"),
    };
    assert_eq!(coin(policy(1, &["policies.coin.theta=0.5"])), [0.5, 0.5]);
    assert_eq!(coin(policy(1, &["policies.coin.coin=0.5"])), [0.5, 0.5]);
    assert_eq!(set(&["policies.trigger.label=t"]).labels[0], "t");
}

#[test]
fn a_number_is_replaced_by_an_axis() {
    let experiment = set(&["policies.theta.alpha={linspace: [0,1,3]}"]);
    assert_eq!(column(&experiment, "alpha"), [0.0, 0.5, 1.0]);
    let longer =
        set(&["policies.theta.alpha={linspace: [0,1,3]}", "policies.theta.alpha.linspace=[0,1,5]"]);
    assert_eq!(column(&longer, "alpha").len(), 5);
    let service = "model.loss_router.service={values: [{poisson: 80}, {poisson: 90}]}";
    assert_eq!(set(&[service, "published={claims: []}"]).design.columns(), ["service"]);
}

#[test]
fn claims_and_rules_are_reached() {
    assert_eq!(set(&["published.claims.0.value=21.5"]).claims[0].value, 21.5);
    let rule =
        theta(2, &["policies.theta.rule={custom: {j: 2}}", "policies.theta.rule.custom.i=3"]).rule;
    assert_eq!((rule.j, rule.i), (2.0, 3.0));
}

#[test]
fn the_last_of_two_overrides_holds_and_seeds_keep_all_their_digits() {
    let seed = u64::MAX;
    assert_eq!(set(&["seed=1", &format!("seed={seed}")]).seed, seed);
    let text = spec(MODEL, &["trigger"], "");
    let flag = [Override::top("seed", seed)];
    let experiment = load("spec.yaml", text, &flag, &|_| Err(String::new())).unwrap();
    assert_eq!(experiment.seed, seed);
}

#[test]
fn an_override_counts_for_the_hash_like_the_same_text_in_the_file() {
    let horizon = MODEL.replace("1000", "5000");
    let written = try_load(&spec(&horizon, &["trigger"], ""), &[]).unwrap();
    let set =
        try_load(&spec(MODEL, &["trigger"], ""), &["model.loss_router.horizon=5000"]).unwrap();
    let unset = try_load(&spec(MODEL, &["trigger"], ""), &[]).unwrap();
    assert_eq!(written.hash, set.hash);
    assert_ne!(unset.hash, set.hash);
}
