//! The loss router: exact invariants path by path, and two independent simulators.

use balancelab::model::{LossRouter, Model, Redirect, Warmup};
use balancelab::policy::{Alternate, Capacities, Coin, Compare, Policy, Rule, Theta, Trigger};
use balancelab::rng::{Distribution, Pcg32, Role, Sampler, StreamKey, below, unit};
use balancelab::stats::Moments;

use super::ledger::{SlowBooks, ledger};

#[path = "../../benches/plain.rs"]
mod plain;

pub fn poisson(mean: f64) -> Distribution {
    Distribution::Poisson { mean }
}

pub fn scenario(channels: &[u32], service: Distribution, horizon: f64) -> LossRouter {
    LossRouter {
        channels: channels.to_vec(),
        interarrival: poisson(15.0),
        service,
        horizon,
        speeds: Vec::new(),
        warmup: Warmup::Time(0.0),
        redirect: Redirect::Next,
        departure_first: true,
        max_arrivals: 1 << 40,
    }
}

fn series1() -> LossRouter {
    scenario(&[2, 4], poisson(80.0), 1e6)
}

fn series2() -> LossRouter {
    scenario(&[10, 20], poisson(460.0), 1e6)
}

fn theta(rule: Rule, alpha: f64, start: f64, clamp: [f64; 2], max_run: Option<[u32; 2]>) -> Policy {
    Policy::Theta(Theta { rule, alpha, start, clamp, max_run })
}

const TRIGGER: Policy = Policy::Trigger(Trigger { first: 0 });

fn alternate(flip_on_refusal: bool) -> Policy {
    Policy::Alternate(Alternate { first: 0, flip_on_refusal })
}

fn key(model: &Model, replication: u32) -> StreamKey {
    StreamKey { seed: 7, scenario: model.scenario(), replication }
}

/// Returns the values of one replication without the two columns about θ.
pub fn path(model: &LossRouter, policy: &Policy, replication: u32) -> Vec<f64> {
    let model = Model::LossRouter(model.clone());
    let compiled = model.compile().unwrap();
    let mut row = compiled.replicate(policy, &key(&model, replication)).unwrap();
    for name in ["theta_mean", "theta_final"] {
        row.remove(model.columns().iter().position(|column| column == name).unwrap());
    }
    row
}

pub fn column(model: &LossRouter, policy: &Policy, replication: u32, name: &str) -> f64 {
    let model = Model::LossRouter(model.clone());
    let row = model.compile().unwrap().replicate(policy, &key(&model, replication)).unwrap();
    row[model.columns().iter().position(|column| column == name).unwrap()]
}

#[test]
fn refusals_and_arrivals_are_the_same_for_every_policy() {
    for model in [series1(), series2()] {
        for replication in 0..5 {
            let policies = [
                Policy::Coin(Coin::two(0.9)),
                TRIGGER,
                alternate(true),
                theta(Rule::I, 0.1, 0.5, [0.01, 0.99], None),
                theta(Rule::J, 0.01, 1.0 / 3.0, [0.01, 0.99], Some([2; 2])),
                theta(Rule::J_SMOOTHED, 0.01, 1.0 / 3.0, [0.01, 0.99], Some([1, 3])),
                ledger(80.0, Compare::Free, Capacities::Known),
                ledger(460.0, Compare::FreeShare, Capacities::Known),
                ledger(80.0, Compare::Free, Capacities::Learned),
                ledger(460.0, Compare::FreeShare, Capacities::Learned),
            ];
            for name in ["arrivals", "refusals_pct", "accepted_pct"] {
                let expected = column(&model, &policies[0], replication, name);
                for policy in &policies[1..] {
                    assert_eq!(column(&model, policy, replication, name), expected, "{policy:?}");
                }
            }
        }
    }
}

#[test]
fn extreme_theta_policies_are_the_trigger_and_the_alternation() {
    for model in [series1(), series2()] {
        for replication in 0..5 {
            let extreme = |rule| theta(rule, 1.0, 1.0, [0.0, 1.0], None);
            let trigger = path(&model, &TRIGGER, replication);
            assert_eq!(path(&model, &extreme(Rule::J), replication), trigger);
            assert_eq!(path(&model, &extreme(Rule::J_PLUS_I), replication), trigger);
            let stays = path(&model, &alternate(false), replication);
            assert_eq!(path(&model, &extreme(Rule::J_MINUS_I), replication), stays);
            assert_ne!(path(&model, &alternate(true), replication), stays);
        }
    }
}

#[test]
fn alpha_zero_is_the_coin() {
    for model in [series1(), series2()] {
        let coin = path(&model, &Policy::Coin(Coin::two(0.3)), 3);
        for rule in [Rule::J, Rule::I, Rule::J_MINUS_I, Rule::J_PLUS_I, Rule::J_SMOOTHED] {
            assert_eq!(path(&model, &theta(rule, 0.0, 0.3, [0.01, 0.99], None), 3), coin);
        }
    }
}

/// What the slow simulator counts.
#[derive(Debug, PartialEq)]
struct Counts {
    arrivals: u64,
    errors: u64,
    refusals: u64,
    switches: u64,
    taken: Vec<u64>,
}

