//! The method that fits a search: chosen by parameters and budget, and why.
//!
//! The rule is what `cargo bench --bench optimizer` says at budgets of 30 to 10 000 replications (its
//! second number) in 1 to 20 parameters:
//!
//! - SPSA has the least gap on most problems once it has 100 replications per parameter, and 200 for
//!   one, for its gains and its average. A response surface beats it where a quadratic fits and the
//!   noise of points has nothing in common, which common random numbers make the exception; CMA-ES
//!   does in a curved valley.
//! - With fewer a solver on fixed replications is ahead: Brent's for one parameter, the simplex for up
//!   to five. The simplex folds on the steps of whole numbers, and fails in twenty dimensions.
//! - Whole numbers so few that 200 replications of each point are paid for are compared one by one,
//!   which needs no smooth function.

use super::{Found, Search, Stop, by};
use crate::spec::Method;
use crate::stats::selection::MAX_SYSTEMS;

/// Replications of each point of whole numbers from which they are compared one by one.
const PER_POINT: f64 = 200.0;
/// Replications per parameter from which SPSA is ahead, and for fewest parameters.
const PER_PARAMETER: u64 = 100;
const FEWEST: usize = 2;
/// Most parameters that a simplex copes with.
const SIMPLEX: usize = 5;
/// Probability that the selection is to be right with.
const CONFIDENCE: f64 = 0.95;

/// Searches from `start`, a point of the unit cube, by the method that fits.
pub(super) fn search(search: &mut Search, start: &[f64]) -> Result<Found, Stop> {
    let (method, reason) = choose(search);
    let mut found = by(search, &method, start)?;
    found.why = if found.why.is_empty() { reason } else { format!("{reason}; {}", found.why) };
    Ok(found)
}

fn choose(search: &Search) -> (Method, String) {
    let (parameters, budget) = (&search.space().parameters, search.left());
    let counts = parameters.iter().map(|this| this.integer.then_some(this.high - this.low + 1.0));
    let counts: Option<Vec<f64>> = counts.collect();
    if let Some(counts) = counts {
        let all: f64 = counts.iter().product();
        if all <= MAX_SYSTEMS as f64 && all * PER_POINT <= budget as f64 {
            let points = counts.into_iter().fold(2.0, f64::max) as u32;
            let method = Method::Grid { points, delta: None, confidence: CONFIDENCE };
            let paid = format!("{budget} replications pay for {PER_POINT} of each of {all} points");
            return (method, format!("auto: grid, since {paid}"));
        }
    }
    let n = parameters.len();
    let enough = PER_PARAMETER * n.max(FEWEST) as u64;
    let simple = n <= SIMPLEX && !parameters.iter().any(|this| this.integer);
    let spsa = Method::Spsa(Default::default());
    let replications = None;
    let (method, name, what, but) = match n {
        _ if budget >= enough => (spsa, "spsa", "no fewer than", ""),
        1 => (Method::Brent { replications }, "brent", "fewer than", ""),
        _ if simple => (Method::NelderMead { replications }, "nelder_mead", "fewer than", ""),
        _ => (spsa, "spsa", "fewer than", ", but a simplex would do worse"),
    };
    let s = if n == 1 { "" } else { "s" };
    let needs = format!("the {enough} that spsa should have for {n} parameter{s}");
    (method, format!("auto: {name}, since {budget} replications are {what} {needs}{but}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Range;
    use crate::optimize::Space;
    use crate::optimize::trials::{Known, start, whole_numbers};
    use crate::stats::Good;

    fn chosen(parameters: Vec<Range>, budget: u64) -> String {
        let known = Known::quiet(|_| 0.0);
        start(Space { parameters }, &known, Good::Less, budget, |search| choose(search).1)
    }

    #[test]
    fn parameters_and_budget_decide_and_the_sentence_says_how() {
        let plain = Known::space(5).parameters;
        let reason = |n: usize, budget| chosen(plain[..n].to_vec(), budget);
        let sentence = "auto: spsa, since 1000 replications are no fewer than the 200 that spsa \
                        should have for 1 parameter";
        assert_eq!(reason(1, 1000), sentence);
        assert!(reason(1, 199).starts_with("auto: brent, since 199 replications are fewer"));
        assert!(reason(5, 499).starts_with("auto: nelder_mead,"));
        assert!(reason(5, 500).starts_with("auto: spsa,"));
        let many = Known::space(6).parameters;
        assert!(chosen(many, 100).ends_with("for 6 parameters, but a simplex would do worse"));
        let mixed = vec![plain[0], whole_numbers(1.0, 40.0)];
        assert!(chosen(mixed, 100).starts_with("auto: spsa,"));
        let few = vec![whole_numbers(1.0, 5.0)];
        let paid = "auto: grid, since 1000 replications pay for 200 of each of 5 points";
        assert_eq!(chosen(few.clone(), 1000), paid);
        assert!(chosen(few, 999).starts_with("auto: spsa,"));
    }
}
