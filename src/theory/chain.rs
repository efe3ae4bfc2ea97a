//! Stationary distribution of a finite continuous-time Markov chain given by its transitions.
//!
//! πQ = 0, Σπ = 1, where Q holds the rates between states. The chain is explored from a start state, breadth first;
//! its closed class is found; on it the balance equations are solved, by elimination without subtractions where its
//! band allows ([`gth`]), by Gauss–Seidel sweeps beyond ([`gauss_seidel`]). Whatever the method, the flows into and out
//! of each state are added up afterwards, and a solution that doesn't balance is an error, never a value.
//!
//! States stand in the order of their discovery, and the hash table is only looked up, so results don't depend on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use super::{gauss_seidel, gth};

/// Largest imbalance of a solution, Σ|inflow − outflow| / Σ outflow.
///
/// Rounding leaves about 1e-16; a thousand times that still shows a fault of the method and hides in no printed digit.
const MAX_IMBALANCE: f64 = 1e-13;

/// Why a chain has no stationary distribution here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// More states than the caller allows.
    #[error("too many states: more than {limit}")]
    TooManyStates { limit: usize },
    /// A rate that is negative, infinite or NaN.
    #[error("a transition rate is {rate}; rates are finite and not negative")]
    BadRate { rate: f64 },
    /// The long run depends on chance: the chain may settle in one closed class or in another.
    #[error("the chain has more than one closed class of states, so its long run is not unique")]
    SeveralClosedClasses,
    /// The sweeps stopped short of the accuracy asked for.
    #[error("no convergence on {states} states within the work allowed")]
    NotConverged { states: usize },
    /// The solution doesn't balance.
    #[error(
        "the solution is out of balance by {imbalance:e} of its flow; at most 1e-13 is allowed"
    )]
    OutOfBalance { imbalance: f64 },
}

/// A stationary distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Stationary<S> {
    /// The states in the order of their discovery, the start first.
    pub states: Vec<S>,
    /// Long-run fraction of time in each state; exactly 0 in states that are left for good.
    pub probabilities: Vec<f64>,
}

impl<S> Stationary<S> {
    /// Returns the long-run time average of `value`.
    pub fn expectation(&self, mut value: impl FnMut(&S) -> f64) -> f64 {
        self.states.iter().zip(&self.probabilities).map(|(s, p)| p * value(s)).sum()
    }
}

/// Rates out of each state: (index of the other state, rate > 0 [1/time unit]).
pub(super) type Rates = Vec<Vec<(usize, f64)>>;

/// Returns the stationary distribution of the chain that starts in `start`.
///
/// `transitions` reports each transition out of a state as the state it leads to and its rate [1/time unit]; it must give
/// the same for the same state. Rates to the same state add up; those of 0 and those back to the state itself count
/// for nothing. Errors in a probability are of the order of rounding, relative to that probability, where the chain is
/// eliminated, and below 1e-12 in sum where it is swept.
///
/// # Errors
/// See [`ChainError`].
///
/// ```
/// use balancelab::theory::stationary;
/// // M/M/1/2 at load 1/2: probabilities 4/7, 2/7, 1/7.
/// let queue = stationary(0u32, 10, |&n, to| {
///     if n < 2 {
///         to(n + 1, 1.0);
///     }
///     if n > 0 {
///         to(n - 1, 2.0);
///     }
/// })
/// .unwrap();
/// assert!((queue.expectation(|&n| f64::from(n)) - 4.0 / 7.0).abs() < 1e-15);
/// ```
pub fn stationary<S: Clone + Eq + Hash>(
    start: S,
    max_states: usize,
    transitions: impl FnMut(&S, &mut dyn FnMut(S, f64)),
) -> Result<Stationary<S>, ChainError> {
    let (states, rates) = explore(start, max_states, transitions)?;
    let class = closed_class(&rates)?;
    let solved = solve(&restricted(&rates, &class))?;
    let mut probabilities = vec![0.0; states.len()];
    for (&state, &p) in class.iter().zip(&solved) {
        probabilities[state] = p;
    }
    Ok(Stationary { states, probabilities })
}

