//! Multiple comparisons with the best of k systems.
//!
//! For each system i, an interval of θ_i = μ_i − max_{l≠i} μ_l (where more is good), all k at once
//! with probability 1 − α at least. With D_il the mean of the paired differences x_i − x_l, S_il
//! their standard deviation, and w_il = t(1 − α/(k−1); n−1) · S_il/√n:
//!
//!   u_i = min_{l≠i} (D_il + w_il),   G = {i : u_i ≥ 0},
//!   θ_i ∈ [min(0, min_{l≠i} (D_il − w_il)), max(0, u_i)].
//!
//! The systems of G are those that may be the best; of several tied best, each is among them with
//! that probability, but not all of them at once. Where less is good all differences change their
//! sign, so that the interval is always of the **gain** of i over the best of the others: negative
//! for how much i falls short, positive for how much i leads.
//!
//! J. C. Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the
//! best", Ann. Statist. 12 (1984), 1136–1144. On common random numbers by Bonferroni's inequality:
//! W.-N. Yang and B. L. Nelson, "Using common random numbers and control variates in
//! multiple-comparison procedures", Operations Research 39 (1991); B. L. Nelson and F. J. Matejcik,
//! "Using common random numbers for indifference-zone selection and multiple comparisons in
//! simulation", Management Science 41 (1995).
//!
//! Why the level is one-sided and shared among k − 1: all intervals follow from the k − 1 statements
//! D_bl − (μ_b − μ_l) ≥ −w_bl of the unknown best b alone. From them u_b ≥ 0, so that b ∈ G; for
//! i ≠ b, θ_i = μ_i − μ_b ≥ D_ib − w_ib, and θ_i ≤ 0; for b, 0 ≤ θ_b ≤ u_b.
//!
//! Hsu takes the lower end over l ∈ G only. That is the same here: a system out of G trails another
//! one by more than their w, and S obeys the triangle inequality, so that it never gives the least.
//!
//! Assumes replications independent of each other, and paired differences with means that are
//! nearly normal; systems may depend on each other in any way and differ in variance. Intervals are
//! in the response's unit. It takes k² n / 2 steps.

use super::paired::Paired;
use super::{Good, Interval, t_quantile};

/// One system against the best of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithBest {
    /// The least of its mean gains over the others, each on the replications that both have.
    pub estimate: f64,
    /// Gain over the best of the others; it holds 0, since a lead below 0 and a shortfall above 0
    /// are of no interest.
    pub gain: Interval,
    pub may_be_best: bool,
}

/// Returns each system's comparison with the best of the others, given one sample a system with
/// replication r in place r of each.
///
/// A replication that is NaN in one of two systems is passed over in their difference, and so is
/// what a longer sample has more. Nothing comes of fewer than two systems, of two systems with
/// fewer than two replications in common, and of a `confidence` outside (0, 1).
pub fn with_best(samples: &[&[f64]], good: Good, confidence: f64) -> Option<Vec<WithBest>> {
    let k = samples.len();
    if k < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let level = 1.0 - (1.0 - confidence) / (k - 1) as f64;
    let mut quantile = (0, f64::NAN);
    // Gains and half-widths; the diagonal is not used.
    let mut gains = vec![vec![(f64::NAN, f64::NAN); k]; k];
    for i in 0..k {
        for l in 0..i {
            let pairs = samples[i].iter().zip(samples[l]).map(|(&ours, &theirs)| (ours, theirs));
            let paired: Paired = pairs.collect();
            let (mean, se) = (paired.difference().mean()?, paired.difference().se()?);
            let n = paired.difference().n();
            if quantile.0 != n {
                quantile = (n, t_quantile(level, n - 1)?);
            }
            let (gain, half) = (good.gain(mean), se * quantile.1);
            gains[i][l] = (gain, half);
            gains[l][i] = (-gain, half);
        }
    }
    let others = |i: usize| (0..k).filter(move |&l| l != i);
    let lead =
        |i: usize| others(i).map(|l| gains[i][l].0 + gains[i][l].1).fold(f64::INFINITY, f64::min);
    let leads: Vec<f64> = (0..k).map(lead).collect();
    let compared = |i: usize| {
        let estimate = others(i).map(|l| gains[i][l].0).fold(f64::INFINITY, f64::min);
        let low = others(i).map(|l| gains[i][l].0 - gains[i][l].1).fold(0.0, f64::min);
        let gain = Interval { low, high: leads[i].max(0.0) };
        WithBest { estimate, gain, may_be_best: leads[i] >= 0.0 }
    };
    Some((0..k).map(compared).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences by hand, n = 3, w = t(1 − .05/2; 2) S/√3 = 4.302653 S/√3: a − b = 1, 2, 3 (mean
    /// 2, w 2.484138), a − c = 9, 10, 11 (mean 10, same w), b − c = 8, 8, 8 (w 0).
    #[test]
    fn a_hand_example_comes_out() {
        let (a, b, c) = ([10.0, 11.0, 12.0], [9.0, 9.0, 9.0], [1.0, 1.0, 1.0]);
        let all = with_best(&[&a, &b, &c], Good::More, 0.95).unwrap();
        let expected = [(-0.484_138, 4.484_138, true), (-4.484_138, 0.484_138, true)];
        for (one, (low, high, may_be_best)) in all.iter().zip(expected) {
            assert!((one.gain.low - low).abs() < 1e-5, "{all:?}");
            assert!((one.gain.high - high).abs() < 1e-5, "{all:?}");
            assert_eq!(one.may_be_best, may_be_best);
        }
        assert!((all[2].gain.low + 12.484_138).abs() < 1e-5, "{all:?}");
        assert_eq!((all[2].gain.high, all[2].may_be_best), (0.0, false));
        assert_eq!([all[0].estimate, all[1].estimate, all[2].estimate], [2.0, -2.0, -10.0]);
    }

    #[test]
    fn a_sure_best_leads_and_the_others_only_fall_short() {
        let (a, b) = ([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]);
        let all = with_best(&[&a, &b], Good::Less, 0.95).unwrap();
        assert_eq!(
            all[0],
            WithBest { estimate: 4.0, gain: Interval { low: 0.0, high: 4.0 }, may_be_best: true }
        );
        assert_eq!(
            all[1],
            WithBest {
                estimate: -4.0,
                gain: Interval { low: -4.0, high: 0.0 },
                may_be_best: false
            }
        );
    }

    #[test]
    fn equal_systems_may_both_be_best() {
        let (a, b) = ([1.0, 2.0], [1.0, 2.0]);
        let tie =
            WithBest { estimate: 0.0, gain: Interval { low: 0.0, high: 0.0 }, may_be_best: true };
        assert_eq!(with_best(&[&a, &b], Good::More, 0.95), Some(vec![tie; 2]));
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(with_best(&[&[1.0, 2.0]], Good::More, 0.95), None);
        assert_eq!(with_best(&[&[1.0, 2.0], &[1.0, f64::NAN]], Good::More, 0.95), None);
        assert_eq!(with_best(&[&[1.0, 2.0], &[1.0, 3.0]], Good::More, 1.0), None);
    }
}
