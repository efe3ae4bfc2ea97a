//! Confirmation: what was found, measured again on streams that the search never saw.
//!
//! A value seen during a search is biased by having been looked for. Here the found point, the
//! declared rivals and, where asked, a fine grid run on the same reserved streams, so that all
//! differences are paired.

use super::{Evaluate, Phase, Request, Space, Step, Stop, Target};
use crate::rng::StreamKey;
use crate::stats::best::with_best;
use crate::stats::multiple::{Adjust, Verdict};
use crate::stats::paired::Paired;
use crate::stats::{Good, Interval, Moments};

/// What to confirm, and how.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// The found point, in natural units.
    pub found: &'p [f64],
    /// Names of the rivals.
    pub rivals: &'p [String],
    pub good: Good,
    /// Seed, and the scenario that names the reserved streams.
    pub seed: u64,
    pub scenario: u128,
    /// Replications of each target.
    pub replications: u32,
    /// Number of points of a fine grid over the box of one parameter.
    pub grid: Option<u32>,
    /// Greatest difference that counts as none, in the response's unit.
    pub delta: Option<f64>,
    /// Of each interval, and of those of the rivals and of the regret together.
    pub confidence: f64,
}

/// A mean over replications with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Replications that had a value.
    pub n: u64,
    pub mean: f64,
    /// Nothing of fewer than two replications.
    pub interval: Option<Interval>,
}

/// The found point against a rival.
#[derive(Clone, Debug, PartialEq)]
pub struct RivalResult {
    pub name: String,
    pub value: Option<Measured>,
    /// Found − rival, and its simultaneous interval (Bonferroni).
    pub difference: Option<f64>,
    pub interval: Option<Interval>,
    pub verdict: Verdict,
}

/// The found point against the best of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// Points of the grid; whole numbers may be fewer than asked for.
    pub points: usize,
    /// The grid point that gains most on the found one, in natural units, and its mean.
    pub best: Vec<f64>,
    pub best_value: f64,
    /// Loss of the found point against it: the grid's luckiest, so that this is no less than what
    /// was really lost, in the mean.
    pub regret: f64,
    /// Interval of the found point's loss against the best of the grid, by multiple comparisons
    /// with the best ([`crate::stats::best`]); below 0 the found point leads.
    pub interval: Interval,
    /// Whether the interval lies within ±`delta`, where there is one: nothing is left to find that
    /// matters.
    pub at_noise_floor: Option<bool>,
}

/// What a confirmation came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// The found point; nothing where no replication had a value.
    pub found: Option<Measured>,
    pub rivals: Vec<RivalResult>,
    pub regret: Option<Regret>,
    pub steps: Vec<Step>,
}

/// Measures the found point, the rivals and the grid on the reserved streams.
///
/// # Errors
/// [`Stop`], when the function gives up.
pub fn confirm(
    space: &Space,
    evaluate: &dyn Evaluate,
    plan: &Plan,
    observe: &dyn Fn(&Step),
) -> Result<Confirmation, Stop> {
    let grid: Vec<Vec<f64>> = match plan.grid {
        Some(points) => {
            space.lattice(0, points).into_iter().map(|share| space.natural(&[share])).collect()
        }
        None => Vec::new(),
    };
    let rivals = plan.rivals.iter().enumerate();
    let targets: Vec<(String, Target)> =
        std::iter::once(("found".to_owned(), Target::Point(plan.found.to_vec())))
            .chain(rivals.map(|(i, name)| (name.clone(), Target::Rival(i))))
            .chain(grid.iter().map(|at| ("grid".to_owned(), Target::Point(at.clone()))))
            .collect();
    let streams = StreamKey { seed: plan.seed, scenario: plan.scenario, replication: 0 };
    let mut samples: Vec<Vec<f64>> = Vec::with_capacity(targets.len());
    let mut steps = Vec::with_capacity(targets.len());
    for (iteration, (side, target)) in targets.into_iter().enumerate() {
        let request = Request { target: target.clone(), streams, replications: plan.replications };
        let values = evaluate.evaluate(&[request])?.swap_remove(0);
        // NaN stands for a replication without a value, as the comparisons have it.
        let sample = values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<_>>();
        let moments = moments(&sample);
        let step = Step {
            phase: Phase::Confirm,
            iteration: iteration as u32,
            side,
            point: match target {
                Target::Point(point) => point,
                Target::Rival(_) => Vec::new(),
            },
            value: moments.mean(),
            sd: moments.sd(),
            streams,
            replications: plan.replications,
            failed: plan.replications - moments.n() as u32,
            gains: None,
            estimate: None,
        };
        observe(&step);
        steps.push(step);
        samples.push(sample);
    }
    let (ours, others) = (&samples[0], &samples[1..]);
    Ok(Confirmation {
        found: measured(ours, plan.confidence),
        rivals: rivals_of(plan, ours, &others[..plan.rivals.len()]),
        regret: regret(plan, &grid, ours, &others[plan.rivals.len()..]),
        steps,
    })
}

