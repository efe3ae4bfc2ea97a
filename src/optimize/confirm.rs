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
    /// The grid point of the best mean, in natural units, and that mean.
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
            let share = |i| f64::from(i) / f64::from(points - 1);
            (0..points).map(|i| space.natural(&[share(i)])).collect()
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
    let request = |(_, target): &(String, Target)| Request {
        target: target.clone(),
        streams,
        replications: plan.replications,
    };
    let requests: Vec<Request> = targets.iter().map(request).collect();
    // NaN stands for a replication without a value, as the comparisons have it.
    let samples: Vec<Vec<f64>> = evaluate
        .evaluate(&requests)?
        .into_iter()
        .map(|values| values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        .collect();
    let mut steps = Vec::with_capacity(targets.len());
    for (iteration, ((side, target), sample)) in targets.into_iter().zip(&samples).enumerate() {
        let moments = moments(sample);
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
            gains: None,
            estimate: None,
        };
        observe(&step);
        steps.push(step);
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
    let gain = |sample: &[f64]| moments(sample).mean().map(|mean| plan.good.gain(mean));
    let gains = samples.iter().enumerate().filter_map(|(at, sample)| Some((at, gain(sample)?)));
    let (best, best_gain) = gains.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let all: Vec<&[f64]> = std::iter::once(ours).chain(samples.iter().map(Vec::as_slice)).collect();
    let lead = with_best(&all, plan.good, plan.confidence)?.swap_remove(0).gain;
    let interval = Interval { low: -lead.high, high: -lead.low };
    Some(Regret {
        best: grid[best].clone(),
        best_value: plan.good.gain(best_gain),
        regret: best_gain - gain(ours)?,
        interval,
        at_noise_floor: plan.delta.map(|d| -d <= interval.low && interval.high <= d),
    })
}