/// The model once more on the same streams, with a list of departures per server and the rules
/// of REFERENCE.md written out; checks at every arrival that no server holds more than it can.
fn slow(model: &LossRouter, policy: &Policy, streams: &StreamKey) -> Counts {
    let draw = |distribution: &Distribution| distribution.sampler().unwrap();
    let (interarrival, service): (Sampler, Sampler) =
        (draw(&model.interarrival), draw(&model.service));
    let stream = |role| -> Pcg32 { streams.stream(role) };
    let (mut a, mut s) = (stream(Role::Arrivals), stream(Role::Service));
    let (mut routing, mut redirect) = (stream(Role::Routing), stream(Role::Redirect));
    let n = model.channels.len();
    let mut jobs: Vec<Vec<f64>> = vec![Vec::new(); n];
    let mut counts = Counts { arrivals: 0, errors: 0, refusals: 0, switches: 0, taken: vec![0; n] };
    let mut now = 0.0;
    let mut current = 0;
    let mut theta = if let Policy::Theta(policy) = policy { policy.start } else { 0.0 };
    let mut attempts: Vec<usize> = Vec::new();
    let mut books = match policy {
        Policy::Ledger(ledger) => Some(SlowBooks::new(ledger, &model.channels)),
        _ => None,
    };
    loop {
        now += interarrival.sample(&mut a);
        if now > model.horizon {
            return counts;
        }
        counts.arrivals += 1;
        let departure = now + service.sample(&mut s);
        for server in &mut jobs {
            server.retain(|&ends| if model.departure_first { ends > now } else { ends >= now });
        }
        let attempt = match policy {
            Policy::Coin(coin) => {
                let u = unit(&mut routing);
                let mut sum = 0.0;
                let last = n - 1;
                coin.probabilities
                    .iter()
                    .position(|p| {
                        sum += p;
                        u < sum
                    })
                    .unwrap_or(last)
            }
            Policy::Trigger(_) | Policy::Alternate(_) => current,
            Policy::Theta(policy) => {
                let wish = if unit(&mut routing) < theta { 0 } else { 1 };
                let limit = policy.max_run.map_or(usize::MAX, |limits| limits[wish] as usize);
                let run = attempts.iter().rev().take_while(|&&server| server == wish).count();
                if run >= limit { 1 - wish } else { wish }
            }
            Policy::Ledger(_) => books.as_ref().unwrap().freest(now),
            _ => unreachable!(),
        };
        counts.switches += u64::from(attempts.last().is_some_and(|&last| last != attempt));
        attempts.push(attempt);
        if attempts.len() > 8 {
            attempts.remove(0);
        }
        let room = |k: usize, jobs: &[Vec<f64>]| model.channels[k] as usize - jobs[k].len();
        let open: Vec<usize> =
            (1..n).map(|step| (attempt + step) % n).filter(|&k| room(k, &jobs) > 0).collect();
        let to = if room(attempt, &jobs) > 0 {
            Some(attempt)
        } else if open.is_empty() || model.redirect == Redirect::None {
            None
        } else {
            Some(match model.redirect {
                Redirect::None => unreachable!(),
                Redirect::Next => open[0],
                Redirect::Random => open[below(&mut redirect, open.len() as u32) as usize],
                Redirect::MostFree => {
                    let most = open.iter().map(|&k| room(k, &jobs)).max().unwrap();
                    (0..n).find(|k| open.contains(k) && room(*k, &jobs) == most).unwrap()
                }
            })
        };
        let error = to.is_some_and(|to| to != attempt);
        counts.errors += u64::from(error);
        counts.refusals += u64::from(to.is_none());
        if let Some(to) = to {
            jobs[to].push(departure);
            counts.taken[to] += 1;
            assert!(jobs[to].len() <= model.channels[to] as usize);
        }
        match policy {
            Policy::Coin(_) => {}
            Policy::Trigger(_) => current = if error { to.unwrap() } else { current },
            Policy::Alternate(policy) => {
                if to.is_some() || policy.flip_on_refusal {
                    current = (attempt + 1) % n;
                }
            }
            Policy::Theta(policy) => {
                let hit = |k: usize, flag: bool| f64::from(flag && to == Some(k));
                let (i0, i1) = (hit(0, !error), hit(1, !error));
                let (j0, j1) = (hit(0, error), hit(1, error));
                let rule = policy.rule;
                let s = rule.smoothing;
                let j = (1.0 - s) * (j0 - j1) + s * (j0 * theta - j1 * (1.0 - theta));
                theta += policy.alpha * (rule.j * j + rule.i * (i0 - i1));
                theta = theta.clamp(policy.clamp[0], policy.clamp[1]);
            }
            Policy::Ledger(_) => books.as_mut().unwrap().note(now, attempt, to),
            _ => unreachable!(),
        }
    }
}