/// Returns the states within reach of `start` in the order of their discovery, and the rates between them.
fn explore<S: Clone + Eq + Hash>(
    start: S,
    max_states: usize,
    mut transitions: impl FnMut(&S, &mut dyn FnMut(S, f64)),
) -> Result<(Vec<S>, Rates), ChainError> {
    let mut states = vec![start.clone()];
    let mut index = HashMap::from([(start, 0)]);
    let mut rates = Rates::new();
    let mut found = Vec::new();
    while rates.len() < states.len() {
        let from = rates.len();
        transitions(&states[from], &mut |to, rate| found.push((to, rate)));
        let mut row = Vec::with_capacity(found.len());
        for (to, rate) in found.drain(..) {
            if !(rate >= 0.0 && rate.is_finite()) {
                return Err(ChainError::BadRate { rate });
            }
            if rate == 0.0 {
                continue;
            }
            let next = states.len();
            let to = match index.entry(to) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(_) if next >= max_states => {
                    return Err(ChainError::TooManyStates { limit: max_states });
                }
                Entry::Vacant(new) => {
                    states.push(new.key().clone());
                    *new.insert(next)
                }
            };
            if to != from {
                row.push((to, rate));
            }
        }
        rates.push(row);
    }
    Ok((states, rates))
}

/// Returns the states of the only closed class in ascending order.
///
/// Going backwards from one state after another until all are marked, the last state that had to be started from
/// leads back to every state if any does. A state that every state leads to lies in the only closed class, and what is
/// within reach of it is that class.
fn closed_class(rates: &Rates) -> Result<Vec<usize>, ChainError> {
    let into = reversed(rates);
    let mut marked = vec![false; rates.len()];
    let mut last = 0;
    for state in 0..rates.len() {
        if !marked[state] {
            last = state;
            mark_reach(&into, state, &mut marked);
        }
    }
    let mut leads_to_last = vec![false; rates.len()];
    mark_reach(&into, last, &mut leads_to_last);
    if leads_to_last.contains(&false) {
        return Err(ChainError::SeveralClosedClasses);
    }
    let mut class = vec![false; rates.len()];
    mark_reach(rates, last, &mut class);
    Ok((0..rates.len()).filter(|&state| class[state]).collect())
}

/// Returns the rates into each state: (index of the state they come from, rate).
pub(super) fn reversed(rates: &Rates) -> Rates {
    let mut into = vec![Vec::new(); rates.len()];
    for (from, row) in rates.iter().enumerate() {
        for &(to, rate) in row {
            into[to].push((from, rate));
        }
    }
    into
}

/// Marks `from` and what is within reach of it, passing over what is marked already.
fn mark_reach(rates: &Rates, from: usize, marked: &mut [bool]) {
    marked[from] = true;
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        for &(to, _) in &rates[state] {
            if !marked[to] {
                marked[to] = true;
                open.push(to);
            }
        }
    }
}

/// Returns the rates within a closed class, its states numbered by their place in it.
fn restricted(rates: &Rates, class: &[usize]) -> Rates {
    let mut place = vec![0; rates.len()];
    for (new, &old) in class.iter().enumerate() {
        place[old] = new;
    }
    let row = |&old: &usize| rates[old].iter().map(|&(to, rate)| (place[to], rate)).collect();
    class.iter().map(row).collect()
}

/// Returns the stationary probabilities of an irreducible chain.
fn solve(rates: &Rates) -> Result<Vec<f64>, ChainError> {
    let probabilities = match gth::Band::of(rates) {
        Some(band) => band.solve(),
        None => {
            gauss_seidel::solve(rates).ok_or(ChainError::NotConverged { states: rates.len() })?
        }
    };
    let imbalance = imbalance(rates, &probabilities);
    if imbalance <= MAX_IMBALANCE {
        Ok(probabilities)
    } else {
        Err(ChainError::OutOfBalance { imbalance })
    }
}

