//! Searches: what `optimize:` decodes to, and where the values of its parameters go.

use balancelab::design::{Level, Range};
use balancelab::model::{LossRouter, Model};
use balancelab::policy::{Policy, Theta};
use balancelab::rng::Distribution;
use balancelab::spec::{
    Confirm, Experiment, Form, Method, Optimize, Parameter, Replications, Rival, Spsa,
};
use balancelab::stats::Good;

use super::sweeps::{MODEL, loaded, spec, try_load};

const THETA: &str = "theta: {rule: {custom: {j: 1}}, alpha: {logspace: [0.001, 1, 4]}, max_run: 2}";

/// Returns a spec with one search; its `fields` come after policy and response.
fn with(policy: &str, over: &str, fields: &str) -> String {
    let policies = ["trigger", "coin: 0.5", "alternate: {label: turns}", THETA];
    let search = format!(
        "optimize:\n  policy: {policy}\n  minimize: errors_pct\n  over: {{{over}}}\n  budget: 1000\n{fields}"
    );
    spec(MODEL, &policies, &search)
}

const ALPHA: &str = "alpha: {log: [0.01, 1]}";

/// Returns the model and the policy of the first search in the first scenario.
fn searched(experiment: &Experiment, values: &[f64]) -> Option<(LossRouter, Policy)> {
    let point = experiment.design.point(0);
    let (model, policy) = experiment.searched(&experiment.optimize[0], &point, values)?;
    let Model::LossRouter(model) = model else { return None };
    Some((model, policy))
}

