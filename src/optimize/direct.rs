//! Solvers of deterministic functions, by argmin: golden section and Brent for one parameter,
//! Nelder and Mead's simplex and a particle swarm for any number.
//!
//! They minimise the sample mean over a fixed set of replications, the same at every point: on
//! common random numbers that is a function like any other, and the best point evaluated is the
//! solver's own. Its minimum is not that of the true mean; more replications bring the two together,
//! more points the solver to its end. Where the number of replications is not declared it is the
//! budget over the points that the solver needs as a rule: 12 for golden section (the box shrinks
//! to .5 %), 10 for Brent, 15 per vertex for the simplex, 20 generations of the swarm.
//!
//! What an executor of such solvers gets wrong under noise is kept from it: a point without a value
//! is a bad one, not an error; a point seen before is looked up; the best point is remembered here,
//! so that an error, which ends the search at the end of the budget, loses nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;

use argmin::core::{CostFunction, Error, Executor, IterState, PopulationState, SyncAlias};
use argmin::solver::brent::BrentOpt;
use argmin::solver::goldensectionsearch::GoldenSectionSearch;
use argmin::solver::neldermead::NelderMead;
use argmin::solver::particleswarm::{Particle, ParticleSwarm};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::search::{FAILED, mean_of_most, no_value, whole};
use super::spsa::stop;
use super::{Found, Search, Space, Stop};
use crate::rng::unit;

/// Where the golden section cuts, (3 − √5)/2.
const GOLDEN: f64 = 0.381_966_011_250_105_2;
/// Resolution of Brent's method [share of the box]: over less, a sample mean differs by its noise.
const RESOLUTION: f64 = 1e-3;
/// Most iterations of a solver of one parameter: by then a golden section is down to 1e-12.
const MOST_ITERATIONS: u64 = 60;
/// First edges of a simplex [share of the box].
const EDGE: f64 = 0.25;

/// Cuts the box by golden section, wherever the start is.
pub(super) fn golden_section(
    search: &mut Search,
    replications: Option<u32>,
) -> Result<Found, Stop> {
    let name = "golden_section";
    let fixed = RefCell::new(line(search, name, replications, 12)?);
    let solver = GoldenSectionSearch::new(0.0, 1.0)
        .and_then(|solver| solver.with_tolerance(f64::EPSILON))
        .map_err(stop)?;
    let executor = Executor::new(Line(&fixed), solver)
        .configure(|state: IterState<f64, (), (), (), (), f64>| {
            state.param(GOLDEN).max_iters(MOST_ITERATIONS)
        })
        .ctrlc(false);
    let run = executor.run().map(drop);
    fixed.into_inner().found(name, run)
}

/// Searches the box by Brent's method, wherever the start is.
pub(super) fn brent(search: &mut Search, replications: Option<u32>) -> Result<Found, Stop> {
    let name = "brent";
    let fixed = RefCell::new(line(search, name, replications, 10)?);
    let solver = BrentOpt::new(0.0, 1.0).set_tolerance(0.0, RESOLUTION);
    let executor = Executor::new(Line(&fixed), solver)
        .configure(|state: IterState<f64, (), (), (), (), f64>| state.max_iters(MOST_ITERATIONS))
        .ctrlc(false);
    let run = executor.run().map(drop);
    fixed.into_inner().found(name, run)
}

/// Moves a simplex with a vertex at `start` by the rules of Nelder and Mead, and a new one from the
/// best vertex until that is no better.
///
/// A vertex out of the box stands for the nearest point within, which alone is evaluated.
pub(super) fn nelder_mead(
    search: &mut Search,
    replications: Option<u32>,
    start: &[f64],
) -> Result<Found, Stop> {
    let name = "nelder_mead";
    let vertices = start.len() as u64 + 1;
    let mut fixed = Fixed::new(search, (name, "vertex"), replications, 15 * vertices, vertices)?;
    let mut corner = start.to_vec();
    loop {
        let simplex = simplex(fixed.search.space(), &corner);
        // The solver panics where one of these has an error: it will find them all evaluated.
        match fixed.costs(&simplex) {
            Ok(_) => {}
            Err(Stop::Budget) => break,
            Err(stop) => return Err(stop),
        }
        let most = fixed.search.left();
        let shared = RefCell::new(fixed);
        let executor = Executor::new(Cube(&shared), NelderMead::new(simplex))
            .configure(|state: IterState<Vec<f64>, (), (), (), (), f64>| state.max_iters(most))
            .ctrlc(false);
        let run = executor.run().map(drop);
        fixed = shared.into_inner();
        // A simplex may fold before it is there; from its best vertex a new one goes on.
        match &fixed.best {
            Some((_, best)) if run.is_ok() && *best != corner => corner.clone_from(best),
            _ => return fixed.found(name, run),
        }
    }
    fixed.found(name, Ok(()))
}

