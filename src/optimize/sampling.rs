//! Points chosen beforehand, and what is best among them: random, quasi-random, and a grid.
//!
//! Random and Sobol points are halved again and again. Each round has the same share of the budget;
//! its points run on the same streams, fresh ones in every round, and the better half goes on. What
//! survives was never the luckiest of many on the streams that chose it.
//! (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed bandits", ICML
//! 2013, sequential halving.)
//!
//! A grid is left to the procedure KN ([`crate::stats::selection`]).

use rand::Rng;

use super::search::{FAILED, mean_of_most, no_value, whole};
use super::{Found, Search, Stop};
use crate::rng::unit;
use crate::stats::Good;
use crate::stats::selection::{FIRST_STAGE, Fault, MAX_SYSTEMS, Selection};

/// Replications of the budget per point, where the number of points is not declared.
const PER_POINT: u64 = 8;
/// Most points, where their number is not declared.
const MOST_POINTS: u32 = 1 << 16;
/// Longest Sobol sequence of the crate.
const LONGEST: u64 = 1 << 16;

/// Takes the best of points uniform in the box; one of them is `start`.
pub(super) fn random(
    search: &mut Search,
    points: Option<u32>,
    start: &[f64],
) -> Result<Found, Stop> {
    let mut random = search.random("points");
    let uniform = || start.iter().map(|_| unit(&mut random)).collect();
    let n = number(search, points);
    let points = std::iter::once(start.to_vec()).chain(std::iter::repeat_with(uniform)).take(n);
    halve(search, "random", points.collect())
}

/// Takes the best of the points of a scrambled Sobol sequence; one more is `start`.
///
/// (B. Burley, "Practical hash-based Owen scrambling", J. Computer Graphics Techniques 9, 2020.)
/// Every 256 parameters are a sequence of their own.
pub(super) fn sobol(
    search: &mut Search,
    points: Option<u32>,
    start: &[f64],
) -> Result<Found, Stop> {
    let seed = search.random("points").next_u32();
    let coordinate = |point: u32, i: u32| {
        f64::from(sobol_burley::sample(point, i % 256, seed.wrapping_add(i / 256)))
    };
    let point = |p| (0..start.len() as u32).map(|i| coordinate(p, i)).collect();
    let n = number(search, points).min(LONGEST as usize);
    let points = std::iter::once(start.to_vec()).chain((0..n as u32 - 1).map(point));
    halve(search, "sobol", points.collect())
}

fn number(search: &Search, points: Option<u32>) -> usize {
    points.unwrap_or(whole(search.left() / PER_POINT).min(MOST_POINTS)).max(2) as usize
}

/// Halves the points until one is left.
fn halve(search: &mut Search, method: &'static str, points: Vec<Vec<f64>>) -> Result<Found, Stop> {
    let mut alive: Vec<(f64, &Vec<f64>)> = points.iter().map(|point| (FAILED, point)).collect();
    let sizes: Vec<u64> = std::iter::successors(Some(points.len() as u64), |n| Some(n.div_ceil(2)))
        .take_while(|&n| n > 1)
        .collect();
    let needed: u64 = sizes.iter().sum();
    if search.left() < needed {
        let what = format!("{method} needs {needed} replications for {} points", points.len());
        return Err(Stop::Failed(format!("{what}: the budget has {}", search.left())));
    }
    for (round, &size) in sizes.iter().enumerate() {
        let later: u64 = sizes[round + 1..].iter().sum();
        let share = (search.left() / (sizes.len() - round) as u64).min(search.left() - later);
        let replications = whole(share / size).max(1);
        let first = search.fresh(replications);
        search.iteration = round as u32;
        let asked: Vec<(&str, &[f64])> =
            alive.iter().map(|(_, point)| ("point", point.as_slice())).collect();
        let costs = search.sample(&asked, first, replications)?;
        for ((cost, _), costs) in alive.iter_mut().zip(&costs) {
            *cost = mean_of_most(costs).unwrap_or(FAILED);
        }
        alive.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        alive.truncate(size.div_ceil(2) as usize);
        search.estimate = Some(search.space().natural(alive[0].1));
    }
    let (cost, best) = alive[0];
    if cost == FAILED {
        return Err(no_value());
    }
    let why = format!("the best of {} points, halved in {} rounds", points.len(), sizes.len());
    Ok(Found { unit: best.clone(), se: None, method, why, gains: None })
}

