//! Coverage of the intervals: how often those that promise 95 % hold a known answer.
//!
//! Run with `cargo bench --bench coverage`. Two tables come of it, with fixed seeds:
//!
//! 1. of simulated systems with known refusals: one server without a queue, M/M/1/1 with λ = μ, of
//!    which 1/2 is refused; and the θ split of λ = 1 between two of them with μ = (2, 1), of which
//!    Σ p_k²/(p_k + μ_k) is (Erlang's formula of each server's own Poisson stream, p_k λ);
//! 2. of the stopping rule on drawn numbers: normal, skewed, and yes or no.
//!
//! Every experiment has a seed of its own. Its interval is from the first 20 replications (plain,
//! and paired with those of another policy on common random numbers), or from as many as the
//! stopping rule takes.
//!
//! # Bias
//!
//! The first table counts from [`WARMUP`] on, 40 relaxation times 1/(λ + μ) after the empty start.
//! What is left is the bias of a ratio of two random counts. For the share R/A that M/M/1/1 with
//! λ = μ, p = 1/2 refuses of N arrivals in the mean it is −Cov(R − pA, A)/N² = −p(1 − p)/N, and the
//! standard deviation is √(p(1 − p)/N), both by the martingale of the chain's Poisson equation. So
//! the mean of n replications is off by √(n/N)/2 standard errors: at N = 2 000 by 0.05 with n = 20,
//! and by 0.08 with 50. The table shows it as measured, of the mean of all experiments in standard
//! errors of one; of stopped ones it holds the bias of stopping too.
#![allow(clippy::expect_used, clippy::print_stdout)]

use std::process::ExitCode;

use balancelab::model::{Compiled, LossRouter, Model, Redirect, Warmup};
use balancelab::policy::{Coin, Policy};
use balancelab::rng::{Distribution, StreamKey};
use balancelab::stats::paired::Paired;
use balancelab::stats::stopping::{Condition, Rule, Target};
use balancelab::stats::{Interval, Moments};
use rand::SeedableRng;
use rand_distr::{Distribution as _, Exp1, StandardNormal, StandardUniform};
use rand_pcg::Pcg32;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Of every interval.
const CONFIDENCE: f64 = 0.95;
/// Replications of plain and paired experiments.
const REPLICATIONS: u32 = 20;
/// Experiments a row of the first table.
const EXPERIMENTS: u32 = 4_000;
/// Experiments a cell of the second table.
const TRIALS: u32 = 10_000;
/// Start of the count [time units].
const WARMUP: f64 = 20.0;
/// Time counted [time units]; the arrival rate is 1.
const COUNTED: f64 = 2_000.0;

/// Servers of one channel and these speeds, with exponential times of mean 1, and no redirection.
fn servers(speeds: [f64; 2]) -> Model {
    Model::LossRouter(LossRouter {
        channels: vec![1, 1],
        interarrival: Distribution::Exponential { mean: 1.0 },
        service: Distribution::Exponential { mean: 1.0 },
        speeds: speeds.to_vec(),
        horizon: WARMUP + COUNTED,
        warmup: Warmup::Time(WARMUP),
        redirect: Redirect::None,
        departure_first: true,
        max_arrivals: 1 << 40,
    })
}

/// Returns the percentage that is refused: Σ p_k · p_k/(p_k + μ_k).
fn refused([fast, slow]: [f64; 2], theta: f64) -> f64 {
    100.0 * (theta * theta / (theta + fast) + (1.0 - theta).powi(2) / (1.0 - theta + slow))
}

/// A system, the coin under study, and the one that it is paired with.
struct System {
    name: &'static str,
    other: &'static str,
    speeds: [f64; 2],
    theta: f64,
    baseline: f64,
    /// Half-width at which an experiment stops [% of arrivals].
    half_width: f64,
}

const SYSTEMS: [System; 2] = [
    System {
        name: "M/M/1/1, μ = 1",
        other: "μ = 1 less μ = 2",
        speeds: [1.0, 2.0],
        theta: 1.0,
        baseline: 0.0,
        half_width: 0.32,
    },
    System {
        name: "θ split, θ = 0.6",
        other: "θ = 0.6 less θ = 2/3",
        speeds: [2.0, 1.0],
        theta: 0.6,
        baseline: 2.0 / 3.0,
        half_width: 0.28,
    },
];

