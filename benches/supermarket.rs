//! CPU time of a job of the supermarket, against a plain reference, by the number of servers.
//!
//! Run with `cargo bench --bench supermarket`. Times are the best of some rounds, ours and the
//! reference's in turns.
#![allow(clippy::expect_used, clippy::print_stdout)]

mod plain_queues;

use cpu_time::ThreadTime;

use balancelab::model::{Arrivals, Compiled, Length, Model, Supermarket, Warmup};
use balancelab::policy::{BelowThreshold, Least, Load, Policy, Random, Rank, Sq, Tie};
use balancelab::rng::{Distribution, StreamKey};
use balancelab::sim::Discipline;

const JOBS: u64 = 1_000_000;
const ROUNDS: u32 = 8;
const RANK: Rank = Rank { load: Load::InSystem, tie: Tie::Random, full: true };

fn model(servers: usize) -> Compiled {
    let model = Model::Supermarket(Supermarket {
        speeds: vec![1.0; servers],
        channels: 1,
        capacity: None,
        dispatchers: 1,
        discipline: Discipline::Fcfs,
        outages: Vec::new(),
        breakdowns: None,
        interarrival: Arrivals::Renewal(Distribution::Exponential { mean: 1.0 }),
        batch: None,
        load: Some(0.9),
        service: Distribution::Exponential { mean: 1.0 },
        length: Length::Arrivals(JOBS),
        start: 0,
        snapshots: 0,
        warmup: Warmup::Time(0.0),
        max_arrivals: 1 << 40,
    });
    model.compile().expect("the times are valid")
}

/// Returns nanoseconds a job of the best round, and the mean sojourn time.
fn best(mut round: impl FnMut(u32) -> f64) -> (f64, f64) {
    let (mut best, mut sum) = (f64::INFINITY, 0.0);
    for number in 0..ROUNDS {
        let start = ThreadTime::now();
        sum += round(number) / f64::from(ROUNDS);
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / JOBS as f64);
    }
    (best, sum)
}

fn ours(servers: usize, policy: &Policy) -> (f64, f64) {
    let model = model(servers);
    best(|replication| {
        let key = StreamKey { seed: 1, scenario: servers as u128, replication };
        model.replicate(policy, &key).expect("the replication is sound")[1]
    })
}

fn main() {
    let sq = Policy::Sq(Sq { d: 2, replace: false, memory: 0, beta: 1.0, rank: RANK });
    println!("load .9, exponential, one thread; {JOBS} jobs, best of {ROUNDS} rounds");
    println!("| servers | sq(2), ns a job | plain reference | ratio | E[T] | reference's |");
    println!("|---|---|---|---|---|---|");
    for servers in [10, 100, 1000, 10_000] {
        let (time, sojourn) = ours(servers, &sq);
        let (plain, theirs) =
            best(|seed| plain_queues::replicate(servers, 0.9, JOBS, u64::from(seed)));
        println!(
            "| {servers} | {time:.1} | {plain:.1} | {:.2} | {sojourn:.3} | {theirs:.3} |",
            plain / time
        );
    }
    println!("\n| policy, 100 servers | ns a job |\n|---|---|");
    let least = Policy::Least(Least { rank: RANK });
    for (name, policy) in [
        ("random", Policy::Random(Random)),
        ("jsq", least),
        ("jiq", Policy::BelowThreshold(BelowThreshold { threshold: 1 })),
    ] {
        println!("| {name} | {:.1} |", ours(100, &policy).0);
    }
}