/// Selects the best point of a grid of that many values per parameter, by KN with the indifference
/// `delta` and the `confidence`.
///
/// Without a `delta` it is what an even share of the budget can tell apart: the root mean square of
/// the paired differences' standard deviations in the first stage, over the root of the share. A
/// replication without a value counts for its point like the worst of the others.
pub(super) fn grid(
    search: &mut Search,
    points: u32,
    delta: Option<f64>,
    confidence: f64,
) -> Result<Found, Stop> {
    let grid = lattice(search, points)?;
    let share = search.left() / grid.len() as u64;
    if share < 2 {
        let what = format!("a grid of {} points needs {} replications", grid.len(), 2 * grid.len());
        return Err(Stop::Failed(format!("{what}: the budget has {}", search.left())));
    }
    let stage = whole(share / 2).clamp(2, FIRST_STAGE);
    let all: Vec<usize> = (0..grid.len()).collect();
    let rows = rows(search, &grid, &all, stage)?;
    if rows.is_empty() {
        return Err(no_value());
    }
    // Without noise any indifference will do.
    let usual = Some(spread(&rows) / (share as f64).sqrt()).filter(|&delta| delta > 0.0);
    let delta = delta.or(usual).unwrap_or(1.0);
    // Costs are made small already.
    let mut selection =
        Selection::new(grid.len(), stage, delta, confidence, Good::Less).map_err(fault)?;
    let mut sums = vec![0.0; grid.len()];
    take(&mut selection, &mut sums, &rows)?;
    while selection.best().is_none() {
        let alive = selection.alive().to_vec();
        search.iteration = selection.replications();
        search.estimate = leader(&selection, &sums).map(|best| search.space().natural(&grid[best]));
        // A tenth ahead: what it may waste is little, and there is work for every core.
        let ahead = u64::from(selection.replications() / 10).max(1);
        let block = ahead.min(search.left() / alive.len() as u64);
        if block == 0 {
            break;
        }
        let rows = self::rows(search, &grid, &alive, whole(block))?;
        take(&mut selection, &mut sums, &rows)?;
    }
    let unit = grid[leader(&selection, &sums).unwrap_or(0)].clone();
    let why = match selection.alive().len() {
        1 => format!("selected among {} points with an indifference of {delta:.3e}", grid.len()),
        n => format!(
            "undecided: the best mean of {n} points left of {}, with an indifference of {delta:.3e}",
            grid.len()
        ),
    };
    Ok(Found { unit, se: None, method: "grid", why, gains: None })
}

fn fault(fault: Fault) -> Stop {
    Stop::Failed(format!("grid: {fault}"))
}

/// Feeds replications to a selection and to the sums of its systems.
fn take(
    selection: &mut Selection,
    sums: &mut [f64],
    rows: &[Vec<(usize, f64)>],
) -> Result<(), Stop> {
    for row in rows {
        row.iter().for_each(|&(i, cost)| sums[i] += cost);
        selection.push(row).map_err(fault)?;
    }
    Ok(())
}

/// Returns the system of the best mean among those left.
fn leader(selection: &Selection, sums: &[f64]) -> Option<usize> {
    selection.alive().iter().copied().min_by(|&i, &j| sums[i].total_cmp(&sums[j]))
}

/// Returns the points of a grid in the unit cube, each once; every whole number, where the points
/// suffice.
fn lattice(search: &Search, points: u32) -> Result<Vec<Vec<f64>>, Stop> {
    let space = search.space();
    let points = points.max(2);
    let mut grid = vec![Vec::new()];
    for axis in (0..space.dimension()).map(|i| space.lattice(i, points)) {
        if grid.len() * axis.len() > MAX_SYSTEMS {
            let what = format!("a grid of {points} points per parameter is too large");
            return Err(Stop::Failed(format!("{what}: a selection takes {MAX_SYSTEMS}")));
        }
        let longer = |point: &Vec<f64>| -> Vec<Vec<f64>> {
            axis.iter().map(|&share| point.iter().copied().chain([share]).collect()).collect()
        };
        grid = grid.iter().flat_map(longer).collect();
    }
    Ok(grid)
}

/// Returns costs of some points of a grid, replication by replication; none where all failed.
fn rows(
    search: &mut Search,
    grid: &[Vec<f64>],
    which: &[usize],
    replications: u32,
) -> Result<Vec<Vec<(usize, f64)>>, Stop> {
    let asked: Vec<(&str, &[f64])> = which.iter().map(|&i| ("point", grid[i].as_slice())).collect();
    let first = search.fresh(replications);
    let costs = search.sample(&asked, first, replications)?;
    let row = |r: usize| {
        let worst = costs.iter().filter_map(|costs| costs[r]).max_by(f64::total_cmp)?;
        Some(which.iter().zip(&costs).map(|(&i, costs)| (i, costs[r].unwrap_or(worst))).collect())
    };
    Ok((0..replications as usize).filter_map(row).collect())
}