/// Compares the kernel with the slow simulator, exactly.
pub fn agrees(model: &LossRouter, policy: &Policy) {
    let wrapped = Model::LossRouter(model.clone());
    let streams = key(&wrapped, 1);
    let slow = slow(model, policy, &streams);
    let row = wrapped.compile().unwrap().replicate(policy, &streams).unwrap();
    let columns = wrapped.columns();
    let value = |name: &str| row[columns.iter().position(|column| column == name).unwrap()];
    let pct = |count: u64| 100.0 * count as f64 / slow.arrivals as f64;
    assert_eq!(value("arrivals"), slow.arrivals as f64);
    assert_eq!(value("errors_pct"), pct(slow.errors), "{model:?} {policy:?}");
    assert_eq!(value("refusals_pct"), pct(slow.refusals), "{model:?} {policy:?}");
    assert_eq!(value("accepted_pct"), pct(slow.arrivals - slow.refusals));
    assert_eq!(value("switches_pct"), pct(slow.switches), "{model:?} {policy:?}");
    for (k, &taken) in slow.taken.iter().enumerate() {
        assert_eq!(value(&format!("server_share_pct_{k}")), pct(taken), "{model:?} {policy:?}");
    }
}

#[test]
fn the_kernel_agrees_with_a_slow_simulator_on_the_same_streams() {
    let exponential = |mean| Distribution::Exponential { mean };
    let mut models = vec![series1(), series2()];
    models.push(scenario(&[1, 1], exponential(20.0), 1e5));
    models.push(LossRouter { departure_first: false, ..scenario(&[2, 3], poisson(60.0), 1e5) });
    models.push(LossRouter {
        interarrival: exponential(7.0),
        ..scenario(&[5, 9], exponential(90.0), 1e5)
    });
    for redirect in [Redirect::None, Redirect::Next, Redirect::Random, Redirect::MostFree] {
        models.push(LossRouter { redirect, ..scenario(&[1, 3, 2, 1], poisson(90.0), 1e5) });
    }
    for model in &models {
        let n = model.channels.len();
        let mut policies = vec![
            Policy::Coin(Coin { probabilities: vec![1.0 / n as f64; n] }),
            Policy::Trigger(Trigger { first: 0 }),
            alternate(true),
            alternate(false),
        ];
        if n == 2 {
            policies.push(theta(Rule::J, 0.125, 0.25, [0.01, 0.99], Some([2; 2])));
            policies.push(theta(Rule::J_MINUS_I, 0.125, 0.5, [0.0625, 0.9375], None));
            policies.push(theta(
                Rule { j: 0.5, i: 0.25, smoothing: 0.0 },
                0.5,
                0.5,
                [0.0, 1.0],
                Some([3, 3]),
            ));
            let rule = Rule { j: 1.0, i: -0.25, smoothing: 0.75 };
            policies.push(theta(rule, 0.125, 0.5, [0.0, 1.0], Some([1, 4])));
        }
        for policy in &policies {
            agrees(model, policy);
        }
    }
}

/// The plain simulator draws its own numbers in its own way; means of 60 runs differ by less
/// than 4 standard errors (false alarm 1 in 16 000 each).
#[test]
fn the_kernel_agrees_with_a_plain_simulator_in_the_mean() {
    for (model, channels, service) in [(series1(), [2, 4], 80.0), (series2(), [10, 20], 460.0)] {
        for (alpha, max_run) in [(0.001, 2), (0.03, 2), (0.3, 2), (0.1, u32::MAX - 1)] {
            let policy = theta(Rule::J, alpha, 1.0 / 3.0, [0.01, 0.99], Some([max_run; 2]));
            let setting = plain::Setting { channels, service, alpha, max_run };
            let (mut ours, mut theirs) = ([Moments::default(); 2], [Moments::default(); 2]);
            for run in 0..60 {
                ours[0].push(column(&model, &policy, run, "errors_pct"));
                ours[1].push(column(&model, &policy, run, "refusals_pct"));
                let counts = plain::replicate(&setting, u64::from(run));
                let pct = |count: u64| 100.0 * count as f64 / counts.arrivals as f64;
                theirs[0].push(pct(counts.errors));
                theirs[1].push(pct(counts.refusals));
            }
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let se = ours.se().unwrap().hypot(theirs.se().unwrap());
                let (a, b) = (ours.mean().unwrap(), theirs.mean().unwrap());
                assert!(
                    (a - b).abs() < 4.0 * se,
                    "{channels:?} {alpha} {max_run}: {a} and {b}, {se}"
                );
            }
        }
    }
}

/// Utilisation by Little's law: mean busy channels = accepted rate × mean service.
#[test]
fn utilisation_obeys_littles_law() {
    let model = series2();
    let busy = 10.0 * column(&model, &TRIGGER, 0, "utilisation_0")
        + 20.0 * column(&model, &TRIGGER, 0, "utilisation_1");
    let accepted = column(&model, &TRIGGER, 0, "arrivals")
        * column(&model, &TRIGGER, 0, "accepted_pct")
        / 100.0;
    let little = accepted * 460.0 / 1e6;
    // Jobs cut off by the horizon, at most 30 of 460 ticks, and the spread of 61 500 services.
    assert!(
        (busy - little).abs() < 30.0 * 460.0 / 1e6 + 5.0 * 21.4 / 460.0 * busy / 248.0,
        "{busy} {little}"
    );
}