/// Returns Σ|inflow − outflow| / Σ outflow, 0 for a state alone and NaN where a probability is not a number.
fn imbalance(rates: &Rates, probabilities: &[f64]) -> f64 {
    if probabilities.len() == 1 {
        return 0.0;
    }
    let mut net = vec![0.0; probabilities.len()];
    let mut flow = 0.0;
    for (from, row) in rates.iter().enumerate() {
        for &(to, rate) in row {
            let moved = probabilities[from] * rate;
            net[to] += moved;
            net[from] -= moved;
            flow += moved;
        }
    }
    net.iter().map(|x: &f64| x.abs()).sum::<f64>() / flow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(value: f64, truth: f64, tolerance: f64) {
        assert!((value - truth).abs() <= tolerance, "{value} is not {truth} ± {tolerance}");
    }

    /// Three M/M/c/c side by side: the truth is a product of truncated Poisson distributions.
    fn three_loss_systems(c: u32, rates: [f64; 3]) -> (Vec<[u32; 3]>, Rates) {
        explore([0; 3], 1_000_000, |busy, to| {
            for k in 0..3 {
                let mut next = *busy;
                if busy[k] < c {
                    next[k] += 1;
                    to(next, rates[k]);
                    next[k] -= 1;
                }
                if busy[k] > 0 {
                    next[k] -= 1;
                    to(next, f64::from(busy[k]));
                }
            }
        })
        .unwrap()
    }

    fn truncated_poisson(c: u32, a: f64) -> Vec<f64> {
        let mut terms = vec![1.0];
        for k in 1..=c {
            terms.push(terms[k as usize - 1] * a / f64::from(k));
        }
        let total: f64 = terms.iter().sum();
        terms.iter().map(|x| x / total).collect()
    }

    #[test]
    fn sweeps_and_elimination_meet_the_product_form() {
        let (states, rates) = three_loss_systems(7, [3.0, 5.0, 0.5]);
        let marginals = [3.0, 5.0, 0.5].map(|a| truncated_poisson(7, a));
        let truth = |s: &[u32; 3]| (0..3).map(|k| marginals[k][s[k] as usize]).product::<f64>();
        let eliminated = gth::Band::of(&rates).expect("512 states are few").solve();
        let swept = gauss_seidel::solve(&rates).expect("the chain mixes well");
        let mut sum_of_errors = 0.0;
        for ((state, e), s) in states.iter().zip(&eliminated).zip(&swept) {
            assert!((e / truth(state) - 1.0).abs() < 1e-13, "{state:?}: {e}");
            sum_of_errors += (s - truth(state)).abs();
        }
        assert!(sum_of_errors < 1e-12, "{sum_of_errors}");
    }

    #[test]
    fn a_chain_of_wide_band_is_swept_to_the_product_form() {
        let (states, rates) = three_loss_systems(29, [20.0, 9.0, 15.0]);
        assert_eq!(states.len(), 27_000);
        assert!(gth::Band::of(&rates).is_none(), "the band is too wide to eliminate");
        let marginals = [20.0, 9.0, 15.0].map(|a| truncated_poisson(29, a));
        let truth = |s: &[u32; 3]| (0..3).map(|k| marginals[k][s[k] as usize]).product::<f64>();
        let solved = solve(&rates).unwrap();
        let error: f64 = states.iter().zip(&solved).map(|(s, p)| (p - truth(s)).abs()).sum();
        assert!(error < 1e-12, "{error}");
    }

    #[test]
    fn sweeps_give_no_solution_where_parts_hardly_meet() {
        // Two pairs of states joined by rates of ε and 3ε: the pairs hold 3/4 and 1/4, whatever ε is.
        for meet in [1e-9, 1e-12, 1e-15, 1e-18] {
            let (_, rates) = explore((0, 0), 10, |&(pair, side), to| {
                to((pair, 1 - side), if side == 0 { 1.0 } else { 0.9 });
                to((1 - pair, side), if pair == 0 { meet } else { 3.0 * meet });
            })
            .unwrap();
            assert_eq!(gauss_seidel::solve(&rates), None, "{meet:e}");
            assert!(solve(&rates).is_ok(), "elimination has no such limit");
        }
    }

    #[test]
    fn rare_states_keep_their_digits() {
        // M/M/1/50 at load 1e-6: probabilities down to 1e-300, each to rounding.
        let queue = stationary(0u32, 100, |&n, to| {
            if n < 50 {
                to(n + 1, 1e-6);
            }
            if n > 0 {
                to(n - 1, 1.0);
            }
        })
        .unwrap();
        for (n, p) in queue.probabilities.iter().enumerate() {
            let truth = (1.0 - 1e-6) * 10f64.powi(-6 * n as i32);
            assert_near(p / truth, 1.0, 1e-13);
        }
    }

    #[test]
    fn weights_beyond_the_range_of_a_float_are_scaled() {
        // M/M/1/2000 at load 2: the last state outweighs the first by 2^2000.
        let queue = stationary(0u32, 3_000, |&n, to| {
            if n < 2_000 {
                to(n + 1, 2.0);
            }
            if n > 0 {
                to(n - 1, 1.0);
            }
        })
        .unwrap();
        assert_near(queue.probabilities[2_000], 0.5, 1e-15);
        assert_near(queue.expectation(|&n| f64::from(n)), 1_999.0, 1e-9);
    }

    #[test]
    fn parts_that_hardly_meet_are_weighed_right() {
        // Two pairs of states joined by rates of 1e-12 and 3e-12: the pairs hold 3/4 and 1/4.
        let chain = stationary((0, 0), 10, |&(pair, side), to| {
            to((pair, 1 - side), 1.0);
            to((1 - pair, side), if pair == 0 { 1e-12 } else { 3e-12 });
        })
        .unwrap();
        assert_near(chain.expectation(|&(pair, _)| f64::from(pair)), 0.25, 1e-15);
    }

    #[test]
    fn states_left_for_good_have_probability_zero() {
        // 0 → 1 → {2 ⇄ 3}, and 1 → 0.
        let chain = stationary(0, 10, |&state, to| match state {
            0 => to(1, 1.0),
            1 => {
                to(0, 5.0);
                to(2, 1.0);
            }
            2 => to(3, 1.0),
            _ => to(2, 4.0),
        })
        .unwrap();
        assert_eq!(chain.states, [0, 1, 2, 3]);
        assert_eq!(chain.probabilities[..2], [0.0, 0.0]);
        assert_near(chain.probabilities[2], 0.8, 1e-15);
        let absorbed = stationary(2u32, 10, |&n, to| (0..n).for_each(|k| to(k, 1.0))).unwrap();
        assert_eq!(absorbed.expectation(|&n| f64::from(n)), 0.0);
    }

    #[test]
    fn two_closed_classes_are_an_error() {
        let ends = stationary(0i32, 10, |&n, to| {
            if n.abs() < 2 {
                to(n - 1, 1.0);
                to(n + 1, 1.0);
            }
        });
        assert_eq!(ends, Err(ChainError::SeveralClosedClasses));
    }

    #[test]
    fn an_endless_chain_and_a_bad_rate_are_errors() {
        assert_eq!(
            stationary(0u64, 1_000, |&n, to| to(n + 1, 1.0)),
            Err(ChainError::TooManyStates { limit: 1_000 })
        );
        assert_eq!(
            stationary(0u8, 10, |_, to| to(1, -1.0)),
            Err(ChainError::BadRate { rate: -1.0 })
        );
        assert!(stationary(0u8, 10, |_, to| to(1, f64::NAN)).is_err());
        let limited = |limit| stationary(0u8, limit, |&n, to| to((n + 1) % 3, 1.0));
        assert!(limited(3).is_ok());
        assert_eq!(limited(2), Err(ChainError::TooManyStates { limit: 2 }));
    }

    #[test]
    fn rates_of_zero_and_loops_count_for_nothing_and_parallel_ones_add_up() {
        let chain = stationary(false, 2, |&state, to| {
            to(state, 7.0);
            to(!state, 0.0);
            to(!state, 1.0);
            to(!state, if state { 2.0 } else { 0.0 });
        })
        .unwrap();
        assert_near(chain.probabilities[0], 0.75, 1e-15);
    }

    #[test]
    fn a_solution_that_does_not_balance_is_an_error() {
        // The rate out of state 2 is beyond the range of a float.
        let chain = stationary(0u8, 10, |&n, to| match n {
            0 => to(1, 1.0),
            1 => to(2, 1.0),
            _ => (0..2).for_each(|k| to(k, f64::MAX)),
        });
        assert!(matches!(chain, Err(ChainError::OutOfBalance { .. })), "{chain:?}");
    }
}
