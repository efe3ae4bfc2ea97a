//! What every method works on: the function, the budget, the streams, the trace.

use super::{Evaluate, Request, Space, Target};
use crate::rng::{Pcg32, Role, StreamKey, content_hash};
use crate::stats::{Good, Moments};

/// Why a search ended before its budget.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Stop {
    /// What is left doesn't pay for the next evaluation: the usual end.
    #[error("the budget is spent")]
    Budget,
    #[error("interrupted")]
    Interrupted,
    /// Nothing could be evaluated.
    #[error("{0}")]
    Failed(String),
}

/// What an evaluation was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// To choose the method's own settings.
    Pilot,
    Search,
    /// To judge what was found, on streams that the search never saw.
    Confirm,
}

impl Phase {
    /// Returns the word that files have for it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Pilot => "pilot",
            Phase::Search => "search",
            Phase::Confirm => "confirm",
        }
    }
}

/// One evaluation: some replications at one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub phase: Phase,
    /// Iteration of the method, from 0.
    pub iteration: u32,
    /// Which of the iteration's points it is: `plus`, `minus`, a rival's name, ….
    pub side: String,
    /// The point in natural units; none for a rival.
    pub point: Vec<f64>,
    /// Mean over the replications that gave a value, none where none did.
    pub value: Option<f64>,
    /// Standard deviation over replications, none of fewer than two.
    pub sd: Option<f64>,
    /// The first replication and their number.
    pub streams: StreamKey,
    pub replications: u32,
    /// How many of them gave no value.
    pub failed: u32,
    /// The gains a and c of an SPSA's iteration.
    pub gains: Option<[f64; 2]>,
    /// Where the method was when it asked, in natural units.
    pub estimate: Option<Vec<f64>>,
}

/// What failed in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Replications without a value.
    pub replications: u64,
    /// Evaluations that were made once more for that, and those left out after it.
    pub retried: u32,
    pub skipped: u32,
}

/// A search under way.
pub struct Search<'a> {
    space: Space,
    evaluate: &'a dyn Evaluate,
    good: Good,
    streams: StreamKey,
    budget: u64,
    spent: u64,
    /// First replication whose streams nobody has seen.
    next: u32,
    retried: u32,
    skipped: u32,
    failed: u64,
    steps: Vec<Step>,
    /// Told of every step.
    observe: &'a dyn Fn(&Step),
    /// Notes for the steps to come.
    pub phase: Phase,
    pub iteration: u32,
    pub gains: Option<[f64; 2]>,
    pub estimate: Option<Vec<f64>>,
}

impl<'a> Search<'a> {
    /// Returns a search over `space` for `good` values, of at most `budget` replications; it draws
    /// from the streams of replications 0, 1, … of `seed` and `scenario`.
    pub fn new(
        space: Space,
        evaluate: &'a dyn Evaluate,
        good: Good,
        (seed, scenario): (u64, u128),
        budget: u64,
        observe: &'a dyn Fn(&Step),
    ) -> Self {
        let streams = StreamKey { seed, scenario, replication: 0 };
        Search {
            space,
            evaluate,
            good,
            streams,
            budget,
            spent: 0,
            next: 0,
            retried: 0,
            skipped: 0,
            failed: 0,
            steps: Vec::new(),
            observe,
            phase: Phase::Search,
            iteration: 0,
            gains: None,
            estimate: None,
        }
    }

    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the replications of the budget that are left.
    pub fn left(&self) -> u64 {
        self.budget - self.spent
    }

    /// Returns the replications spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Returns what failed.
    pub fn failures(&self) -> Failures {
        Failures { replications: self.failed, retried: self.retried, skipped: self.skipped }
    }

    /// Returns all evaluations, in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns all evaluations, in their order, at the end.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// Returns the random numbers of a choice of the method's own.
    pub fn random(&self, purpose: &str) -> Pcg32 {
        let scenario = content_hash(format!("{:032x} {purpose}", self.streams.scenario).as_bytes());
        StreamKey { scenario, ..self.streams }.stream(Role::Routing)
    }

