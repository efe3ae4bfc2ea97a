//! What searches found, for a terminal.

use super::numbers::{level, rounded};
use super::{grouped, plus_minus, short, table};
use crate::frame::verdict;
use crate::optimize::{Failures, Gains, Outcome};
use crate::spec::{Experiment, Optimize};
use crate::stats::Good;

/// Returns where a point's scenario stands, as ` at channels [2, 4]`; nothing of a single one.
pub fn scenario(experiment: &Experiment, point: u32) -> String {
    let point = experiment.design.point(point);
    let levels = experiment.design.scenario_levels(&point);
    let levels: Vec<String> =
        levels.iter().map(|(axis, value)| format!("{axis} {}", level(value))).collect();
    if levels.is_empty() { String::new() } else { format!(" at {}", levels.join(", ")) }
}

/// Returns the replications of a search and its confirmation, in all its scenarios.
pub(super) fn replications(experiment: &Experiment, search: &Optimize) -> u64 {
    let targets = 1 + search.against.len() as u64 + u64::from(search.confirm.grid.unwrap_or(0));
    let confirm = targets * u64::from(search.confirm.replications);
    experiment.scenarios(&search.at).count() as u64 * (search.budget + confirm)
}

/// Returns a line per search of what it will do.
pub(super) fn plan(experiment: &Experiment) -> String {
    let line = |search: &Optimize| {
        let all = replications(experiment, search);
        let scenarios = experiment.scenarios(&search.at).count() as u64;
        format!(
            "  search {}: {}, {} replications and {} to confirm{}\n",
            search.label,
            search.method.name(),
            grouped(search.budget as f64),
            grouped((all / scenarios.max(1) - search.budget) as f64),
            if scenarios > 1 {
                format!(", in each of {scenarios} scenarios")
            } else {
                String::new()
            }
        )
    };
    experiment.optimize.iter().map(line).collect()
}

/// Returns what each search found, how sure that is, and how it compares.
pub fn searches(experiment: &Experiment, outcomes: &[Outcome]) -> String {
    outcomes.iter().map(|outcome| one(experiment, outcome)).collect()
}

fn one(experiment: &Experiment, outcome: &Outcome) -> String {
    let search = &experiment.optimize[outcome.search];
    let response = &experiment.columns[search.column];
    let least = match search.good {
        Good::Less => "least",
        Good::More => "greatest",
    };
    let mut text = format!(
        "\nsearch {}: the {least} {response} of {}{}\n",
        search.label,
        experiment.labels[search.policy],
        scenario(experiment, outcome.point)
    );
    text += &format!(
        "by {}, {} of {} replications{}\n",
        outcome.found.method,
        grouped(outcome.spent as f64),
        grouped(search.budget as f64),
        failures(&outcome.failures)
    );
    if !outcome.found.why.is_empty() {
        text += &format!("{}\n", outcome.found.why);
    }
    if let Some(gains) = &outcome.found.gains {
        text += &gains_line(gains);
    }
    for (i, over) in search.over.iter().enumerate() {
        let se = outcome.se.as_ref().map(|se| se[i]).filter(|se| !se.is_nan());
        let se = se.map_or("none".to_owned(), digits);
        text += &format!("  {} = {}, standard error {se}\n", over.name, short(outcome.at[i]));
    }
    text + &confirmed(experiment, outcome)
}

fn failures(failures: &Failures) -> String {
    match *failures {
        Failures { replications: 0, .. } => String::new(),
        Failures { replications, retried: 0, .. } => {
            format!("; {} of them failed", grouped(replications as f64))
        }
        Failures { replications, retried, skipped } => format!(
            "; {} of them failed, for which {retried} evaluations were made once more and {skipped} \
             left out",
            grouped(replications as f64)
        ),
    }
}

fn gains_line(gains: &Gains) -> String {
    format!(
        "gains a_k = {} / (k + 1 + {})^0.602, c_k = {} / (k + 1)^0.101; {} iterations; the pilot \
         saw a slope of {} per box and pairs with noise {}\n",
        digits(gains.a),
        digits(gains.stability),
        digits(gains.c),
        grouped(f64::from(gains.iterations)),
        digits(gains.slope),
        digits(gains.noise)
    )
}

fn confirmed(experiment: &Experiment, outcome: &Outcome) -> String {
    let search = &experiment.optimize[outcome.search];
    let response = &experiment.columns[search.column];
    let mut text = format!(
        "confirmed in {} replications that the search never saw:\n",
        grouped(f64::from(search.confirm.replications))
    );
    let value = |measured: &Option<crate::optimize::Measured>| {
        let Some(value) = measured else { return "none".to_owned() };
        let text = match value.interval {
            Some(interval) => plus_minus(value.mean, interval.half_width()),
            None => format!("{:.4}", value.mean),
        };
        match value.n {
            n if n < u64::from(search.confirm.replications) => format!("{text} (of {n})"),
            _ => text,
        }
    };
    let header = ["", response.as_str(), "found − rival", "verdict"].map(String::from).to_vec();
    let mut rows = table(header, 1);
    let confirmation = &outcome.confirmation;
    rows.add_row(["found".to_owned(), value(&confirmation.found), String::new(), String::new()]);
    for rival in &confirmation.rivals {
        rows.add_row([
            rival.name.clone(),
            value(&rival.value),
            match (rival.difference, rival.interval) {
                (Some(difference), Some(interval)) => plus_minus(difference, interval.half_width()),
                _ => "none".to_owned(),
            },
            verdict(rival.verdict).to_owned(),
        ]);
    }
    text += &format!("{rows}\n");
    if let Some(regret) = &confirmation.regret {
        let best: Vec<String> = search
            .over
            .iter()
            .zip(&regret.best)
            .map(|(over, value)| format!("{} = {}", over.name, short(*value)))
            .collect();
        text += &format!(
            "against the best of a grid of {}, {}: regret {:.4}, interval {:.4} to {:.4}{}\n",
            regret.points,
            best.join(", "),
            // Not −0.
            regret.regret + 0.0,
            regret.interval.low + 0.0,
            regret.interval.high + 0.0,
            match (regret.at_noise_floor, search.confirm.delta) {
                (Some(true), Some(delta)) => format!(": at the noise floor of ±{delta}"),
                (Some(false), Some(delta)) => format!(": not known to be within ±{delta}"),
                _ => String::new(),
            }
        );
    }
    text
}

/// Returns a number with three significant digits.
fn digits(number: f64) -> String {
    format!("{}", rounded(number, 3))
}