/// Returns a simplex with that corner and edges along the axes, into the cube.
fn simplex(space: &Space, corner: &[f64]) -> Vec<Vec<f64>> {
    let [plus, minus] = space.spread(corner, EDGE, &vec![1.0; corner.len()]);
    let vertex = |i: usize| {
        let away = |side: f64| (side - corner[i]).abs();
        let mut vertex = corner.to_vec();
        vertex[i] = if away(plus[i]) >= away(minus[i]) { plus[i] } else { minus[i] };
        vertex
    };
    std::iter::once(corner.to_vec()).chain((0..corner.len()).map(vertex)).collect()
}

/// Flies a swarm through the box, one of its particles from `start`.
///
/// Weights are those of the standard swarm of 2011, and so are first places and velocities: uniform
/// in the box, and towards a uniform point of it (M. Zambrano-Bigiarini, M. Clerc and R. Rojas,
/// "Standard particle swarm optimisation 2011 at CEC-2013", IEEE CEC 2013).
pub(super) fn particle_swarm(
    search: &mut Search,
    particles: u32,
    replications: Option<u32>,
    start: &[f64],
) -> Result<Found, Stop> {
    let name = "particle_swarm";
    let particles = particles.max(2);
    let (size, least) = (particles as usize, u64::from(particles));
    let mut random = search.random("swarm");
    let mut fixed = Fixed::new(search, (name, "particle"), replications, 20 * least, least)?;
    let mut uniform = || -> Vec<f64> { start.iter().map(|_| unit(&mut random)).collect() };
    let places: Vec<Vec<f64>> = std::iter::once(start.to_vec())
        .chain(std::iter::repeat_with(&mut uniform))
        .take(size)
        .collect();
    let costs = fixed.costs(&places)?;
    let particle = |(place, cost): (Vec<f64>, f64)| {
        let velocity = uniform().iter().zip(&place).map(|(to, from)| to - from).collect();
        Particle::new(place, cost, velocity)
    };
    let swarm: Vec<_> = places.into_iter().zip(costs).map(particle).collect();
    let generator = Xoshiro256PlusPlus::seed_from_u64(random.next_u64());
    let bounds = (vec![0.0; start.len()], vec![1.0; start.len()]);
    // Its own generator is seeded by the system, its own weights are the platform's logarithms.
    let pull = 0.5 + std::f64::consts::LN_2;
    let solver = ParticleSwarm::new(bounds, size)
        .with_rng_generator(generator)
        .with_inertia_factor(0.5 / std::f64::consts::LN_2)
        .and_then(|solver| solver.with_cognitive_factor(pull))
        .and_then(|solver| solver.with_social_factor(pull))
        .map_err(stop)?;
    let fixed = RefCell::new(fixed);
    let most = fixed.borrow().search.left();
    let executor = Executor::new(Cube(&fixed), solver)
        .configure(|state: PopulationState<Particle<Vec<f64>, f64>, f64>| {
            state.population(swarm).max_iters(most)
        })
        .ctrlc(false);
    let run = executor.run().map(drop);
    fixed.into_inner().found(name, run)
}

/// Returns the function of one parameter that a method for one alone minimises.
fn line<'s, 'a>(
    search: &'s mut Search<'a>,
    name: &'static str,
    replications: Option<u32>,
    points: u64,
) -> Result<Fixed<'s, 'a>, Stop> {
    let [this] = &search.space().parameters[..] else {
        let n = search.space().dimension();
        return Err(Stop::Failed(format!("{name} searches one parameter; there are {n}")));
    };
    // A narrow range of whole numbers has fewer points than that.
    let values = if this.integer { (this.high - this.low) as u64 + 1 } else { points };
    Fixed::new(search, (name, "point"), replications, points.min(values), values.min(3))
}

