//! Specs with one thing wrong, and with many.

use super::{check, good_but};

/// Checks the good spec with one piece replaced.
fn swap(name: &str, old: &str, new: &str) {
    check(name, good_but(old, new));
}

/// Checks the good spec without its claim and with one piece replaced.
fn swap_unclaimed(name: &str, old: &str, new: &str) {
    let spec = good_but(old, new);
    let end = spec.find("published:").unwrap();
    check(name, &spec[..end]);
}

const CHANNELS: &str = "channels: [2, 4]";
const SERVICE: &str = "service: {poisson: 80}";
const INTERARRIVAL: &str = "interarrival: {poisson: 15}";
const COIN: &str = "coin: {theta: 0.333}";
const THETA: &str = "theta: {rule: j, alpha: 0.01}";
const CLAIM: &str = "{policy: coin, response: errors_pct, value: 22.7, tolerance: 30}";

#[test]
fn keys_that_are_unknown_missing_or_twice_there() {
    swap("unknown_key_near", CHANNELS, "chanels: [2, 4]");
    swap("unknown_key_far", "seed: 7", "flavour: 7");
    swap("unknown_key_of_policy", COIN, "coin: {thta: 0.333}");
    swap("unknown_key_of_distribution", SERVICE, "service: {exponential: {men: 80}}");
    swap("duplicate_key", "seed: 7", "seed: 7\nseed: 8");
    swap("duplicate_key_deep", SERVICE, "service: {poisson: 80}\n    service: {poisson: 90}");
    swap("missing_field", "    horizon: 1000\n", "");
    swap("missing_field_of_policy", THETA, "theta: {rule: j}");
    swap("bare_theta", THETA, "theta");
    swap("key_without_value", "seed: 7", "seed:");
    swap("model_without_value", SERVICE, "service:");
    check("only_a_name", "name: small\n");
    swap("optimize_section", "replications: 2", "optimize: {policy: theta}");
}

#[test]
fn names_that_nothing_has() {
    swap("unknown_model", "loss_router", "loss_rooter");
    swap("unknown_policy", "- trigger", "- triger");
    swap("unknown_policy_far", "- trigger", "- bandit");
    swap("unknown_distribution", SERVICE, "service: {poison: 80}");
    swap("unknown_rule", THETA, "theta: {rule: k, alpha: 0.01}");
    swap("unknown_redirect", "horizon: 1000", "horizon: 1000\n    redirect: nxt");
    swap("unknown_compare", "- trigger", "- ledger: {memory: 80, compare: free_shares}");
    swap("unknown_capacities", "- trigger", "- ledger: {memory: 80, capacities: [2, 4]}");
    swap("unknown_key_of_ledger", "- trigger", "- ledger: {memory: 80, compares: free}");
    swap("number_as_distribution", SERVICE, "service: 80");
    swap("policy_with_two_names", "- coin: {theta: 0.333}", "- coin:\n    theta: 0.333");
    swap("policy_is_a_number", "- trigger", "- 3");
    swap(
        "policies_is_a_map",
        "  - trigger\n  - coin: {theta: 0.333}\n  - theta: {rule: j, alpha: 0.01}",
        "  trigger: {}",
    );
    swap(
        "no_policies",
        "policies:\n  - trigger\n  - coin: {theta: 0.333}\n  - theta: {rule: j, alpha: 0.01}",
        "policies: []",
    );
    swap("model_is_a_list", "  loss_router:", "  - loss_router:");
    swap("duplicate_label", "- trigger", "- coin: {theta: 0.5}");
    swap("duplicate_given_label", "- trigger", "- trigger: {label: coin}");
    swap("empty_label", "- trigger", "- trigger: {label: ''}");
    swap("label_with_line_break", "- trigger", "- trigger: {label: \"a\\nb\"}");
    swap("label_is_a_number", "- trigger", "- trigger: {label: 3}");
    swap("name_is_a_path", "name: small", "name: ../small");
    swap("name_is_a_number", "name: small", "name: 7");
}

