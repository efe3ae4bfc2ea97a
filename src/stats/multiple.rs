//! Adjustment of many comparisons for being many, and the verdict on each.
//!
//! Of m comparisons at 1 − α, with p values p_(1) ≤ … ≤ p_(m):
//!
//! | | adjusted p | level of the interval |
//! |---|---|---|
//! | none | p | 1 − α |
//! | Bonferroni | min(1, m p) | 1 − α/m |
//! | Holm | max over s ≤ r of min(1, (m − s + 1) p_(s)) | 1 − α/(m − r + 1), r being the rank, or the first rank not rejected |
//!
//! S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979),
//! 65–70, section 3. P values adjusted so: S. P. Wright, "Adjusted p-values for simultaneous
//! inference", Biometrics 48 (1992).
//!
//! Assumes p values that are right one by one; they may depend on each other in any way, as they
//! do on common random numbers. What is then promised with probability 1 − α:
//!
//! - none: each interval alone;
//! - Bonferroni: all intervals at once, and with them all verdicts;
//! - Holm: no wrong "better" or "worse" among all, as Bonferroni but with more of them decided. The
//!   intervals agree with the verdicts, and each alone covers at least as often as with none, since
//!   none is shorter than it. **All at once they are not promised to cover**: their lengths depend
//!   on the ranks. Intervals that are, and that fit Holm's verdicts, say little more of a decided
//!   difference than its sign (O. Guilbaud, "Simultaneous confidence regions corresponding to
//!   Holm's step-down procedure and other closed-testing procedures", Biometrical J. 50 (2008)).

use super::Good;

/// How comparisons are adjusted for being many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjust {
    None,
    #[default]
    Bonferroni,
    Holm,
}

impl Adjust {
    /// Returns the adjusted p values. A comparison without one has none and doesn't count.
    pub fn p_values(self, p: &[Option<f64>]) -> Vec<Option<f64>> {
        let mut adjusted = vec![None; p.len()];
        let ranked = ranked(p);
        let mut least = 0.0_f64;
        for (rank, &(index, p)) in ranked.iter().enumerate() {
            let scaled = (self.among(ranked.len(), rank) * p).min(1.0);
            // Holm's never falls with the rank; neither do the others.
            least = least.max(scaled);
            adjusted[index] = Some(least);
        }
        adjusted
    }

    /// Returns the confidence of each comparison's interval, given its unadjusted p value, so that
    /// an interval leaves 0 out where the adjusted p value is at most 1 − `confidence`.
    pub fn confidences(self, p: &[Option<f64>], confidence: f64) -> Vec<f64> {
        let alpha = 1.0 - confidence;
        let ranked = ranked(p);
        let mut confidences = vec![1.0 - alpha / self.among(ranked.len().max(1), 0); p.len()];
        let mut rejected = 0;
        for &(index, p) in &ranked {
            let among = self.among(ranked.len(), rejected);
            confidences[index] = 1.0 - alpha / among;
            // Once one is not rejected, neither is a greater one with the same share.
            rejected += usize::from(among * p <= alpha);
        }
        confidences
    }

    /// Returns among how many of `m` comparisons α is shared once `rejected` are rejected.
    fn among(self, m: usize, rejected: usize) -> f64 {
        match self {
            Adjust::None => 1.0,
            Adjust::Bonferroni => m as f64,
            Adjust::Holm => (m - rejected) as f64,
        }
    }
}

/// Returns the p values that there are, least first, with their places.
fn ranked(p: &[Option<f64>]) -> Vec<(usize, f64)> {
    let there = |(index, p): (usize, &Option<f64>)| p.filter(|p| !p.is_nan()).map(|p| (index, p));
    let mut ranked: Vec<(usize, f64)> = p.iter().enumerate().filter_map(there).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

/// What a comparison says of ours against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Better,
    Worse,
    Undecided,
}

impl Verdict {
    /// Returns the verdict on a difference, ours − baseline, given its adjusted p value.
    pub fn new(difference: f64, p: Option<f64>, confidence: f64, good: Good) -> Self {
        let decided = p.is_some_and(|p| p <= 1.0 - confidence);
        let gain = good.gain(difference);
        match decided {
            true if gain > 0.0 => Verdict::Better,
            true if gain < 0.0 => Verdict::Worse,
            _ => Verdict::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [Option<f64>; 5] = [Some(0.03), Some(0.01), None, Some(0.02), Some(0.4)];

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    fn defined(p: Vec<Option<f64>>) -> Vec<f64> {
        assert_eq!(p[2], None);
        p.into_iter().flatten().collect()
    }

    /// By hand: in order .01 · 4, .02 · 3, .03 · 2 (raised to .06), .4 · 1.
    #[test]
    fn adjusted_p_values_are_those_by_hand() {
        assert!(near(&defined(Adjust::None.p_values(&P)), &[0.03, 0.01, 0.02, 0.4]));
        assert!(near(&defined(Adjust::Bonferroni.p_values(&P)), &[0.12, 0.04, 0.08, 1.0]));
        assert!(near(&defined(Adjust::Holm.p_values(&P)), &[0.06, 0.04, 0.06, 0.4]));
        let raised = Adjust::Holm.p_values(&[Some(0.01), Some(0.011), None]);
        assert!(near(&defined(raised), &[0.02, 0.02]));
    }

    /// Holm at 5 %: the least of four is rejected, the next, .02 · 3, is not, and stops it.
    #[test]
    fn levels_of_the_intervals_are_those_by_hand() {
        let level = |m: f64| 1.0 - 0.05 / m;
        assert!(near(&Adjust::None.confidences(&P, 0.95), &[0.95; 5]));
        assert!(near(&Adjust::Bonferroni.confidences(&P, 0.95), &[level(4.0); 5]));
        let holm = Adjust::Holm.confidences(&P, 0.95);
        assert!(near(&holm, &[3.0, 4.0, 4.0, 3.0, 3.0].map(level)), "{holm:?}");
        assert_eq!(Adjust::Holm.confidences(&[], 0.95), Vec::<f64>::new());
        assert_eq!(Adjust::Holm.confidences(&[None], 0.95).len(), 1);
    }

    #[test]
    fn a_verdict_needs_evidence_and_a_direction() {
        let verdict = |difference, p, good| Verdict::new(difference, p, 0.95, good);
        assert_eq!(verdict(-1.0, Some(0.01), Good::Less), Verdict::Better);
        assert_eq!(verdict(-1.0, Some(0.01), Good::More), Verdict::Worse);
        assert_eq!(verdict(1.0, Some(0.0), Good::Less), Verdict::Worse);
        assert_eq!(verdict(-1.0, Some(0.06), Good::Less), Verdict::Undecided);
        assert_eq!(verdict(-1.0, None, Good::Less), Verdict::Undecided);
        assert_eq!(verdict(0.0, Some(1.0), Good::More), Verdict::Undecided);
    }
}
