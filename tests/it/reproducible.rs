//! Rows depend on the spec and the seed alone.

use std::collections::BTreeMap;

use polars::prelude::{AnyValue, DataFrame, ParquetReader, SerReader};

use crate::program::Place;

const SPEC: &str = "
name: small
seed: 2005
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {values: [{poisson: 80}, {exponential: 80}], axis: service}
    horizon: 20_000
policies:
  - coin: {theta: 0.333}
  - trigger
  - theta: {rule: j, alpha: {linspace: [0, 1, 5]}}
replications: 100
";

/// Returns each replication's responses by policy, axis values and replication, without `point`.
fn rows(frame: &DataFrame) -> BTreeMap<String, Vec<u64>> {
    let names: Vec<String> = frame.get_column_names().iter().map(ToString::to_string).collect();
    let responses = names.iter().position(|name| name == "arrivals").unwrap();
    (0..frame.height())
        .map(|row| {
            let cell = |column: &String| frame.column(column).unwrap().get(row).unwrap();
            let key: Vec<String> = names[1..responses]
                .iter()
                .map(|column| format!("{column}={}", cell(column)))
                .collect();
            let values = names[responses..].iter().map(|column| match cell(column) {
                AnyValue::Float64(value) => value.to_bits(),
                _ => u64::MAX,
            });
            (key.join(" "), values.collect())
        })
        .collect()
}

#[test]
fn replications_are_equal_byte_for_byte_at_any_number_of_threads() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    for threads in ["1", "2", "8"] {
        place.fine(&["small.yaml", "--quiet", "--threads", threads, "--out", threads]);
    }
    for file in ["replications.parquet", "summary.parquet", "summary.csv"] {
        let one = place.bytes(&format!("1/{file}"));
        assert!(!one.is_empty());
        assert!(one == place.bytes(&format!("2/{file}")), "{file}");
        assert!(one == place.bytes(&format!("8/{file}")), "{file}");
    }
}

#[test]
fn more_replications_points_and_policies_change_no_row() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    let more = SPEC
        .replace("  - trigger", "  - alternate\n  - trigger")
        .replace("alpha: {linspace: [0, 1, 5]}", "alpha: {linspace: [0, 1, 9]}");
    place.write("more.yaml", &more);
    place.fine(&["small.yaml", "--quiet", "--out", "a"]);
    place.fine(&["small.yaml", "--quiet", "--replications", "200", "--out", "b"]);
    place.fine(&["more.yaml", "--quiet", "--out", "c"]);
    let few = rows(&place.parquet("a/replications.parquet"));
    assert_eq!(few.len(), 2 * 7 * 100);
    for (folder, count) in [("b", 2 * 7 * 200), ("c", 2 * 12 * 100)] {
        let many = rows(&place.parquet(&format!("{folder}/replications.parquet")));
        assert_eq!(many.len(), count);
        for (key, values) in &few {
            assert_eq!(many.get(key), Some(values), "{key}");
        }
    }
}

#[test]
fn another_seed_changes_every_row() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.fine(&["small.yaml", "--quiet", "--out", "a"]);
    place.fine(&["small.yaml", "--quiet", "--seed", "2006", "--out", "b"]);
    let (a, b) = (place.parquet("a/replications.parquet"), place.parquet("b/replications.parquet"));
    let same = rows(&a).iter().filter(|(key, values)| rows(&b).get(*key) == Some(values)).count();
    assert_eq!(same, 0);
}

#[test]
fn a_replay_prints_the_numbers_of_its_row() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.fine(&["small.yaml", "--quiet", "--out", "a"]);
    let frame = place.parquet("a/replications.parquet");
    for row in [0, 99, 777, 1399] {
        let cell = |column: &str| frame.column(column).unwrap().get(row).unwrap();
        let (point, replication) = (cell("point").to_string(), cell("replication").to_string());
        let place_of_row = ["--point", &point, "--replication", &replication];
        let json = place.fine(&[&["replay", "small.yaml", "--json"], &place_of_row[..]].concat());
        let numbers: serde_json::Value = serde_json::from_str(&json).unwrap();
        let text = place.fine(&[&["replay", "small.yaml"], &place_of_row[..]].concat());
        for (name, number) in numbers.as_object().unwrap() {
            match cell(name) {
                AnyValue::Float64(value) => {
                    assert_eq!(number.as_f64().map(f64::to_bits), Some(value.to_bits()), "{name}");
                    assert!(text.contains(&format!("{value} ")), "{name} {value}\n{text}");
                }
                _ => assert!(number.is_null()),
            }
        }
    }
    let said = place.run(&["replay", "small.yaml", "--point", "14", "--replication", "0"]);
    assert_eq!((said.code, said.err.contains("points 0 to 13")), (Some(2), true), "{}", said.err);
}

