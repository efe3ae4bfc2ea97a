//! `optimize:` through the program.

use std::time::Duration;

use balancelab::model::{LossRouter, Model, Redirect, Warmup};
use balancelab::policy::{Coin, Policy};
use balancelab::rng::{Distribution, StreamKey, content_hash};
use serde_json::Value;

use crate::program::Place;

/// Two M/M/1/1 of rates 2 and 1 behind a coin: the least loss is at θ = 2/3 for every λ.
const SPLIT: &str = "
name: split
seed: 4
model:
  loss_router: {channels: [1, 1], interarrival: {exponential: 1}, service: {exponential: 1}, speeds: [2, 1], redirect: none, horizon: 1000}
policies:
  - coin: {label: even, theta: 0.5}
  - coin: {label: split, theta: {values: [0.6, 0.7]}}
replications: 10
optimize:
  policy: split
  minimize: refusals_pct
  over: {theta: {linear: [0, 1]}}
  method: spsa
  budget: 1000
  against: [even, {policy: split, at: {theta: 0.6}}]
  confirm: {replications: 300, grid: 11, delta: 1}
";

fn optimum(place: &Place, folder: &str) -> Value {
    serde_json::from_slice(&place.bytes(&format!("{folder}/optimum.json"))).unwrap()
}

#[test]
fn the_best_split_is_found_and_confirmed_on_streams_of_its_own() {
    let place = Place::new();
    place.write("split.yaml", SPLIT);
    let out = place.fine(&["split.yaml", "--out", "a"]);
    assert!(out.contains("search split: the least refusals_pct of split"), "{out}");
    assert!(out.contains("at the noise floor of ±1"), "{out}");
    let search = &optimum(&place, "a")["searches"][0];
    let theta = &search["found"]["theta"];
    let (value, se) = (theta["value"].as_f64().unwrap(), theta["se"].as_f64().unwrap());
    assert!((value - 2.0 / 3.0).abs() < 0.01 && se < 0.01, "{theta}");
    assert_eq!(search["spent"], 1000);
    assert_eq!(search["against"][0]["verdict"], "better");
    assert_eq!(search["grid"]["at_noise_floor"], true);
    assert!(search["gains"]["a"].as_f64().unwrap() > 0.0);

    // The confirmed mean, from the model alone and the declared names of the streams.
    let model = Model::LossRouter(LossRouter {
        channels: vec![1, 1],
        interarrival: Distribution::Exponential { mean: 1.0 },
        service: Distribution::Exponential { mean: 1.0 },
        speeds: vec![2.0, 1.0],
        horizon: 1000.0,
        warmup: Warmup::Time(0.0),
        redirect: Redirect::None,
        departure_first: true,
        max_arrivals: 1_000_000_000,
    });
    let scenario = content_hash(format!("{:032x} confirm", model.scenario()).as_bytes());
    let column = model.columns().iter().position(|name| name == "refusals_pct").unwrap();
    let compiled = model.compile().unwrap();
    let policy = Policy::Coin(Coin::two(value));
    let one = |replication| {
        let key = StreamKey { seed: 4, scenario, replication };
        compiled.replicate(&policy, &key).unwrap()[column]
    };
    let mean = (0..300).map(one).sum::<f64>() / 300.0;
    let confirmed = search["confirmed"]["mean"].as_f64().unwrap();
    assert!((mean - confirmed).abs() < 1e-9, "{mean} {confirmed}");
    // 22.4 % in theory: λθ²/(λθ + μ₀) + λ(1 − θ)²/(λ(1 − θ) + μ₁).
    let exact = 100.0 * (4.0 / 9.0 / (2.0 / 3.0 + 2.0) + 1.0 / 9.0 / (1.0 / 3.0 + 1.0));
    assert!((mean - exact).abs() < 0.3, "{mean} {exact}");
}

#[test]
fn the_trace_has_every_evaluation_and_the_search_never_sees_the_confirmation() {
    let place = Place::new();
    place.write("split.yaml", SPLIT);
    place.fine(&["split.yaml", "--quiet", "--out", "a"]);
    let trace = place.parquet("a/trace.parquet");
    let text =
        |column: &str, row: usize| trace.column(column).unwrap().get(row).unwrap().to_string();
    let number =
        |column: &str, row: usize| trace.column(column).unwrap().get(row).unwrap().extract::<f64>();
    let (mut spent, mut confirmed) = (0.0, 0);
    let mut streams = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
    for row in 0..trace.height() {
        let confirm = text("phase", row).contains("confirm");
        streams[usize::from(confirm)].insert(text("stream", row));
        if confirm {
            confirmed += 1;
        } else {
            spent += number("replications", row).unwrap();
            let side = text("side", row);
            let (at, first) = (number("theta", row).unwrap(), number("first_replication", row));
            // The two sides of a pair stand side by side, on the same streams.
            if side.contains("plus") {
                assert_eq!(first, number("first_replication", row + 1));
                assert_ne!(Some(at), number("theta", row + 1));
            }
        }
    }
    assert_eq!((spent, confirmed), (1000.0, 1 + 2 + 11));
    let manifest: Value = serde_json::from_slice(&place.bytes("a/manifest.json")).unwrap();
    assert_eq!(manifest["counts"]["search_replications"], 1000 + 14 * 300);
    assert!(streams[0].is_disjoint(&streams[1]) && streams[0].len() == 1);
}

