//! The best of many systems: the fully sequential procedure KN.
//!
//! Of k systems it names the best with probability 1 − α at least, whenever the best is better than
//! each other one by δ or more (the indifference zone). With first-stage size n0, variances S²_ij of
//! the first n0 paired differences, and
//!
//!   η = ½ [(2α/(k−1))^(−2/(n0−1)) − 1],   h² = 2 η (n0−1),
//!
//! after r ≥ n0 replications a system i is eliminated if another one j that is still there has
//! x̄_j(r) − x̄_i(r) > W_ij(r) = max(0, δ/2r · (h² S²_ij/δ² − r)) where more is good. Every
//! system still there takes one more replication, until one is left; from r > max h² S²_ij/δ² on,
//! W = 0 and the greatest mean wins.
//!
//! S.-H. Kim and B. L. Nelson, "A fully sequential procedure for indifference-zone selection in
//! simulation", ACM TOMACS 11 (2001), 251–273, section 3, with its constant c = 1, the one whose
//! region is a triangle, which they recommend where nothing is known of the differences. α/(k−1)
//! is Bonferroni's share of each pair, which allows any dependence among systems; common random
//! numbers make S²_ij and with it the work smaller.
//!
//! Assumes normal values, replications independent of each other. Where the best two are closer than
//! δ, it names one of those within δ of the best in practice, but that is not what is proved. Values
//! and δ are in the response's unit. Memory is k(k−1)/2 numbers, hence [`MAX_SYSTEMS`], and k · n0
//! during the first stage; a replication costs as many steps as there are pairs still there.

use thiserror::Error;

use super::Good;

/// Most systems one selection takes: their pairs then take 64 MiB.
pub const MAX_SYSTEMS: usize = 4096;

/// First-stage size where nothing else is asked for. Kim and Nelson use 10 to 30: below, η and the
/// work grow fast, above, bad systems are kept needlessly long.
pub const FIRST_STAGE: u32 = 20;

/// A selection under way, fed replication by replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    first_stage: u32,
    delta: f64,
    h2: f64,
    good: Good,
    replications: u32,
    /// Those still there, rising.
    alive: Vec<usize>,
    /// Sum of the gains of each system.
    sums: Vec<f64>,
    /// Gains of the first stage, one list a system; empty afterwards.
    first: Vec<Vec<f64>>,
    /// h² S²_ij/δ² of every pair i > j at i(i−1)/2 + j, in replications; empty in the first stage.
    horizons: Vec<f64>,
}

/// What a selection can't work with.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Fault {
    #[error("{0} systems: a selection takes 1 to {MAX_SYSTEMS}")]
    Systems(usize),
    #[error("first stage of {0} replications: a variance needs 2")]
    FirstStage(u32),
    #[error("delta {0}: it must be above 0 and finite")]
    Delta(f64),
    #[error("confidence {confidence}: it must be below 1 and above the {chance} of a blind choice")]
    Confidence { confidence: f64, chance: f64 },
    #[error("system {system} has no finite value in replication {replication}")]
    NoValue { system: usize, replication: u32 },
}

