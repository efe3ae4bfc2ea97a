//! CPU time per arrival of the loss router, against a plain reference and on the paper's series.
//!
//! Run with `cargo bench --bench loss_router`. The last line is the ratio to the plain reference,
//! measured in turns with it in the same run.
#![allow(clippy::expect_used, clippy::print_stdout)]

mod plain;

use std::time::Instant;

use balancelab::model::{LossRouter, Model, Redirect, Warmup};
use balancelab::policy::{Alternate, Coin, Policy, Rule, Theta, Trigger};
use balancelab::rng::{Distribution, StreamKey};

type Times = fn(f64) -> Distribution;
const POISSON: Times = |mean| Distribution::Poisson { mean };
const EXPONENTIAL: Times = |mean| Distribution::Exponential { mean };

fn series(times: Times, channels: [u32; 2], service: f64) -> Model {
    Model::LossRouter(LossRouter {
        channels: channels.to_vec(),
        interarrival: times(15.0),
        service: times(service),
        horizon: 1e6,
        speeds: Vec::new(),
        warmup: Warmup::Time(0.0),
        redirect: Redirect::Next,
        departure_first: true,
        max_arrivals: 1 << 40,
    })
}

fn theta(max_run: Option<[u32; 2]>) -> Policy {
    let (start, clamp) = (1.0 / 3.0, [0.01, 0.99]);
    Policy::Theta(Theta { rule: Rule::J, alpha: 0.01, start, clamp, max_run })
}

fn key(replication: u32) -> StreamKey {
    StreamKey { seed: 2005, scenario: 1, replication }
}

const SERIES: [(&str, [u32; 2], f64); 2] = [("1", [2, 4], 80.0), ("2", [10, 20], 460.0)];
const POLICIES: [&str; 5] = ["coin", "trigger", "alternate", "theta j", "theta j, runs <= 2"];

fn policy(name: &str) -> Policy {
    match name {
        "coin" => Policy::Coin(Coin::two(1.0 / 3.0)),
        "trigger" => Policy::Trigger(Trigger { first: 0 }),
        "alternate" => Policy::Alternate(Alternate { first: 0, flip_on_refusal: true }),
        "theta j" => theta(None),
        _ => theta(Some([2; 2])),
    }
}

/// One replication; divan's items are arrivals, of which a replication has 66 667 in the mean.
#[divan::bench(args = POLICIES, consts = [0, 1])]
fn series_1_and_2<const N: usize>(bencher: divan::Bencher, name: &str) {
    let (_, channels, service) = SERIES[N];
    arrivals(bencher, &series(POISSON, channels, service), name);
}

#[divan::bench(args = POLICIES)]
fn exponential_times(bencher: divan::Bencher, name: &str) {
    arrivals(bencher, &series(EXPONENTIAL, [10, 20], 460.0), name);
}

fn arrivals(bencher: divan::Bencher, model: &Model, name: &str) {
    let model = model.compile().expect("the times are valid");
    let policy = policy(name);
    let mut replication = 0;
    bencher.counter(divan::counter::ItemsCount::new(66_667_u32)).bench_local(|| {
        replication += 1;
        model.replicate(&policy, &key(replication)).expect("the replication is sound")
    });
}

/// Times the product and the reference in turns, and prints the ratio of their best rounds.
fn ratio() {
    let model = series(POISSON, [10, 20], 460.0).compile().expect("the published times are valid");
    let policy = theta(Some([2; 2]));
    let setting = plain::Setting { channels: [10, 20], service: 460.0, alpha: 0.01, max_run: 2 };
    let (mut ours, mut plain) = (f64::INFINITY, f64::INFINITY);
    for round in 0..20 {
        let start = Instant::now();
        let mut arrivals = 0.0;
        for replication in 0..10 {
            arrivals += model.replicate(&policy, &key(round * 10 + replication)).expect("sound")[0];
        }
        ours = ours.min(start.elapsed().as_secs_f64() * 1e9 / arrivals);
        let start = Instant::now();
        let mut arrivals = 0;
        for replication in 0..10 {
            arrivals += plain::replicate(&setting, u64::from(round * 10 + replication)).arrivals;
        }
        plain = plain.min(start.elapsed().as_secs_f64() * 1e9 / arrivals as f64);
    }
    println!(
        "series 2, theta j, max_run 2, one thread: {ours:.1} ns an arrival, plain reference \
         {plain:.1} ns, ratio {:.2}",
        plain / ours
    );
}

fn main() {
    divan::main();
    ratio();
}
