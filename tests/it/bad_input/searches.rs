//! Searches with one thing wrong.

use super::{GOOD, balancelab, check, folder, refused};

const SEARCH: &str = "\
optimize:
  policy: theta
  minimize: errors_pct
  over:
    alpha: {log: [0.0005, 1]}
  budget: 400
";

/// Returns the good spec with the search, each with one piece of its text replaced.
fn but(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(format!("{GOOD}{SEARCH}"), |spec, (old, new)| {
        // `budget` and the like may stand in several searches; the first is as good as any.
        assert!(spec.contains(old), "`{old}` must stand in the spec");
        spec.replacen(old, new, 1)
    })
}

fn swap(name: &str, old: &str, new: &str) {
    check(&format!("search_{name}"), but(&[(old, new)]));
}

fn swap_all(name: &str, changes: &[(&str, &str)]) {
    check(&format!("search_{name}"), but(changes));
}

const ALPHA: &str = "alpha: {log: [0.0005, 1]}";
const THETA: &str = "theta: {rule: j, alpha: 0.01}";
const CLAIM: &str = "published:
  claims:
    - {policy: coin, response: errors_pct, value: 22.7, tolerance: 30}
";

/// Searches over something else.
fn over(name: &str, parameters: &str) {
    swap(name, ALPHA, parameters);
}

/// Adds a field to the search.
fn with(name: &str, field: &str) {
    swap(name, "  budget", &format!("  {field}\n  budget"));
}

