//! Theta policies: a coin whose probability θ follows the indicators I and J.
//!
//! After a request with indicators I₀, I₁, J₀, J₁ (one of them 1, or none after a refusal)
//!
//! > θ ← clamp(θ + α·j·(J₀ − J₁) + α·i·(I₀ − I₁))
//!
//! and with the smoothed J term θ ← clamp(θ + α·j·(J₀·θ − J₁·(1 − θ)) + …). θ is the
//! probability of server 0. Source: K. V. Pervyshev, "Optimizing the work of a router", after
//! O. N. Granichin and B. T. Polyak (2003) and S. S. Sysoev. The limit on runs is the paper's
//! closing idea; which rule it limited there is not said, so here any rule may have it. Ours are
//! the mixture of both J terms, by a smoothing s between 0 and 1, and a limit for each server:
//!
//! > (1 − s)·(J₀ − J₁) + s·(J₀·θ − J₁·(1 − θ)) = J₀·(1 − s + s·θ) − J₁·(1 − s·θ)
//!
//! Five things can happen to a request, so the update is two tables of five numbers, indexed by
//! what happened: branches on random outcomes would cost more than the rest of the policy.

use std::hint::select_unpredictable;

use super::{Outcome, Router};
use crate::rng::{Pcg32, unit};

/// Weights of the indicator differences in the update of θ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Weight of J₀ − J₁.
    pub j: f64,
    /// Weight of I₀ − I₁.
    pub i: f64,
    /// Share, from 0 to 1, of J₀·θ − J₁·(1 − θ) in the J term; the rest of it is J₀ − J₁.
    pub smoothing: f64,
}

impl Rule {
    pub const J: Rule = Rule::plain(1.0, 0.0);
    pub const I: Rule = Rule::plain(0.0, 1.0);
    pub const J_MINUS_I: Rule = Rule::plain(1.0, -1.0);
    pub const J_PLUS_I: Rule = Rule::plain(1.0, 1.0);
    pub const J_SMOOTHED: Rule = Rule { smoothing: 1.0, ..Rule::J };

    const fn plain(j: f64, i: f64) -> Rule {
        Rule { j, i, smoothing: 0.0 }
    }
}

/// A theta policy for two servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Theta {
    pub rule: Rule,
    /// Step of the update, ≥ 0; 0 is the coin.
    pub alpha: f64,
    /// First θ.
    pub start: f64,
    /// Least and greatest θ.
    pub clamp: [f64; 2],
    /// Longest run of attempts at each server, ≥ 1; `None` is no limit.
    pub max_run: Option<[u32; 2]>,
}

/// A theta policy at work.
#[derive(Clone)]
pub struct ThetaRouter {
    theta: f64,
    sum: f64,
    clamp: [f64; 2],
    /// θ ← θ + shift\[e\] + slope\[e\]·θ for event e: accepted by 0, by 1, redirected to 0, to 1,
    /// refused. Eight long, so that an index of three bits needs no bounds check.
    shift: [f64; 8],
    slope: [f64; 8],
    last: usize,
    /// Attempts that may still follow at the last server, and those that may follow the first at
    /// each.
    left: u64,
    others: [u64; 2],
}

impl Theta {
    pub fn router(&self) -> ThetaRouter {
        let (j, i) = (self.alpha * self.rule.j, self.alpha * self.rule.i);
        // The smoothed rule is linear in θ too: −αj(1 − sθ) = −αj + αjsθ.
        let s = self.rule.smoothing;
        let (to_0, to_1, slope) = (j * (1.0 - s), -j, j * s);
        // More than a replication can have, where there is no limit.
        let limits = self.max_run.map_or([u64::MAX; 2], |limits| limits.map(u64::from));
        ThetaRouter {
            theta: self.start,
            sum: 0.0,
            clamp: self.clamp,
            shift: [i, -i, to_0, to_1, 0.0, 0.0, 0.0, 0.0],
            slope: [0.0, 0.0, slope, slope, 0.0, 0.0, 0.0, 0.0],
            last: 0,
            left: limits[0],
            others: limits.map(|limit| limit - 1),
        }
    }
}

impl<S: ?Sized> Router<S> for ThetaRouter {
    #[inline]
    fn route(&mut self, _: f64, _: &mut S, routing: &mut Pcg32) -> usize {
        self.sum += self.theta;
        // The draw is made even when the run limit overrules it, so that policies that differ in
        // the limit alone stay on the same stream.
        let wish = usize::from(unit(routing) >= self.theta);
        let forced = usize::from(self.left == 0 && wish == self.last);
        let server = wish ^ forced;
        // Where it stays there is one left at least, or it would have been forced away.
        let shorter = self.left.wrapping_sub(1);
        self.left = select_unpredictable(server == self.last, shorter, self.others[server & 1]);
        self.last = server;
        server
    }

