//! Where things are among what was read of a run, without a search for each.

use std::collections::{HashMap, HashSet};

use super::{Compared, Found, FoundPoint};
use crate::frame::PolicyColumns;

/// What is looked up.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    scenarios: usize,
    /// Position of a point's comparison in a response.
    compared: HashMap<(u32, usize), usize>,
    /// Scenarios and responses of which some points have more values than others.
    uneven: HashSet<(usize, usize)>,
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
        self.lookup = Lookup { scenarios: known.len(), compared, uneven: HashSet::new() };
        // Points come scenario by scenario.
        for points in self.points.chunk_by(|a, b| a.scenario == b.scenario) {
            for response in 0..self.layout.responses.len() {
                let known = points.iter().filter(|point| point.summaries[response].is_some());
                let apart = known.clone().filter(|point| self.compared(point, response).is_none());
                let mut counts = known.filter_map(|point| Some(point.summaries[response]?.n));
                let first = counts.next();
                // The one without a comparison is the baseline.
                if counts.any(|count| Some(count) != first) && apart.count() <= 1 {
                    self.lookup.uneven.insert((points[0].scenario, response));
                }
            }
        }
    }

    /// Returns whether the points of a scenario are ranked by their differences from the baseline: some
    /// have more values than others, and means of more of them may differ by that alone.
    pub fn is_uneven(&self, scenario: usize, response: usize) -> bool {
        self.lookup.uneven.contains(&(scenario, response))
    }

    /// Returns what a point is ranked by among those of its scenario: its mean, or its difference from
    /// the baseline on the replications that both have.
    pub fn standing(&self, point: &FoundPoint, response: usize) -> Option<f64> {
        let mean = point.summaries[response]?.mean;
        match self.is_uneven(point.scenario, response) {
            true => Some(self.compared(point, response).map_or(0.0, |one| one.difference)),
            false => Some(mean),
        }
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