#[test]
fn the_good_search_is_fine() {
    let output = balancelab(folder(but(&[])).path(), &["check", "spec.yaml"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn searches_of_nothing() {
    check("search_is_a_text", format!("{GOOD}optimize: theta\n"));
    check("search_in_list_is_a_text", format!("{GOOD}optimize: [theta]\n"));
    check("search_without_value", format!("{GOOD}optimize:\n"));
    swap("unknown_key", "minimize", "minimise");
    swap("unknown_key_far", "  budget", "  trials: 3\n  budget");
    swap("without_policy", "  policy: theta\n", "");
    swap("unknown_policy", "policy: theta\n", "policy: thta\n");
    swap("without_response", "  minimize: errors_pct\n", "");
    with("with_two_responses", "maximize: accepted_pct");
    swap("unknown_response", "minimize: errors_pct", "minimize: error_pct");
    swap("response_is_a_number", "minimize: errors_pct", "minimize: 3");
    swap("without_over", "  over:\n    alpha: {log: [0.0005, 1]}\n", "");
    swap("without_budget", "  budget: 400\n", "");
    swap("budget_below_20", "budget: 400", "budget: 19");
    with("empty_label", "label: ' '");
    with("label_with_line_break", "label: \"a\\nb\"");
    with("label_is_a_number", "label: 3");
    let second = SEARCH.replace("optimize:\n", "").replace("\n  ", "\n    ");
    let list = format!("{GOOD}optimize:\n  - {}  - {}", &second[2..], &second[2..]);
    check("search_of_the_same_label_twice", list);
    swap_all("in_batches", &[(CLAIM, ""), ("replications: 2", "replications: {batches: 30}")]);
    swap("of_a_misspelt_policy", "- theta:", "- thta:");
}

#[test]
fn boxes_that_are_none() {
    over("over_is_a_list", "[alpha]");
    over("over_is_empty", "{}");
    let many: String = (0..21).map(|k| format!("p{k}: {{linear: [0, 1]}}\n    ")).collect();
    over("over_21_parameters", many.trim_end());
    over("range_is_a_list", "alpha: [0.0005, 1]");
    over("range_is_an_axis", "alpha: {logspace: [0.0005, 1, 3]}");
    over("range_without_scale", "max_run: {integer: true}");
    over("range_with_two_scales", "alpha: {log: [0.0005, 1], linear: [0, 1]}");
    over("range_with_unknown_key", "alpha: {log: [0.0005, 1], whole: true}");
    over("range_log_from_0", "alpha: {log: [0, 1]}");
    over("range_reversed", "alpha: {linear: [1, 0.1]}");
    over("range_without_width", "alpha: {linear: [0.1, 0.1]}");
    over("range_of_three", "alpha: {linear: [0, 0.5, 1]}");
    over("range_infinite", "alpha: {linear: [0, .inf]}");
    over("range_too_wide", "rule.custom.j: {linear: [-1e308, 1e308]}");
    over("range_of_fractions", "max_run: {linear: [0.5, 9], integer: true}");
    over("parameter_twice", "alpha: {log: [0.0005, 1]}\n    alpha: {log: [0.001, 1]}");
    over("parameter_by_two_paths", "alpha: {log: [0.0005, 1]}\n    theta.alpha: {log: [0.1, 1]}");
    over(
        "parameter_below_another",
        "model.service.poisson: {linear: [50, 90]}\n    model.service.poisson.mean: {linear: [50, 90]}",
    );
}

#[test]
fn paths_that_lead_to_no_number() {
    over("path_unknown", "alhpa: {log: [0.0005, 1]}");
    over("path_unknown_in_model", "model.servce.poisson: {linear: [50, 90]}");
    over("path_of_another_kind", "coin.theta: {linear: [0, 1]}");
    over("path_below_a_number", "alpha.mean: {linear: [0, 1]}");
    over("path_beyond_a_list", "clamp.2: {linear: [0, 1]}");
    over("path_to_a_list", "clamp: {linear: [0, 1]}");
    over("path_to_a_list_of_whole_numbers", "model.channels: {linear: [1, 3]}");
    over("path_to_a_text", "label: {linear: [0, 1]}");
    over("path_to_a_choice", "model.redirect: {linear: [0, 1]}");
    over("path_to_a_flag", "model.departure_first: {linear: [0, 1]}");
    over("path_to_a_rule", "rule: {linear: [0, 1]}");
    over("path_into_a_named_rule", "rule.custom.j: {linear: [0, 1]}");
    over("path_to_a_policy", "theta: {linear: [0, 1]}");
    over("path_to_the_model", "model: {linear: [0, 1]}");
    over("path_to_a_distribution", "model.service: {linear: [50, 90]}");
    over("path_into_another_distribution", "model.service.exponential: {linear: [50, 90]}");
    over("path_empty", "'': {linear: [0, 1]}");
}

#[test]
fn boxes_with_points_that_are_wrong() {
    over("corner_out_of_range", "alpha: {linear: [-1, 1]}");
    over("corner_outside_clamp", "start: {linear: [0.2, 0.995]}");
    over("corner_of_two", "clamp.0: {linear: [0.01, 0.6]}\n    start: {linear: [0.5, 0.9]}");
    over("corner_of_the_default", "clamp.1: {linear: [0.2, 0.9]}");
    over("corner_of_the_model", "model.warmup: {linear: [0, 2000]}");
    over("corner_too_great", "model.service.poisson: {log: [10, 1e7]}");
    over("whole_numbers_only", "max_run: {linear: [1, 9]}");
    over("whole_numbers_in_a_list", "model.channels.0: {linear: [1, 9]}");
    let coin = [("policy: theta\n", "policy: coin\n")];
    let with_coin = |name: &str, coin_is: &str, parameters: &str| {
        let changes = [("{theta: 0.333}", coin_is), (ALPHA, parameters), coin[0]];
        swap_all(name, &changes);
    };
    with_coin(
        "corner_off_the_sum",
        "{probabilities: [0.5, 0.5]}",
        "probabilities.0: {linear: [0.1, 0.9]}",
    );
    with_coin("field_beside_another", "{probabilities: [0.5, 0.5]}", "theta: {linear: [0, 1]}");
    swap_all(
        "corner_beyond_servers",
        &[
            (ALPHA, "first: {linear: [0, 2], integer: true}"),
            ("policy: theta\n", "policy: trigger\n"),
        ],
    );
}

#[test]
fn starts_outside_the_box() {
    with("start_above", "start: {alpha: 2}");
    with("start_is_a_text", "start: {alpha: middle}");
    with("start_unknown", "start: {beta: 0.5}");
    with("start_twice", "start: {alpha: 0.5, alpha: 0.6}");
    with("start_is_a_number", "start: 0.5");
    let whole = "max_run: {linear: [1, 9], integer: true}";
    swap_all(
        "start_is_a_fraction",
        &[(ALPHA, whole), ("  budget", "  start: {max_run: 2.5}\n  budget")],
    );
}

#[test]
fn methods_that_do_not_fit() {
    let with = |name: &str, method: &str| with(name, &format!("method: {method}"));
    with("method_unknown", "spas");
    with("method_unknown_far", "annealing");
    with("method_unknown_option", "{spsa: {pair: 2}}");
    with("method_with_an_option_of_another", "{random: {particles: 5}}");
    with("method_with_options_that_it_lacks", "{auto: {pairs: 5}}");
    with("method_with_two_names", "{spsa: {}, brent: {}}");
    with("method_out_of_range", "{spsa: {pairs: 0, clip: 1.5, perturbation: 0.6}}");
    with("method_unknown_form", "{spsa: {form: two_side}}");
    with("method_form_and_second_order", "{spsa: {form: one_measurement, second_order: true}}");
    with("method_perturbation_twice", "{spsa: {perturbation: 0.1, least_perturbation: 0.05}}");
    with("method_step_longer_than_clip", "{spsa: {first_step: 0.3}}");
    with("method_clip_shorter_than_step", "{spsa: {clip: 0.05}}");
    with("method_second_order_of_one", "{spsa: {second_order: true}}");
    with("method_cma_es_of_one", "cma_es");
    let of = |name: &str, method: &str, parameters: &str| {
        let method = format!("  method: {method}\n  budget");
        swap_all(name, &[(ALPHA, parameters), ("  budget", &method)]);
    };
    let two = "alpha: {log: [0.0005, 1]}\n    start: {linear: [0.2, 0.8]}";
    of("method_golden_section_of_two", "golden_section", two);
    of("method_brent_of_two", "{brent: {replications: 5}}", two);
    of("method_grid_of_three", "grid", &format!("{two}\n    clamp.1: {{linear: [0.9, 1]}}"));
    of("budget_below_a_grid", "grid", two);
    let surface = "method: response_surface\n  budget: 25";
    swap_all("budget_below_a_surface", &[(ALPHA, two), ("budget: 400", surface)]);
    with("grid_too_large", "{grid: {points: 5000}}");
    of("budget_below_generations", "{cma_es: {replications: 100}}", two);
    with("budget_below_ten_iterations", "{spsa: {pairs: 7, replications: 3}}");
    with("budget_below_five_evaluations", "{golden_section: {replications: 81}}");
    with("budget_below_a_simplex", "{nelder_mead: {replications: 101}}");
    with("budget_below_a_swarm", "{particle_swarm: {particles: 201}}");
    with("budget_below_points", "{sobol: {points: 401}}");
}

#[test]
fn rivals_and_confirmations_that_make_no_sense() {
    with("rivals_is_a_text", "against: trigger");
    with("rival_unknown", "against: [triger]");
    with("rival_is_a_number", "against: [3]");
    with("rival_with_unknown_key", "against: [{policy: theta, where: 3}]");
    with("rival_twice", "against: [trigger, trigger]");
    with("rival_at_unswept", "against: [{policy: coin, at: {alpha: 0.01}}]");
    let swept = |name: &str, changes: &[(&str, &str)]| {
        let alpha = (THETA, "theta: {rule: j, alpha: {linspace: [0, 1, 11]}}");
        let changes = [&[(CLAIM, ""), alpha], changes].concat();
        swap_all(name, &changes);
    };
    let against = |rival: &str| format!("  against: [{rival}]\n  budget");
    swept("rival_of_many_points", &[("  budget", &against("theta"))]);
    let at = |at: &str| against(&format!("{{policy: theta, at: {at}}}"));
    swept("rival_at_no_point", &[("  budget", &at("{alpha: 0.15}"))]);
    swept("rival_at_unknown_axis", &[("  budget", &at("{alpah: 0.1}"))]);
    let coin = against("{policy: coin, at: {alpha: 0.1}}");
    swept("rival_at_axis_of_another", &[("  budget", &coin)]);
    let horizon = ("horizon: 1000", "horizon: {values: [1000, 2000]}");
    let model = at("{alpha: 0.1, horizon: 1000}");
    swept("rival_at_axis_of_the_model", &[horizon, ("  budget", &model)]);
    let drop = ("replications: 2", "where: alpha > 0.1 || horizon > 1000\nreplications: 2");
    swept("rival_dropped", &[horizon, drop, ("  budget", &at("{alpha: 0.1}"))]);
    with("confirm_unknown_key", "confirm: {replication: 100}");
    with("confirm_out_of_range", "confirm: {replications: 1, grid: 2, delta: 0}");
    let two = "alpha: {log: [0.0005, 1]}\n    start: {linear: [0.2, 0.8]}";
    let grid = "  confirm: {grid: 61}\n  budget";
    swap_all("confirm_grid_of_two", &[(ALPHA, two), ("  budget", grid)]);
}

#[test]
fn searches_among_sweeps() {
    with("at_no_axis", "at: {alpah: 1}");
    swap_all(
        "at_of_a_policy",
        &[
            (THETA, "theta: {rule: j, alpha: {values: [0.01, 0.1]}}"),
            ("  budget", "  at: {alpha: 0.01}\n  budget"),
        ],
    );
    swap_all(
        "at_nowhere",
        &[
            ("horizon: 1000", "horizon: {values: [1000, 2000]}"),
            ("  budget", "  at: {horizon: 3000}\n  budget"),
        ],
    );
    let swept = |name: &str, theta: &str, parameters: &str| {
        swap_all(name, &[(CLAIM, ""), (THETA, theta), (ALPHA, parameters)]);
    };
    let runs = "theta: {rule: j, alpha: {values: [0.1, 0.2]}, max_run: {values: [1, 2]}}";
    swept("of_a_policy_that_sweeps_more", runs, ALPHA);
    let rules = "theta: {rule: {values: [{custom: {j: 1}}, {custom: {j: 2}}]}, alpha: 0.1}";
    swept("through_a_swept_field", rules, "rule.custom.j: {linear: [0, 1]}");
    let model = |name: &str, old: &str, new: &str, parameters: &str| {
        swap_all(name, &[(CLAIM, ""), (old, new), (ALPHA, parameters)]);
    };
    model(
        "of_a_swept_field_of_the_model",
        "horizon: 1000",
        "horizon: {values: [1000, 2000]}",
        "model.horizon: {linear: [500, 2000]}",
    );
    model(
        "of_a_list_with_a_swept_item",
        "service: {poisson: 80}",
        "service: {poisson: {mean: {values: [80, 90]}}}",
        "model.loss_router.service.poisson: {linear: [50, 90]}",
    );
    model(
        "through_a_swept_field_of_the_model",
        "channels: [2, 4]",
        "channels: {values: [[2, 4], [10, 20]]}",
        "model.channels.0: {linear: [1, 9], integer: true}",
    );
    // The first scenario is fine, the second isn't.
    model(
        "wrong_in_the_second_scenario",
        "horizon: 1000",
        "horizon: {values: [1000, 2000]}\n    max_arrivals: 150",
        "model.interarrival.poisson: {linear: [8, 20]}",
    );
    let three = [
        (CLAIM, ""),
        ("channels: [2, 4]", "channels: {values: [[2, 4], [2, 4, 8]]}"),
        ("  - coin: {theta: 0.333}\n", ""),
        (THETA, "alternate"),
        (ALPHA, "first: {linear: [0, 1], integer: true}"),
        ("policy: theta\n", "policy: trigger\n"),
    ];
    let measured = [&three[..], &[("minimize: errors_pct", "minimize: utilisation_2")]].concat();
    swap_all("of_a_response_that_some_scenarios_lack", &measured);
}

#[test]
fn overrides_of_searches_that_lead_nowhere() {
    let run = |name: &str, spec: &str, set: &str| {
        let folder = folder(spec);
        let arguments = ["check", "spec.yaml", "--set", set];
        refused(&format!("set_search_{name}"), &balancelab(folder.path(), &arguments));
    };
    let one = but(&[]);
    let second = SEARCH.replace("optimize:\n", "").replace("\n  ", "\n    ");
    let list = format!("{GOOD}optimize:\n  - {}", &second[2..]);
    run("unknown_field", &one, "optimize.bugdet=100");
    run("by_number", &one, "optimize.0.budget=100");
    run("beyond_the_last", &list, "optimize.1.budget=100");
    run("unknown_label", &list, "optimize.thta.budget=100");
    run("unknown_parameter", &one, "optimize.over.beta.log=[0.1, 1]");
    run("range", &one, "optimize.over.alpha.log=[0, 1]");
    run("method", &one, "optimize.method.spsa.pair=2");
    run("budget", &one, "optimize.budget=10");
}
