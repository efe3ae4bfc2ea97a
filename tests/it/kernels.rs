//! Rows of this version of the kernels: stored ones are used only as long as they stay the same.

use balancelab::engine::Case;
use balancelab::model::KERNELS;
use balancelab::rng::content_hash;

const MODELS: [&str; 4] = [
    "channels: [2, 4], interarrival: {poisson: 15}, service: {poisson: 80}, horizon: 5000",
    "channels: [2, 4], interarrival: {exponential: 1}, service: {exponential: 5}, horizon: 300,
        warmup: 50, redirect: none, speeds: [1, 2]",
    "channels: [2, 1], interarrival: {geometric: 15}, service: {lognormal: {mean: 40, cv: 2}},
        horizon: 5000, warmup: auto, redirect: random",
    "channels: [1, 2], interarrival: {uniform: {low: 1, high: 3}}, service: {weibull: {scale: 3, shape: 2}},
        horizon: 500, redirect: most_free, departure_first: false",
];

const POLICIES: &str = "[coin: {theta: 0.3}, trigger, alternate,
    theta: {label: j, rule: j, alpha: 0.1}, theta: {label: s, rule: i, alpha: 0.05, max_run: 2},
    ledger: {memory: 50}]";

const SUPERMARKETS: [&str; 3] = [
    "servers: 20, interarrival: {exponential: 1}, load: 0.9, service: {exponential: 1}, arrivals: 2000,
        warmup: {arrivals: 100}",
    "speeds: [1, 2, 3], interarrival: {gamma: {mean: 1, shape: 20}}, service: {lognormal: {mean: 3, cv: 2}},
        horizon: 900, warmup: auto, capacity: 6, servers_per_queue: 2",
    "servers: 3, interarrival: {poisson: 15}, service: {weibull: {scale: 30, shape: 2}}, load: 0.8,
        horizon: 20_000, warmup: 50",
];

const QUEUE_POLICIES: &str =
    "[random, round_robin, sq, sq: {label: a, d: 3, replace: true, tie: first},
    sq: {label: b, d: 1, memory: 1, beta: 0.7, load: work}, jsq: {tie: fastest, load: waiting}, jiq,
    least_work, shortest_expected_delay: {full: skip}, jsq: {label: c}]";

/// What few ask for: several dispatchers, I-queues, old information.
const DISPATCHED: &str = "servers: 30, dispatchers: 3, interarrival: {exponential: 1}, load: 0.8,
        service: {lognormal: {mean: 3, cv: 2}}, horizon: 200, warmup: {arrivals: 100}";

const RARE_POLICIES: &str = "[round_robin, sq: {memory: 1}, jiq: {report: random},
    jiq: {label: s, report: sq}, idle_first, below_threshold: 2,
    jsq: {information: {update: periodic, age: 2}},
    sq: {label: e, information: {update: exponential, age: 2}},
    idle_first: {label: i, tie: first, information: {update: periodic, age: 2}}]";

/// Where this fails a row has changed: raise `KERNELS`, so that older rows are not mixed with new
/// ones, and give the new hash.
#[test]
fn rows_are_those_of_this_version() {
    let hash = |system: &str, models: &[&str], policies: &str| {
        format!("{:032x}", content_hash(rows(system, models, policies).as_bytes()))
    };
    let loss = hash("loss_router", &MODELS, POLICIES);
    assert_eq!((KERNELS, loss.as_str()), (3, "e93d3c0538622bef3e34c68857ffb9d3"));
    let queues = hash("supermarket", &SUPERMARKETS, QUEUE_POLICIES);
    assert_eq!((KERNELS, queues.as_str()), (3, "3bb2948a588f5bc240900cf6cce88b5f"));
    let rare = hash("supermarket", &[DISPATCHED], RARE_POLICIES);
    assert_eq!((KERNELS, rare.as_str()), (3, "617cc2ea3965946a9b718ddd4de71a05"));
}

fn rows(system: &str, models: &[&str], policies: &str) -> String {
    let mut rows = String::new();
    for model in models {
        for common in ["scenario", "none"] {
            let text = format!(
                "{{name: pinned, seed: 11, common_random_numbers: {common}, replications: 3,
                model: {{{system}: {{{model}}}}}, policies: {policies}}}"
            );
            let experiment = balancelab::spec::load("spec", text, &[], &|_| Err(String::new()));
            let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
            for point in 0..experiment.points() {
                let case = Case::new(&experiment, point).unwrap();
                let identity = case.identity();
                for replication in 0..3 {
                    let values = case.replicate(replication).unwrap();
                    let bits: Vec<u64> = values
                        .iter()
                        .map(|value| if value.is_nan() { 0 } else { value.to_bits() })
                        .collect();
                    rows += &format!("{identity:032x} {replication} {bits:x?}\n");
                }
            }
        }
    }
    rows
}
