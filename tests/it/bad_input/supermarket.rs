//! Supermarkets with one thing wrong.

use super::{balancelab, check, folder, refused};

const GOOD: &str = "\
name: market
model:
  supermarket:
    servers: 3
    interarrival: {exponential: 1}
    load: 0.5
    service: {exponential: 1}
    arrivals: 1000
policies:
  - random
replications: 2
";

fn but(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "`{old}` must stand in the spec");
    GOOD.replacen(old, new, 1)
}

fn swap(name: &str, old: &str, new: &str) {
    check(&format!("market_{name}"), but(old, new));
}

/// Adds a field to the model.
fn with(name: &str, field: &str) {
    swap(name, "    load", &format!("    {field}\n    load"));
}

const TIMES: &str =
    "    interarrival: {exponential: 1}\n    load: 0.5\n    service: {exponential: 1}\n";

#[test]
fn the_good_supermarket_is_fine() {
    let output = balancelab(folder(GOOD).path(), &["check", "spec.yaml"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn arrivals_that_are_none() {
    swap("without_arrivals", "    interarrival: {exponential: 1}\n", "");
    swap("without_service", "    service: {exponential: 1}\n", "");
    with("two_kinds", "mmpp: {rates: [1, 2], durations: [1, 1]}");
    let mmpp = |name: &str, mmpp: &str| {
        swap(name, "interarrival: {exponential: 1}", &format!("mmpp: {mmpp}"));
    };
    mmpp("rates_and_durations", "{rates: [1, 2], durations: [1]}");
    mmpp("no_rate", "{rates: [0, 0], durations: [1, 1]}");
    mmpp("no_duration", "{rates: [1, 0], durations: [1, 0]}");
    mmpp("mmpp_without_end", "{rates: [0, 0.0001], durations: [1, 1]}");
    mmpp("mmpp_is_a_number", "3");
    with("batch_of_parts", "batch: {exponential: 2}");
    with("batch_of_none", "batch: {empirical: [0, 1]}");
    swap("unstable", "load: 0.5", "load: 1");
}

#[test]
fn traces_that_are_none() {
    let spec = but(TIMES, "    trace: jobs.csv\n").replace("    arrivals: 1000\n", "");
    let trace = |name: &str, spec: &str, content: &str| {
        let folder = folder(spec);
        std::fs::write(folder.path().join("jobs.csv"), content).unwrap();
        refused(&format!("market_{name}"), &balancelab(folder.path(), &["check", "spec.yaml"]));
    };
    check("market_trace_not_there", &spec);
    trace("trace_without_sizes", &spec, "time,work\n1,2\n");
    trace("trace_with_a_word", &spec, "time,size\n1,2\n2,long\n");
    trace("trace_that_falls", &spec, "time,size\n2,2\n1,2\n");
    trace("trace_of_none", &spec, "time,size\n");
    trace("trace_at_once", &spec, "time,size\n0,1\n0,1\n");
    trace("trace_without_size", &spec, "time,size\n1,0\n2,0\n");
    let good = "time,size\n1,1\n8,1\n";
    let more = |field: &str| spec.replace("    trace", &format!("    {field}\n    trace"));
    trace("trace_and_service", &more("service: {exponential: 1}"), good);
    trace("trace_and_batch", &more("batch: {deterministic: 2}"), good);
    trace("trace_too_short", &more("arrivals: 3"), good);
    let spec = spec.replace("jobs.csv", "jobs.parquet");
    let folder = folder(&spec);
    std::fs::write(folder.path().join("jobs.parquet"), "time,size\n1,2\n").unwrap();
    refused("market_trace_no_parquet", &balancelab(folder.path(), &["check", "spec.yaml"]));
}

#[test]
fn outages_that_can_not_be() {
    with("outage_of_nobody", "outages: [{server: 3, from: 1, to: 2}]");
    with("outage_backwards", "outages: [{server: 0, from: 2, to: 1}]");
    with("outages_overlap", "outages: [{server: 1, from: 5, to: 9}, {server: 1, from: 1, to: 6}]");
    with("outage_alone", "outages: {server: 1, from: 5, to: 9}");
    with("outage_without_end", "outages: [{server: 1, from: 5}]");
    with("failure_of_nobody", "failures: {mtbf: 9, mttr: 1, servers: [7]}");
    with("failure_never", "failures: {mtbf: 0, mttr: 1}");
    with(
        "failures_and_outages",
        "failures: {mtbf: 9, mttr: 1}\n    outages: [{server: 1, from: 5, to: 9}]",
    );
    // Up half of the time, they can't do what comes.
    with("failures_unstable", "failures: {mtbf: 1, mttr: 1.1}");
    with("discipline", "discipline: sjf");
}
