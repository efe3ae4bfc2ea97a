//! The supermarket on its way: what its mean field is at a time, from any start.
//!
//! With s_i the share of servers with i jobs or more, at rate λ a server and service rate 1,
//! ds_i/dt = λ(s_{i−1}^d − s_i^d) − (s_i − s_{i+1}), s_0 = 1 (N. D. Vvedenskaya, R. L. Dobrushin,
//! F. I. Karpelevich 1996; M. Mitzenmacher 2001): what N equal servers follow up to the order of 1/N
//! on every finite stretch of time (T. G. Kurtz 1970), drawn with replacement or without. λ may be 1
//! or more. For d = 1 each server is an M/M/1 of its own, and this is exact for any N.
//!
//! Levels beyond the n-th are left out, as if a job that finds n were lost. That makes no s_i
//! greater, and all of them together less by what was lost at the most: the drift of a level rises
//! with the levels next to it, so the full system stays above the cut one, and the sum of the
//! differences grows by λ·s_n^d at the most. What is lost is therefore integrated along, and there
//! are as many levels as it takes to keep it below 1e-10. Steps are those of DOP853 (E. Hairer,
//! S. P. Nørsett, G. Wanner 1993).

use ivp::dense::StepInterpolant;
use ivp::methods::DOP853;
use ivp::prelude::{FirstOrderSystem, Status};
use ivp::solout::{ControlFlag, SolOut};

use super::choices::mean_field;

/// Most that is lost for lack of levels [jobs a server].
const LOST: f64 = 1e-10;
/// Error of a step, of each level.
const STEP_ERROR: f64 = 1e-12;
/// Most levels.
const MAX_LEVELS: usize = 4_096;
/// Most steps times levels.
const MAX_WORK: usize = 5_000_000;

/// Returns the shares s_1, s_2, … of servers with so many jobs or more at each of the rising `times`,
/// with an error below 1e-8, given those at time 0.
///
/// `load` is λ ≥ 0 times the mean `service` time, which is in the unit of the times. `None` where
/// arguments mean nothing (d = 0, shares that aren't falling from 1, times that aren't rising from 0)
/// or it takes more than 4 096 levels or 5 million steps of a level, as very long times do.
///
/// ```
/// use balancelab::theory::{mean_field, transient_mean_field};
/// // Nothing comes: servers with a job still have it with probability exp(−t).
/// let levels = transient_mean_field(2, 0.0, &[1.0], 3.0, &[6.0]).unwrap();
/// assert!((levels[0][0] - (-2.0_f64).exp()).abs() < 1e-11);
/// // In the long run the start is forgotten.
/// let late = &transient_mean_field(2, 0.9, &[], 1.0, &[500.0]).unwrap()[0];
/// assert!((late[1] - mean_field(0.9, 2).unwrap()[1]).abs() < 1e-9);
/// ```
pub fn transient_mean_field(
    d: u32,
    load: f64,
    start: &[f64],
    service: f64,
    times: &[f64],
) -> Option<Vec<Vec<f64>>> {
    let power = i32::try_from(d).ok().filter(|&power| power > 0)?;
    let falls = |list: &[f64]| list.windows(2).all(|pair| pair[0] >= pair[1]);
    let shares = falls(start) && start.iter().all(|share| (0.0..=1.0).contains(share));
    let rises = times.windows(2).all(|pair| pair[0] <= pair[1]);
    let known = |value: f64| value >= 0.0 && value.is_finite();
    let times: Vec<f64> = times.iter().map(|time| time / service).collect();
    let known = known(load) && known(service) && times.iter().all(|&time| known(time));
    if !(shares && rises && known && service > 0.0) {
        return None;
    }
    let settled = mean_field(load, d).map_or(0, |levels| levels.len());
    let mut levels = start.len().max(settled.min(64)) + 8;
    while levels <= MAX_LEVELS {
        let cut = Cut { power, load, levels };
        match cut.follow(start, &times)? {
            Followed::To(states) => return Some(states),
            Followed::TooFewLevels => levels *= 2,
        }
    }
    None
}

/// The equations cut after so many levels. What was lost by that is one more variable, the last.
struct Cut {
    power: i32,
    load: f64,
    levels: usize,
}

enum Followed {
    /// The levels at each time.
    To(Vec<Vec<f64>>),
    TooFewLevels,
}

impl FirstOrderSystem for Cut {
    fn derivative(&self, _time: f64, state: &[f64], slope: &mut [f64]) {
        let comes = |share: f64| self.load * share.powi(self.power);
        let mut before = self.load;
        for level in 0..self.levels {
            let above = if level + 1 < self.levels { state[level + 1] } else { 0.0 };
            let own = comes(state[level]);
            slope[level] = before - own - (state[level] - above);
            before = own;
        }
        slope[self.levels] = before;
    }
}