#[test]
fn searches_are_equal_byte_for_byte_at_any_number_of_threads() {
    let place = Place::new();
    place.write("split.yaml", SPLIT);
    for threads in ["1", "2", "8"] {
        place.fine(&["split.yaml", "--quiet", "--threads", threads, "--out", threads]);
    }
    for file in ["trace.parquet", "optimum.json"] {
        let one = place.bytes(&format!("1/{file}"));
        assert!(one == place.bytes(&format!("2/{file}")), "{file}");
        assert!(one == place.bytes(&format!("8/{file}")), "{file}");
    }
}

/// A search is killed at several moments, and each time started again.
#[test]
fn a_killed_search_ends_in_the_same_optimum() {
    let place = Place::new();
    place.write("split.yaml", &SPLIT.replace("budget: 1000", "budget: 20000"));
    place.fine(&["split.yaml", "--quiet", "--out", "whole"]);
    assert!(!place.path("whole/unfinished").exists());
    let length = || {
        let journal = std::fs::metadata(place.path("cut/unfinished/search.journal"));
        journal.map_or(0, |journal| journal.len())
    };
    let mut grown = vec![0];
    for milliseconds in [0, 25, 10, 5, 1] {
        let mut run = place.command(&["split.yaml", "--quiet", "--out", "cut"]).spawn().unwrap();
        // However busy the machine is, something has been found when it is killed.
        while length() <= grown[grown.len() - 1].max(100) && run.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(milliseconds));
        run.kill().unwrap();
        run.wait().unwrap();
        grown.push(length());
    }
    assert!(grown.is_sorted() && grown[5] > 100, "{grown:?}");
    place.fine(&["split.yaml", "--quiet", "--out", "cut"]);
    for file in ["trace.parquet", "optimum.json"] {
        assert!(place.bytes(&format!("whole/{file}")) == place.bytes(&format!("cut/{file}")));
    }
    assert!(!place.path("cut/unfinished").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_says_how_to_go_on() {
    let place = Place::new();
    place.write("split.yaml", &SPLIT.replace("budget: 1000", "budget: 200000"));
    let mut command = place.command(&["split.yaml", "--quiet", "--out", "cut"]);
    let run = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let journal = place.path("cut/unfinished/search.journal");
    while !std::fs::metadata(&journal).is_ok_and(|journal| journal.len() > 1000) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // While it is at work, another can't be.
    let other = place.run(&["split.yaml", "--quiet", "--out", "cut"]);
    assert_eq!(other.code, Some(4), "{}", other.err);
    assert!(other.err.contains("another run is at work in this folder"), "{}", other.err);
    let id = run.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(" evaluations of searches and "), "{said}");
    assert!(!place.path("cut/optimum.json").exists());
}

#[test]
fn a_search_runs_in_every_scenario_and_one_that_finds_nothing_is_named() {
    let place = Place::new();
    let spec = SPLIT
        .replace("exponential: 1}, service", "exponential: {values: [0.5, 1]}}, service")
        .replace("horizon: 1000", "horizon: 1000, max_arrivals: 1500")
        .replace("budget: 1000", "budget: 200");
    place.write("split.yaml", &spec);
    // At a mean of 0.5 there would be 2 000 arrivals, which the cap refuses before the run.
    let refused = place.run(&["split.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    // Now they are refused in some replications only.
    place.write("split.yaml", &spec.replace("max_arrivals: 1500", "max_arrivals: 2060"));
    let said = place.run(&["split.yaml", "--out", "a"]);
    assert_eq!(said.code, Some(3), "{}{}", said.out, said.err);
    let optimum = optimum(&place, "a");
    let searches = optimum["searches"].as_array().unwrap();
    assert_eq!(searches.len(), 2);
    assert_eq!(searches[0]["scenario"]["exponential"], 0.5);
    assert!(searches[0]["evaluations_skipped"].as_u64().unwrap() > 0);
    assert_eq!(searches[1]["evaluations_retried"], 0);
    assert!(said.out.contains("of them failed, for which"), "{}", said.out);
    // A coin has no θ to make great.
    place.write("none.yaml", &SPLIT.replace("minimize: refusals_pct", "maximize: theta_mean"));
    let said = place.run(&["none.yaml", "--quiet", "--out", "b"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(
        said.err.contains("the search split found nothing: no replication near"),
        "{}",
        said.err
    );
    let none = &self::optimum(&place, "b")["searches"][0];
    assert!(none["found"].is_null() && none["error"].as_str().unwrap().contains("no replication"));
}

/// A fresh run must not take the journal from under a run that is at work.
#[test]
fn a_fresh_run_waits_its_turn() {
    let place = Place::new();
    place.write("split.yaml", &SPLIT.replace("budget: 1000", "budget: 200000"));
    let mut run = place.command(&["split.yaml", "--quiet", "--out", "cut"]).spawn().unwrap();
    let journal = place.path("cut/unfinished/search.journal");
    while !std::fs::metadata(&journal).is_ok_and(|journal| journal.len() > 1000) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let fresh = place.run(&["split.yaml", "--quiet", "--fresh", "--out", "cut"]);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(fresh.code, Some(4), "{}", fresh.err);
    assert!(std::fs::metadata(&journal).unwrap().len() > 1000);
}