#[test]
fn numbers_out_of_range() {
    swap("channels_empty", CHANNELS, "channels: []");
    swap("channels_one", CHANNELS, "channels: [2]");
    swap("channels_zero", CHANNELS, "channels: [0, 4]");
    swap("channels_negative", CHANNELS, "channels: [-1, 2]");
    swap("channels_fraction", CHANNELS, "channels: [2.5, 4]");
    swap("channels_number", CHANNELS, "channels: 2");
    swap("mean_nan", SERVICE, "service: {poisson: .nan}");
    swap("mean_infinite", SERVICE, "service: {exponential: .inf}");
    swap("mean_overflowing", SERVICE, "service: {exponential: 1e999}");
    swap("mean_negative", SERVICE, "service: {exponential: -80}");
    swap("mean_zero", SERVICE, "service: {exponential: {mean: 0}}");
    swap("mean_text", SERVICE, "service: {exponential: 80ms}");
    swap("mean_huge", SERVICE, "service: {poisson: 1e7}");
    swap("variance_infinite", SERVICE, "service: {exponential: 1e200}");
    swap("interarrival_zero", INTERARRIVAL, "interarrival: {poisson: 0}");
    swap("interarrival_empirical_zero", INTERARRIVAL, "interarrival: {empirical: [0, 0]}");
    swap("empirical_missing_file", SERVICE, "service: {empirical: times.txt}");
    swap("mean_and_rate", SERVICE, "service: {exponential: {mean: 80, rate: 0.1}}");
    swap("uniform_reversed", SERVICE, "service: {uniform: {low: 90, high: 80}}");
    swap("theta_above_1", COIN, "coin: {theta: 1.5}");
    swap("theta_negative", COIN, "coin: {theta: -0.1}");
    swap("clamp_reversed", THETA, "theta: {rule: j, alpha: 0.01, clamp: [0.9, 0.1]}");
    swap("clamp_outside", THETA, "theta: {rule: j, alpha: 0.01, clamp: [0, 1.5]}");
    swap("clamp_of_three", THETA, "theta: {rule: j, alpha: 0.01, clamp: [0, 0.5, 1]}");
    swap("start_outside_clamp", THETA, "theta: {rule: j, alpha: 0.01, start: 0.995}");
    swap("start_default_outside_clamp", THETA, "theta: {rule: j, alpha: 0.01, clamp: [0.5, 0.9]}");
    swap("alpha_negative", THETA, "theta: {rule: j, alpha: -0.01}");
    swap("max_run_zero", THETA, "theta: {rule: j, alpha: 0.01, max_run: 0}");
    swap("max_run_of_one", THETA, "theta: {rule: j, alpha: 0.01, max_run: [2]}");
    swap("max_run_of_three", THETA, "theta: {rule: j, alpha: 0.01, max_run: [2, 4, 8]}");
    swap("max_run_zero_for_one", THETA, "theta: {rule: j, alpha: 0.01, max_run: [2, 0]}");
    swap("max_run_fraction", THETA, "theta: {rule: j, alpha: 0.01, max_run: [1.5, 2.5]}");
    swap("max_run_text", THETA, "theta: {rule: j, alpha: 0.01, max_run: none}");
    swap(
        "smoothing_above_1",
        THETA,
        "theta: {rule: {custom: {j: 1, smoothing: 1.5}}, alpha: 0.01}",
    );
    swap("smoothing_negative", THETA, "theta: {rule: {custom: {smoothing: -1}}, alpha: 0.01}");
    swap("smoothed_flag", THETA, "theta: {rule: {custom: {j: 1, smoothed: true}}, alpha: 0.01}");
    swap("memory_negative", "- trigger", "- ledger: {memory: -80}");
    swap("memory_infinite", "- trigger", "- ledger: {memory: .inf}");
    swap("memory_missing", "- trigger", "- ledger: {compare: free}");
    swap("memory_text", "- trigger", "- ledger: {memory: forever}");
    swap("memory_of_two", "- trigger", "- ledger: {memory: [80, 90]}");
    swap("bare_ledger", "- trigger", "- ledger");
    swap("replications_zero", "replications: 2", "replications: 0");
    swap("replications_negative", "replications: 2", "replications: -2");
    swap("replications_huge", "replications: 2", "replications: 4294967296");
    swap("horizon_zero", "horizon: 1000", "horizon: 0");
    swap("horizon_infinite", "horizon: 1000", "horizon: .inf");
    swap("seed_too_big", "seed: 7", "seed: 18446744073709551616");
    swap("seed_negative", "seed: 7", "seed: -7");
    swap("confidence_percent", "seed: 7", "confidence: 95");
    swap("probabilities_off", COIN, "coin: {probabilities: [0.5, 0.51]}");
    swap("probabilities_and_theta", COIN, "coin: {theta: 0.5, probabilities: [0.5, 0.5]}");
    swap("probabilities_of_three", COIN, "coin: {probabilities: [0.5, 0.3, 0.2]}");
    swap("coin_without_theta", COIN, "coin");
    swap(
        "hyperexponential_off",
        SERVICE,
        "service: {hyperexponential: {probabilities: [0.5, 0.51], means: [1, 2]}}",
    );
    swap("three_servers", CHANNELS, "channels: [2, 4, 8]");
    swap("first_beyond_servers", "- trigger", "- trigger: {first: 2}");
    swap("flag_is_yes", "horizon: 1000", "horizon: 1000\n    departure_first: yes");
    swap("too_many_arrivals", "horizon: 1000", "horizon: 1e12");
}

