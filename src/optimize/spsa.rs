//! Simultaneous perturbation stochastic approximation, as a solver of argmin's.
//!
//! An iteration perturbs all coordinates at once along a random direction of signs Δ, evaluates
//! the two sides on common random numbers, and moves by a_k times the difference quotient. Each
//! coordinate is projected on the box by itself, and the difference is divided by the distance
//! that is left, so that a coordinate at its bound neither stops the others nor biases them.
//!
//! The answer is the average of the last half of the iterates (B. T. Polyak and A. B. Juditsky,
//! "Acceleration of stochastic approximation by averaging", SIAM J. Control Optim. 30, 1992).

use std::cell::RefCell;

use argmin::core::{Error, Executor, IterState, KV, Problem, Solver, State, TerminationReason};
use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::search::mean;
use super::{Found, Gains, Phase, Search, Stop};
use crate::rng::{Pcg32, below};
use crate::spec::{Form, Spsa as Options};

#[cfg(test)]
mod tests;

/// Perturbation of the pilot, where none is declared [share of the box].
const PILOT_PERTURBATION: f64 = 0.1;
/// Largest perturbation that the pilot may choose [share of the box].
const MOST_PERTURBATION: f64 = 0.15;
/// Share of the iterates that is averaged, from the end.
const AVERAGED: f64 = 0.5;

/// Share of the averaged iterates at a side of the box from which there is no standard error.
const AT_SIDE: f64 = 0.05;
/// Decay of the weights of new estimates in the mean Hessian.
const WEIGHT: f64 = 0.602;

/// The function as argmin holds it.
pub(super) struct Noisy<'s, 'a>(pub RefCell<&'s mut Search<'a>>);

type Iterate = IterState<Vec<f64>, (), (), (), (), f64>;

/// Searches from `start`, a point of the unit cube, until the budget is spent.
pub(super) fn search(search: &mut Search, options: &Options, start: &[f64]) -> Result<Found, Stop> {
    let mut directions = search.random("directions");
    let (mut gains, middle) = pilot(search, options, start, &mut directions)?;
    search.phase = Phase::Search;
    let solver = Spsa {
        options: *options,
        gains,
        directions,
        at: start.to_vec(),
        iterates: Vec::new(),
        costs: (middle, 1.0),
        hessian: DMatrix::zeros(start.len(), start.len()),
    };
    let problem = Noisy(RefCell::new(search));
    // Neither argmin's best point nor its target cost: both take a lucky sample for a good point.
    let executor = Executor::new(problem, solver)
        .configure(|state: Iterate| {
            state.param(start.to_vec()).max_iters(u64::from(gains.iterations))
        })
        .ctrlc(false);
    let solver = executor.run().map_err(stop)?.solver;
    let iterates = solver.iterates;
    let from = iterates.len() - (iterates.len() as f64 * AVERAGED).ceil() as usize;
    let last = &iterates[from..];
    let coordinate = |i: usize| -> Vec<f64> { last.iter().map(|at| at[i]).collect() };
    let (unit, se) = if last.is_empty() {
        (start.to_vec(), None)
    } else {
        let coordinates: Vec<Vec<f64>> = (0..start.len()).map(coordinate).collect();
        let se = coordinates.iter().map(|series| standard_error(series)).collect::<Option<_>>();
        (coordinates.iter().map(|series| mean(series)).collect(), se)
    };
    // Those made: retries may have cost the last ones.
    gains.iterations = iterates.len() as u32;
    Ok(Found { unit, se, method: "spsa", why: String::new(), gains: Some(gains) })
}

/// Returns what ended a search that argmin ran.
pub(super) fn stop(error: Error) -> Stop {
    match error.downcast::<Stop>() {
        Ok(stop) => stop,
        Err(error) => Stop::Failed(error.to_string()),
    }
}