fn moments(sample: &[f64]) -> Moments {
    let mut moments = Moments::default();
    sample.iter().filter(|value| !value.is_nan()).for_each(|&value| moments.push(value));
    moments
}

fn measured(sample: &[f64], confidence: f64) -> Option<Measured> {
    let moments = moments(sample);
    let interval = moments.interval(confidence);
    moments.mean().map(|mean| Measured { n: moments.n(), mean, interval })
}

fn rivals_of(plan: &Plan, ours: &[f64], samples: &[Vec<f64>]) -> Vec<RivalResult> {
    let pair = |theirs: &Vec<f64>| -> Paired {
        ours.iter().zip(theirs).map(|(&ours, &theirs)| (ours, theirs)).collect()
    };
    let paired: Vec<Paired> = samples.iter().map(pair).collect();
    let p: Vec<Option<f64>> = paired.iter().map(Paired::p_value).collect();
    let adjusted = Adjust::Bonferroni.p_values(&p);
    let confidences = Adjust::Bonferroni.confidences(&p, plan.confidence);
    let result = |i: usize| {
        let difference = paired[i].difference().mean();
        RivalResult {
            name: plan.rivals[i].clone(),
            value: measured(&samples[i], plan.confidence),
            difference,
            interval: paired[i].interval(confidences[i]),
            verdict: Verdict::new(
                difference.unwrap_or(f64::NAN),
                adjusted[i],
                plan.confidence,
                plan.good,
            ),
        }
    };
    (0..samples.len()).map(result).collect()
}