impl Selection {
    /// Returns the selection among systems 0 … `systems` − 1, before its first replication.
    ///
    /// `first_stage` is n0, `delta` the smallest difference that matters, in the response's unit, and
    /// `confidence` 1 − α, above 1/k.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn new(
        systems: usize,
        first_stage: u32,
        delta: f64,
        confidence: f64,
        good: Good,
    ) -> Result<Self, Fault> {
        if !(1..=MAX_SYSTEMS).contains(&systems) {
            return Err(Fault::Systems(systems));
        }
        if first_stage < 2 {
            return Err(Fault::FirstStage(first_stage));
        }
        if !(delta > 0.0 && delta.is_finite()) {
            return Err(Fault::Delta(delta));
        }
        // Of a single system any confidence is kept.
        let chance = if systems > 1 { 1.0 / systems as f64 } else { 0.0 };
        if !(confidence > chance && confidence < 1.0) {
            return Err(Fault::Confidence { confidence, chance });
        }
        let freedom = f64::from(first_stage - 1);
        let share = (1.0 - confidence) / (systems.max(2) - 1) as f64;
        let eta = 0.5 * ((2.0 * share).powf(-2.0 / freedom) - 1.0);
        Ok(Selection {
            first_stage,
            delta,
            h2: 2.0 * eta * freedom,
            good,
            replications: 0,
            alive: (0..systems).collect(),
            sums: vec![0.0; systems],
            first: vec![Vec::with_capacity(first_stage as usize); systems],
            horizons: Vec::new(),
        })
    }

    /// Returns the systems that may still be the best and need a value of the next replication.
    pub fn alive(&self) -> &[usize] {
        &self.alive
    }

    /// Returns the best system once it is decided.
    pub fn best(&self) -> Option<usize> {
        match self.alive[..] {
            [best] => Some(best),
            _ => None,
        }
    }

    /// Returns how many replications have been taken in.
    pub fn replications(&self) -> u32 {
        self.replications
    }

    /// Returns how many more replications every system still there takes at least: what is left of
    /// the first stage, then 1, and 0 once it is decided.
    pub fn at_least(&self) -> u32 {
        match self.best() {
            Some(_) => 0,
            None => self.first_stage.saturating_sub(self.replications).max(1),
        }
    }

    /// Returns how many more replications the last system takes at most; nothing is known of it in
    /// the first stage.
    pub fn at_most(&self) -> Option<u64> {
        if self.best().is_some() {
            return Some(0);
        }
        (!self.horizons.is_empty()).then(|| self.longest() + 1 - u64::from(self.replications))
    }

    /// Takes in the next replication: (system, value) of every system still there, in any order.
    ///
    /// Values of systems no longer there are passed over, so that a block of replications can be run
    /// ahead and fed in one by one; so is everything once it is decided.
    ///
    /// # Errors
    /// Where a system still there has no finite value; the selection is then as before.
    pub fn push(&mut self, values: &[(usize, f64)]) -> Result<(), Fault> {
        if self.best().is_some() {
            return Ok(());
        }
        let mut row = vec![f64::NAN; self.sums.len()];
        for &(system, value) in values {
            if let Some(place) = row.get_mut(system) {
                *place = self.good.gain(value);
            }
        }
        if let Some(&system) = self.alive.iter().find(|&&system| !row[system].is_finite()) {
            return Err(Fault::NoValue { system, replication: self.replications });
        }
        self.replications += 1;
        let first = self.replications <= self.first_stage;
        for &system in &self.alive {
            self.sums[system] += row[system];
            if first {
                self.first[system].push(row[system]);
            }
        }
        if self.replications == self.first_stage {
            self.horizons = self.horizons();
            self.first = Vec::new();
        }
        if self.replications >= self.first_stage {
            self.screen();
        }
        Ok(())
    }

    /// Returns h² S²_ij/δ² of every pair after the first stage.
    fn horizons(&self) -> Vec<f64> {
        let n = f64::from(self.first_stage);
        let scale = self.h2 / ((n - 1.0) * self.delta * self.delta);
        let horizon = |i: usize, j: usize| {
            let mean = (self.sums[i] - self.sums[j]) / n;
            let pairs = self.first[i].iter().zip(&self.first[j]);
            scale * pairs.map(|(a, b)| (a - b - mean).powi(2)).sum::<f64>()
        };
        (0..self.sums.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| horizon(i, j))
            .collect()
    }

    /// Returns the horizon of the pair i > j.
    fn horizon(&self, i: usize, j: usize) -> f64 {
        self.horizons[i * (i - 1) / 2 + j]
    }

    /// Returns the longest horizon of the systems still there, in whole replications.
    fn longest(&self) -> u64 {
        let pairs = self
            .alive
            .iter()
            .enumerate()
            .flat_map(|(at, &i)| self.alive[..at].iter().map(move |&j| self.horizon(i, j)));
        pairs.fold(0.0, f64::max) as u64
    }

    /// Eliminates the systems that are beaten by one of those still there, and all but one at the end.
    fn screen(&mut self) {
        let r = f64::from(self.replications);
        let mut beaten = vec![false; self.sums.len()];
        for (at, &i) in self.alive.iter().enumerate() {
            for &j in &self.alive[..at] {
                let lead = self.sums[i] - self.sums[j];
                let width = (self.delta / 2.0 * (self.horizon(i, j) - r)).max(0.0);
                beaten[i] |= -lead > width;
                beaten[j] |= lead > width;
            }
        }
        self.alive.retain(|&system| !beaten[system]);
        if u64::from(self.replications) > self.longest() {
            // What is left is tied for the greatest mean.
            self.alive.truncate(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(selection: &mut Selection, values: &[f64]) {
        let values: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
        selection.push(&values).unwrap();
    }

    /// k = 2, n0 = 3, α = .05: η = (0.1^(−1) − 1)/2 = 4.5, h² = 18. Differences 1, 2, 3 have S² = 1,
    /// so that with δ = 2 the horizon is 4.5; after 3 replications the lead 6 beats 1.5.
    #[test]
    fn a_hand_example_is_decided_at_once() {
        let mut selection = Selection::new(2, 3, 2.0, 0.95, Good::Less).unwrap();
        push(&mut selection, &[5.0, 4.0]);
        push(&mut selection, &[5.0, 3.0]);
        assert_eq!((selection.best(), selection.at_least(), selection.at_most()), (None, 1, None));
        push(&mut selection, &[5.0, 2.0]);
        assert_eq!((selection.best(), selection.at_most()), (Some(1), Some(0)));
        assert_eq!((selection.alive(), selection.at_least()), (&[1][..], 0));
    }

    /// Differences 1, −1, 0: S² = 1, horizon 4.5 as above; the lead 0 beats nothing before r = 5.
    #[test]
    fn the_last_replication_is_the_one_past_the_horizon() {
        let mut selection = Selection::new(2, 3, 2.0, 0.95, Good::More).unwrap();
        for values in [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]] {
            push(&mut selection, &values);
        }
        assert_eq!((selection.best(), selection.at_most()), (None, Some(2)));
        // 0.4 is less than δ/2 · (4.5 − 4), 0.6 is more.
        let mut sooner = selection.clone();
        push(&mut sooner, &[0.0, 0.6]);
        assert_eq!(sooner.best(), Some(1));
        push(&mut selection, &[0.0, 0.4]);
        assert_eq!((selection.best(), selection.at_most()), (None, Some(1)));
        push(&mut selection, &[0.0, 0.0]);
        assert_eq!((selection.best(), selection.replications()), (Some(1), 5));
    }

    #[test]
    fn a_tie_goes_to_the_first() {
        let mut selection = Selection::new(3, 2, 1.0, 0.9, Good::More).unwrap();
        push(&mut selection, &[1.0, 2.0, 2.0]);
        push(&mut selection, &[1.0, 2.0, 2.0]);
        assert_eq!(selection.best(), Some(1));
    }

    #[test]
    fn a_system_without_a_value_is_an_error_and_leaves_all_as_it_was() {
        let mut selection = Selection::new(2, 2, 1.0, 0.9, Good::More).unwrap();
        let missing = selection.push(&[(1, 0.0)]).unwrap_err();
        assert_eq!(missing.to_string(), "system 0 has no finite value in replication 0");
        assert!(selection.push(&[(0, f64::NAN), (1, 0.0)]).is_err());
        assert_eq!((selection.replications(), selection.at_least()), (0, 2));
        // Order doesn't matter, nor do systems that there are not.
        selection.push(&[(7, 1.0), (1, 0.0), (0, 3.0)]).unwrap();
        selection.push(&[(0, 3.0), (1, 0.0)]).unwrap();
        assert_eq!(selection.best(), Some(0));
        assert_eq!(selection.push(&[]), Ok(()));
    }

    #[test]
    fn one_system_is_the_best_of_one() {
        let selection = Selection::new(1, 20, 1.0, 0.95, Good::More).unwrap();
        assert_eq!((selection.best(), selection.at_least()), (Some(0), 0));
    }

    #[test]
    fn a_meaningless_selection_is_refused() {
        let new = |systems, first_stage, delta, confidence| {
            Selection::new(systems, first_stage, delta, confidence, Good::More)
                .map_err(|fault| fault.to_string())
                .unwrap_err()
        };
        assert_eq!(new(0, 20, 1.0, 0.95), "0 systems: a selection takes 1 to 4096");
        assert_eq!(new(5000, 20, 1.0, 0.95), "5000 systems: a selection takes 1 to 4096");
        assert_eq!(new(2, 1, 1.0, 0.95), "first stage of 1 replications: a variance needs 2");
        assert_eq!(new(2, 20, 0.0, 0.95), "delta 0: it must be above 0 and finite");
        let blind = new(2, 20, 1.0, 0.5);
        assert_eq!(blind, "confidence 0.5: it must be below 1 and above the 0.5 of a blind choice");
    }
}
