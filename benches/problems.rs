//! Optimisation problems with known answers, for the bench and the tests of the optimiser.
//!
//! MM1-1 and EXAMPLE-1 are problems of the SimOpt library under those names (D. J. Eckman,
//! S. G. Henderson and S. Shashaani, "SimOpt: a testbed for simulation-optimization experiments",
//! INFORMS J. Computing 35, 2023), with its lengths of runs and its starts.
#![allow(dead_code)]

use balancelab::design::Range;
use balancelab::model::{Compiled, LossRouter, Model, Redirect, Warmup};
use balancelab::optimize::{Evaluate, Request, Space, Stop, Target};
use balancelab::policy::{Coin, Policy};
use balancelab::rng::{Distribution, Pcg32, Role, StreamKey, content_hash, unit, unit_open};

type Value = Box<dyn Fn(&[f64], &StreamKey) -> f64 + Sync>;
type Gap = Box<dyn Fn(&[f64]) -> f64 + Sync>;

/// A problem with a known answer; the less the better.
pub struct Problem {
    pub name: String,
    pub parameters: Vec<Range>,
    /// In natural units.
    pub start: Vec<f64>,
    /// A replication's value.
    value: Value,
    /// Mean value less its minimum.
    pub gap: Gap,
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

pub fn range(low: f64, high: f64, log: bool) -> Range {
    Range { low, high, log, integer: false }
}

/// A standard normal variable of a stream (Box and Muller).
fn normal(random: &mut Pcg32) -> f64 {
    let radius = (-2.0 * unit_open(random).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * unit(random)).cos()
}

/// Returns a stream that depends on the point too.
fn of_point(x: &[f64], key: &StreamKey) -> Pcg32 {
    let salt = content_hash(format!("{x:?}").as_bytes());
    StreamKey { scenario: key.scenario ^ salt, ..*key }.stream(Role::Service)
}

/// ‖x‖² + N(0, 1) in the plane, from (2, 2); the noise doesn't depend on the streams alone but on
/// the point too, so that common random numbers are no help.
pub fn example_1() -> Problem {
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    Problem {
        name: "EXAMPLE-1".to_owned(),
        parameters: vec![range(-5.0, 5.0, false); 2],
        start: vec![2.0, 2.0],
        value: Box::new(move |x, key| square(x) + normal(&mut of_point(x, key))),
        gap: Box::new(square),
        best: vec![0.0, 0.0],
    }
}

/// Rosenbrock's valley in four dimensions, a tenth as steep, + N(0, 1) for each point by itself.
pub fn valley() -> Problem {
    let valley = |x: &[f64]| -> f64 {
        x.windows(2).map(|x| 10.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2)).sum()
    };
    Problem {
        name: "valley, 4 d".to_owned(),
        parameters: vec![range(-2.0, 2.0, false); 4],
        start: vec![-1.0; 4],
        value: Box::new(move |x, key| valley(x) + normal(&mut of_point(x, key))),
        gap: Box::new(valley),
        best: vec![1.0; 4],
    }
}

/// A bowl in twenty dimensions, one side steeper than the next, + .3 N(0, 1) for each point by itself
/// + a slope of N(0, 1) along each axis from the streams.
pub fn bowl() -> Problem {
    let bowl = |x: &[f64]| -> f64 {
        x.iter().enumerate().map(|(i, x)| (1.0 + i as f64 / 5.0) * (x - 0.3).powi(2)).sum()
    };
    Problem {
        name: "bowl, 20 d".to_owned(),
        parameters: vec![range(-1.0, 1.0, false); 20],
        start: vec![-0.5; 20],
        value: Box::new(move |x, key| {
            let mut slopes = key.stream(Role::Service);
            let slope: f64 = x.iter().map(|x| x * normal(&mut slopes)).sum();
            bowl(x) + slope + 0.3 * normal(&mut of_point(x, key))
        }),
        gap: Box::new(bowl),
        best: vec![0.3; 20],
    }
}

/// Exponential variable of mean 1.
fn exponential(random: &mut Pcg32) -> f64 {
    -unit_open(random).ln()
}

/// Mean sojourn time of 200 customers of an M/M/1 after 50, by Lindley's recursion.
fn sojourn(lambda: f64, mu: f64, arrivals: &mut Pcg32, services: &mut Pcg32) -> f64 {
    let (mut sojourn, mut sum) = (0.0_f64, 0.0);
    for customer in 0..250 {
        let gap = exponential(arrivals) / lambda;
        sojourn = (sojourn - gap).max(0.0) + exponential(services) / mu;
        sum += if customer < 50 { 0.0 } else { sojourn };
    }
    sum / 200.0
}

/// Mean sojourn time of a simulated M/M/1 (λ = 1.5; 200 customers after 50) plus 0.1 μ², from
/// μ = 5.
pub fn mm1_1() -> Problem {
    let mean = |mu: f64| 1.0 / (mu - 1.5) + 0.1 * mu * mu;
    let best = 2.829_356_4;
    Problem {
        name: "MM1-1".to_owned(),
        parameters: vec![range(1.6, 10.0, true)],
        start: vec![5.0],
        value: Box::new(|x, key| {
            let (mut arrivals, mut services) =
                (key.stream(Role::Arrivals), key.stream(Role::Service));
            let mu = x[0];
            sojourn(1.5, mu, &mut arrivals, &mut services) + 0.1 * mu * mu
        }),
        gap: Box::new(move |x| if x[0] > 1.5 { mean(x[0]) - mean(best) } else { f64::INFINITY }),
        best: vec![best],
    }
}

/// Five M/M/1 with λ = 1, …, 5 at once: mean number in system, by Little's law from the sojourn of 200
/// customers after 50, plus a tenth of the rates. The optimum is L. Kleinrock's capacity assignment,
/// μ = λ + √(λ/.1) ("Communication Nets", 1964).
pub fn capacities() -> Problem {
    const COST: f64 = 0.1;
    const LAMBDA: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
    let best = LAMBDA.map(|lambda| lambda + (lambda / COST).sqrt());
    let mean = |mu: &[f64]| -> f64 {
        LAMBDA.iter().zip(mu).map(|(lambda, mu)| lambda / (mu - lambda) + COST * mu).sum()
    };
    let range = |lambda: f64| range(1.1 * lambda, 11.0 * lambda + 9.0, true);
    Problem {
        name: "capacities, 5 d".to_owned(),
        parameters: LAMBDA.map(range).to_vec(),
        start: LAMBDA.map(|lambda| 1.5 * lambda).to_vec(),
        value: Box::new(|mu, key| {
            let (mut arrivals, mut services) =
                (key.stream(Role::Arrivals), key.stream(Role::Service));
            LAMBDA
                .iter()
                .zip(mu)
                .map(|(lambda, mu)| {
                    let sojourn = sojourn(*lambda, *mu, &mut arrivals, &mut services);
                    lambda * sojourn + COST * mu
                })
                .sum()
        }),
        gap: Box::new(move |mu| mean(mu) - mean(&best)),
        best: best.to_vec(),
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
        parameters: vec![range(0.0, 1.0, false)],
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
        parameters: vec![range(0.4, 1.0, false)],
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
    vec![
        mm1_1(),
        example_1(),
        split(1.0),
        split(3.0),
        split(10.0),
        two_queues(),
        valley(),
        capacities(),
        bowl(),
    ]
}