/// What came of experiments: of each the interval and the moments of what it is about.
struct Row {
    name: String,
    truth: f64,
    experiments: Vec<(Interval, Moments)>,
}

impl Row {
    fn new(name: String, truth: f64, samples: impl Iterator<Item = Moments>) -> Self {
        let with = |sample: Moments| (sample.interval(CONFIDENCE).expect("two or more"), sample);
        Row { name, truth, experiments: samples.map(with).collect() }
    }

    /// Returns the share of intervals that hold the truth.
    fn coverage(&self) -> f64 {
        let held = |(interval, _): &&(Interval, Moments)| holds(interval, self.truth);
        self.experiments.iter().filter(held).count() as f64 / self.experiments.len() as f64
    }

    fn print(&self) {
        let experiments = self.experiments.len() as f64;
        let mean = |of: &dyn Fn(&Moments) -> f64| {
            self.experiments.iter().map(|(_, sample)| of(sample)).sum::<f64>() / experiments
        };
        let taken = mean(&|sample| sample.n() as f64);
        let average = mean(&|sample| sample.mean().unwrap_or(f64::NAN));
        let se = mean(&|sample| sample.se().unwrap_or(f64::NAN));
        let coverage = self.coverage();
        println!(
            "| {} | {:.4} | {average:.4} | {:+.2} | {taken:.0} | {:.1} ± {:.1} % |",
            self.name,
            self.truth,
            (average - self.truth) / se,
            100.0 * coverage,
            100.0 * deviation(coverage, EXPERIMENTS),
        );
    }
}

/// Returns the standard deviation of a measured share.
fn deviation(share: f64, trials: u32) -> f64 {
    (share * (1.0 - share) / f64::from(trials)).sqrt()
}

fn holds(interval: &Interval, value: f64) -> bool {
    interval.low <= value && value <= interval.high
}

/// One replication's refusals [% of arrivals].
fn refusals(system: &Compiled, policy: &Policy, key: StreamKey, column: usize) -> f64 {
    system.replicate(policy, &key).expect("the replication is sound")[column]
}

/// Runs the experiments of a system: plain, paired and stopped, the last going on from the first.
fn simulated(system: &System) -> [Row; 3] {
    let model = servers(system.speeds);
    let column = model.columns().iter().position(|name| name == "refusals_pct");
    let column = column.expect("a loss router refuses");
    let (scenario, compiled) = (model.scenario(), model.compile().expect("the times are valid"));
    let coin = |theta| Policy::Coin(Coin::two(theta));
    let (ours, baseline) = (coin(system.theta), coin(system.baseline));
    let rule = rule(Target::HalfWidth(system.half_width));
    let experiment = |seed: u32| {
        let key = |replication| StreamKey { seed: seed.into(), scenario, replication };
        let value = |policy, replication| refusals(&compiled, policy, key(replication), column);
        let own: Vec<f64> = (0..REPLICATIONS).map(|r| value(&ours, r)).collect();
        let theirs = (0..REPLICATIONS).map(|r| value(&baseline, r));
        let pairs: Paired = own.iter().copied().zip(theirs).collect();
        let plain: Moments = own.iter().copied().collect();
        let go_on = |r: u32| own.get(r as usize).copied().unwrap_or_else(|| value(&ours, r));
        let stopped = stop(&rule, go_on);
        (plain, *pairs.difference(), stopped)
    };
    let all: Vec<_> = (0..EXPERIMENTS).into_par_iter().map(experiment).collect();
    let truth = refused(system.speeds, system.theta);
    let difference = truth - refused(system.speeds, system.baseline);
    let row = |kind, name, truth, samples: &dyn Fn(&(Moments, Moments, Moments)) -> Moments| {
        Row::new(format!("{kind} | {name}"), truth, all.iter().map(samples))
    };
    [
        row("plain", system.name, truth, &|all| all.0),
        row("paired", system.other, difference, &|all| all.1),
        row("until precise", system.name, truth, &|all| all.2),
    ]
}