#[test]
fn sweeps_that_make_no_sense() {
    swap("linspace_of_0", "alpha: 0.01", "alpha: {linspace: [0, 1, 0]}");
    swap("linspace_of_1e12", "alpha: 0.01", "alpha: {linspace: [0, 1, 1e12]}");
    swap("linspace_of_two_numbers", "alpha: 0.01", "alpha: {linspace: [0, 1]}");
    swap("linspace_of_a_fraction", "alpha: 0.01", "alpha: {linspace: [0, 1, 2.5]}");
    swap("linspace_of_a_text", "alpha: 0.01", "alpha: {linspace: [0, one, 3]}");
    swap("linspace_infinite", "alpha: 0.01", "alpha: {linspace: [0, .inf, 3]}");
    swap("linspace_without_width", "alpha: 0.01", "alpha: {linspace: [1, 1, 3]}");
    swap("linspace_too_narrow", "alpha: 0.01", "alpha: {linspace: [1, 1.0000000000000002, 9]}");
    swap("step_too_small", "alpha: 0.01", "alpha: {step: [1e17, 1.0000000000000001e17, 1]}");
    swap("step_without_end", "alpha: 0.01", "alpha: {step: [0, 1e300, 1]}");
    swap("logspace_from_0", "alpha: 0.01", "alpha: {logspace: [0, 1, 3]}");
    swap("step_the_wrong_way", "alpha: 0.01", "alpha: {step: [0, 1, -0.1]}");
    swap("step_of_0", "alpha: 0.01", "alpha: {step: [0, 1, 0]}");
    swap("values_empty", "alpha: 0.01", "alpha: {values: []}");
    swap("values_twice", "alpha: 0.01", "alpha: {values: [0.1, 0.2, 0.10]}");
    swap("two_forms", "alpha: 0.01", "alpha: {values: [0.1], linspace: [0, 1, 3]}");
    swap("axis_with_unknown_key", "alpha: 0.01", "alpha: {values: [0.1], axes: a}");
    swap("axis_misspelt", "alpha: 0.01", "alpha: {linspce: [0, 1, 3]}");
    swap("axis_name_is_a_number", "alpha: 0.01", "alpha: {values: [0.1], axis: 3}");
    swap("axis_name_alone", "alpha: 0.01", "alpha: {axis: a}");
    swap("alpha_swept_from_negative", "alpha: 0.01", "alpha: {linspace: [-0.5, 1, 4]}");
    swap("alpha_values_negative", "alpha: 0.01", "alpha: {values: [0.1, -0.2]}");
    swap_unclaimed("theta_swept_beyond_1", COIN, "coin: {linspace: [0, 2, 5]}");
    swap("seed_swept", "seed: 7", "seed: {values: [1, 2]}");
    swap(
        "too_many_points",
        THETA,
        "theta: {rule: j, alpha: {linspace: [0, 1, 100000]}, start: {linspace: [0.1, 0.9, 100000]}}",
    );
    swap_unclaimed("swept_list_with_bad_item", CHANNELS, "channels: {values: [[2, 4], [0, 4]]}");
    swap_unclaimed(
        "swept_unknown_kind",
        SERVICE,
        "service: {values: [{poisson: 80}, {poison: 90}]}",
    );
    swap_unclaimed(
        "sweep_in_a_sweep",
        SERVICE,
        "service: {values: [{poisson: 80}, {poisson: {values: [1, 2]}}]}",
    );
    swap("label_swept", THETA, "theta: {rule: j, alpha: 0.01, label: {values: [a, b]}}");
    swap("policy_list_swept", "- trigger", "- values: [trigger, alternate]");
    swap(
        "zip_of_unequal_length",
        THETA,
        "theta: {rule: j, alpha: {values: [0.1, 0.2], axis: a}, start: {linspace: [0.1, 0.3, 3], axis: a}}",
    );
}