fn theta(policy: &str, over: &str, values: &[f64]) -> Theta {
    match searched(&loaded(&with(policy, over, "")), values).unwrap().1 {
        Policy::Theta(theta) => theta,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_short_search_has_the_defaults() {
    let experiment = loaded(&with("theta", ALPHA, ""));
    let columns = &experiment.columns;
    let expected = Optimize {
        label: "theta".to_owned(),
        policy: 3,
        at: Vec::new(),
        column: columns.iter().position(|column| column == "errors_pct").unwrap(),
        good: Good::Less,
        over: vec![Parameter {
            name: "alpha".to_owned(),
            path: vec!["alpha".to_owned()],
            in_model: false,
            range: Range { low: 0.01, high: 1.0, log: true, integer: false },
        }],
        start: vec![0.1],
        method: Method::Auto,
        budget: 1000,
        against: Vec::new(),
        confirm: Confirm { replications: 200, grid: None, delta: None },
    };
    assert_eq!(experiment.optimize, [expected]);
}

#[test]
fn a_long_search_has_what_it_says() {
    let text = with(
        "theta",
        "max_run: {linear: [1, 10], integer: true}, alpha: {log: [0.01, 1]}, \
         model.service.poisson: {linear: [50, 90]}",
        "  label: both\n  start: {alpha: 0.5}\n  method: {spsa: {form: one_measurement, pairs: 2, \
         replications: 3, first_step: 0.15, perturbation: 0.2, stability: 0, clip: 0.3, blocking: \
         true}}\n  against: [trigger, {policy: theta, at: {alpha: 0.1}}]\n  confirm: \
         {replications: 50, delta: 0.1}\n",
    )
    .replace("minimize: errors_pct", "maximize: utilisation_1");
    let experiment = loaded(&text);
    let search = &experiment.optimize[0];
    assert_eq!(experiment.columns[search.column], "utilisation_1");
    assert_eq!((search.label.as_str(), search.good), ("both", Good::More));
    let flags: Vec<(&str, bool, bool, bool)> = search
        .over
        .iter()
        .map(|one| (one.name.as_str(), one.in_model, one.range.log, one.range.integer))
        .collect();
    assert_eq!(
        flags,
        [
            ("max_run", false, false, true),
            ("alpha", false, true, false),
            ("model.service.poisson", true, false, false)
        ]
    );
    assert_eq!(search.over[2].path, ["service", "poisson"]);
    // The middle of whole numbers from 1 to 10 is rounded away from 0.
    assert_eq!(search.start, [6.0, 0.5, 70.0]);
    let options = Spsa {
        form: Form::OneMeasurement,
        pairs: 2,
        replications: 3,
        first_step: 0.15,
        perturbation: Some(0.2),
        least_perturbation: 0.05,
        stability: 0.0,
        clip: 0.3,
        blocking: true,
        second_order: false,
    };
    assert_eq!(search.method, Method::Spsa(options));
    assert_eq!(
        search.against,
        [
            Rival { name: "trigger".to_owned(), policy: 0, at: Vec::new() },
            Rival {
                name: "theta alpha=0.1".to_owned(),
                policy: 3,
                at: vec![("alpha".to_owned(), Level::Number(0.1))]
            }
        ]
    );
    assert_eq!(search.confirm, Confirm { replications: 50, grid: None, delta: Some(0.1) });
}

#[test]
fn every_method_is_decoded_with_its_defaults_and_its_options() {
    let two = "alpha: {log: [0.01, 1]}, start: {linear: [0.2, 0.8]}";
    let method = |over: &str, method: &str| {
        let text = with("theta", over, &format!("  method: {method}\n"));
        loaded(&text).optimize.remove(0).method
    };
    let spsa = Spsa { second_order: true, ..Spsa::DEFAULT };
    let cases = [
        ("auto", Method::Auto),
        ("spsa", Method::Spsa(Spsa::DEFAULT)),
        ("{spsa: {}}", Method::Spsa(Spsa::DEFAULT)),
        ("{spsa: {second_order: true}}", Method::Spsa(spsa)),
        ("nelder_mead", Method::NelderMead { replications: None }),
        ("{nelder_mead: {replications: 7}}", Method::NelderMead { replications: Some(7) }),
        ("particle_swarm", Method::ParticleSwarm { particles: 10, replications: None }),
        (
            "{particle_swarm: {particles: 4, replications: 5}}",
            Method::ParticleSwarm { particles: 4, replications: Some(5) },
        ),
        ("cma_es", Method::CmaEs { population: None, replications: None }),
        ("{cma_es: {population: 9}}", Method::CmaEs { population: Some(9), replications: None }),
        ("random", Method::Random { points: None }),
        ("{random: {points: 30}}", Method::Random { points: Some(30) }),
        ("sobol", Method::Sobol { points: None }),
        ("{sobol: {points: 30}}", Method::Sobol { points: Some(30) }),
        ("grid", Method::Grid { points: 21, delta: None, confidence: 0.95 }),
        (
            "{grid: {points: 5, delta: 0.1, confidence: 0.9}}",
            Method::Grid { points: 5, delta: Some(0.1), confidence: 0.9 },
        ),
        ("response_surface", Method::ResponseSurface { rounds: 5 }),
        ("{response_surface: {rounds: 3}}", Method::ResponseSurface { rounds: 3 }),
    ];
    for (text, expected) in cases {
        let (name, decoded) = (expected.name(), method(two, text));
        assert_eq!(decoded, expected);
        assert!(text.contains(name), "{text} is {name}");
    }
    let one = [
        ("golden_section", Method::GoldenSection { replications: None }),
        ("{golden_section: {replications: 7}}", Method::GoldenSection { replications: Some(7) }),
        ("brent", Method::Brent { replications: None }),
        ("{brent: {replications: 7}}", Method::Brent { replications: Some(7) }),
    ];
    for (text, expected) in one {
        assert_eq!(method(ALPHA, text), expected);
    }
}

#[test]
fn several_searches_are_a_list() {
    let one = |label: &str, policy: &str, over: &str| {
        format!(
            "  - {{label: {label}, policy: {policy}, maximize: accepted_pct, over: {{{over}}}, budget: 50}}\n"
        )
    };
    let list =
        ["optimize:\n", &one("a", "theta", ALPHA), &one("b", "coin", "coin: {linear: [0, 1]}")];
    let text = spec(MODEL, &["coin: 0.5", THETA], &list.concat());
    let labels = |experiment: &Experiment| -> Vec<(String, usize, u64)> {
        let of = |search: &Optimize| (search.label.clone(), search.policy, search.budget);
        experiment.optimize.iter().map(of).collect()
    };
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(labels(&loaded(&text)), [(a.clone(), 1, 50), (b.clone(), 0, 50)]);
    // A search of several goes by its label or its number on the command line.
    let set = ["optimize.b.budget=70", "optimize.0.budget=60"];
    assert_eq!(labels(&try_load(&text, &set).unwrap()), [(a, 1, 60), (b, 0, 70)]);
    assert!(try_load(&text, &["optimize=[]"]).unwrap().optimize.is_empty());
}

#[test]
fn fields_of_a_search_are_set_on_the_command_line() {
    let over = "alpha: {log: [0.01, 1]}, model.service.poisson: {linear: [50, 90]}, \
                clamp.0: {linear: [0.01, 0.2]}";
    let text = with("theta", over, "");
    let set =
        |changes: &[&str]| try_load(&text, changes).unwrap_or_else(|e| panic!("{e}")).optimize;
    assert_eq!(set(&["optimize.budget=100"])[0].budget, 100);
    assert_eq!(set(&["optimize.over.alpha.log=[0.1, 0.9]"])[0].over[0].range.low, 0.1);
    assert_eq!(set(&["optimize.over.alpha.log.1=0.5"])[0].over[0].range.high, 0.5);
    assert_eq!(
        set(&["optimize.over.model.service.poisson.linear.0=60"])[0].over[1].range.low,
        60.0
    );
    assert_eq!(set(&["optimize.over.clamp.0.linear=[0.02, 0.3]"])[0].over[2].range.high, 0.3);
    // A parameter that isn't there yet is added, whatever its path.
    let added = set(&["optimize.over.rule.custom.j.linear=[-1, 1]"]);
    assert_eq!(added[0].over[3].path, ["rule", "custom", "j"]);
    let added = set(&["optimize.over.clamp.1={linear: [0.8, 0.9]}"]);
    assert_eq!((added[0].over[3].range.low, added[0].over[3].range.high), (0.8, 0.9));
    assert_eq!(set(&["optimize.start.model.service.poisson=55"])[0].start[1], 55.0);
    let spsa = Method::Spsa(Spsa { pairs: 4, ..Spsa::DEFAULT });
    assert_eq!(set(&["optimize.method.spsa.pairs=4"])[0].method, spsa);
    assert_eq!(set(&["optimize.method=nelder_mead"])[0].method.name(), "nelder_mead");
    assert_eq!(set(&["optimize.confirm.replications=9"])[0].confirm.replications, 9);
    assert_eq!(set(&["optimize.against=[trigger]"])[0].against.len(), 1);
}

#[test]
fn a_value_goes_to_the_field_of_the_policy() {
    // In place of a swept field, of a number, and of a field left at its default.
    let moved = theta("theta", ALPHA, &[0.25]);
    assert_eq!((moved.alpha, moved.max_run), (0.25, Some([2, 2])));
    let all = "theta.alpha: {log: [0.01, 1]}, max_run: {linear: [1, 9], integer: true}, \
               start: {linear: [0.3, 0.6]}";
    let moved = theta("theta", all, &[0.25, 7.0, 0.4]);
    assert_eq!((moved.alpha, moved.max_run, moved.start), (0.25, Some([7, 7]), 0.4));
    assert_eq!(moved.rule.j, 1.0);
}

#[test]
fn a_value_goes_into_a_rule_and_a_list() {
    let over = "alpha: {log: [0.01, 1]}, rule.custom.j: {linear: [-2, 2]}, \
                rule.custom.i: {linear: [-2, 2]}, clamp.0: {linear: [0.01, 0.2]}";
    let moved = theta("theta", over, &[0.5, 1.5, -0.5, 0.125]);
    assert_eq!((moved.rule.j, moved.rule.i, moved.alpha), (1.5, -0.5, 0.5));
    // The list was left out: what isn't searched of it stays at its default.
    assert_eq!(moved.clamp, [0.125, 0.99]);
}

#[test]
fn a_value_goes_where_a_bare_value_stands() {
    for path in ["theta", "coin", "coin.theta"] {
        let experiment = loaded(&with("coin", &format!("{path}: {{linear: [0, 1]}}"), ""));
        let policy = searched(&experiment, &[0.75]).unwrap().1;
        assert!(
            matches!(policy, Policy::Coin(coin) if coin.probabilities == [0.75, 0.25]),
            "{path}"
        );
    }
    // A bare name has no fields until a path leads to one; a label goes on being one.
    for (policy, at) in [("trigger", 0), ("turns", 2)] {
        let over = "first: {linear: [0, 1], integer: true}";
        let experiment = loaded(&with(policy, over, ""));
        assert_eq!(experiment.optimize[0].policy, at);
        match searched(&experiment, &[1.0]).unwrap().1 {
            Policy::Trigger(trigger) => assert_eq!(trigger.first, 1),
            Policy::Alternate(alternate) => assert_eq!(alternate.first, 1),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_value_goes_to_the_field_of_the_model() {
    let model = |over: &str, value: f64| {
        let over = format!("alpha: {{log: [0.01, 1]}}, {over}");
        let (model, policy) = searched(&loaded(&with("theta", &over, "")), &[0.5, value]).unwrap();
        assert!(matches!(policy, Policy::Theta(theta) if theta.alpha == 0.5));
        model
    };
    let poisson = Distribution::Poisson { mean: 60.5 };
    for path in [
        "model.service.poisson",
        "model.service.poisson.mean",
        "model.loss_router.service.poisson",
        "model.loss_router.service.poisson.mean",
    ] {
        let model = model(&format!("{path}: {{linear: [50, 90]}}"), 60.5);
        assert_eq!(model.service, poisson, "{path}");
        assert_eq!(model.interarrival, Distribution::Poisson { mean: 15.0 });
    }
    let whole = "model.channels.1: {linear: [1, 9], integer: true}";
    assert_eq!(model(whole, 7.0).channels, [2, 7]);
    assert_eq!(model("model.horizon: {log: [100, 10000]}", 500.0).horizon, 500.0);
}

#[test]
fn what_makes_no_model_or_policy_is_nothing() {
    let over = "alpha: {log: [0.01, 1]}, model.service.poisson: {linear: [50, 90]}";
    let experiment = loaded(&with("theta", over, ""));
    assert!(searched(&experiment, &[0.1, 60.0]).is_some());
    for values in [&[0.1][..], &[0.1, 60.0, 1.0], &[-0.1, 60.0], &[0.1, -60.0], &[f64::NAN, 60.0]] {
        assert!(searched(&experiment, values).is_none(), "{values:?}");
    }
}

#[test]
fn each_scenario_has_a_search_of_its_own() {
    let model = MODEL.replace("1000", "{values: [1000, 2000, 3000], axis: size}");
    let tied = "theta: {rule: j, alpha: {values: [0.1, 0.2]}, start: {values: [0.2, 0.3, 0.4], axis: size}}";
    let rest = "where: size != 2000\noptimize: {policy: theta, minimize: errors_pct, over: {alpha: \
                {log: [0.01, 1]}}, budget: 50, against: [trigger, {policy: theta, at: {alpha: 0.2}}]}\n";
    let experiment = loaded(&spec(&model, &["trigger", tied], rest));
    let search = &experiment.optimize[0];
    let scenarios: Vec<(u64, u32)> = experiment.scenarios(&[]).collect();
    assert_eq!(scenarios, [(0, 0), (2, 3)]);
    for ((scenario, first), (horizon, start)) in
        scenarios.into_iter().zip([(1000.0, 0.2), (3000.0, 0.4)])
    {
        let point = experiment.design.point(first);
        let Some((Model::LossRouter(model), policy)) = experiment.searched(search, &point, &[0.5])
        else {
            panic!("another model")
        };
        assert_eq!(model.horizon, horizon);
        // A field that moves with the model's goes on doing so.
        assert!(
            matches!(policy, Policy::Theta(theta) if theta.start == start && theta.alpha == 0.5)
        );
        let rivals = search.against.iter().map(|rival| experiment.rival(rival, scenario));
        assert_eq!(rivals.collect::<Vec<_>>(), [Some(first), Some(first + 2)]);
    }
    assert_eq!(experiment.rival(&search.against[0], 1), None);
    let one = rest.replace("budget: 50", "at: {size: 3000}, budget: 50");
    let one = loaded(&spec(&model, &["trigger", tied], &one));
    assert_eq!(one.scenarios(&one.optimize[0].at).collect::<Vec<_>>(), [(2, 3)]);
    let plain = loaded(&spec(&model, &["trigger", tied], ""));
    assert_eq!(plain.scenarios(&[]).collect::<Vec<_>>(), [(0, 0), (1, 3), (2, 6)]);
}

#[test]
fn a_search_leaves_the_points_and_their_streams_alone() {
    let text = with("theta", ALPHA, "");
    let (plain, searching) = (loaded(text.split_once("optimize:").unwrap().0), loaded(&text));
    assert_ne!(plain.hash, searching.hash);
    assert_eq!(plain.points(), searching.points());
    for index in 0..plain.points() {
        let (a, b) = (plain.design.point(index), searching.design.point(index));
        assert_eq!(plain.model(&a).unwrap().scenario(), searching.model(&b).unwrap().scenario());
        assert_eq!(plain.policy(&a), searching.policy(&b));
    }
}

#[test]
fn a_search_goes_with_stopping_rules_and_selection() {
    let until = "replications: {max: 100, until: {response: errors_pct, half_width: 1}}\n";
    let experiment = loaded(&(with("theta", ALPHA, "") + until));
    assert!(matches!(experiment.replications, Replications::Until(_)));
    let select = "replications: 100\nselect: {response: errors_pct, delta: 1}\n";
    let experiment = loaded(&(with("theta", ALPHA, "") + select));
    assert!(experiment.select.is_some() && experiment.optimize.len() == 1);
}

#[test]
fn a_box_of_many_parameters_is_checked_too() {
    // Eleven weights that sum to 1 in the middle alone: no corner of the box is a coin.
    let weights = ["0.1"; 10].join(", ");
    let channels = ["2"; 10].join(", ");
    let model = MODEL.replace("[2, 4]", &format!("[{channels}]"));
    let over = (0..10).map(|k| format!("model.channels.{k}: {{linear: [1, 9], integer: true}}"));
    let over: Vec<String> = over.collect();
    let text = |over: &[String]| {
        let search = format!(
            "optimize: {{policy: coin, minimize: errors_pct, budget: 50, over: {{{}}}}}\n",
            over.join(", ")
        );
        spec(&model, &[&format!("coin: {{probabilities: [{weights}]}}")], &search)
    };
    let experiment = loaded(&text(&over));
    let values: Vec<f64> = (1..=10).map(|k| f64::from(k.min(9))).collect();
    assert_eq!(searched(&experiment, &values).unwrap().0.channels[3], 4);
    let more = [&over[..], &["model.warmup: {linear: [0, 1500]}".to_owned()]].concat();
    let error = try_load(&text(&more), &[]).unwrap_err().to_string();
    assert!(error.contains("the middle with model.warmup=1500 is no model"), "{error}");
}