/// Measures slope and noise at the start, and chooses the gains; returns the mean cost there too.
fn pilot(
    search: &mut Search,
    options: &Options,
    start: &[f64],
    directions: &mut Pcg32,
) -> Result<(Gains, f64), Stop> {
    search.phase = Phase::Pilot;
    let width = options.perturbation.unwrap_or(PILOT_PERTURBATION);
    let (mut slopes, mut noise, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for iteration in 0..(search.left() / 100).clamp(2, 10) as u32 {
        search.iteration = iteration;
        let direction = signs(directions, start.len());
        let sides = search.space().spread(start, width, &direction);
        let first = search.fresh(2);
        let Some(costs) = search.together(&named(&sides), first, 2)? else { continue };
        let [one, two] = [costs[0][0] - costs[1][0], costs[0][1] - costs[1][1]];
        noise.push((one - two) * (one - two) / 2.0);
        let distance = sides[0].iter().zip(&sides[1]).map(|(plus, minus)| (plus - minus).abs());
        slopes.push((one + two).abs() / 2.0 / distance.fold(0.0, f64::max));
        values.extend(costs.into_iter().flatten());
    }
    if slopes.is_empty() {
        return Err(Stop::Failed("no replication near the start gave a value".to_owned()));
    }
    let (slope, noise) = (mean(&slopes), mean(&noise).sqrt());
    let per_side = f64::from(options.replications) * f64::from(options.pairs);
    // The curvature is taken for the slope over a quarter of the box. The perturbation is then
    // where a cost has risen by as much as its noise: below, differences drown; above, they bend.
    let measured = (noise / 2.0_f64.sqrt() / per_side.sqrt() / (2.0 * slope)).sqrt();
    let measured = if measured.is_nan() { 0.0 } else { measured };
    let most = MOST_PERTURBATION.max(options.least_perturbation);
    let c = options.perturbation.unwrap_or(measured.clamp(options.least_perturbation, most));
    let iterations = (search.left() / options.price(start.len())) as u32;
    let stability = options.stability * f64::from(iterations);
    let mut gains = Gains { a: 0.0, c, stability, iterations, slope, noise };
    let middle = mean(&values);
    let square = |value: &f64| (value - middle).powi(2);
    let spread = mean(&values.iter().map(square).collect::<Vec<_>>()).sqrt();
    gains.first_step(
        options.first_step,
        match options.form {
            Form::TwoSided => slope,
            Form::OneMeasurement => spread / c,
        },
    );
    Ok((gains, middle))
}

impl Options {
    /// Returns the replications of one iteration in `dimension` parameters.
    fn price(&self, dimension: usize) -> u64 {
        let sides = match self.form {
            Form::TwoSided if self.second_order && dimension > 1 => 4,
            Form::TwoSided => 2,
            Form::OneMeasurement => 1,
        };
        let blocking = if self.blocking { 2 } else { 0 };
        u64::from(self.replications) * (u64::from(self.pairs) * sides + blocking)
    }
}

/// The solver; its iterate is a point of the unit cube.
struct Spsa {
    options: Options,
    gains: Gains,
    directions: Pcg32,
    at: Vec<f64>,
    iterates: Vec<Vec<f64>>,
    /// Sum and number of the costs of the one-measurement form so far; the pilot's mean is the first.
    costs: (f64, f64),
    /// Mean of the estimates of the Hessian.
    hessian: DMatrix<f64>,
}

impl Solver<Noisy<'_, '_>, Iterate> for Spsa {
    fn name(&self) -> &str {
        "SPSA"
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<Noisy>,
        state: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        let k = state.get_iter() as u32;
        let end = problem.problem("iterations", |noisy| {
            let search = &mut **noisy.0.borrow_mut();
            search.iteration = k;
            search.gains = Some([self.gains.step(k), self.gains.perturbation(k)]);
            search.estimate = Some(search.space().natural(&self.at));
            Ok(self.iterate(search, k))
        })?;
        match end {
            // Retries cost replications too, so that the last iterations may not be paid for.
            Err(Stop::Budget) => {
                let spent = TerminationReason::SolverExit(Stop::Budget.to_string());
                return Ok((state.terminate_with(spent), None));
            }
            end => end?,
        }
        self.iterates.push(self.at.clone());
        Ok((state.param(self.at.clone()), None))
    }
}

impl Spsa {
    fn iterate(&mut self, search: &mut Search, k: u32) -> Result<(), Stop> {
        let mut slopes = Vec::new();
        for _ in 0..self.options.pairs {
            slopes.extend(match self.options.form {
                Form::TwoSided => self.difference(search, k)?,
                Form::OneMeasurement => self.measurement(search, k)?,
            });
        }
        // An iteration whose evaluations all failed stays where it is.
        if slopes.is_empty() {
            return Ok(());
        }
        let gradient: Vec<f64> = (0..self.at.len())
            .map(|i| mean(&slopes.iter().map(|slope| slope[i]).collect::<Vec<_>>()))
            .collect();
        let clip = self.options.clip;
        let to: Vec<f64> = self
            .at
            .iter()
            .zip(self.step(k, &gradient))
            .map(|(at, step)| (at - step.clamp(-clip, clip)).clamp(0.0, 1.0))
            .collect();
        if !self.options.blocking || self.is_no_worse(search, &to)? {
            self.at = to;
        }
        Ok(())
    }

    /// Returns the step against a gradient.
    fn step(&self, k: u32, gradient: &[f64]) -> Vec<f64> {
        let warm = self.options.second_order && f64::from(k) > self.gains.stability;
        if !warm || gradient.len() < 2 {
            let step = self.gains.step(k);
            return gradient.iter().map(|slope| step * slope).collect();
        }
        // Newton's step on the mean Hessian, made positive definite: eigenvalues by their size,
        // none below a hundredth of the largest. Its gain starts at 1 and decays as a_k does.
        let eigen = SymmetricEigen::new(self.hessian.clone());
        let largest = eigen.eigenvalues.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let floor = if largest > 0.0 { 0.01 * largest } else { 1.0 };
        let turned = eigen.eigenvectors.tr_mul(&DVector::from_column_slice(gradient));
        let scaled =
            turned.zip_map(&eigen.eigenvalues, |slope, value| slope / value.abs().max(floor));
        let gain = self.gains.step(k) / self.gains.step(0);
        (gain * (&eigen.eigenvectors * scaled)).iter().copied().collect()
    }

    /// Returns the gradient estimate of one pair, if it has values.
    fn difference(&mut self, search: &mut Search, k: u32) -> Result<Option<Vec<f64>>, Stop> {
        let n = self.options.replications;
        let c = self.gains.perturbation(k);
        let direction = signs(&mut self.directions, self.at.len());
        let sides = search.space().spread(&self.at, c, &direction);
        let first = search.fresh(n);
        if !(self.options.second_order && self.at.len() > 1) {
            let costs = search.together(&named(&sides), first, n)?;
            return Ok(costs.map(|costs| quotient(mean(&costs[0]) - mean(&costs[1]), &sides)));
        }
        // Each side once more, moved along a second direction.
        let second = signs(&mut self.directions, self.at.len());
        let [[plus, _], [minus, _]] =
            [0, 1].map(|side| search.space().spread(&sides[side], c, &second));
        let mut points = named(&sides).to_vec();
        points.extend([("plus_moved", plus.as_slice()), ("minus_moved", minus.as_slice())]);
        let Some(costs) = search.together(&points, first, n)? else { return Ok(None) };
        let cost: Vec<f64> = costs.iter().map(|costs| mean(costs)).collect();
        let along = distance(&sides[0], &sides[1]);
        let moved = distance(&plus, &sides[0]);
        // Where a bound held one of them back, their slopes don't cancel.
        let other = distance(&minus, &sides[1]);
        if moved.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-9) {
            self.learn_hessian(k, cost[2] - cost[0] - cost[3] + cost[1], &moved, &along);
        }
        Ok(Some(quotient(cost[0] - cost[1], &sides)))
    }

    /// Takes in that the rise along `moved` changed by `change` over a distance `along`.
    ///
    /// That is moved·H·along for the Hessian H. What the mean so far says of it is taken off first,
    /// which leaves the estimate's expectation and takes the noise of the other elements out of it
    /// (J. C. Spall, "Adaptive stochastic approximation by the simultaneous perturbation method",
    /// IEEE Trans. Autom. Control 45, 2000; "Feedback and weighting mechanisms for improving
    /// Jacobian estimates in the adaptive simultaneous perturbation algorithm", 54, 2009).
    fn learn_hessian(&mut self, k: u32, change: f64, moved: &[f64], along: &[f64]) {
        let d = self.at.len();
        let said = DVector::from_column_slice(moved)
            .dot(&(&self.hessian * DVector::from_column_slice(along)));
        let weight = libm::pow(f64::from(k) + 1.0 + (d * d) as f64, -WEIGHT);
        let surprise = DMatrix::from_fn(d, d, |i, j| over(over(change - said, moved[i]), along[j]));
        self.hessian += weight / 2.0 * (&surprise + surprise.transpose());
    }

    /// Returns the gradient estimate of one measurement, if it has a value: its excess over the
    /// mean of those before, which adds nothing to the mean of the estimate, along the direction.
    ///
    /// The iterate is kept c away from the sides of the box, so that either direction is as long:
    /// at a side one would be cut off, and all that is measured would push the same way.
    fn measurement(&mut self, search: &mut Search, k: u32) -> Result<Option<Vec<f64>>, Stop> {
        let n = self.options.replications;
        let c = self.gains.perturbation(k);
        self.at.iter_mut().for_each(|at| *at = at.clamp(c, 1.0 - c));
        let direction = signs(&mut self.directions, self.at.len());
        let [plus, _] = search.space().spread(&self.at, c, &direction);
        let first = search.fresh(n);
        let Some(costs) = search.together(&[("plus", &plus)], first, n)? else { return Ok(None) };
        let cost = mean(&costs[0]);
        let excess = cost - self.costs.0 / self.costs.1;
        self.costs = (self.costs.0 + cost, self.costs.1 + 1.0);
        let slope = |(plus, at): (&f64, &f64)| excess * (plus - at) / (c * c);
        Ok(Some(plus.iter().zip(&self.at).map(slope).collect()))
    }

    /// Returns whether a step's end is not worse than where it starts by more than two standard
    /// deviations of the noise; a comparison that fails blocks nothing.
    fn is_no_worse(&self, search: &mut Search, to: &[f64]) -> Result<bool, Stop> {
        let n = self.options.replications;
        let first = search.fresh(n);
        let costs = search.together(&[("new", to), ("old", &self.at)], first, n)?;
        let allowed = 2.0 * self.gains.noise / f64::from(n).sqrt();
        Ok(costs.is_none_or(|costs| mean(&costs[0]) - mean(&costs[1]) <= allowed))
    }
}

