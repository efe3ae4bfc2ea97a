//! The supermarket under the power of d choices, at rate λ < 1 a server and service rate 1.
//!
//! s_i is the share of servers with i jobs or more. As their number N grows s follows
//! ds_i/dt = λ(s_{i−1}^d − s_i^d) − (s_i − s_{i+1}), whose fixed point is s_i = λ^((dⁱ − 1)/(d − 1))
//! (N. D. Vvedenskaya, R. L. Dobrushin, F. I. Karpelevich 1996; M. Mitzenmacher 2001). At finite N the
//! mean of s is that point plus V/N and terms of order 1/N² (N. Gast, B. Van Houdt, "A refined mean
//! field approximation", 2017): with A and B the first and second derivatives of the drift, Q the
//! covariance of its noise and W from A·W + W·Aᵀ + Q = 0, V = −A⁻¹(C + B:W/2). C is what the drift
//! itself has of 1/N: nothing where servers are drawn with replacement, and where they differ
//! −d(d−1)/2·λ(s_{i−1}^(d−1)(1 − s_{i−1}) − s_i^(d−1)(1 − s_i)).

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::chain::{ChainError, stationary};

/// Levels below this share are left out.
const NOTHING: f64 = 1e-14;
/// Most levels of a refinement: its Lyapunov equation has the square of them unknowns.
const MAX_LEVELS: usize = 40;
/// Most states of an exact solution.
const MAX_STATES: usize = 10_000;

/// Returns the fixed point s_1, s_2, … down to where it is nothing; `None` unless 0 ≤ λ < 1, d ≥ 1.
///
/// ```
/// use balancelab::theory::mean_field;
/// let levels = mean_field(0.9, 2).unwrap();
/// assert!((levels[2] - 0.9_f64.powi(7)).abs() < 1e-15);
/// assert!((levels.iter().sum::<f64>() / 0.9 - 2.614057).abs() < 5e-7);
/// ```
pub fn mean_field(load: f64, d: u32) -> Option<Vec<f64>> {
    if !(0.0..1.0).contains(&load) || d == 0 {
        return None;
    }
    let mut levels = Vec::new();
    // (dⁱ − 1)/(d − 1) = 1 + d + … + d^(i−1).
    let (mut exponent, mut power) = (0.0, 1.0);
    loop {
        exponent += power;
        power *= f64::from(d);
        let level = load.powf(exponent);
        if level < NOTHING {
            return Some(levels);
        }
        levels.push(level);
    }
}

/// Returns the mean share of servers with at least 1, 2, … jobs for N `servers`, to order 1/N.
///
/// `None` where there is no steady state, no fewer than two choices, fewer servers than choices, or
/// too many levels.
///
/// ```
/// use balancelab::theory::refined_mean_field;
/// // N. Gast and B. Van Houdt have 2.3925 jobs a server for N = 100.
/// let jobs: f64 = refined_mean_field(0.9, 2, true, 100).unwrap().iter().sum();
/// assert!((jobs - 2.3925).abs() < 5e-5);
/// ```
pub fn refined_mean_field(load: f64, d: u32, replace: bool, servers: u32) -> Option<Vec<f64>> {
    let point = mean_field(load, d)?;
    let n = point.len();
    if d < 2 || servers < d || n > MAX_LEVELS {
        return None;
    }
    let choices = f64::from(d);
    // s_{i−1} and s_{i+1}, where s_0 is 1 and the last is followed by nothing.
    let below = |i: usize| if i == 0 { 1.0 } else { point[i - 1] };
    let above = |i: usize| point.get(i + 1).copied().unwrap_or(0.0);
    let first = |s: f64| load * choices * s.powi(d as i32 - 1);
    let second = |s: f64| load * choices * (choices - 1.0) * s.powi(d as i32 - 2);
    let mut slopes = DMatrix::<f64>::zeros(n, n);
    let mut noise = DMatrix::<f64>::zeros(n, n);
    for i in 0..n {
        slopes[(i, i)] = -first(point[i]) - 1.0;
        if i > 0 {
            slopes[(i, i - 1)] = first(point[i - 1]);
        }
        if i + 1 < n {
            slopes[(i, i + 1)] = 1.0;
        }
        let up = load * (below(i).powi(d as i32) - point[i].powi(d as i32));
        noise[(i, i)] = up + point[i] - above(i);
    }
    // A·W + W·Aᵀ + Q = 0, as one system: (I ⊗ A + A ⊗ I)·vec W = −vec Q.
    let eye = DMatrix::<f64>::identity(n, n);
    let system = eye.kronecker(&slopes) + slopes.kronecker(&eye);
    let right = DVector::from_iterator(n * n, noise.iter().map(|q| -q));
    let covariance = DMatrix::from_column_slice(n, n, system.lu().solve(&right)?.as_slice());
    let own = |s: f64| {
        if replace {
            0.0
        } else {
            choices * (choices - 1.0) / 2.0 * s.powi(d as i32 - 1) * (1.0 - s)
        }
    };
    let drift = DVector::from_fn(n, |i, _| {
        // Only the powers bend: B has an entry for s_{i−1} and one for s_i.
        let before = if i > 0 { second(point[i - 1]) * covariance[(i - 1, i - 1)] } else { 0.0 };
        let bent = before - second(point[i]) * covariance[(i, i)];
        bent / 2.0 - load * (own(below(i)) - own(point[i]))
    });
    let shift = -slopes.lu().solve(&drift)?;
    Some(point.iter().zip(shift.iter()).map(|(s, v)| s + v / f64::from(servers)).collect())
}

