//! Optimisation problems with known answers, for the bench and the tests of the optimiser.
//!
//! MM1-1 and EXAMPLE-1 are problems of the SimOpt library under those names (D. J. Eckman,
//! S. G. Henderson and S. Shashaani, "SimOpt: a testbed for simulation-optimization experiments",
//! INFORMS J. Computing 35, 2023), with its lengths of runs and its starts.
#![allow(dead_code)]

use balancelab::model::{Compiled, LossRouter, Model, Redirect, Warmup};
use balancelab::optimize::{Evaluate, Parameter, Request, Space, Stop, Target};
use balancelab::policy::{Coin, Policy};
use balancelab::rng::{Distribution, Pcg32, Role, StreamKey, content_hash, unit, unit_open};

type Value = dyn Fn(&[f64], &StreamKey) -> f64 + Sync;
type Gap = dyn Fn(&[f64]) -> f64 + Sync;

/// A problem with a known answer; the less the better.
pub struct Problem {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// In natural units.
    pub start: Vec<f64>,
    /// A replication's value.
    value: Box<Value>,
    /// Mean value less its minimum.
    pub gap: Box<Gap>,
    /// The point of the minimum.
    pub best: Vec<f64>,
}

impl Problem {
    pub fn space(&self) -> Space {
        Space { parameters: self.parameters.clone() }
    }
}

impl Evaluate for Problem {
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let values = |request: &Request| {
            let Target::Point(point) = &request.target else {
                return vec![None; request.replications as usize];
            };
            let first = request.streams.replication;
            (first..first + request.replications)
                .map(|replication| {
                    Some((self.value)(point, &StreamKey { replication, ..request.streams }))
                })
                .collect()
        };
        Ok(requests.iter().map(values).collect())
    }
}

pub fn parameter(name: &str, low: f64, high: f64, log: bool) -> Parameter {
    Parameter { name: name.to_owned(), low, high, log, integer: false }
}

/// A standard normal variable of a stream (Box and Muller).
fn normal(random: &mut Pcg32) -> f64 {
    let radius = (-2.0 * unit_open(random).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * unit(random)).cos()
}

/// ‖x‖² + N(0, 1) in the plane, from (2, 2); the noise doesn't depend on the streams alone but on
/// the point too, so that common random numbers are no help.
pub fn example_1() -> Problem {
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    Problem {
        name: "EXAMPLE-1".to_owned(),
        parameters: ["x", "y"].map(|name| parameter(name, -5.0, 5.0, false)).to_vec(),
        start: vec![2.0, 2.0],
        value: Box::new(move |x, key| {
            let salt = content_hash(format!("{x:?}").as_bytes());
            let key = StreamKey { scenario: key.scenario ^ salt, ..*key };
            square(x) + normal(&mut key.stream(Role::Service))
        }),
        gap: Box::new(square),
        best: vec![0.0, 0.0],
    }
}

/// Exponential variable of mean 1.
fn exponential(random: &mut Pcg32) -> f64 {
    -unit_open(random).ln()
}

/// Mean sojourn time of a simulated M/M/1 (λ = 1.5; 200 customers after 50) plus 0.1 μ², from
/// μ = 5.
pub fn mm1_1() -> Problem {
    let mean = |mu: f64| 1.0 / (mu - 1.5) + 0.1 * mu * mu;
    let best = 2.829_356_4;
    Problem {
        name: "MM1-1".to_owned(),
        parameters: vec![parameter("mu", 1.6, 10.0, true)],
        start: vec![5.0],
        value: Box::new(|x, key| {
            let (mut arrivals, mut services) =
                (key.stream(Role::Arrivals), key.stream(Role::Service));
            let mu = x[0];
            let (mut sojourn, mut sum) = (0.0_f64, 0.0);
            for customer in 0..250 {
                let gap = exponential(&mut arrivals) / 1.5;
                sojourn = (sojourn - gap).max(0.0) + exponential(&mut services) / mu;
                sum += if customer < 50 { 0.0 } else { sojourn };
            }
            sum / 200.0 + 0.1 * mu * mu
        }),
        gap: Box::new(move |x| if x[0] > 1.5 { mean(x[0]) - mean(best) } else { f64::INFINITY }),
        best: vec![best],
    }
}

/// Share of Poisson traffic lost by two M/M/1/1 of rates 2 and 1 behind a coin; the optimum is 2/3
/// whatever λ. 1 000 units of time.
pub fn split(lambda: f64) -> Problem {
    let loss = move |theta: f64| {
        let lost = |share: f64, mu: f64| share * share * lambda / (share * lambda + mu);
        lost(theta, 2.0) + lost(1.0 - theta, 1.0)
    };
    let model = Model::LossRouter(LossRouter {
        channels: vec![1, 1],
        interarrival: Distribution::Exponential { mean: 1.0 / lambda },
        service: Distribution::Exponential { mean: 1.0 },
        speeds: vec![2.0, 1.0],
        horizon: 1000.0,
        warmup: Warmup::Time(0.0),
        redirect: Redirect::None,
        departure_first: true,
        max_arrivals: 1 << 40,
    });
    let refusals = model.columns().iter().position(|name| name == "refusals_pct").unwrap();
    let model: Compiled = model.compile().unwrap();
    Problem {
        name: format!("split, λ = {lambda}"),
        parameters: vec![parameter("theta", 0.0, 1.0, false)],
        start: vec![0.5],
        value: Box::new(move |x, key| {
            let policy = Policy::Coin(Coin::two(x[0]));
            model.replicate(&policy, key).unwrap()[refusals] / 100.0
        }),
        gap: Box::new(move |x| loss(x[0]) - loss(2.0 / 3.0)),
        best: vec![2.0 / 3.0],
    }
}

/// Mean sojourn time of two M/M/1 of rates 2 and 1 behind a coin, λ = 1.5, over 2 000 customers after
/// 500. The optimum leaves each a spare capacity in proportion to the root of its rate
/// (J. P. Buzen and P. P.-S. Chen, "Optimal load balancing in memory hierarchies", 1974).
pub fn two_queues() -> Problem {
    const LAMBDA: f64 = 1.5;
    const MU: [f64; 2] = [2.0, 1.0];
    let spare = (MU[0] + MU[1] - LAMBDA) / (MU[0].sqrt() + MU[1].sqrt());
    let best = (MU[0] - MU[0].sqrt() * spare) / LAMBDA;
    let mean = |p: f64| p / (MU[0] - p * LAMBDA) + (1.0 - p) / (MU[1] - (1.0 - p) * LAMBDA);
    Problem {
        name: "two M/M/1".to_owned(),
        // Both queues are stable within.
        parameters: vec![parameter("p", 0.4, 1.0, false)],
        start: vec![0.5],
        value: Box::new(|x, key| {
            let mut arrivals = key.stream(Role::Arrivals);
            let mut services = key.stream(Role::Service);
            let mut routing = key.stream(Role::Routing);
            let (mut work, mut sum) = ([0.0_f64; 2], 0.0);
            for customer in 0..2500 {
                let gap = exponential(&mut arrivals) / LAMBDA;
                work = work.map(|work| (work - gap).max(0.0));
                let server = usize::from(unit(&mut routing) >= x[0]);
                work[server] += exponential(&mut services) / MU[server];
                sum += if customer < 500 { 0.0 } else { work[server] };
            }
            sum / 2000.0
        }),
        gap: Box::new(move |x| mean(x[0]) - mean(best)),
        best: vec![best],
    }
}

pub fn all() -> Vec<Problem> {
    vec![mm1_1(), example_1(), split(1.0), split(3.0), split(10.0), two_queues()]
}