/// Returns the difference over the distance of the sides, coordinate by coordinate.
fn quotient(difference: f64, [plus, minus]: &[Vec<f64>; 2]) -> Vec<f64> {
    distance(plus, minus).into_iter().map(|distance| over(difference, distance)).collect()
}

fn distance(to: &[f64], from: &[f64]) -> Vec<f64> {
    to.iter().zip(from).map(|(to, from)| to - from).collect()
}

/// Returns a quotient, 0 where nothing moved.
fn over(difference: f64, distance: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { difference / distance }
}

fn named(sides: &[Vec<f64>; 2]) -> [(&'static str, &[f64]); 2] {
    [("plus", &sides[0]), ("minus", &sides[1])]
}

/// Returns a sign per coordinate, each as likely as the other and independent of the rest.
fn signs(random: &mut Pcg32, n: usize) -> Vec<f64> {
    (0..n).map(|_| if below(random, 2) == 0 { 1.0 } else { -1.0 }).collect()
}

/// Returns the standard error of the mean of successive iterates.
///
/// Near the optimum the iterates are a first-order autoregression, u ← u − a·H·(u − u*) + noise;
/// of such a series of n the variance of the mean is s²/n·(1 + ρ)/(1 − ρ). The estimate of ρ is
/// corrected for its bias −(1 + 3ρ)/n (F. H. C. Marriott and J. A. Pope, "Bias in the estimation
/// of autocorrelations", Biometrika 41, 1954). Nothing is known of fewer than ten; NaN stands for a
/// series that never moved or that leaned on a side of the box, which is no autoregression.
fn standard_error(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    if n < 10.0 {
        return None;
    }
    let middle = mean(series);
    let variance = series.iter().map(|at| (at - middle).powi(2)).sum::<f64>() / n;
    let at_side = series.iter().filter(|&&at| at == 0.0 || at == 1.0).count();
    let still = series.iter().all(|at| *at == series[0]);
    if still || at_side as f64 > AT_SIDE * n {
        return Some(f64::NAN);
    }
    let lagged = series.windows(2).map(|two| (two[0] - middle) * (two[1] - middle)).sum::<f64>();
    let rho = lagged / (n * variance);
    let rho = (rho + (1.0 + 3.0 * rho) / n).clamp(0.0, 1.0 - 2.0 / n);
    Some((variance / n * (1.0 + rho) / (1.0 - rho)).sqrt())
}