/// The mean over a fixed set of replications, as a function of a point.
struct Fixed<'s, 'a> {
    search: &'s mut Search<'a>,
    side: &'static str,
    first: u32,
    replications: u32,
    chosen: bool,
    /// Costs of the points evaluated, by the bits of their natural coordinates.
    seen: BTreeMap<Vec<u64>, f64>,
    /// The least cost there is, and where in the unit cube.
    best: Option<(f64, Vec<f64>)>,
}

impl<'s, 'a> Fixed<'s, 'a> {
    /// Returns the mean over the given replications, or else as many as let the budget pay for
    /// `points` points; refused where it doesn't for the `least` that make sense.
    fn new(
        search: &'s mut Search<'a>,
        (name, side): (&str, &'static str),
        replications: Option<u32>,
        points: u64,
        least: u64,
    ) -> Result<Self, Stop> {
        let left = search.left();
        let each = replications.unwrap_or(whole(left / points)).max(1);
        let needed = least * u64::from(each);
        if left < needed {
            let what = format!("{name} needs {least} points of {each} replications or more");
            return Err(Stop::Failed(format!("{what}, {needed} in all: the budget has {left}")));
        }
        Ok(Fixed {
            first: search.fresh(each),
            search,
            side,
            replications: each,
            chosen: replications.is_none(),
            seen: BTreeMap::new(),
            best: None,
        })
    }

    /// Returns the costs of points of the unit cube, side by side where not seen before.
    fn costs(&mut self, points: &[Vec<f64>]) -> Result<Vec<f64>, Stop> {
        let space = self.search.space();
        let actual: Vec<Vec<f64>> = points.iter().map(|point| space.actual(point)).collect();
        let key = |point: &Vec<f64>| -> Vec<u64> {
            space.natural(point).into_iter().map(f64::to_bits).collect()
        };
        let keys: Vec<Vec<u64>> = actual.iter().map(key).collect();
        let is_new =
            |&i: &usize| !self.seen.contains_key(&keys[i]) && !keys[..i].contains(&keys[i]);
        let new: Vec<usize> = (0..keys.len()).filter(is_new).collect();
        if !new.is_empty() {
            self.search.estimate =
                self.best.as_ref().map(|(_, unit)| self.search.space().natural(unit));
            let asked: Vec<(&str, &[f64])> =
                new.iter().map(|&i| (self.side, actual[i].as_slice())).collect();
            let costs = self.search.sample(&asked, self.first, self.replications)?;
            self.search.iteration += 1;
            for (&i, costs) in new.iter().zip(&costs) {
                let cost = mean_of_most(costs);
                if let Some(cost) = cost
                    && self.best.as_ref().is_none_or(|(least, _)| cost < *least)
                {
                    self.best = Some((cost, actual[i].clone()));
                }
                self.seen.insert(keys[i].clone(), cost.unwrap_or(FAILED));
            }
        }
        Ok(keys.iter().map(|key| self.seen[key]).collect())
    }

    /// Returns the cost at a share of the range of the one parameter.
    ///
    /// Between whole numbers it is interpolated: on the steps of a rounded one a solver takes two
    /// points of one step for a plateau, and throws the wrong side of it away.
    fn between(&mut self, share: f64) -> Result<f64, Stop> {
        let space = self.search.space();
        let (near, value) = (space.actual(&[share])[0], space.natural(&[share])[0]);
        let whole = space.parameters[0].integer && near != share;
        let next = if share > near { value + 1.0 } else { value - 1.0 };
        let far = if whole { space.unit(&[next])[0] } else { near };
        if far == near {
            return Ok(self.costs(&[vec![share]])?[0]);
        }
        let costs = self.costs(&[vec![near], vec![far]])?;
        Ok(costs[0] + (costs[1] - costs[0]) * (share - near) / (far - near))
    }

    /// Returns the best point, once argmin has come to an end of its own or to that of the budget.
    fn found(self, method: &'static str, run: Result<(), Error>) -> Result<Found, Stop> {
        match run.map_err(stop) {
            Ok(()) | Err(Stop::Budget) => {}
            Err(stop) => return Err(stop),
        }
        let (_, unit) = self.best.ok_or_else(no_value)?;
        let chosen = if self.chosen { ", as the budget allows" } else { "" };
        let why = format!("replications: {}, the same at every point{chosen}", self.replications);
        Ok(Found { unit, se: None, method, why, gains: None })
    }
}

/// The function of one parameter, as argmin holds it.
struct Line<'f, 's, 'a>(&'f RefCell<Fixed<'s, 'a>>);