impl Cut {
    /// Follows the levels through the rising times; nothing if that takes too many steps.
    fn follow(&self, start: &[f64], times: &[f64]) -> Option<Followed> {
        let mut state = vec![0.0; self.levels + 1];
        state[..start.len()].copy_from_slice(start);
        let mut notes = Notes { times, levels: self.levels, states: Vec::new(), lost: 0.0 };
        let end = times.last().copied().unwrap_or(0.0);
        if end == 0.0 {
            return Some(Followed::To(vec![state[..self.levels].to_vec(); times.len()]));
        }
        // All eigenvalues are within 2(1 + λd) (Gershgorin), and steps are stable up to 6 of one.
        let longest = 3.0 / (1.0 + self.load * f64::from(self.power));
        let max_steps = MAX_WORK / self.levels;
        if end / longest > max_steps as f64 {
            return None;
        }
        let solver = DOP853 { max_step: Some(longest), max_steps, ..DOP853::default() };
        let error = || STEP_ERROR.into();
        let solved =
            solver.solve(self, 0.0, &state, end, error(), error(), Some(&mut notes)).ok()?;
        if notes.lost > LOST {
            return Some(Followed::TooFewLevels);
        }
        let done = solved.status == Status::Success && notes.states.len() == times.len();
        done.then_some(Followed::To(notes.states))
    }
}

/// What is noted on the way.
struct Notes<'a> {
    times: &'a [f64],
    levels: usize,
    /// The levels at as many of the times as have passed.
    states: Vec<Vec<f64>>,
    lost: f64,
}