    #[inline]
    fn learn(&mut self, attempted: usize, outcome: Outcome) {
        let event = match outcome {
            Outcome::Accepted => attempted,
            Outcome::Redirected(to) => 2 + to,
            Outcome::Refused => 4,
        } & 7;
        let moved = self.theta + self.shift[event] + self.slope[event] * self.theta;
        // Not `clamp`: θ is never NaN, and comparisons alone compile to two instructions.
        let moved = if moved > self.clamp[0] { moved } else { self.clamp[0] };
        self.theta = if moved < self.clamp[1] { moved } else { self.clamp[1] };
    }

    fn restart(&mut self, _: f64) {
        self.sum = 0.0;
    }

    fn theta(&self) -> Option<(f64, f64)> {
        Some((self.theta, self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rule: Rule, attempted: usize, outcome: Outcome) -> f64 {
        let mut router =
            Theta { rule, alpha: 0.1, start: 0.4, clamp: [0.01, 0.99], max_run: None }.router();
        Router::<()>::learn(&mut router, attempted, outcome);
        router.theta
    }

    /// Every rule against the paper's formula, written out by hand for θ = .4 and α = .1.
    #[test]
    fn updates_follow_the_published_formulas() {
        use Outcome::*;
        let cases = [
            (Rule::J, [0.4, 0.4, 0.5, 0.3]),
            (Rule::I, [0.5, 0.3, 0.4, 0.4]),
            (Rule::J_MINUS_I, [0.3, 0.5, 0.5, 0.3]),
            (Rule::J_PLUS_I, [0.5, 0.3, 0.5, 0.3]),
            (Rule::J_SMOOTHED, [0.4, 0.4, 0.44, 0.34]),
        ];
        for (rule, expected) in cases {
            let outcomes = [(0, Accepted), (1, Accepted), (1, Redirected(0)), (0, Redirected(1))];
            for ((attempted, outcome), theta) in outcomes.into_iter().zip(expected) {
                let got = after(rule, attempted, outcome);
                assert!((got - theta).abs() < 1e-12, "{rule:?} {outcome:?}: {got}");
            }
            assert_eq!(after(rule, 0, Refused), 0.4, "a refusal moves nothing");
        }
    }

    /// The update after J₀ and after J₁ by hand, for θ = .4 and α = .1.
    #[test]
    fn smoothing_mixes_the_plain_and_the_smoothed_update() {
        let cases =
            [(0.0, [0.5, 0.3]), (0.5, [0.47, 0.32]), (0.75, [0.455, 0.33]), (1.0, [0.44, 0.34])];
        for (smoothing, expected) in cases {
            for j in [1.0, -2.0] {
                let rule = Rule { j, i: 0.0, smoothing };
                let got = [0, 1].map(|to| after(rule, 1 - to, Outcome::Redirected(to)));
                for (got, expected) in got.into_iter().zip(expected) {
                    let expected = 0.4 + j * (expected - 0.4);
                    assert!((got - expected).abs() < 1e-12, "{rule:?}: {got}, not {expected}");
                }
            }
        }
    }

    /// At the ends nothing is rounded: published results stay what they are, bit by bit.
    #[test]
    fn smoothing_of_0_or_1_leaves_the_published_tables_alone() {
        let tables = |smoothing| {
            let rule = Rule { j: 1.0, i: 0.0, smoothing };
            let theta =
                Theta { rule, alpha: 0.1, start: 0.4, clamp: [0.01, 0.99], max_run: None }.router();
            [theta.shift[2], theta.shift[3], theta.slope[2], theta.slope[3]]
        };
        assert_eq!(tables(0.0), [0.1, -0.1, 0.0, 0.0]);
        assert_eq!(tables(1.0), [0.0, -0.1, 0.1, 0.1]);
    }

    /// Returns the attempts of a policy that would rather stay with one server.
    fn attempts(start: f64, max_run: Option<[u32; 2]>, n: usize) -> Vec<usize> {
        let mut routing = Pcg32::new(7, 11);
        let mut router =
            Theta { rule: Rule::J, alpha: 0.0, start, clamp: [0.0, 1.0], max_run }.router();
        (0..n).map(|_| router.route(0.0, &mut (), &mut routing)).collect()
    }

    #[test]
    fn each_server_has_its_own_limit() {
        assert_eq!(attempts(1.0, Some([2, 4]), 7), [0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(attempts(0.0, Some([2, 4]), 11), [1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1]);
        assert_eq!(attempts(1.0, Some([1, 4]), 4), [0, 1, 0, 1]);
        assert_eq!(attempts(0.0, None, 5), [1; 5]);
        let path = attempts(0.4, Some([2, 3]), 10_000);
        let runs: Vec<&[usize]> = path.chunk_by(|a, b| a == b).collect();
        let longest = |k| runs.iter().filter(|run| run[0] == k).map(|run| run.len()).max();
        assert_eq!([longest(0), longest(1)], [Some(2), Some(3)]);
    }

    #[test]
    fn no_run_is_longer_than_the_limit() {
        for limit in 1..5 {
            let path = attempts(0.8, Some([limit; 2]), 10_000);
            let longest = path.chunk_by(|a, b| a == b).map(<[usize]>::len).max();
            assert_eq!(longest, Some(limit as usize));
        }
    }
}