/// How servers are chosen in [`few_servers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The least loaded of some that are drawn.
    Least {
        /// Servers drawn; all of them is join the shortest queue.
        d: u32,
        /// Whether a server may be drawn twice.
        replace: bool,
        /// Whether jobs in service don't count, so that an idle server and one with a single job
        /// are equal.
        waiting: bool,
    },
    /// An idle server if there is one, else any: join idle queue with one pool.
    Idle,
}

impl Choice {
    /// Returns what stands for a length, so that servers of equal keys are equal.
    fn key(self, length: u32) -> u32 {
        match self {
            Choice::Least { waiting: true, .. } => length.saturating_sub(1),
            Choice::Least { .. } => length,
            Choice::Idle => length.min(1),
        }
    }

    /// Returns the probability that the k-th of `servers`, from the least loaded, is chosen, where
    /// so many are idle.
    fn chance(self, k: usize, servers: u32, idle: usize) -> f64 {
        let n = f64::from(servers);
        match self {
            Choice::Least { d, replace, .. } => {
                // That all drawn are among the last m.
                let among = |m: f64| match replace {
                    true => (m / n).powi(d as i32),
                    false => {
                        let one = |i| ((m - f64::from(i)) / (n - f64::from(i))).max(0.0);
                        (0..d).map(one).product()
                    }
                };
                among(n - k as f64) - among(n - k as f64 - 1.0)
            }
            Choice::Idle if idle == 0 => 1.0 / n,
            Choice::Idle if k < idle => 1.0 / idle as f64,
            Choice::Idle => 0.0,
        }
    }
}

/// Returns the mean share of servers with at least 1, 2, … jobs for a few `servers`, exactly, or with
/// `capacity` jobs a server at the most.
///
/// The chain of queue lengths is cut where it is hardly ever; ties are broken at random.
///
/// # Errors
/// [`ChainError`], above all where it would have too many states.
pub fn few_servers(
    load: f64,
    choice: Choice,
    servers: u32,
    capacity: Option<u32>,
) -> Result<Vec<f64>, ChainError> {
    if let Some(capacity) = capacity {
        return cut(load, choice, servers, capacity).map(|levels| levels.0);
    }
    let mut length = 8;
    loop {
        let (levels, full) = cut(load, choice, servers, length)?;
        if full < 1e-11 {
            return Ok(levels);
        }
        length += length / 2;
    }
}

/// Returns the levels of the chain with at most so many jobs a server, and how much of the time an
/// arrival is refused.
fn cut(
    load: f64,
    choice: Choice,
    servers: u32,
    capacity: u32,
) -> Result<(Vec<f64>, f64), ChainError> {
    let n = servers as usize;
    // Of each run of equal servers where it is, and the probability that one of it is chosen.
    let chances = |lengths: &Vec<u32>| -> Vec<(Range<usize>, f64)> {
        let idle = lengths.iter().filter(|&&length| length == 0).count();
        let runs = groups(lengths, |length| choice.key(length)).into_iter();
        runs.map(|run| {
            let chance = run.clone().map(|k| choice.chance(k, servers, idle)).sum();
            (run, chance)
        })
        .collect()
    };
    // Lengths, rising.
    let chain = stationary(vec![0_u32; n], MAX_STATES, |lengths, to| {
        for run in groups(lengths, |length| length) {
            if lengths[run.start] > 0 {
                let mut next = lengths.clone();
                next[run.start] -= 1;
                to(next, run.len() as f64);
            }
        }
        for (tied, chance) in chances(lengths) {
            for run in groups(&lengths[tied.clone()], |length| length) {
                let (last, share) =
                    (tied.start + run.end - 1, run.len() as f64 / tied.len() as f64);
                if lengths[last] < capacity {
                    let mut next = lengths.clone();
                    next[last] += 1;
                    to(next, load * n as f64 * chance * share);
                }
            }
        }
    })?;
    let level = |least: u32| {
        let share = |lengths: &Vec<u32>| lengths.iter().filter(|&&l| l >= least).count() as f64;
        chain.expectation(share) / n as f64
    };
    let refused = chain.expectation(|lengths| {
        let full = |(tied, chance): (Range<usize>, f64)| {
            let full = lengths[tied.clone()].iter().filter(|&&length| length == capacity).count();
            chance * full as f64 / tied.len() as f64
        };
        chances(lengths).into_iter().map(full).sum()
    });
    Ok(((1..=capacity).map(level).collect(), refused))
}