fn regret(plan: &Plan, grid: &[Vec<f64>], ours: &[f64], samples: &[Vec<f64>]) -> Option<Regret> {
    // On the replications that both have: others would count for one of them alone.
    let gain = |sample: &Vec<f64>| {
        let pairs = sample.iter().zip(ours).map(|(&theirs, &ours)| (theirs, ours));
        Some(plan.good.gain(pairs.collect::<Paired>().difference().mean()?))
    };
    let gains = samples.iter().enumerate().filter_map(|(at, sample)| Some((at, gain(sample)?)));
    let (best, regret) = gains.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let all: Vec<&[f64]> = std::iter::once(ours).chain(samples.iter().map(Vec::as_slice)).collect();
    let lead = with_best(&all, plan.good, plan.confidence)?.swap_remove(0).gain;
    let interval = Interval { low: -lead.high, high: -lead.low };
    Some(Regret {
        points: grid.len(),
        best: grid[best].clone(),
        best_value: moments(&samples[best]).mean()?,
        regret,
        interval,
        at_noise_floor: plan.delta.map(|d| -d <= interval.low && interval.high <= d),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Range;
    use crate::rng::{Role, unit};

    /// x² with noise that all points share, and some of their own; the rivals are 1 above and the
    /// same as x = 0.5. Every tenth replication of a rival fails.
    struct Parabola {
        own: f64,
    }

    impl Evaluate for Parabola {
        fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
            let value = |request: &Request, replication: u32| {
                let key = StreamKey { replication, ..request.streams };
                let noise = unit(&mut key.stream(Role::Service)) - 0.5;
                let (mean, salt) = match &request.target {
                    Target::Point(x) => (x[0] * x[0], x[0].to_bits()),
                    Target::Rival(_) if replication % 10 == 3 => return None,
                    Target::Rival(0) => (1.25, 1),
                    Target::Rival(_) => (0.25, 2),
                };
                let key = StreamKey { seed: key.seed ^ salt, ..key };
                let own = self.own * (unit(&mut key.stream(Role::Routing)) - 0.5);
                Some(mean + noise + own)
            };
            let values = |of: &Request| (0..of.replications).map(|r| value(of, r)).collect();
            Ok(requests.iter().map(values).collect())
        }
    }

    fn at(found: f64, own: f64, seed: u64, delta: Option<f64>) -> Confirmation {
        let parameter = Range { low: -1.0, high: 1.0, log: false, integer: false };
        let plan = Plan {
            found: &[found],
            rivals: &["above".to_owned(), "same".to_owned()],
            good: Good::Less,
            seed,
            scenario: 9,
            replications: 100,
            grid: Some(21),
            delta,
            confidence: 0.95,
        };
        confirm(&Space { parameters: vec![parameter] }, &Parabola { own }, &plan, &|_| {}).unwrap()
    }

    #[test]
    fn differences_are_paired_and_failures_are_left_out() {
        let confirmation = at(0.5, 0.02, 1, None);
        let [above, same] = &confirmation.rivals[..] else { panic!("two rivals") };
        assert_eq!(above.value.unwrap().n, 90);
        assert_eq!((above.verdict, same.verdict), (Verdict::Better, Verdict::Undecided));
        // The noise that all share, of sd 0.29, is gone: 0.02·√(2/12)/√90 is left, times 2.28.
        let interval = above.interval.unwrap();
        assert!((interval.half_width() - 0.002).abs() < 0.0005, "{interval:?}");
        assert!(interval.low < -1.0 && -1.0 < interval.high, "{interval:?}");
        assert_eq!(confirmation.steps.len(), 1 + 2 + 21);
        assert!(confirmation.found.unwrap().interval.unwrap().half_width() > 0.04);
    }

    #[test]
    fn regret_is_against_the_grid_and_its_interval_decides_on_the_noise_floor() {
        let regret = at(0.5, 0.02, 1, Some(0.3)).regret.unwrap();
        assert_eq!(regret.best, [0.0]);
        assert!((regret.regret - 0.25).abs() < 0.01, "{regret:?}");
        assert!(regret.interval.low < 0.25 && 0.25 < regret.interval.high, "{regret:?}");
        assert_eq!(regret.at_noise_floor, Some(true));
        assert_eq!(at(0.5, 0.02, 1, Some(0.2)).regret.unwrap().at_noise_floor, Some(false));
        // Wide intervals say nothing of the noise floor, wherever the found point is.
        assert_eq!(at(0.0, 2.0, 1, Some(0.1)).regret.unwrap().at_noise_floor, Some(false));
    }

    /// What all points have in common isn't lost where some of them fail.
    #[test]
    fn regret_is_of_the_replications_that_both_have() {
        struct Failing;
        impl Evaluate for Failing {
            fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
                let value = |request: &Request, replication: u32| match &request.target {
                    Target::Point(x) if x[0] > 0.0 && replication < 3 => None,
                    _ => Some(f64::from(replication)),
                };
                let values = |of: &Request| (0..of.replications).map(|r| value(of, r)).collect();
                Ok(requests.iter().map(values).collect())
            }
        }
        let parameter = Range { low: -1.0, high: 1.0, log: false, integer: false };
        let mut plan = Plan {
            found: &[0.5],
            rivals: &[],
            good: Good::Less,
            seed: 1,
            scenario: 9,
            replications: 10,
            grid: Some(5),
            delta: Some(0.1),
            confidence: 0.95,
        };
        for good in [Good::Less, Good::More] {
            plan.good = good;
            let space = Space { parameters: vec![parameter] };
            let regret = confirm(&space, &Failing, &plan, &|_| {}).unwrap().regret.unwrap();
            assert_eq!(regret.regret, 0.0);
            assert_eq!((regret.interval.low, regret.interval.high), (0.0, 0.0));
            assert_eq!(regret.at_noise_floor, Some(true));
        }
    }

    /// The interval of the regret holds the true loss as often as promised.
    #[test]
    fn the_interval_of_the_regret_covers() {
        let covered = (0..200)
            .filter(|&seed| {
                let interval = at(0.25, 0.5, seed, None).regret.unwrap().interval;
                (interval.low..=interval.high).contains(&0.0625)
            })
            .count();
        assert!(covered >= 185, "{covered} of 200");
    }
}
