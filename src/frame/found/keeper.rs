//! Which points of a sweep are kept that is too large for all of them.

use super::Found;
use crate::design::Level;

/// The best points of a policy in a scenario, as they are read.
#[derive(Default)]
pub(super) struct Keeper {
    /// Policy, and the scenario's levels.
    pub(super) group: Option<(String, Vec<Level>)>,
    /// For each response number, mean, and whether it was the group's first.
    pub(super) best: Vec<Option<(u32, f64, bool)>>,
}

impl Found {
    /// Ends the point read last. If not all are kept it goes again, unless it is one of those at equal
    /// distances, the first of its policy in its scenario, or the best there so far.
    pub(super) fn end_point(&mut self, keeper: &mut Keeper) {
        let Some(point) = self.points.last().filter(|_| self.stride > 1) else { return };
        let policy = self.policy(point);
        let axes = policy.into_iter().flat_map(|policy| &policy.axes).filter(|axis| axis.scenario);
        let scenario = axes.filter_map(|axis| point.levels.get(&axis.column).cloned()).collect();
        let group = Some((point.policy.clone(), scenario));
        let is_first = keeper.group != group;
        if is_first {
            keeper.group = group;
            keeper.best.fill(None);
        }
        let regular = |number: u32| u64::from(number).is_multiple_of(self.stride);
        let (number, mut is_best, mut replaced) = (point.number, false, Vec::new());
        for ((best, summary), measure) in
            keeper.best.iter_mut().zip(&point.summaries).zip(&self.layout.responses)
        {
            let (Some(good), Some(summary)) = (measure.good, summary) else { continue };
            if best.is_none_or(|(_, than, _)| good.is_better(summary.mean, than)) {
                replaced.extend(best.filter(|(.., is_first)| !is_first).map(|(number, ..)| number));
                *best = Some((number, summary.mean, is_first));
                is_best = true;
            }
        }
        if !is_first && !is_best && !regular(number) {
            self.points.pop();
        }
        replaced.retain(|&old| {
            !regular(old) && keeper.best.iter().flatten().all(|&(number, ..)| number != old)
        });
        for old in replaced {
            if let Some(at) = self.points.iter().rposition(|point| point.number == old) {
                self.points.remove(at);
            }
        }
    }
}
