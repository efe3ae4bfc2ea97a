//! Comparisons of a scenario's points, on common random numbers.
//!
//! Points of a scenario come one after the other; their values are kept until the scenario ends.
//! Then each is compared with the baseline, replication by replication, and all with the best of
//! them. Where keeping everything would take too much memory, a sample is dropped as soon as it
//! has met the baseline's, and the comparison with the best is left out for that scenario.

use crate::spec::Experiment;
use crate::stats::Good;
use crate::stats::Interval;
use crate::stats::best::{WithBest, with_best};
use crate::stats::multiple::Verdict;
use crate::stats::paired::Paired;

/// Most values that are kept of a scenario for the comparison with the best.
const MAX_VALUES: usize = 8_000_000;
/// Most points that are compared with the best of them: it takes steps as their square.
const MAX_POINTS: usize = 400;

/// A point against the baseline in one response.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub point: u32,
    /// Position of the response's column.
    pub column: usize,
    /// Ours − baseline, in the response's unit.
    pub difference: f64,
    /// Interval of the difference, adjusted for the number of comparisons in the scenario.
    pub interval: Option<Interval>,
    /// Pairs.
    pub n: u64,
    /// Adjusted p value of "no difference".
    pub p: Option<f64>,
    /// Variance of an unpaired difference over that of this one.
    pub variance_reduction: Option<f64>,
    pub verdict: Verdict,
}

/// A point against the best of the others in one response.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub point: u32,
    pub column: usize,
    pub with_best: WithBest,
}

/// What a scenario came to.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) comparisons: Vec<Comparison>,
    pub(super) best: Vec<Best>,
    /// Whether it has points but not the baseline's.
    pub(super) without_baseline: bool,
}

/// The samples of the scenario whose points are coming.
pub(super) struct Scenario<'a> {
    experiment: &'a Experiment,
    /// Columns whose response has a good direction.
    directed: Vec<(usize, Good)>,
    number: Option<u64>,
    baseline: Option<Sample>,
    samples: Vec<Sample>,
    pairs: Vec<(u32, Vec<Paired>)>,
    /// Whether all samples were kept.
    whole: bool,
}

/// A point's values: a list per directed column, by replication; NaN where it failed.
struct Sample {
    point: u32,
    values: Vec<Vec<f64>>,
}

impl<'a> Scenario<'a> {
    pub(super) fn new(experiment: &'a Experiment) -> Self {
        let directed = experiment.directed_columns();
        let (samples, pairs) = (Vec::new(), Vec::new());
        Scenario { experiment, directed, number: None, baseline: None, samples, pairs, whole: true }
    }

    /// Takes a new point in; returns what the scenario before it came to, if this begins another.
    pub(super) fn begin(&mut self, point: u32) -> Ended {
        let number = Some(self.experiment.design.point(point).scenario);
        let ended = if self.number == number { Ended::default() } else { self.end() };
        self.number = number;
        self.samples.push(Sample { point, values: vec![Vec::new(); self.directed.len()] });
        ended
    }

    /// Takes a replication of the newest point in.
    pub(super) fn push(&mut self, replication: u32, values: &[f64]) {
        let Some(sample) = self.samples.last_mut() else { return };
        for (list, &(column, _)) in sample.values.iter_mut().zip(&self.directed) {
            list.resize(replication as usize, f64::NAN);
            list.push(values[column]);
        }
    }

    /// Ends the newest point.
    pub(super) fn end_point(&mut self) {
        let Some(sample) = self.samples.last() else { return };
        if self.baseline.is_none() && self.experiment.is_baseline(sample.point) {
            self.baseline = Some(Sample { point: sample.point, values: sample.values.clone() });
        }
        let kept = self.samples.iter().flat_map(|sample| &sample.values).map(Vec::len);
        if kept.sum::<usize>() > MAX_VALUES && self.baseline.is_some() {
            self.meet_baseline();
            self.samples.clear();
            self.whole = false;
        }
    }

    /// Pairs the kept samples with the baseline's.
    fn meet_baseline(&mut self) {
        let Some(baseline) = &self.baseline else { return };
        for sample in self.samples.iter().filter(|sample| sample.point != baseline.point) {
            let columns = sample.values.iter().zip(&baseline.values);
            let pair = |(ours, theirs): (&Vec<f64>, &Vec<f64>)| {
                ours.iter().copied().zip(theirs.iter().copied()).collect()
            };
            self.pairs.push((sample.point, columns.map(pair).collect()));
        }
    }

    /// Ends the scenario and returns what it came to.
    pub(super) fn end(&mut self) -> Ended {
        self.meet_baseline();
        let ended = Ended {
            comparisons: self.compare(),
            best: if self.whole { self.best() } else { Vec::new() },
            without_baseline: self.baseline.is_none() && !self.samples.is_empty(),
        };
        *self = Scenario::new(self.experiment);
        ended
    }

    fn compare(&self) -> Vec<Comparison> {
        let (adjust, confidence) = (self.experiment.adjust, self.experiment.confidence);
        let mut comparisons = Vec::new();
        for (position, &(column, good)) in self.directed.iter().enumerate() {
            let pairs = || self.pairs.iter().map(|(point, columns)| (*point, &columns[position]));
            let raw: Vec<Option<f64>> = pairs().map(|(_, paired)| paired.p_value()).collect();
            let adjusted = adjust.p_values(&raw);
            let levels = adjust.confidences(&raw, confidence);
            for (((point, paired), p), level) in pairs().zip(adjusted).zip(levels) {
                let Some(difference) = paired.difference().mean() else { continue };
                comparisons.push(Comparison {
                    point,
                    column,
                    difference,
                    interval: paired.interval(level),
                    n: paired.difference().n(),
                    p,
                    variance_reduction: paired.variance_reduction(),
                    verdict: Verdict::new(difference, p, confidence, good),
                });
            }
        }
        comparisons.sort_by_key(|comparison| (comparison.point, comparison.column));
        comparisons
    }

    fn best(&self) -> Vec<Best> {
        if self.samples.len() > MAX_POINTS {
            return Vec::new();
        }
        let mut best = Vec::new();
        for (position, &(column, good)) in self.directed.iter().enumerate() {
            let values: Vec<&[f64]> =
                self.samples.iter().map(|sample| sample.values[position].as_slice()).collect();
            let all = with_best(&values, good, self.experiment.confidence).unwrap_or_default();
            for (sample, with_best) in self.samples.iter().zip(all) {
                best.push(Best { point: sample.point, column, with_best });
            }
        }
        best.sort_by_key(|best| (best.point, best.column));
        best
    }
}
