//! The search for the best point: all points together, those that can't be the best left behind.
//!
//! Points are systems of the procedure KN ([`crate::stats::selection`]) and take replications in
//! step. To keep all threads busy some are run ahead; what a point has more than the procedure
//! took of it is thrown away, so that rows are the same at any number of threads.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::{
    Case, EngineError, Event, Failed, Options, Output, Plan, Stop, Store, Work, pool, run_block,
};
use crate::spec::{Experiment, Select};
use crate::stats::selection::Fault;

/// What a selection came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// The best point, if it was decided.
    pub best: Option<u32>,
    /// Points that were not left behind.
    pub left: Vec<u32>,
    /// Other points that equalled the best in every replication.
    pub tied: Vec<u32>,
    /// A point that had no value, which ended the search, and the replication.
    pub without_value: Option<(u32, u32)>,
    /// Replications of the point that got the most.
    pub most: u32,
    /// Replications of all points together.
    pub total: u64,
}

/// Runs the points of a plan until the best is decided, or the plan's most replications are done.
///
/// Output goes to `sink` in plan order at the end, failures are returned; a failure of a point
/// that may be the best ends the search undecided.
///
/// # Errors
/// As [`super::run`].
pub fn select<E: Send>(
    experiment: &Experiment,
    rule: &Select,
    plan: &Plan,
    options: Options,
    store: &dyn Store<E>,
    observe: &(dyn Fn(Event) + Sync),
    sink: &mut dyn FnMut(Output) -> Result<(), E>,
) -> Result<(Vec<Failed>, Selected), EngineError<E>> {
    let work = Work {
        prepare: |point| Case::new(experiment, point),
        identity: Case::identity,
        expected: Case::expected,
        replicate: Case::replicate,
    };
    let pool = pool(options)?;
    let stop = Stop::new(options);
    let mut selection = rule.start();
    let mut kept: Vec<Vec<Output>> = vec![Vec::new(); plan.points.len()];
    let mut failures = Vec::new();
    let mut without_value = None;
    while selection.best().is_none() && selection.replications() < plan.most() {
        let done = selection.replications();
        let fair = 8 * pool.current_num_threads() / selection.alive().len().max(1);
        let ahead = selection.at_least().max(fair as u32).min(plan.most() - done);
        let blocks = blocks(plan, selection.alive(), done..done + ahead);
        let outputs: Vec<_> = pool.install(|| {
            let run = |(system, block)| (system, run_block(&work, block, &stop, store, observe));
            blocks.into_par_iter().with_max_len(1).map(run).collect()
        });
        stop.check(outputs.iter().flat_map(|(_, results)| results))?;
        let mut rows: Vec<BTreeMap<u32, Result<Output, Failed>>> =
            (0..plan.points.len()).map(|_| BTreeMap::new()).collect();
        for (system, outputs) in outputs {
            for output in outputs {
                match output {
                    Ok(begin @ Output::Begin { .. }) => kept[system].push(begin),
                    Ok(Output::Row(row)) => {
                        rows[system].insert(row.replication, Ok(Output::Row(row)));
                    }
                    Err(failed) => {
                        rows[system].insert(failed.replication, Err(failed));
                    }
                }
            }
        }
        for replication in done..done + ahead {
            let alive = selection.alive().to_vec();
            let mut values = Vec::with_capacity(alive.len());
            for &system in &alive {
                match rows[system].remove(&replication) {
                    Some(Ok(Output::Row(row))) => {
                        values.push((system, row.values[rule.column]));
                        kept[system].push(Output::Row(row));
                    }
                    Some(Err(failed)) => failures.push(failed),
                    _ => {}
                }
            }
            if let Err(Fault::NoValue { system, replication }) = selection.push(&values) {
                without_value = Some((plan.points[system], replication));
                break;
            }
            if selection.best().is_some() {
                break;
            }
        }
        if !failures.is_empty() || without_value.is_some() {
            break;
        }
    }
    let left = selection.alive().iter().map(|&system| plan.points[system]).collect();
    let rows = |list: &Vec<Output>| list.len().saturating_sub(1) as u64;
    let values = |system: usize| -> Vec<f64> {
        let value = |output: &Output| match output {
            Output::Row(row) => Some(row.values[rule.column]),
            Output::Begin { .. } => None,
        };
        kept[system].iter().filter_map(value).collect()
    };
    let tied = selection.best().map_or(Vec::new(), |best| {
        let of_best = values(best);
        let is_tied = |&system: &usize| system != best && values(system) == of_best;
        let others = (0..plan.points.len()).filter(is_tied);
        others.map(|system| plan.points[system]).collect()
    });
    let selected = Selected {
        best: selection.best().map(|system| plan.points[system]),
        left,
        tied,
        without_value,
        most: kept.iter().map(rows).max().unwrap_or_default() as u32,
        total: kept.iter().map(rows).sum(),
    };
    for output in kept.into_iter().flatten() {
        sink(output)?;
    }
    Ok((failures, selected))
}

/// Cuts the same replications of some systems into blocks.
fn blocks(
    plan: &Plan,
    systems: &[usize],
    replications: Range<u32>,
) -> Vec<(usize, (u32, Range<u32>))> {
    let size = plan.block();
    let Range { start, end } = replications;
    systems
        .iter()
        .flat_map(|&system| {
            let cuts = (0..(end - start).div_ceil(size)).map(move |i| start + i * size);
            cuts.map(move |cut| (system, cut..cut.saturating_add(size).min(end)))
        })
        .map(|(system, block)| (system, (plan.points[system], block)))
        .collect()
}
