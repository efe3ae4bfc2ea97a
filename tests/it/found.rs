//! Faults found by use, each kept from coming back.

use crate::program::Place;

fn small(rest: &str) -> String {
    format!(
        "name: small\nmodel:\n  loss_router: {{channels: [2, 4], interarrival: {{exponential: 15}}, \
         service: {{exponential: 80}}, horizon: 3000}}\n{rest}"
    )
}

/// `start` is swept under the name of a column of results, which no run would survive.
#[test]
fn an_axis_named_like_a_column_of_results_is_refused() {
    let place = Place::new();
    for name in ["n", "policy", "z", "errors_pct", "utilisation_0", "may_be_best"] {
        let policies = format!(
            "policies:\n  - theta: {{rule: j, alpha: 0.1, start: {{values: [0.2, 0.3], axis: {name}}}}}\n"
        );
        place.write("a.yaml", &small(&policies));
        let said = place.run(&["check", "a.yaml"]);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(said.err.contains("results have a column of that name"), "{}", said.err);
    }
}

/// `mean` is a column of summaries: the axis has its path in front.
#[test]
fn a_field_named_like_a_column_of_results_can_be_swept() {
    let place = Place::new();
    let spec = small("policies: [trigger]\nreplications: 2\n").replace(
        "service: {exponential: 80}",
        "service: {exponential: {mean: {values: [40, 80]}}}",
    );
    place.write("a.yaml", &spec);
    place.fine(&["a.yaml", "--quiet", "--out", "a"]);
    let frame = place.parquet("a/summary.parquet");
    let names: Vec<String> = frame.get_column_names().iter().map(ToString::to_string).collect();
    assert!(names.contains(&"service.exponential.mean".to_owned()), "{names:?}");
}

#[test]
fn any_number_of_threads_is_run_or_refused() {
    let place = Place::new();
    place.write("a.yaml", &small("policies: [trigger]\nreplications: 4\n"));
    place.fine(&["a.yaml", "--quiet", "--out", "a", "--threads", "600"]);
    let said = place.run(&["a.yaml", "--quiet", "--out", "b", "--threads", "1000000"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--threads"), "{}", said.err);
}

/// A few requests or none in a replication: rows without errors_pct, which selection can't use.
#[test]
fn a_search_among_points_without_values_ends_undecided() {
    let place = Place::new();
    let spec = small("policies: [alternate, trigger]\nreplications: 25\n")
        .replace("horizon: 3000", "horizon: 5")
        + "select: {response: errors_pct, delta: 0.5}\n";
    place.write("a.yaml", &spec);
    let out = place.fine(&["a.yaml", "--out", "a"]);
    assert!(out.contains("undecided") && out.contains("has no errors_pct in replication"), "{out}");
}

#[test]
fn few_values_are_shown_as_few() {
    let place = Place::new();
    let spec =
        small("policies: [trigger]\nreplications: 25\n").replace("horizon: 3000", "horizon: 5");
    place.write("a.yaml", &spec);
    let out = place.fine(&["a.yaml", "--out", "a"]);
    assert!(out.contains("(of "), "{out}");
}

#[test]
fn ties_are_called_ties() {
    let place = Place::new();
    let spec = small("policies: [alternate, trigger]\nreplications: 25\n")
        + "select: {response: refusals_pct, delta: 0.5}\n";
    place.write("a.yaml", &spec);
    let out = place.fine(&["a.yaml", "--out", "a"]);
    assert!(out.contains("one other equals it in every replication"), "{out}");
}

/// What doesn't go together is refused, not ignored.
#[test]
fn features_that_contradict_each_other_are_refused() {
    let place = Place::new();
    let until = "{max: 50, until: {response: errors_pct, half_width: 1}}";
    let claim = "published: {claims: [{policy: trigger, response: errors_pct, value: 20.7}]}\n";
    let select = "select: {response: errors_pct, delta: 0.5}\n";
    let two = "policies: [alternate, trigger]\n";
    let cases = [
        (format!("{two}{select}replications: {until}\n"), "independent replications"),
        (format!("{two}{select}replications: {{batches: 30}}\n"), "independent replications"),
        (format!("{two}{select}replications: 10\n"), "leaves no replications to decide by"),
        (format!("policies: [trigger]\n{select}"), "nothing to select from"),
        (format!("{two}{select}{claim}"), "spares replications"),
        (format!("{two}{claim}replications: {{batches: 30}}\n"), "spread of runs"),
        (format!("{two}replications: {{batches: 30, min: 5}}\n"), "`batches` alone"),
    ];
    for (rest, message) in cases {
        place.write("a.yaml", &small(&rest));
        let said = place.run(&["check", "a.yaml"]);
        assert_eq!(said.code, Some(2), "{rest}");
        assert!(said.err.contains(message), "{rest}\n{}", said.err);
    }
}

#[test]
fn a_batch_that_is_not_there_is_a_matter_of_usage() {
    let place = Place::new();
    place.write("a.yaml", &small("policies: [trigger]\nreplications: {batches: 10}\n"));
    let said = place.run(&["replay", "a.yaml", "--point", "0", "--replication", "10"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("there is no batch 10: they are 0 to 9"), "{}", said.err);
}

/// The cut is by busy channels, so that policies count the same requests, and rare losses are not
/// cut away: refusals are the same for both policies, and errors are those of the chain.
#[test]
fn the_automatic_warm_up_is_the_same_for_all_policies_and_without_bias() {
    let place = Place::new();
    let spec = "name: auto\nmodel:\n  loss_router: {channels: [4, 4], interarrival: {exponential: 1}, \
                service: {exponential: 1.3}, horizon: 3000, warmup: auto}\n\
                policies: [coin: 0.5, trigger]\nreplications: 400\n";
    place.write("a.yaml", spec);
    let out = place.fine(&["a.yaml", "--out", "a"]);
    assert!(out.contains("refusals_pct is the same in every replication"), "{out}");
    let summary = String::from_utf8(place.bytes("a/summary.csv")).unwrap();
    for line in summary.lines().filter(|line| line.contains("s_pct,")) {
        let z = line.rsplit(',').next().unwrap();
        assert!(z.is_empty() || z.parse::<f64>().unwrap().abs() < 4.0, "{line}");
    }
}
