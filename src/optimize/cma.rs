//! Covariance matrix adaptation (CMA-ES), by the crate `cmaes`.
//!
//! A normal distribution moves through the box: of each generation of samples the better half, by
//! rank alone, shifts its mean and shapes its covariance. All samples of a generation run on the
//! same streams, fresh ones each time. The answer is the mean of the distribution, averaged over the
//! last half of the generations, never the best sample, which was lucky.
//!
//! Ranks on few streams favour what is best on most of them, which need not have the best mean: by
//! default a sample takes as many replications as leave a hundred generations.
//!
//! The box is mirrored at its sides: a sample beyond one is evaluated at its mirror image within. That
//! needs no weight for a penalty, and no sample is wasted; the price is a ridge at an optimum on the
//! side, next to which the mean settles at a distance of the order of the spread.
//!
//! N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772 (2016), whose defaults the
//! crate takes, for one parameter too. The crate asks for one sample at a time, so that only the
//! replications of a sample run side by side; it draws with the platform's logarithms and
//! exponentials, and in more than five dimensions multiplies with fused operations where the
//! processor has them: its last bits may differ from one machine to another.

use std::cell::{Cell, RefCell};

use cmaes::{CMAESOptions, DVector, Weights};
use rand::Rng;

use super::search::{FAILED, mean, mean_of_most, no_value, whole};
use super::{Found, Search, Stop};

/// First standard deviation [share of the box].
const SPREAD: f64 = 0.25;
/// Generations that the replications of a sample leave to the budget, where they are not declared.
const GENERATIONS: u64 = 100;
/// Share of the generations whose means are averaged, from the end.
const AVERAGED: f64 = 0.5;

/// Searches from `start`, a point of the unit cube, until the budget is spent.
pub(super) fn search(
    search: &mut Search,
    population: Option<u32>,
    replications: Option<u32>,
    start: &[f64],
) -> Result<Found, Stop> {
    let usual = 4 + (3.0 * libm::log(start.len() as f64)) as u32;
    let population = population.unwrap_or(usual).max(2);
    let usual = whole(search.left() / (u64::from(population) * GENERATIONS));
    let replications = replications.unwrap_or(usual).max(1);
    let price = u64::from(population) * u64::from(replications);
    if search.left() < price {
        let left = search.left();
        let what = format!("cma_es needs {price} replications for a generation");
        return Err(Stop::Failed(format!("{what}: the budget has {left}")));
    }
    let seed = search.random("samples").next_u64();
    let search = RefCell::new(search);
    let (first, valued, ended) = (Cell::new(0), Cell::new(false), RefCell::new(None));
    let cost = |at: &DVector<f64>| {
        let point = mirrored(at);
        let mut search = search.borrow_mut();
        match search.sample(&[("sample", &point)], first.get(), replications) {
            Ok(costs) => {
                let cost = mean_of_most(&costs[0]);
                valued.set(valued.get() || cost.is_some());
                cost.unwrap_or(FAILED)
            }
            Err(stop) => {
                *ended.borrow_mut() = Some(stop);
                f64::NAN
            }
        }
    };
    // Positive weights keep the covariance positive definite; the tolerances would take the end of
    // luck, or of noise, for the end of progress.
    let mut cma = CMAESOptions::new(start.to_vec(), SPREAD)
        .population_size(population as usize)
        .weights(Weights::Positive)
        .tol_fun(0.0)
        .tol_fun_rel(0.0)
        .tol_fun_hist(0.0)
        .tol_stagnation(usize::MAX)
        .seed(seed)
        .build(cost)
        .map_err(|error| Stop::Failed(format!("cma_es: {error:?}")))?;
    let mut means = Vec::new();
    while search.borrow().left() >= price {
        {
            let mut search = search.borrow_mut();
            first.set(search.fresh(replications));
            search.iteration = means.len() as u32;
            search.estimate = Some(search.space().natural(&mirrored(cma.mean())));
        }
        let end = cma.next();
        if let Some(stop) = ended.take() {
            return Err(stop);
        }
        means.push(mirrored(cma.mean()));
        if end.is_some() {
            break;
        }
    }
    if !valued.get() {
        return Err(no_value());
    }
    let last = &means[means.len() - (means.len() as f64 * AVERAGED).ceil() as usize..];
    let coordinate = |i| mean(&last.iter().map(|mean| mean[i]).collect::<Vec<_>>());
    let unit = (0..start.len()).map(coordinate).collect();
    let why = format!("{population} samples a generation, over {} generations", means.len());
    Ok(Found { unit, se: None, method: "cma_es", why, gains: None })
}

/// Returns the point of the unit cube that mirrors at its sides bring a point to.
fn mirrored(at: &DVector<f64>) -> Vec<f64> {
    at.iter().map(|x| 1.0 - (x.rem_euclid(2.0) - 1.0).abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::trials::{Known, start};
    use crate::stats::Good;

    #[test]
    fn what_is_beyond_a_side_is_mirrored_into_the_cube() {
        let at = DVector::from_vec(vec![0.25, -0.25, 1.25, 2.25, -1.0, 1.0]);
        assert_eq!(mirrored(&at), [0.25, 0.25, 0.75, 0.25, 1.0, 1.0]);
    }

    #[test]
    fn a_generation_shares_fresh_streams() {
        let known = Known::quiet(|x| x[0] * x[0]);
        start(Known::space(1), &known, Good::Less, 100, |of| {
            let found = search(of, Some(5), Some(2), &[0.9]).unwrap();
            assert_eq!(found.why, "5 samples a generation, over 10 generations");
            for (i, step) in of.steps().iter().enumerate() {
                let generation = i as u32 / 5;
                assert_eq!(
                    (step.iteration, step.streams.replication),
                    (generation, 2 * generation)
                );
            }
        });
    }
}
