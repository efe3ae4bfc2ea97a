//! Failed replications: told with the command that runs each of them again.

use super::{complain, quoted};
use crate::engine::Failed;
use crate::frame::{Cell, Table};
use crate::spec::{Experiment, Override, Stored};

/// Failed replications named on stderr.
const NAMED_FAILURES: usize = 10;

/// Returns the table of `failures.csv`.
pub(super) fn failures(experiment: &Experiment, spec: &Stored, failed: &[Failed]) -> Table {
    let rows = failed.iter().map(|failed| {
        let policy = experiment.design.point(failed.point).policy;
        vec![
            Cell::Whole(failed.point.into()),
            Cell::Text(experiment.labels[policy].clone()),
            Cell::Whole(failed.replication.into()),
            Cell::Text(failed.failure.to_string()),
            Cell::Text(replay_line(spec, failed)),
        ]
    });
    let columns =
        ["point", "policy", "replication", "failure", "replay"].map(String::from).to_vec();
    Table { columns, rows: rows.collect() }
}

/// Names failed replications on stderr, each with the command that reruns it, and says of those
/// that would be too many where they are.
pub(super) fn name_failures(
    experiment: &Experiment,
    spec: &Stored,
    failed: &[Failed],
    others: &str,
) -> anyhow::Result<()> {
    for failed in failed.iter().take(NAMED_FAILURES) {
        let policy = experiment.design.point(failed.point).policy;
        complain(&anyhow::anyhow!(
            "replication {} of point {} ({}) failed: {}\n  {}",
            failed.replication,
            failed.point,
            experiment.labels[policy],
            failed.failure,
            replay_line(spec, failed)
        ))?;
    }
    if failed.len() > NAMED_FAILURES {
        let more = failed.len() - NAMED_FAILURES;
        complain(&anyhow::anyhow!("{more} more replications failed{others}"))?;
    }
    Ok(())
}

fn replay_line(spec: &Stored, failed: &Failed) -> String {
    let Failed { point, replication, .. } = failed;
    format!("{} --point {point} --replication {replication}", command("replay", spec))
}

/// Returns the line that calls a command with a spec as it was changed.
pub(super) fn command(name: &str, spec: &Stored) -> String {
    let mut line = format!("balancelab {name} {}", quoted(&spec.name));
    for Override { flag, .. } in &spec.overrides {
        line += &match flag.strip_prefix("--set ") {
            Some(set) => format!(" --set {}", quoted(set)),
            None => format!(" {flag}"),
        };
    }
    line
}
