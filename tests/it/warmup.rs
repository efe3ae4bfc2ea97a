//! What is counted of a replication: warm-ups and batches.

use balancelab::model::{LossRouter, Model, Redirect, Warmup};
use balancelab::policy::{Policy, Rule, Theta, Trigger};
use balancelab::rng::{Distribution, Role, StreamKey};
use balancelab::stats::Moments;
use balancelab::theory::erlang_b;

fn model(warmup: Warmup, horizon: f64) -> Model {
    Model::LossRouter(LossRouter {
        channels: vec![2, 4],
        interarrival: Distribution::Poisson { mean: 15.0 },
        service: Distribution::Poisson { mean: 80.0 },
        speeds: vec![1.0, 1.5],
        horizon,
        warmup,
        redirect: Redirect::Next,
        departure_first: true,
        max_arrivals: 1 << 40,
    })
}

fn policies() -> [Policy; 2] {
    let (start, clamp) = (1.0 / 3.0, [0.01, 0.99]);
    let theta = Theta { rule: Rule::J, alpha: 0.01, start, clamp, max_run: Some([2; 2]) };
    [Policy::Trigger(Trigger { first: 0 }), Policy::Theta(theta)]
}

fn rows(model: &Model, policy: &Policy, periods: u32) -> Vec<Vec<f64>> {
    let key = StreamKey { seed: 3, scenario: model.scenario(), replication: 0 };
    model.compile().unwrap().periods(policy, &key, periods).unwrap()
}

fn column(model: &Model, name: &str) -> usize {
    model.columns().iter().position(|column| column == name).unwrap()
}

#[test]
fn batches_add_up_to_the_run() {
    let model = model(Warmup::Time(0.0), 1e5);
    for policy in policies() {
        let whole = &rows(&model, &policy, 1)[0];
        let parts = rows(&model, &policy, 7);
        assert_eq!(parts.len(), 7);
        let arrivals = column(&model, "arrivals");
        let total: f64 = parts.iter().map(|row| row[arrivals]).sum();
        assert_eq!(total, whole[arrivals]);
        for name in
            ["errors_pct", "refusals_pct", "accepted_pct", "switches_pct", "server_share_pct_0"]
        {
            let of = column(&model, name);
            let sum: f64 = parts.iter().map(|row| row[of] * row[arrivals]).sum();
            assert!((sum / total - whole[of]).abs() < 1e-9, "{name}");
        }
        for name in ["utilisation_0", "utilisation_1"] {
            let of = column(&model, name);
            let mean = parts.iter().map(|row| row[of]).sum::<f64>() / 7.0;
            assert!((mean - whole[of]).abs() < 1e-9, "{name}: {mean} {}", whole[of]);
        }
        let last = column(&model, "theta_final");
        assert!(parts[6][last].to_bits() == whole[last].to_bits());
    }
}

#[test]
fn a_warm_up_is_the_run_without_its_first_batch() {
    for policy in policies() {
        let halves = rows(&model(Warmup::Time(0.0), 1e5), &policy, 2);
        let warm = rows(&model(Warmup::Time(5e4), 1e5), &policy, 1);
        let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&warm[0]), bits(&halves[1]));
    }
}

#[test]
fn a_warm_up_by_arrivals_leaves_out_so_many() {
    let (all, part) = (model(Warmup::Time(0.0), 1e5), model(Warmup::Arrivals(1000), 1e5));
    let arrivals = column(&all, "arrivals");
    for policy in policies() {
        let (all, part) = (rows(&all, &policy, 1), rows(&part, &policy, 1));
        assert_eq!(all[0][arrivals] - 1000.0, part[0][arrivals]);
    }
}

#[test]
fn a_warm_up_that_leaves_nothing_fails() {
    let long = model(Warmup::Arrivals(7000), 1e5);
    let key = StreamKey { seed: 3, scenario: 1, replication: 0 };
    let end = long.compile().unwrap().replicate(&policies()[0], &key);
    assert!(end.unwrap_err().to_string().contains("leaves nothing before the horizon"));
}

/// A loss system that starts empty and takes long to fill: 30 channels, services of 6 000 at an
/// arrival every 150. Without a warm-up refusals are far below Erlang B; with MSER-5's cut they
/// are within the noise of it or nearly so.
#[test]
fn the_automatic_warm_up_removes_the_bias_of_an_empty_start() {
    let slow = |warmup| {
        Model::LossRouter(LossRouter {
            channels: vec![10, 20],
            interarrival: Distribution::Exponential { mean: 150.0 },
            service: Distribution::Exponential { mean: 6000.0 },
            speeds: Vec::new(),
            horizon: 1e5,
            warmup,
            redirect: Redirect::Next,
            departure_first: true,
            max_arrivals: 1 << 40,
        })
    };
    let truth = 100.0 * erlang_b(30, 40.0);
    let mean = |warmup, name: &str| -> Moments {
        let model = slow(warmup);
        let (compiled, of) = (model.compile().unwrap(), column(&model, name));
        let key = |replication| StreamKey { seed: 5, scenario: 1, replication };
        (0..400).map(|r| compiled.replicate(&policies()[0], &key(r)).unwrap()[of]).collect()
    };
    let bias = |warmup| (mean(warmup, "refusals_pct").mean().unwrap() - truth).abs();
    let (cold, warm) = (bias(Warmup::Time(0.0)), bias(Warmup::Auto));
    assert!(cold > 1.5 && warm < 0.6 * cold, "{cold} {warm}");
    let cut = mean(Warmup::Auto, "counted_from").mean().unwrap();
    assert!((1000.0..50_000.0).contains(&cut), "{cut}");
    // The cut is an arrival's own time, a whole number of batches of five.
    let model = slow(Warmup::Auto);
    let key = StreamKey { seed: 5, scenario: 1, replication: 0 };
    let row = model.compile().unwrap().replicate(&policies()[0], &key).unwrap();
    let mut stream = key.stream(Role::Arrivals);
    let sampler = Distribution::Exponential { mean: 150.0 }.sampler().unwrap();
    let mut time = 0.0;
    let mut count = 0;
    while time < row[column(&model, "counted_from")] {
        time += sampler.sample(&mut stream);
        count += 1;
    }
    assert_eq!((time, count % 5), (row[column(&model, "counted_from")], 0));
}