impl CostFunction for Line<'_, '_, '_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, share: &f64) -> Result<f64, Error> {
        Ok(self.0.borrow_mut().between(share.clamp(0.0, 1.0))?)
    }
}

/// The function of any number of parameters, as argmin holds it.
struct Cube<'f, 's, 'a>(&'f RefCell<Fixed<'s, 'a>>);

impl CostFunction for Cube<'_, '_, '_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.borrow_mut().costs(std::slice::from_ref(point))?[0])
    }

    fn bulk_cost<P>(&self, points: &[P]) -> Result<Vec<f64>, Error>
    where
        P: std::borrow::Borrow<Vec<f64>> + SyncAlias,
    {
        let points: Vec<Vec<f64>> = points.iter().map(|point| point.borrow().clone()).collect();
        Ok(self.0.borrow_mut().costs(&points)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::Space;
    use crate::optimize::trials::{Known, start, whole_numbers};
    use crate::stats::Good;

    fn square(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum()
    }

    #[test]
    fn a_point_is_evaluated_once_and_a_batch_side_by_side() {
        let known = Known::quiet(square);
        start(Known::space(2), &known, Good::Less, 100, |search| {
            let mut fixed = Fixed::new(search, ("x", "vertex"), Some(4), 9, 2).unwrap();
            let points = [vec![0.5, 0.5], vec![1.0, 0.5], vec![0.5, 0.5], vec![7.0, 0.5]];
            assert_eq!(fixed.costs(&points), Ok(vec![0.0, 1.0, 0.0, 1.0]));
            assert_eq!(fixed.costs(&points[1..2]), Ok(vec![1.0]));
            assert_eq!((fixed.search.spent(), fixed.search.steps().len()), (8, 2));
            // The same streams for all.
            fixed.costs(&[vec![0.0, 0.0]]).unwrap();
            assert!(fixed.search.steps().iter().all(|step| step.streams.replication == 0));
        });
    }

    #[test]
    fn between_whole_numbers_costs_are_interpolated() {
        let known = Known::quiet(square);
        let space = Space { parameters: vec![whole_numbers(0.0, 10.0)] };
        start(space, &known, Good::Less, 100, |search| {
            let mut fixed = line(search, "brent", Some(1), 10).unwrap();
            let cost = |share, fixed: &mut Fixed| fixed.between(share).unwrap();
            assert_eq!(cost(0.2, &mut fixed), 4.0);
            assert!((cost(0.23, &mut fixed) - 5.5).abs() < 1e-12);
            assert!((cost(0.27, &mut fixed) - 7.5).abs() < 1e-12);
            assert_eq!((cost(0.0, &mut fixed), cost(1.0, &mut fixed)), (0.0, 100.0));
            assert_eq!(fixed.search.spent(), 4);
        });
    }

    /// The solver unwraps the costs of its first vertices.
    #[test]
    fn a_simplex_with_vertices_without_value_goes_on() {
        let known = Known::quiet(|x| if x[0] > 0.2 { f64::NAN } else { square(&[x[0] + 0.5]) });
        start(Known::space(2), &known, Good::Less, 200, |search| {
            let found = nelder_mead(search, Some(1), &[0.5, 0.5]).unwrap();
            assert!((found.unit[0] - 0.25).abs() < 0.01, "{found:?}");
        });
    }

    #[test]
    fn replications_are_the_declared_ones_or_what_the_budget_allows() {
        let known = Known::quiet(square);
        let why = |replications, budget| {
            start(Known::space(1), &known, Good::Less, budget, |search| {
                golden_section(search, replications).map(|found| found.why)
            })
        };
        let chosen = "replications: 10, the same at every point, as the budget allows";
        assert_eq!(why(None, 120), Ok(chosen.to_owned()));
        assert_eq!(why(Some(3), 120), Ok("replications: 3, the same at every point".to_owned()));
        let need = "golden_section needs 3 points of 50 replications or more, 150 in all: the budget \
                    has 120";
        assert_eq!(why(Some(50), 120), Err(Stop::Failed(need.to_owned())));
    }
}
