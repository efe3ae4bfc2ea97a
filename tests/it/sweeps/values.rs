//! What an axis takes, what its column is called, and what `axis:` and `where:` make of several.

use super::{MODEL, column, loaded, rows, spec};
use balancelab::design::Level;
use balancelab::policy::{Capacities, Compare, Ledger, Policy};

fn columns(text: &str) -> Vec<String> {
    loaded(text).design.columns().to_vec()
}

fn theta(fields: &str) -> String {
    format!("theta: {{rule: j, {fields}}}")
}

#[test]
fn a_step_of_a_tenth_gives_ten_values_without_rounding() {
    let experiment = loaded(&spec(MODEL, &[&theta("alpha: {step: [0.1, 1.0, 0.1]}")], ""));
    let alphas = column(&experiment, "alpha");
    assert_eq!(alphas, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    let third = experiment.policy(&experiment.design.point(2));
    assert!(matches!(third, Some(Policy::Theta(theta)) if theta.alpha == 0.3));
}

#[test]
fn axes_that_share_a_name_move_together_within_the_model() {
    let model = MODEL
        .replace("{poisson: 15}", "{poisson: {values: [15, 20, 30], axis: load}}")
        .replace("{poisson: 80}", "{poisson: {linspace: [80, 100, 3], axis: load}}");
    let experiment = loaded(&spec(&model, &["trigger"], ""));
    assert_eq!(experiment.design.columns(), ["load"]);
    let means: Vec<(f64, f64)> = (0..experiment.points())
        .map(|index| {
            let balancelab::model::Model::LossRouter(model) =
                experiment.model(&experiment.design.point(index)).unwrap()
            else {
                panic!("another model")
            };
            (poisson(&model.interarrival), poisson(&model.service))
        })
        .collect();
    assert_eq!(means, [(15.0, 80.0), (20.0, 90.0), (30.0, 100.0)]);
}

fn poisson(distribution: &balancelab::rng::Distribution) -> f64 {
    match distribution {
        balancelab::rng::Distribution::Poisson { mean } => *mean,
        other => panic!("{other:?}"),
    }
}

#[test]
fn axes_that_share_a_name_move_together_within_a_policy() {
    let fields = "alpha: {values: [0.1, 0.2], axis: a}, start: {values: [0.4, 0.6], axis: a}, \
                  max_run: {values: [1, 2, 3]}";
    let experiment = loaded(&spec(MODEL, &[&theta(fields), "trigger"], ""));
    let got: Vec<(f64, f64, [u32; 2])> = (0..experiment.points())
        .filter_map(|index| match experiment.policy(&experiment.design.point(index)).unwrap() {
            Policy::Theta(theta) => Some((theta.alpha, theta.start, theta.max_run.unwrap())),
            _ => None,
        })
        .collect();
    let pairs = [(0.1, 0.4), (0.2, 0.6)];
    let want: Vec<_> = pairs
        .iter()
        .flat_map(|&(alpha, start)| [1, 2, 3].map(|run| (alpha, start, [run; 2])))
        .collect();
    assert_eq!(got, want);
    assert_eq!(experiment.points(), 7);
}

#[test]
fn limits_on_runs_are_swept_as_a_whole_or_server_by_server() {
    let limits = |max_run: &str| -> Vec<[u32; 2]> {
        let experiment = loaded(&spec(MODEL, &[&theta(&format!("alpha: 0.1, {max_run}"))], ""));
        (0..experiment.points())
            .map(|index| match experiment.policy(&experiment.design.point(index)).unwrap() {
                Policy::Theta(theta) => theta.max_run.unwrap(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(limits("max_run: 3"), [[3, 3]]);
    assert_eq!(limits("max_run: [2, 4]"), [[2, 4]]);
    assert_eq!(limits("max_run: {values: [1, 2]}"), [[1, 1], [2, 2]]);
    assert_eq!(limits("max_run: {values: [1, [2, 4]]}"), [[1, 1], [2, 4]]);
    assert_eq!(limits("max_run: [{values: [1, 2]}, 3]"), [[1, 3], [2, 3]]);
    let both = "max_run: [{values: [1, 2]}, {step: [3, 4, 1]}]";
    assert_eq!(limits(both), [[1, 3], [1, 4], [2, 3], [2, 4]]);
    let zipped = "max_run: [{values: [1, 2], axis: a}, {values: [4, 3], axis: a}]";
    assert_eq!(limits(zipped), [[1, 4], [2, 3]]);
}

#[test]
fn smoothing_is_swept() {
    let policies = [
        "theta: {rule: {custom: {j: 1, smoothing: {linspace: [0, 1, 3]}}}, alpha: 0.1}",
        "theta: {label: plain, rule: {custom: {j: 1}}, alpha: 0.1}",
        "theta: {label: smoothed, rule: j-smoothed, alpha: 0.1}",
    ];
    let experiment = loaded(&spec(MODEL, &policies, ""));
    assert_eq!(column(&experiment, "smoothing"), [0.0, 0.5, 1.0]);
    let smoothings: Vec<f64> = (0..experiment.points())
        .map(|index| match experiment.policy(&experiment.design.point(index)).unwrap() {
            Policy::Theta(theta) => theta.rule.smoothing,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(smoothings, [0.0, 0.5, 1.0, 0.0, 1.0]);
}

#[test]
fn all_fields_of_a_ledger_are_swept() {
    let policies = [
        "ledger: {memory: {values: [0, 80]}, compare: {values: [free, free_share]}}",
        "ledger: {label: learner, memory: 40, capacities: {values: [learned, known]}}",
        "ledger: {label: bare, memory: 40}",
    ];
    let experiment = loaded(&spec(MODEL, &policies, ""));
    let ledgers: Vec<Ledger> = (0..experiment.points())
        .map(|index| match experiment.policy(&experiment.design.point(index)).unwrap() {
            Policy::Ledger(ledger) => ledger,
            other => panic!("{other:?}"),
        })
        .collect();
    let ledger = |memory, compare| Ledger { memory, compare, capacities: Capacities::Known };
    let expected = [
        ledger(0.0, Compare::Free),
        ledger(0.0, Compare::FreeShare),
        ledger(80.0, Compare::Free),
        ledger(80.0, Compare::FreeShare),
        Ledger { capacities: Capacities::Learned, ..ledger(40.0, Compare::Free) },
        ledger(40.0, Compare::Free),
        ledger(40.0, Compare::Free),
    ];
    assert_eq!(ledgers, expected);
}

#[test]
fn axes_that_share_a_name_move_together_between_model_and_policy() {
    let model = MODEL.replace("1000", "{values: [1000, 2000, 3000], axis: size}");
    let fields = "alpha: {values: [0.1, 0.2, 0.3], axis: size}, start: {values: [0.4, 0.6]}";
    let experiment = loaded(&spec(&model, &["trigger", &theta(fields)], ""));
    assert_eq!(experiment.points(), 3 + 3 * 2);
    // Their column has the model's values for every policy, so that a scenario is one value.
    let sizes = [1000.0, 2000.0, 3000.0].map(|size| [size; 3]).concat();
    assert_eq!(column(&experiment, "size"), sizes);
    let claim = "published: {claims: [{policy: theta, response: errors_pct, value: 3, at: {size: 2000, start: 0.6}}]}\n";
    assert_eq!(loaded(&spec(&model, &["trigger", &theta(fields)], claim)).claims[0].point, 5);
    let drop = loaded(&spec(&model, &["trigger", &theta(fields)], "where: size > 1000\n"));
    assert_eq!(drop.points(), 6);
    for index in 0..experiment.points() {
        let point = experiment.design.point(index);
        let balancelab::model::Model::LossRouter(model) = experiment.model(&point).unwrap() else {
            panic!("another model")
        };
        if let Policy::Theta(theta) = experiment.policy(&point).unwrap() {
            let position = model.horizon as usize / 1000 - 1;
            assert_eq!(theta.alpha, [0.1, 0.2, 0.3][position]);
        }
    }
}

#[test]
fn where_drops_the_combinations_that_fail_it_and_no_other() {
    let fields = "alpha: {values: [0, 0.5, 1]}, max_run: {values: [1, 2]}";
    let text = spec(MODEL, &[&theta(fields)], "where: alpha < 1 || max_run == 2\n");
    let experiment = loaded(&text);
    let got: Vec<(f64, f64)> =
        column(&experiment, "alpha").into_iter().zip(column(&experiment, "max_run")).collect();
    assert_eq!(got, [(0.0, 1.0), (0.0, 2.0), (0.5, 1.0), (0.5, 2.0), (1.0, 2.0)]);
}

#[test]
fn where_applies_only_to_points_that_have_all_its_axes() {
    let model = MODEL.replace("1000", "{values: [1000, 2000]}");
    let policies = [theta("alpha: {values: [0.1, 0.9]}"), "coin: {linspace: [0, 1, 3]}".to_owned()];
    let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
    let rest = "where: [alpha < 0.5 || horizon > 1000, coin > 0]\n";
    let experiment = loaded(&spec(&model, &policies, rest));
    let thetas = rows(&experiment).iter().filter(|(label, _)| label == "theta").count();
    let coins = rows(&experiment).iter().filter(|(label, _)| label == "coin").count();
    assert_eq!((thetas, coins), (3, 4));
    assert_eq!(experiment.points(), 7);
}

#[test]
fn where_can_drop_the_points_that_would_be_refused() {
    let fields = "alpha: 0.1, start: {values: [0.2, 0.8]}, clamp: {values: [[0.1, 0.3]]}";
    let text = spec(MODEL, &[&theta(fields)], "where: start < 0.5\n");
    assert_eq!(loaded(&text).points(), 1);
}

#[test]
fn a_column_is_called_by_its_field_or_by_its_axis() {
    let both = MODEL
        .replace("{poisson: 15}", "{poisson: {values: [15, 20]}}")
        .replace("{poisson: 80}", "{poisson: {values: [80, 90]}}");
    assert_eq!(
        columns(&spec(&both, &["trigger"], "")),
        ["interarrival.poisson", "service.poisson"]
    );
    let one = MODEL.replace("{poisson: 80}", "{poisson: {values: [80, 90]}}");
    assert_eq!(columns(&spec(&one, &["trigger"], "")), ["poisson"]);
    let named = MODEL.replace("{poisson: 80}", "{poisson: {values: [80, 90], axis: work}}");
    assert_eq!(columns(&spec(&named, &["trigger"], "")), ["work"]);
    // One field of two policies is one column, as their points never meet.
    let (j, i) =
        (theta("alpha: {values: [0, 1]}"), "theta: {label: i, rule: i, alpha: {values: [0, 2]}}");
    assert_eq!(columns(&spec(MODEL, &[&j, i], "")), ["alpha"]);
}

#[test]
fn a_condition_names_a_column_with_a_dot_in_braces() {
    let both = MODEL
        .replace("{poisson: 15}", "{poisson: {values: [15, 20]}}")
        .replace("{poisson: 80}", "{poisson: {values: [80, 90]}}");
    let experiment = loaded(&spec(&both, &["trigger"], "where: '{service.poisson} > 85'\n"));
    assert_eq!(column(&experiment, "service.poisson"), [90.0, 90.0]);
}

#[test]
fn lists_distributions_and_bare_values_are_swept_like_numbers() {
    let model = MODEL
        .replace("[2, 4]", "{values: [[2, 4], [10, 20]]}")
        .replace("{poisson: 80}", "{values: [{poisson: 80}, {exponential: 80}]}");
    let experiment = loaded(&spec(&model, &["coin: {linspace: [0, 1, 3]}"], ""));
    assert_eq!(experiment.design.columns(), ["channels", "service", "coin"]);
    let rows = rows(&experiment);
    let text = |text: &str| Some(Level::Text(text.to_owned()));
    assert_eq!(rows.len(), 2 * 2 * 3);
    assert_eq!(rows[0].1, [text("[2, 4]"), text("{poisson: 80}"), Some(Level::Number(0.0))]);
    assert_eq!(rows[11].1, [text("[10, 20]"), text("{exponential: 80}"), Some(Level::Number(1.0))]);
    for (k, row) in rows.iter().enumerate() {
        assert!(!rows[..k].contains(row), "{row:?} is there twice");
    }
    let middle = experiment.policy(&experiment.design.point(1));
    assert!(matches!(middle, Some(Policy::Coin(coin)) if coin.probabilities == [0.5, 0.5]));
}

#[test]
fn a_swept_number_of_servers_has_the_columns_of_the_most() {
    let model = MODEL.replace("[2, 4]", "{values: [[2, 4], [1, 2, 3], [5, 5]]}");
    let experiment = loaded(&spec(&model, &["trigger"], ""));
    assert!(experiment.columns.iter().any(|column| column == "utilisation_2"));
}
