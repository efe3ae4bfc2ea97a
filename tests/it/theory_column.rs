//! Theory beside simulation, as a run writes it and as `theory` prints it.
//!
//! Known values are of closed forms written here. Seeds are fixed; under a fresh one a right program
//! would find |z| ≥ 4 with probability 6e-5 a value.

use crate::comparisons::{Record, csv};
use crate::program::Place;

const CHAIN: &str = "
name: chain
seed: 3
model:
  loss_router:
    channels: [2, 4]
    interarrival: {exponential: 15}
    service: {exponential: 80}
    warmup: 1000
    horizon: 61_000
policies:
  - coin: {theta: 0.333}
  - trigger
  - alternate
replications: 1000
";

/// Two M/M/1/1 with λ = 1 and μ = (2, 1) behind a coin.
const SPLIT: &str = "
name: split
seed: 4
model:
  loss_router:
    channels: [1, 1]
    interarrival: {exponential: 1}
    service: {exponential: 1}
    speeds: [2, 1]
    redirect: none
    warmup: 20
    horizon: 4020
policies:
  - coin: {theta: 0.6}
replications: 200
";

/// A whole number of service times, of which theory has refusals alone. Zeros are drawn again, so
/// that the mean is 2/(1 − e⁻²).
const ERLANG: &str = "
name: erlang
seed: 5
model:
  loss_router:
    channels: [2, 4]
    interarrival: {exponential: 0.5}
    service: {poisson: 2}
    warmup: 50
    horizon: 2050
policies:
  - coin: {theta: 0.333}
  - trigger
replications: 200
";

/// Runs a spec and returns its summary.
fn summary(place: &Place, spec: &str) -> Vec<Record> {
    place.write("spec.yaml", spec);
    place.fine(&["spec.yaml", "--quiet", "--out", "a", "--fresh"]);
    csv(&place.path("a/summary.csv"))
}

fn of<'a>(summary: &'a [Record], policy: &str, response: &str) -> &'a Record {
    let mut rows = summary.iter().filter(|row| row.text("policy") == policy);
    rows.find(|row| row.text("response") == response).unwrap()
}

/// Checks that theory is `value` and that the simulated mean is less than four standard errors off.
#[track_caller]
fn assert_agrees(row: &Record, value: f64) {
    let theory = row.number("theory").unwrap();
    assert!((theory - value).abs() < 5e-5, "{row:?} is not {value}");
    let z = (row.number("mean").unwrap() - value) / row.number("se").unwrap();
    assert!((row.number("z").unwrap() - z).abs() < 0.02 && z.abs() < 4.0, "{row:?}: {z}");
}

#[test]
fn the_exact_chain_agrees_with_coin_trigger_and_alternate_in_every_response() {
    let place = Place::new();
    let summary = summary(&place, CHAIN);
    assert_eq!(summary.iter().filter(|row| row.text("response") == "errors_pct").count(), 3);
    for row in &summary {
        assert_eq!(row.number("n"), Some(1000.0));
        let theory = row.number("theory").unwrap_or_else(|| panic!("no theory: {row:?}"));
        let (mean, se) = (row.number("mean").unwrap(), row.number("se").unwrap());
        let z = row.number("z").unwrap();
        assert!(z.abs() < 4.0, "{row:?}");
        assert!((z * se - (mean - theory)).abs() < 1e-9 * (1.0 + mean.abs()), "{row:?}");
    }
    // Three policies apart by more than the noise: z would tell one's theory from another's.
    let errors = |policy| of(&summary, policy, "errors_pct");
    for (one, other) in [("coin", "trigger"), ("coin", "alternate"), ("trigger", "alternate")] {
        let off = errors(one).number("theory").unwrap() - errors(other).number("mean").unwrap();
        assert!(off.abs() > 10.0 * errors(other).number("se").unwrap(), "{one} {other}");
    }
}

#[test]
fn a_split_without_redirection_loses_what_erlang_says_of_each_server() {
    let place = Place::new();
    let summary = summary(&place, SPLIT);
    // Σ p²/(p + μ).
    let lost = 0.6 * 0.6 / 2.6 + 0.4 * 0.4 / 1.4;
    assert!((lost - 0.252_747_f64).abs() < 5e-7);
    let row = of(&summary, "coin", "refusals_pct");
    assert_agrees(row, 100.0 * lost);
    let ends = (row.number("ci_low").unwrap(), row.number("ci_high").unwrap());
    assert!(ends.0 < 25.2747 && 25.2747 < ends.1, "{ends:?}");
    let errors = of(&summary, "coin", "errors_pct");
    let of_errors = ["mean", "theory", "z"].map(|column| errors.number(column));
    assert_eq!(of_errors, [Some(0.0); 3]);
}

