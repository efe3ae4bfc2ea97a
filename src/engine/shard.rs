//! Shards: an experiment's plan cut into parts that need not run in one process.

use std::str::FromStr;

use crate::spec::{Experiment, Replications};

/// Most shards of a plan.
pub const MAX_SHARDS: u32 = 1_000_000;

/// One of the parts of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// Where a shard begins or ends: a point and a replication of it.
type Place = (u32, u32);

impl Shard {
    /// Returns the place where the shard begins, and the one before which it ends.
    ///
    /// Shards follow each other in plan order, and have about equal numbers of arrivals. Where
    /// points stop by themselves, or are one run in batches, a point is in one shard.
    pub(super) fn ends(&self, experiment: &Experiment) -> (Place, Place) {
        let whole = whole_points(experiment);
        let most = experiment.replications.checkpoints().last().copied().unwrap_or(0);
        let per_point = if whole { 1 } else { u64::from(most) };
        let total = experiment.expected_arrivals * per_point as f64;
        let target = |cut: u32| total * f64::from(cut) / f64::from(self.of);
        // A place is found as the number of replications (or points) before it.
        let last = u64::from(experiment.points()) * per_point;
        let mut cuts = [(self.number - 1, None), (self.number, None)];
        let (mut before, mut arrivals) = (0_u64, 0.0);
        let mut starts = experiment.scenarios(&[]).peekable();
        while let Some((_, first)) = starts.next() {
            let next = starts.peek().map_or(experiment.points(), |&(_, point)| point);
            let model = experiment.model(&experiment.design.point(first));
            let each = model.map_or(0.0, |model| model.expected_arrivals());
            let here = u64::from(next - first) * per_point;
            for (cut, found) in &mut cuts {
                let rest = target(*cut) - arrivals;
                if found.is_none() && rest < each * here as f64 {
                    *found = Some(before + ((rest / each).ceil() as u64).min(here));
                }
            }
            before += here;
            arrivals += each * here as f64;
        }
        let place = |(cut, found): (u32, Option<u64>)| {
            // Rounding errors don't bear on the ends.
            let job = match cut {
                0 => 0,
                cut if cut == self.of => last,
                _ => found.unwrap_or(last),
            };
            let (point, replication) = (job / per_point, job % per_point);
            (point as u32, replication as u32)
        };
        (place(cuts[0]), place(cuts[1]))
    }
}

/// Returns the most parts that an experiment can be cut into, or why it can't be.
///
/// # Errors
/// A sentence for experiments whose points need one another.
pub fn most_shards(experiment: &Experiment) -> Result<u32, String> {
    if experiment.select.is_some() {
        return Err("`select` compares all points as they go, so it can't be cut into shards; \
                    run it in one process"
            .to_owned());
    }
    let points = u64::from(experiment.points());
    let each = match whole_points(experiment) {
        true => 1,
        false => experiment.replications.checkpoints().last().copied().unwrap_or(0),
    };
    Ok((points * u64::from(each)).min(u64::from(MAX_SHARDS)) as u32)
}

/// Whether a point's replications have to be in one shard.
fn whole_points(experiment: &Experiment) -> bool {
    !matches!(experiment.replications, Replications::Fixed(_))
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `3/40`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match parts {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) && of <= MAX_SHARDS => {
                Ok(Shard { number, of })
            }
            _ => Err(format!(
                "`{text}` is no shard; write K/N such as 3/40, with K from 1 to N and N at most \
                 {MAX_SHARDS}"
            )),
        }
    }
}