    /// Gives out streams that nobody has seen, and returns the first of them.
    pub fn fresh(&mut self, replications: u32) -> u32 {
        let first = self.next;
        self.next += replications;
        first
    }

    /// Evaluates points of the unit cube on the same streams, so that their differences are
    /// paired, and returns for each the costs of its replications: values to be made small.
    ///
    /// Where one fails all are evaluated once more, on fresh streams; where one fails again, there
    /// are none.
    ///
    /// # Errors
    /// [`Stop`], where the budget doesn't suffice or the function gives up.
    pub fn together(
        &mut self,
        points: &[(&str, &[f64])],
        first: u32,
        replications: u32,
    ) -> Result<Option<Vec<Vec<f64>>>, Stop> {
        for streams in [Some(first), None] {
            let retry = streams.is_none();
            let first = streams.unwrap_or_else(|| self.fresh(replications));
            self.retried += u32::from(retry);
            let costs = self.attempt(points, first, replications)?;
            if let Some(costs) =
                costs.into_iter().map(|costs| costs.into_iter().collect()).collect()
            {
                return Ok(Some(costs));
            }
        }
        self.skipped += 1;
        Ok(None)
    }

    /// Evaluates points of the unit cube on the same streams, and returns for each the costs of its
    /// replications, nothing for one that failed.
    ///
    /// Nothing is evaluated again: a mean over many spares a few, and on other streams a point
    /// would not be paired with the rest.
    ///
    /// # Errors
    /// As [`Self::together`].
    pub fn sample(
        &mut self,
        points: &[(&str, &[f64])],
        first: u32,
        replications: u32,
    ) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        self.attempt(points, first, replications)
    }

    fn attempt(
        &mut self,
        points: &[(&str, &[f64])],
        first: u32,
        replications: u32,
    ) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let price = points.len() as u64 * u64::from(replications);
        if price > self.left() {
            return Err(Stop::Budget);
        }
        let streams = StreamKey { replication: first, ..self.streams };
        let naturals: Vec<Vec<f64>> =
            points.iter().map(|(_, unit)| self.space.natural(unit)).collect();
        let requests: Vec<Request> = naturals
            .iter()
            .map(|point| Request { target: Target::Point(point.clone()), streams, replications })
            .collect();
        let values = self.evaluate.evaluate(&requests)?;
        self.spent += price;
        let mut costs = Vec::with_capacity(points.len());
        for (((side, _), point), values) in points.iter().zip(naturals).zip(values) {
            // NaN is a failure too: it would poison every mean it enters.
            let values: Vec<Option<f64>> =
                values.into_iter().map(|value| value.filter(|value| value.is_finite())).collect();
            let mut moments = Moments::default();
            values.iter().flatten().for_each(|&value| moments.push(value));
            let step = Step {
                phase: self.phase,
                iteration: self.iteration,
                side: (*side).to_owned(),
                point,
                value: moments.mean(),
                sd: moments.sd(),
                streams,
                replications,
                failed: replications - moments.n() as u32,
                gains: self.gains,
                estimate: self.estimate.clone(),
            };
            self.failed += u64::from(step.failed);
            (self.observe)(&step);
            self.steps.push(step);
            let cost = |value: Option<f64>| value.map(|value| -self.good.gain(value));
            costs.push(values.into_iter().map(cost).collect());
        }
        Ok(costs)
    }
}

/// Returns the mean of costs.
pub fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len() as f64
}

/// Returns the mean of the costs there are, if at least half of them are.
pub fn mean_of_most(costs: &[Option<f64>]) -> Option<f64> {
    let there: Vec<f64> = costs.iter().flatten().copied().collect();
    (!there.is_empty() && 2 * there.len() >= costs.len()).then(|| mean(&there))
}

/// Cost of a point that has none: worse than any, and finite, since solvers calculate with it.
pub(super) const FAILED: f64 = 1e300;

/// Returns the error of a search that saw no value at all.
pub(super) fn no_value() -> Stop {
    Stop::Failed("no replication of any point gave a value".to_owned())
}

/// Returns a number of replications, as many as there are streams at most.
pub(super) fn whole(replications: u64) -> u32 {
    u32::try_from(replications).unwrap_or(u32::MAX)
}
