//! `select:` through the program.

use crate::program::Place;

const SPEC: &str = "
name: best
seed: 11
model:
  loss_router: {channels: [2, 4], interarrival: {poisson: 15}, service: {poisson: 80}, horizon: 30_000}
policies:
  - coin: 0.333
  - trigger
  - theta: {rule: j, max_run: 2, alpha: {values: [0.0005, 0.01, 0.5]}}
replications: 2000
select: {response: errors_pct, delta: 0.5}
";

#[test]
fn the_best_point_is_named_and_others_are_spared() {
    let place = Place::new();
    place.write("best.yaml", SPEC);
    let out = place.fine(&["best.yaml", "--out", "a"]);
    assert!(out.contains("selected: theta alpha 0.01 has the least errors_pct"), "{out}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&place.bytes("a/manifest.json")).unwrap();
    let selected = &manifest["selected"];
    assert_eq!(selected["point"], 3);
    let (rows, most) =
        (selected["rows"].as_u64().unwrap(), selected["most_replications"].as_u64().unwrap());
    assert_eq!(place.parquet("a/replications.parquet").height() as u64, rows);
    assert!(rows < 5 * most, "{rows} of {}", 5 * most);
}

#[test]
fn rows_do_not_depend_on_threads_and_are_those_of_a_run_without_selection() {
    let place = Place::new();
    place.write("best.yaml", SPEC);
    for threads in ["1", "2", "8"] {
        place.fine(&["best.yaml", "--quiet", "--threads", threads, "--out", threads]);
    }
    for threads in ["2", "8"] {
        let other = place.bytes(&format!("{threads}/replications.parquet"));
        assert!(place.bytes("1/replications.parquet") == other);
    }
    let frame = place.parquet("1/replications.parquet");
    let last = frame.height() - 1;
    let cell = |column: &str| frame.column(column).unwrap().get(last).unwrap().to_string();
    let arguments = ["--point", &cell("point"), "--replication", &cell("replication"), "--json"];
    let replay = place.fine(&[&["replay", "best.yaml"], &arguments[..]].concat());
    let replay: serde_json::Value = serde_json::from_str(&replay).unwrap();
    let errors = frame.column("errors_pct").unwrap().get(last).unwrap();
    assert_eq!(replay["errors_pct"].as_f64(), errors.extract::<f64>());
}

/// A selection takes up rows that are there, says how many of its own were among them, and isn't
/// put in place of one that has rows which it doesn't come to.
#[test]
fn rows_that_are_there_serve_another_selection_that_keeps_them() {
    let place = Place::new();
    place.write("best.yaml", SPEC);
    let run = |delta: &str, folder: &str, threads: &str| {
        let delta = format!("select.delta={delta}");
        place.run(&["best.yaml", "--out", folder, "--threads", threads, "--set", &delta])
    };
    let reused = |folder: &str| -> (u64, u64) {
        let manifest: serde_json::Value =
            serde_json::from_slice(&place.bytes(&format!("{folder}/manifest.json"))).unwrap();
        let count = |name: &str| manifest["counts"][name].as_u64().unwrap();
        (count("reused"), count("rows"))
    };
    assert_eq!(run("0.8", "coarse", "2").code, Some(0));
    let coarse = place.bytes("coarse/replications.parquet");
    assert_eq!(run("0.5", "fine", "2").code, Some(0));
    for threads in ["1", "8"] {
        assert_eq!(run("0.8", threads, threads).code, Some(0));
        let said = run("0.5", threads, threads);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let rows = place.bytes(&format!("{threads}/replications.parquet"));
        assert!(rows == place.bytes("fine/replications.parquet"));
        let (reused, rows) = reused(threads);
        assert!(reused > 0 && reused < rows, "{reused} {rows}");
        let refused = run("0.8", threads, threads);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("rows no longer belong"), "{}", refused.err);
        assert!(refused.err.contains("select.delta: 0.5 → 0.8"), "{}", refused.err);
    }
    // The same again has all of them, whatever was run ahead.
    assert_eq!(run("0.8", "coarse", "1").code, Some(0));
    assert!(place.bytes("coarse/replications.parquet") == coarse);
    let (reused, rows) = reused("coarse");
    assert_eq!(reused, rows);
}

#[test]
fn a_search_that_runs_out_says_so() {
    let place = Place::new();
    place.write("best.yaml", SPEC);
    let out = place.fine(&[
        "best.yaml",
        "--out",
        "a",
        "--replications",
        "25",
        "--set",
        "select.delta=0.001",
    ]);
    assert!(out.contains("undecided which point has the least errors_pct"), "{out}");
}

#[test]
fn a_response_without_good_values_is_refused() {
    let place = Place::new();
    place.write("best.yaml", SPEC);
    let said = place.run(&["check", "best.yaml", "--set", "select.response=arrivals"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("no response `arrivals` has good and bad values"), "{}", said.err);
}

/// What a selection has run for nothing isn't counted, so that numbers don't depend on threads; and one
/// that a failure ended has spared nothing.
#[test]
fn counts_are_those_of_the_rows() {
    let place = Place::new();
    let model = "model: {loss_router: {channels: [2, 4], interarrival: {poisson: 15}, service: {poisson: 80}, horizon: 6000MORE}}
policies: [coin: {theta: 0.333}, alternate, trigger]
replications: 60
";
    let spec = |more: &str| model.replace("MORE", more);
    let select = "select: {response: errors_pct, delta: 2, first_stage: 5}\n";
    place.write("eager.yaml", &format!("name: eager\n{}{select}", spec("")));
    let said = ["1", "2"].map(|threads| {
        let said = place.fine(&["eager.yaml", "--json", "--fresh", "--threads", threads]);
        serde_json::from_str::<serde_json::Value>(&said).unwrap()["counts"].clone()
    });
    assert_eq!(said[0], said[1]);
    let rows = place.parquet("results/eager/replications.parquet");
    assert!(rows.height() < 180, "it was decided early");
    let arrivals = rows.column("arrivals").unwrap().cast(&polars::prelude::DataType::Float64);
    let arrivals: f64 = arrivals.unwrap().f64().unwrap().iter().flatten().sum();
    assert_eq!(said[0]["arrivals"].as_f64(), Some(arrivals));
    let select = "select: {response: errors_pct, delta: 0.01, first_stage: 5}\n\
                  common_random_numbers: none\n";
    place.write("ended.yaml", &format!("name: ended\n{}{select}", spec(", max_arrivals: 405")));
    let said = place.run(&["ended.yaml", "--seed", "2"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.out.contains("\n5 replications\n"), "{}", said.out);
}
