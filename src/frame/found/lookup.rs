//! Where things are among what was read of a run, without a search for each.

use std::collections::HashMap;

use super::{Compared, Found, FoundPoint};
use crate::frame::{Direction, PolicyColumns};

/// What is looked up.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    scenarios: usize,
    /// Position of a point's comparison in a response.
    compared: HashMap<(u32, usize), usize>,
    /// How points are ranked in the scenarios and responses of which they have values of other
    /// replications.
    uneven: HashMap<(usize, usize), Ranking>,
}

/// How the points of a scenario are ranked in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// By means of the same replications.
    Means,
    /// By means, though they may be of other replications.
    UnequalMeans,
    /// By gains over the best of the others, on the replications that each two share.
    Gains,
}

impl FoundPoint {
    /// Returns how many replications have a value of something.
    fn rows(&self) -> Option<u64> {
        self.summaries.iter().flatten().map(|one| one.n).max()
    }
}

impl Found {
    /// Numbers the scenarios of the points, and takes note of where comparisons are.
    pub(super) fn index(&mut self) {
        let mut known: HashMap<Vec<(String, String)>, usize> = HashMap::new();
        for at in 0..self.points.len() {
            let point = &self.points[at];
            let axes = self.policy(point).into_iter().flat_map(|policy| &policy.axes);
            let axes = axes.filter(|axis| axis.scenario).map(|axis| axis.column.clone());
            let level = |axis: String| {
                let level = point.levels.get(&axis)?.to_string();
                Some((axis, level))
            };
            let place = axes.filter_map(level).collect();
            let next = known.len();
            self.points[at].scenario = *known.entry(place).or_insert(next);
        }
        let comparisons = self.comparisons.iter().enumerate();
        let compared = comparisons.map(|(at, one)| ((one.point, one.response), at)).collect();
        self.lookup = Lookup { scenarios: known.len(), compared, uneven: HashMap::new() };
        let counts = &self.manifest["counts"];
        let has_failures = counts["failed"].as_u64() != Some(0);
        let all = counts["replications"].as_u64().unwrap_or_default();
        // Points come scenario by scenario.
        for points in self.points.chunk_by(|a, b| a.scenario == b.scenario) {
            for response in 0..self.layout.responses.len() {
                let known = points.iter().filter(|point| point.summaries[response].is_some());
                let counts = || known.clone().filter_map(|one| Some(one.summaries[response]?.n));
                let rows = known.clone().filter_map(FoundPoint::rows).max();
                let is_whole = |count: u64| Some(count) == rows && (!has_failures || count == all);
                // Equally many may be others: where some have no value, or have failed.
                if counts().all(is_whole) {
                    continue;
                }
                let has_gain = |point: &FoundPoint| {
                    self.bests.get(&(point.number, response)).is_some_and(|one| one.gain.is_some())
                };
                // Where points were left out while reading, those that were kept have the best means.
                let ranking = match self.stride == 1 && known.clone().all(has_gain) {
                    true => Ranking::Gains,
                    false => Ranking::UnequalMeans,
                };
                self.lookup.uneven.insert((points[0].scenario, response), ranking);
            }
        }
    }

    /// Returns how the points of a scenario are ranked in a response.
    pub fn ranking(&self, scenario: usize, response: usize) -> Ranking {
        self.lookup.uneven.get(&(scenario, response)).copied().unwrap_or(Ranking::Means)
    }

    /// Returns what a point is ranked by among those of its scenario, less being better: whether a
    /// selection has left it behind, and its mean (or what is opposite to it) or what its gain lacks.
    pub fn standing(&self, point: &FoundPoint, response: usize) -> Option<(bool, f64)> {
        let (is_left_behind, mean) = self.mean(point, response)?;
        let rank = match self.ranking(point.scenario, response) {
            Ranking::Gains => -self.bests.get(&(point.number, response))?.gain?,
            Ranking::Means | Ranking::UnequalMeans => mean,
        };
        Some((is_left_behind, rank))
    }

    /// Returns a point's mean (or what is opposite to it), less being better, after whether a selection
    /// by this response has left it behind.
    pub fn mean(&self, point: &FoundPoint, response: usize) -> Option<(bool, f64)> {
        let mean = point.summaries[response]?.mean;
        let measure = &self.layout.responses[response];
        let selected = &self.manifest["selected"];
        let is_by_it = selected["response"] == *measure.column.as_str();
        let mut left = selected["left"].as_array().into_iter().flatten();
        let is_left_behind = is_by_it && !left.any(|number| *number == point.number);
        Some((is_left_behind, if measure.good == Some(Direction::More) { -mean } else { mean }))
    }

    /// Returns the number of scenarios that have points.
    pub fn scenarios(&self) -> usize {
        self.lookup.scenarios
    }

    /// Returns the point of a number, if it was read.
    pub fn point(&self, number: u32) -> Option<&FoundPoint> {
        // They are in plan order.
        let at = self.points.binary_search_by_key(&number, |point| point.number).ok()?;
        self.points.get(at)
    }

    /// Returns the policy of a point.
    pub fn policy(&self, point: &FoundPoint) -> Option<&PolicyColumns> {
        self.layout.policies.iter().find(|policy| policy.label == point.policy)
    }

    /// Returns the difference of a point from the baseline in a response.
    pub fn compared(&self, point: &FoundPoint, response: usize) -> Option<&Compared> {
        let at = self.lookup.compared.get(&(point.number, response))?;
        self.comparisons.get(*at)
    }
}
