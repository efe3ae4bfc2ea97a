//! What queues did over a period, and whether it adds up.

use super::{Failure, audit};

/// What queues did over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Time that queues spent with each number of jobs, as a share of all time.
    pub levels: Vec<f64>,
    /// Time average of each queue's busy channels over its channels.
    pub utilisation: Vec<f64>,
    /// Jobs that each queue took in.
    pub accepted: Vec<u64>,
}

/// What was counted of queues over a period.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    /// Time that queues spent with each number of jobs [queue × time units].
    pub levels: &'a [f64],
    /// Sum of the times that jobs spent in them, added up job by job [job × time units].
    pub spent: f64,
    /// Sum of what that was made from by additions and subtractions.
    pub greatest: f64,
    /// Most jobs that a queue can hold.
    pub capacity: u32,
    pub start: f64,
    pub end: f64,
}

impl Counted<'_> {
    /// Checks that jobs' times add up to the queues' (Little's law on a sample path), that there is as
    /// much time as passed, and that no queue was fuller than it can be.
    ///
    /// # Errors
    /// [`Failure::Audit`].
    pub(super) fn check(
        self,
        utilisation: Vec<f64>,
        accepted: Vec<u64>,
    ) -> Result<Occupancy, Failure> {
        let Counted { levels, spent, greatest, capacity, start, end } = self;
        let length = end - start;
        if length <= 0.0 {
            // Nothing is the share of no time.
            let (levels, utilisation) =
                (vec![f64::NAN; levels.len()], vec![f64::NAN; utilisation.len()]);
            return Ok(Occupancy { levels, utilisation, accepted });
        }
        let all = length * utilisation.len() as f64;
        let levels: Vec<f64> = levels.iter().map(|time| time / all).collect();
        let by_level: f64 =
            levels.iter().enumerate().map(|(jobs, share)| jobs as f64 * share).sum();
        let by_job = spent / all;
        // Both come of sums, and of differences of sums, that may be much greater.
        let rounding = 1e-9 * (1.0 + by_level) * end / length + 1e-12 * greatest / all;
        audit((by_level - by_job).abs() <= rounding, || {
            format!("queues held {by_level} jobs each in the mean, and jobs were in {by_job}")
        })?;
        audit((levels.iter().sum::<f64>() - 1.0).abs() <= rounding, || {
            "queues spent more or less time than there was".to_owned()
        })?;
        let most = levels.iter().rposition(|&share| share > 0.0).unwrap_or(0);
        audit(most as u64 <= u64::from(capacity), || format!("a queue of {capacity} held {most}"))?;
        Ok(Occupancy { levels, utilisation, accepted })
    }
}