#[test]
fn conditions_that_select_nothing_or_make_no_sense() {
    let with = |name: &str, condition: &str| {
        let axis = good_but("alpha: 0.01", "alpha: {linspace: [0, 1, 3]}");
        check(
            name,
            axis.replace("replications: 2", &format!("where: {condition}\nreplications: 2")),
        );
    };
    with("where_unknown_axis", "alpa < 0.5");
    with("where_unswept_field", "horizon < 5");
    with("where_nonsense", "alpha <");
    with("where_no_comparison", "alpha + 1");
    with("where_number", "3");
    with("where_flag", "true");
    with("where_empty", "''");
    with("where_without_value", "");
    let broken = good_but("alpha: 0.01", "alpha: {linspace: [0, 1, 0]}");
    check("where_on_a_broken_axis", broken.replace("seed: 7", "where: alpha < 0.5"));
    with("where_second_of_list", "[alpha < 0.5, beta > 1]");
    with("where_single_equals", "alpha = 0.5");
    with("where_and_in_words", "alpha < 0.5 and alpha > 0");
    let all = "name: small\nmodel:\n  loss_router: {channels: [2, 4], interarrival: {poisson: 15}, service: {poisson: 80}, horizon: 1000}\npolicies:\n  - theta: {rule: j, alpha: {linspace: [0, 1, 3]}}\nwhere: alpha > 1\n";
    check("where_keeping_nothing", all);
    let text = good_but(SERVICE, "service: {values: [{poisson: 80}, {poisson: 90}]}");
    check("where_on_a_text", text.replace("seed: 7", "where: service < 85"));
}

#[test]
fn claims_about_nothing() {
    swap("claim_unknown_policy", "policy: coin", "policy: con");
    swap("claim_unknown_response", "errors_pct", "error_pct");
    swap("claim_response_far", "errors_pct", "losses");
    swap("claim_without_value", ", value: 22.7", "");
    swap("claim_unknown_key", "tolerance: 30", "tolerence: 30");
    swap("claim_negative_tolerance", "tolerance: 30", "tolerance: -30");
    swap("claim_is_a_text", CLAIM, "errors_pct is 22.7");
    swap("claims_is_a_map", "  claims:\n    - {policy", "  claims:\n    {policy");
    swap(
        "published_is_a_list",
        "published:\n  claims:\n    - {policy",
        "published:\n    - {policy",
    );
    swap("claim_at_of_unswept", "tolerance: 30", "at: {alpha: 0.01}");
    let swept = |name: &str, at: &str| {
        let text = good_but("alpha: 0.01", "alpha: {linspace: [0, 1, 11]}");
        check(name, text.replace("policy: coin", &format!("policy: theta{at}")));
    };
    swept("claim_ambiguous", "");
    swept("claim_at_no_point", ", at: {alpha: 0.15}");
    swept("claim_at_unknown_axis", ", at: {alpah: 0.1}");
    swept("claim_at_is_a_number", ", at: 0.1");
    let coin = good_but("alpha: 0.01", "alpha: {linspace: [0, 1, 11]}");
    check("claim_at_axis_of_another_policy", coin.replace("tolerance: 30", "at: {alpha: 0.1}"));
    let broken = good_but("- coin", "- con");
    check("claim_on_a_misspelt_policy", broken);
    let one = good_but(", tolerance: 30", "");
    check("claim_on_one_replication", one.replace("replications: 2", "replications: 1"));
}

#[test]
fn all_faults_of_a_file_are_shown_in_the_order_of_its_lines() {
    check(
        "many_faults",
        "\
name: a/b
sed: 7
model:
  loss_router:
    channels: [0, 4]
    interarrival: {poisson: 0}
    service: {exponential: .nan}
    horizn: 1000
policies:
  - triger
  - coin: {theta: 1.5}
  - theta: {rule: x, alpha: {linspace: [0, 1, 0]}}
where: alpha <
replications: 0
published:
  claims:
    - {policy: con, response: errors_pct, value: 22.7}
",
    );
}

#[test]
fn a_file_full_of_faults_shows_the_first_fifty() {
    let extra: String = (0..60).map(|k| format!("unknown_{k}: 1\n")).collect();
    check("sixty_faults", good_but("seed: 7\n", &extra));
}