#[test]
fn the_largest_seed_survives_from_file_to_metadata() {
    let place = Place::new();
    let most = u64::MAX.to_string();
    place.write("file.yaml", &SPEC.replace("seed: 2005", &format!("seed: {most}")));
    place.write("flag.yaml", SPEC);
    let short = ["--quiet", "--replications", "2"];
    place.fine(&[&["file.yaml", "--out", "a"], &short[..]].concat());
    place.fine(&[&["flag.yaml", "--out", "b", "--seed", &most], &short[..]].concat());
    for folder in ["a", "b"] {
        let path = place.path(&format!("{folder}/replications.parquet"));
        let mut reader = ParquetReader::new(std::fs::File::open(path).unwrap());
        let metadata = reader.get_metadata().unwrap().key_value_metadata().clone().unwrap();
        let value = |key: &str| metadata.iter().find(|pair| pair.key == key).unwrap().value.clone();
        assert_eq!(value("seed").as_ref(), Some(&most));
        assert!(value("generator").is_some() && value("version").is_some());
        let manifest: serde_json::Value =
            serde_json::from_slice(&place.bytes(&format!("{folder}/manifest.json"))).unwrap();
        assert_eq!(manifest["seed"].as_u64(), Some(u64::MAX));
        assert_eq!(value("spec_hash").as_deref(), manifest["spec_hash"].as_str());
        reader.finish().unwrap();
    }
    assert_eq!(place.bytes("a/replications.parquet"), place.bytes("b/replications.parquet"));
    let near = (u64::MAX - 1).to_string();
    place.fine(&[&["flag.yaml", "--out", "c", "--seed", &near], &short[..]].concat());
    assert_ne!(place.bytes("b/replications.parquet"), place.bytes("c/replications.parquet"));
}

#[test]
fn comments_and_layout_are_not_another_spec() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.write(
        "again.yaml",
        &SPEC.replace("replications: 100", "# a remark\nreplications:   100.0"),
    );
    place.fine(&["small.yaml", "--quiet"]);
    let first = place.bytes("results/small/replications.parquet");
    place.fine(&["again.yaml", "--quiet"]);
    assert_eq!(first, place.bytes("results/small/replications.parquet"));
}

#[test]
fn results_of_another_spec_are_not_written_over() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.fine(&["small.yaml", "--quiet"]);
    let first = place.bytes("results/small/replications.parquet");
    let said = place.run(&["small.yaml", "--quiet", "--replications", "3"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--fresh") && said.err.contains("--out"), "{}", said.err);
    assert_eq!(first, place.bytes("results/small/replications.parquet"));
    place.fine(&["small.yaml", "--quiet", "--replications", "3", "--fresh"]);
    assert_eq!(place.parquet("results/small/replications.parquet").height(), 2 * 7 * 3);
}

/// A replication that meets its event cap is a row of the list of failures; its neighbours stay.
#[test]
fn failed_replications_are_listed_with_their_replay_and_cost_no_other() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    // 20 000 ticks at a mean of 15: 1333 expected, with a spread of about 9.4.
    let cap = ["--set", "model.loss_router.max_arrivals=1340"];
    let said = place.run(&[&["small.yaml", "--out", "a"], &cap[..]].concat());
    assert_eq!(said.code, Some(3), "{}", said.err);
    let failures = String::from_utf8(place.bytes("a/failures.csv")).unwrap();
    let failed = failures.lines().count() - 1;
    assert!(failed > 10, "{failures}");
    let frame = place.parquet("a/replications.parquet");
    assert_eq!(frame.height() + failed, 2 * 7 * 100);
    place.fine(&["small.yaml", "--quiet", "--out", "b"]);
    let all = rows(&place.parquet("b/replications.parquet"));
    // The cap is no part of the scenario's content: what wasn't capped is what it was.
    for (key, values) in rows(&frame) {
        assert_eq!(all.get(&key), Some(&values), "{key}");
        assert!(f64::from_bits(values[0]) <= 1340.0);
    }
    let replay = said.err.lines().find(|line| line.contains("balancelab replay")).unwrap();
    let words: Vec<&str> = replay.split_whitespace().skip(1).collect();
    let again = place.run(&words);
    assert_eq!(again.code, Some(3), "{words:?}");
    assert!(again.err.contains("more than 1340 arrivals"), "{}", again.err);
    let fast = place.run(&[&["small.yaml", "--out", "c", "--fail-fast"], &cap[..]].concat());
    assert_eq!(fast.code, Some(3));
    assert!(fast.err.contains("replications are kept; run the same again"), "{}", fast.err);
    // What is not whole is no result; but it is what the whole one begins with.
    assert!(!place.path("c/replications.parquet").exists());
    let again = place.run(&[&["small.yaml", "--quiet", "--out", "c"], &cap[..]].concat());
    assert_eq!(again.code, Some(3));
    for file in ["replications.parquet", "failures.csv"] {
        assert!(place.bytes(&format!("a/{file}")) == place.bytes(&format!("c/{file}")), "{file}");
    }
    // Where more was there, it stays.
    place.run(&[&["small.yaml", "--out", "a", "--fail-fast"], &cap[..]].concat());
    assert!(place.bytes("a/failures.csv") == failures.as_bytes());
    let shard = ["small.yaml", "--out", "d", "--shard", "1/1", "--fail-fast"];
    assert_eq!(place.run(&[&shard[..], &cap[..]].concat()).code, Some(3));
    assert_eq!(place.run(&["status", "d", "--missing"]).out, "1\n");
}