fn rule(target: Target) -> Rule {
    let condition = Condition { response: 0, target };
    Rule::new(2, 100_000, vec![condition], CONFIDENCE).expect("the rule has a meaning")
}

/// Returns the moments of as many values as the rule takes.
fn stop(rule: &Rule, mut value: impl FnMut(u32) -> f64) -> Moments {
    let mut sample = Moments::default();
    for k in rule.checkpoints() {
        while sample.n() < u64::from(k) {
            sample.push(value(sample.n() as u32));
        }
        if rule.satisfied(&[sample]) {
            break;
        }
    }
    sample
}

/// Returns the coverage of stopped runs of drawn numbers, and the mean number of them taken, with
/// the half-width that a known `sd` would reach at `needed`.
fn drawn(needed: u32, (mean, sd): (f64, f64), value: fn(&mut Pcg32) -> f64) -> (f64, f64) {
    let freedom = f64::from(needed - 1);
    let t = StudentsT::new(0.0, 1.0, freedom).expect("two or more are needed");
    let half_width = t.inverse_cdf(0.5 + CONFIDENCE / 2.0) * sd / f64::from(needed).sqrt();
    let rule = rule(Target::HalfWidth(half_width));
    let trial = |seed: u32| {
        let mut rng = Pcg32::seed_from_u64(seed.into());
        let sample = stop(&rule, |_| value(&mut rng));
        let interval = sample.interval(CONFIDENCE).expect("20 or more were taken");
        (u32::from(holds(&interval, mean)), sample.n())
    };
    let sum = |a: (u32, u64), b: (u32, u64)| (a.0 + b.0, a.1 + b.1);
    let (held, taken) = (0..TRIALS).into_par_iter().map(trial).reduce(|| (0, 0), sum);
    (f64::from(held) / f64::from(TRIALS), taken as f64 / f64::from(TRIALS))
}

fn normal(rng: &mut Pcg32) -> f64 {
    StandardNormal.sample(rng)
}

fn exponential(rng: &mut Pcg32) -> f64 {
    Exp1.sample(rng)
}

/// One rare event in five: the worst of yes-no data.
fn loss(rng: &mut Pcg32) -> f64 {
    let uniform: f64 = StandardUniform.sample(rng);
    f64::from(u8::from(uniform < 0.2))
}

fn stopping_rule() {
    println!(
        "| needed | normal | replications taken | exponential | loss |\n|---|---|---|---|---|"
    );
    for needed in [10, 20, 30, 40, 50, 70, 100, 200, 500] {
        let (of_normal, taken) = drawn(needed, (0.0, 1.0), normal);
        let (of_exponential, _) = drawn(needed, (1.0, 1.0), exponential);
        let (of_loss, _) = drawn(needed, (0.2, 0.4), loss);
        let [of_normal, of_exponential, of_loss] =
            [of_normal, of_exponential, of_loss].map(|share| {
                format!("{:.1} ± {:.1} %", 100.0 * share, 100.0 * deviation(share, TRIALS))
            });
        println!("| {needed} | {of_normal} | {taken:.0} | {of_exponential} | {of_loss} |");
    }
}

fn main() -> ExitCode {
    println!(
        "Coverage of 95 % intervals over {EXPERIMENTS} experiments each, of refusals_pct; \
         ± its own standard error.\n"
    );
    println!("| interval | of | known | mean of all | bias, in standard errors | n | coverage |");
    println!("|---|---|---|---|---|---|---|");
    let rows: Vec<Row> = SYSTEMS.iter().flat_map(simulated).collect();
    rows.iter().for_each(Row::print);
    println!(
        "\nCoverage of 95 % intervals of runs until precise, {TRIALS} experiments a cell, by the \
         replications that a known standard deviation would need.\n"
    );
    stopping_rule();
    let asked = |row: &Row| (row.coverage() - CONFIDENCE).abs() <= 0.01;
    if rows.iter().all(asked) {
        return ExitCode::SUCCESS;
    }
    println!("\nnot all coverages of simulated systems are 95 ± 1 %");
    ExitCode::FAILURE
}