/// Returns the root mean square, over all pairs of points, of the standard deviations of their
/// differences over the replications.
fn spread(rows: &[Vec<(usize, f64)>]) -> f64 {
    // Of k numbers, the mean over pairs of (x_i − x_j)² is 2/(k − 1) times the sum of the squares
    // about their mean.
    let k = rows[0].len();
    let point = |i: usize| rows.iter().map(|row| row[i].1).sum::<f64>() / rows.len() as f64;
    let means: Vec<f64> = (0..k).map(point).collect();
    let squares = |row: &Vec<(usize, f64)>| {
        let free: Vec<f64> = row.iter().zip(&means).map(|((_, cost), mean)| cost - mean).collect();
        let middle = free.iter().sum::<f64>() / k as f64;
        free.iter().map(|cost| (cost - middle).powi(2)).sum::<f64>()
    };
    let freedom = (rows.len().max(2) - 1) as f64;
    (2.0 / (k as f64 - 1.0) * rows.iter().map(squares).sum::<f64>() / freedom).sqrt()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::design::Range;
    use crate::optimize::Space;
    use crate::optimize::trials::{Known, start, whole_numbers};

    fn square(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum()
    }

    #[test]
    fn rounds_have_equal_shares_and_fresh_streams() {
        let known = Known::quiet(square);
        start(Known::space(1), &known, Good::Less, 240, |search| {
            let found = random(search, Some(8), &[0.5]).unwrap();
            assert_eq!(found.unit, [0.5]);
            assert_eq!(found.why, "the best of 8 points, halved in 3 rounds");
            let rounds = [(8, 10, 0), (4, 20, 10), (2, 40, 30)];
            let expected: Vec<(u32, u32)> =
                rounds.iter().flat_map(|&(n, each, first)| vec![(each, first); n]).collect();
            let steps = search.steps().iter();
            let seen: Vec<(u32, u32)> =
                steps.map(|step| (step.replications, step.streams.replication)).collect();
            assert_eq!(seen, expected);
        });
    }

    /// 16 Sobol points have one in each sixteenth of either axis, and the start is one more.
    #[test]
    fn sobol_points_are_spread_evenly() {
        let known = Known::quiet(square);
        start(Known::space(2), &known, Good::Less, 1000, |search| {
            sobol(search, Some(17), &[0.5, 0.5]).unwrap();
            let points = || search.steps()[1..17].iter().map(|step| step.point.clone());
            for axis in 0..2 {
                let strata: BTreeSet<i64> =
                    points().map(|x| ((x[axis] + 1.0) * 8.0).floor() as i64).collect();
                assert_eq!(strata.len(), 16);
            }
        });
    }

    /// Differences 1, 3, −1 and 2, 2, 2 and 1, −1, 3 have the variances 4, 0 and 4.
    #[test]
    fn the_spread_is_that_of_the_paired_differences() {
        let rows = [[3.0, 2.0, 1.0], [5.0, 2.0, 3.0], [2.0, 3.0, 0.0]]
            .map(|row| row.into_iter().enumerate().collect::<Vec<_>>());
        assert!((spread(&rows) - (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_grid_has_each_whole_number_once_and_a_limit() {
        let space = Space { parameters: vec![whole_numbers(1.0, 4.0), whole_numbers(1.0, 30.0)] };
        let known = Known::quiet(square);
        let points = |points| {
            start(space.clone(), &known, Good::Less, 1, |search| {
                lattice(search, points).map(|grid| grid.len())
            })
        };
        assert_eq!((points(3), points(10), points(200)), (Ok(9), Ok(40), Ok(120)));
        // On a scale of ratios too.
        let log = Range { log: true, ..whole_numbers(1.0, 50.0) };
        let space = Space { parameters: vec![log] };
        let all = start(space, &known, Good::Less, 1, |search| lattice(search, 50)).unwrap();
        assert_eq!(all.len(), 50);
        let plain = Range { integer: false, ..whole_numbers(1.0, 30.0) };
        let space = Space { parameters: vec![plain; 3] };
        let large = start(space, &known, Good::Less, 1, |search| lattice(search, 20)).unwrap_err();
        let what = "a grid of 20 points per parameter is too large: a selection takes 4096";
        assert_eq!(large.to_string(), what);
    }

    #[test]
    fn a_selection_without_a_decision_says_so() {
        let known = Known { own: 1.0, ..Known::quiet(|_| 0.0) };
        let why = |delta| {
            start(Known::space(1), &known, Good::Less, 200, |search| {
                let found = grid(search, 3, Some(delta), 0.95).unwrap();
                (found.why, search.spent())
            })
        };
        let (undecided, spent) = why(0.01);
        assert!(undecided.starts_with("undecided: the best mean of 3 points left of 3,"));
        assert!(spent > 196, "{spent}");
        assert_eq!(why(2.0).0, "selected among 3 points with an indifference of 2.000e0");
    }
}
