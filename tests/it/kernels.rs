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

/// Where this fails a row has changed: raise `KERNELS`, so that older rows are not mixed with new
/// ones, and give the new hash.
#[test]
fn rows_are_those_of_this_version() {
    let mut rows = String::new();
    for model in MODELS {
        for common in ["scenario", "none"] {
            let text = format!(
                "{{name: pinned, seed: 11, common_random_numbers: {common}, replications: 3,
                model: {{loss_router: {{{model}}}}}, policies: {POLICIES}}}"
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
    let hash = format!("{:032x}", content_hash(rows.as_bytes()));
    assert_eq!((KERNELS, hash.as_str()), (1, "e93d3c0538622bef3e34c68857ffb9d3"));
}