/// Returns the runs of equal keys.
fn groups(lengths: &[u32], key: impl Fn(u32) -> u32) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, &length) in lengths.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if key(lengths[group.start]) == key(length) => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E[T] of the mean field, to the digits that are published.
    #[test]
    fn the_mean_field_has_its_published_sojourn_times() {
        for (load, times) in [
            (0.5, [2.0, 1.265686, 1.125244, 1.031250]),
            (0.7, [3.333333, 1.614454, 1.356842, 1.168093]),
            (0.9, [10.0, 2.614057, 2.027856, 1.632881]),
            (0.95, [20.0, 3.383046, 2.535133, 1.988772]),
            (0.99, [100.0, 5.431997, 3.857847, 2.901683]),
        ] {
            for (d, time) in [1, 2, 3, 5].into_iter().zip(times) {
                let sum: f64 = mean_field(load, d).unwrap().iter().sum();
                assert!((sum / load - time).abs() < 6e-7, "{load} {d} {}", sum / load);
            }
        }
        assert_eq!(mean_field(1.0, 2), None);
    }

    #[test]
    fn few_servers_have_their_exact_values() {
        let time = |servers, d, load, replace, waiting| {
            let choice = Choice::Least { d, replace, waiting };
            few_servers(load, choice, servers, None).unwrap().iter().sum::<f64>() / load
        };
        for (value, servers, replace, load) in [
            (1.59656079, 2, true, 0.5),
            (1.42632075, 2, false, 0.5),
            (1.47761263, 3, true, 0.5),
            (1.35200347, 3, false, 0.5),
            (5.47491282, 2, false, 0.9),
        ] {
            let found = time(servers, 2, load, replace, false);
            assert!((found - value).abs() < 6e-9, "{servers} {replace} {load}: {found}");
        }
        assert!((time(2, 2, 0.5, false, true) - 1.56033).abs() < 6e-6);
        // Join idle queue of two.
        let jiq: f64 = few_servers(0.5, Choice::Idle, 2, None).unwrap().iter().sum();
        assert!((jiq / 0.5 - 1.5).abs() < 1e-9, "{jiq}");
        // One choice is M/M/1, and a single server too.
        assert!((time(2, 1, 0.5, false, false) - 2.0).abs() < 1e-9);
        assert!((time(1, 1, 0.5, true, false) - 2.0).abs() < 1e-9);
        // M/M/1/2 at load 1/2: 3/7 of the time at least one job, 1/7 two.
        let choice = Choice::Least { d: 1, replace: true, waiting: false };
        let levels = few_servers(0.5, choice, 1, Some(2)).unwrap();
        assert!((levels[0] - 3.0 / 7.0).abs() < 1e-12 && (levels[1] - 1.0 / 7.0).abs() < 1e-12);
    }

    /// Jobs a server as N. Gast and B. Van Houdt simulated them, with replacement; the error left is
    /// of order 1/N².
    #[test]
    fn the_refinement_is_near_at_tens_of_servers() {
        for (load, simulated) in [
            (0.7, [1.2193, 1.1737, 1.1471, 1.1387]),
            (0.9, [2.8002, 2.5662, 2.4350, 2.3931]),
            (0.95, [4.2993, 3.7124, 3.3983, 3.3066]),
        ] {
            let mean_field: f64 = mean_field(load, 2).unwrap().iter().sum();
            for (servers, value) in [10, 20, 50, 100].into_iter().zip(simulated) {
                let refined = refined_mean_field(load, 2, true, servers).unwrap();
                let refined: f64 = refined.iter().sum();
                let left = (value - refined) / (value - mean_field);
                assert!(
                    (0.0..0.3).contains(&left) || (value - refined).abs() < 5e-4,
                    "{load} {servers} {left}"
                );
            }
        }
        // Different servers: E[T] at N = 100, simulated to .003 or better.
        for (load, d, value) in
            [(0.5, 2, 1.26704), (0.9, 2, 2.64518), (0.9, 3, 2.06198), (0.7, 5, 1.17572)]
        {
            let jobs: f64 = refined_mean_field(load, d, false, 100).unwrap().iter().sum();
            assert!((jobs / load - value).abs() < 0.003, "{load} {d} {}", jobs / load);
        }
    }
}