impl SolOut for Notes<'_> {
    fn solout(
        &mut self,
        _before: f64,
        now: &mut f64,
        state: &mut [f64],
        within: Option<&StepInterpolant<'_>>,
    ) -> ControlFlag {
        self.lost = state[self.levels];
        if self.lost > LOST {
            return ControlFlag::Interrupt;
        }
        let mut shares = state.to_vec();
        while let Some(&time) = self.times.get(self.states.len()).filter(|&&time| time <= *now) {
            match within {
                Some(within) if time < *now => within.interpolate(time, &mut shares),
                _ => shares.copy_from_slice(state),
            }
            // Rounding leaves some below nothing.
            self.states.push(shares[..self.levels].iter().map(|share| share.max(0.0)).collect());
        }
        ControlFlag::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: [f64; 7] = [0.0, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0];

    #[track_caller]
    fn assert_near(value: f64, truth: f64, error: f64) {
        assert!((value - truth).abs() < error, "{value} is not {truth}");
    }

    /// Without arrivals a server has done as many jobs as a Poisson process has points.
    #[test]
    fn servers_that_get_nothing_empty_as_erlang_times_pass() {
        for jobs in [1, 2, 5, 40] {
            let found = transient_mean_field(3, 0.0, &vec![1.0; jobs], 2.0, &TIMES).unwrap();
            for (levels, time) in found.iter().zip(TIMES) {
                let time = time / 2.0;
                // P(fewer than k points): the sum of the first k of its probabilities.
                let (mut sum, mut term) = (0.0, libm::exp(-time));
                for (done, &level) in levels[..jobs].iter().rev().enumerate() {
                    sum += term;
                    term *= time / (done + 1) as f64;
                    assert_near(level, sum, 1e-10);
                }
                assert!(levels[jobs..].iter().all(|&level| level == 0.0));
            }
        }
    }

    /// M/M/1 at a time, by uniformisation: its chain makes a Poisson number of steps.
    fn mm1(load: f64, start: usize, time: f64) -> Vec<f64> {
        let (rate, up) = (load + 1.0, load / (load + 1.0));
        let steps = (rate * time + 12.0 * (rate * time).sqrt() + 40.0) as usize;
        let mut chance = vec![0.0; start + steps + 2];
        chance[start] = 1.0;
        let mut sum = vec![0.0; chance.len()];
        let mut log = -rate * time;
        for step in 0..=steps {
            let weight = libm::exp(log);
            sum.iter_mut().zip(&chance).for_each(|(sum, chance)| *sum += weight * chance);
            let mut next = vec![0.0; chance.len()];
            for (jobs, chance) in chance.iter().enumerate().take(chance.len() - 1) {
                next[jobs + 1] += up * chance;
                next[jobs.saturating_sub(1)] += (1.0 - up) * chance;
            }
            chance = next;
            log += libm::log(rate * time / (step + 1) as f64);
        }
        let tail = |level: usize| sum[level..].iter().sum();
        (1..sum.len()).map(tail).collect()
    }

    #[test]
    fn one_choice_is_the_transient_queue() {
        for (load, start) in [(0.5, 0), (0.9, 0), (0.9, 5), (1.0, 2), (1.6, 3)] {
            let tails = vec![1.0; start];
            let found = transient_mean_field(1, load, &tails, 1.0, &TIMES).unwrap();
            for (levels, time) in found.iter().zip(TIMES) {
                let exact = if time > 0.0 { mm1(load, start, time) } else { tails.clone() };
                for at in 0..levels.len().max(exact.len()) {
                    let of = |list: &[f64]| list.get(at).copied().unwrap_or(0.0);
                    assert_near(of(levels), of(&exact), 1e-9);
                }
            }
        }
    }

    #[test]
    fn what_is_settled_stays_and_what_is_not_settles() {
        for (load, d, late) in [(0.5, 1, 300.0), (0.9, 2, 600.0), (0.95, 3, 900.0), (0.7, 50, 90.0)]
        {
            let point = mean_field(load, d).unwrap();
            for (start, time) in [(&*point, 50.0), (&[], late), (&[1.0; 9], late)] {
                let found = transient_mean_field(d, load, start, 1.0, &[time]).unwrap();
                for (at, level) in found[0].iter().enumerate() {
                    assert_near(*level, point.get(at).copied().unwrap_or(0.0), 1e-8);
                }
            }
        }
    }

    /// Jobs a server grow by what comes less what servers with a job do.
    #[test]
    fn jobs_are_in_balance() {
        for (load, d) in [(0.9, 2), (1.3, 2), (0.8, 1), (0.95, 7)] {
            let step = 1e-3;
            let times: Vec<f64> = (0..=8_000).map(|at| f64::from(at) * step).collect();
            let found = transient_mean_field(d, load, &[0.8, 0.3, 0.3], 1.0, &times).unwrap();
            let jobs = |at: usize| found[at].iter().sum::<f64>();
            let mut busy = 0.0;
            for at in (2..times.len()).step_by(2) {
                // Simpson's rule.
                busy += (found[at - 2][0] + 4.0 * found[at - 1][0] + found[at][0]) * step / 3.0;
                assert_near(jobs(at) - jobs(0), load * times[at] - busy, 1e-8);
            }
        }
    }

    /// A tenth of the time at a time, started again each time from where it was.
    #[test]
    fn the_way_does_not_depend_on_where_it_is_looked_at() {
        let times: Vec<f64> = (1..=200).map(|at| f64::from(at) / 10.0).collect();
        let often = transient_mean_field(2, 0.9, &[1.0; 5], 1.0, &times).unwrap();
        let mut levels = vec![1.0; 5];
        for found in &often {
            levels = transient_mean_field(2, 0.9, &levels, 1.0, &[0.1]).unwrap().remove(0);
            for (&level, &found) in levels.iter().zip(found) {
                assert_near(found, level, 1e-9);
            }
        }
    }

    #[test]
    fn arguments_that_mean_nothing_have_no_values() {
        let find = |d, load, start: &[f64], service, times: &[f64]| {
            transient_mean_field(d, load, start, service, times)
        };
        assert_eq!(find(0, 0.5, &[], 1.0, &[1.0]), None);
        assert_eq!(find(2, -0.5, &[], 1.0, &[1.0]), None);
        assert_eq!(find(2, f64::NAN, &[], 1.0, &[1.0]), None);
        assert_eq!(find(2, 0.5, &[0.5, 0.6], 1.0, &[1.0]), None);
        assert_eq!(find(2, 0.5, &[1.5], 1.0, &[1.0]), None);
        assert_eq!(find(2, 0.5, &[], 0.0, &[1.0]), None);
        assert_eq!(find(2, 0.5, &[], 1.0, &[2.0, 1.0]), None);
        assert_eq!(find(2, 0.5, &[], 1.0, &[-1.0]), None);
        assert_eq!(find(2, 0.5, &[], 1.0, &[f64::INFINITY]), None);
        // Too long a time is given up, soon.
        assert_eq!(find(2, 0.9, &[], 1.0, &[1e9]), None);
        assert_eq!(find(1, 2.0, &[], 1.0, &[1e5]), None);
        assert_eq!(find(2, 0.5, &[], 1.0, &[]), Some(vec![]));
        let at_once = find(2, 0.5, &[0.7], 1.0, &[0.0]).unwrap();
        assert_eq!((at_once.len(), at_once[0][0], at_once[0][1]), (1, 0.7, 0.0));
    }
}