/// By hand from the four states of the chain: 6/49 is refused, 43/245 is redirected.
#[test]
fn a_split_with_redirection_loses_another_number() {
    let place = Place::new();
    let summary = summary(&place, &SPLIT.replace("redirect: none", "redirect: next"));
    assert_agrees(of(&summary, "coin", "refusals_pct"), 600.0 / 49.0);
    assert_agrees(of(&summary, "coin", "errors_pct"), 4300.0 / 245.0);
}

/// B(c, a) by its recursion B(k) = a B(k−1)/(k + a B(k−1)).
fn erlang(channels: u32, offered: f64) -> f64 {
    (1..=channels).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b))
}

#[test]
fn refusals_are_erlang_b_of_the_mean_of_any_service() {
    let place = Place::new();
    let summary = summary(&place, ERLANG);
    let offered = 2.0 / (1.0 - (-2.0_f64).exp()) / 0.5;
    let refused = 100.0 * erlang(6, offered);
    for policy in ["coin", "trigger"] {
        assert_agrees(of(&summary, policy, "refusals_pct"), refused);
        assert_agrees(of(&summary, policy, "accepted_pct"), 100.0 - refused);
        assert_agrees(of(&summary, policy, "arrivals"), 4000.0);
        for response in ["errors_pct", "switches_pct", "utilisation_0", "server_share_pct_1"] {
            let row = of(&summary, policy, response);
            assert_eq!((row.number("theory"), row.number("z")), (None, None), "{response}");
        }
    }
}

/// Returns the cells of the table that `theory` prints, the header first.
fn printed(place: &Place, spec: &str) -> Vec<Vec<String>> {
    place.write("spec.yaml", spec);
    let out = place.fine(&["theory", "spec.yaml"]);
    assert!(!place.path("results").exists());
    let rows = out.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// 10¹² requests a replication would take hours.
#[test]
fn the_theory_command_prints_the_column_without_simulating() {
    let place = Place::new();
    let long = CHAIN
        .replace("horizon: 61_000", "horizon: 15e12\n    max_arrivals: 2_000_000_000_000")
        .replace("  - alternate", "  - alternate\n  - theta: {label: moved, rule: j, alpha: 0.1}");
    let table = printed(&place, &long);
    let column = |name: &str| table[0].iter().position(|cell| cell == name).unwrap();
    let (errors, refusals) = (column("errors_pct"), column("refusals_pct"));
    let summary = summary(&place, CHAIN);
    for (row, policy) in table[1..].iter().zip(["coin", "trigger", "alternate"]) {
        assert_eq!(row[0], policy);
        for (column, response) in [(errors, "errors_pct"), (refusals, "refusals_pct")] {
            let value: f64 = row[column].parse().unwrap();
            let theory = of(&summary, policy, response).number("theory").unwrap();
            assert!((value - theory).abs() < 1e-6, "{policy} {response}");
        }
    }
    // Its refusals are Erlang's whatever it does; of its errors nothing is known.
    let moved = &table[4];
    assert_eq!((moved[0].as_str(), moved[errors].as_str()), ("moved", "none"));
    let refused: f64 = moved[refusals].parse().unwrap();
    assert!((refused - 100.0 * erlang(6, 80.0 / 15.0)).abs() < 1e-6);
}

#[test]
fn theory_says_so_where_it_has_nothing() {
    let place = Place::new();
    place.write("spec.yaml", &CHAIN.replace("{exponential: 15}", "{poisson: 15}"));
    let out = place.fine(&["theory", "spec.yaml"]);
    assert!(out.starts_with("theory covers ") && out.contains("none elsewhere"), "{out}");
    assert!(out.ends_with("and so nothing of this experiment\n"), "{out}");
}

/// Where nothing can wait, nothing does in theory either, not even for a rounding error.
#[test]
fn no_wait_is_no_wait_exactly() {
    let place = Place::new();
    let spec = "
name: full
model: {supermarket: {servers: 2, capacity: 1, interarrival: {exponential: 1}, load: 3, service: {exponential: 1}, arrivals: 50}}
policies:
  - weighted_random: {label: a, weights: [1, 1]}
  - weighted_random: {label: b, weights: [2, 1]}
replications: 3
";
    place.write("full.yaml", spec);
    place.fine(&["full.yaml", "--quiet"]);
    let summary = place.parquet("results/full/summary.parquet");
    let response = summary.column("response").unwrap().str().unwrap();
    let number = |name: &str| summary.column(name).unwrap().f64().unwrap();
    let rows: Vec<usize> =
        (0..summary.height()).filter(|&row| response.get(row) == Some("waiting_time")).collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((number("theory").get(row), number("z").get(row)), (Some(0.0), Some(0.0)));
    }
}
