//! What the columns of results are: policies, axes and responses, with units and scales.
//!
//! The manifest holds it, so that results can be shown by what is stored of them alone.

use serde::{Deserialize, Serialize};

use crate::design::{Axis, Level, Levels};
use crate::model::Columns;
use crate::spec::{CommonRandomNumbers, Experiment};
use crate::stats::Good;
use crate::stats::multiple::Adjust;

/// Ratio of ends from which listed values at equal ratios are taken for a logarithmic scale.
const WIDE: f64 = 8.0;

/// What the columns of results are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    pub about: Option<String>,
    /// Where the claims were published.
    pub source: Option<String>,
    pub confidence: f64,
    /// Replications of a point, in words.
    pub replications: String,
    /// How intervals of differences hold, and on what traffic differences are taken, in words; older
    /// results don't say.
    #[serde(default)]
    pub differences: String,
    pub baseline: Baseline,
    pub policies: Vec<PolicyColumns>,
    pub responses: Vec<Measure>,
}

/// What other points are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub policy: String,
    /// Values of its axes, in words, where they matter.
    pub at: Vec<(String, String)>,
}

/// A policy and the axes that its points have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyColumns {
    pub label: String,
    /// Hash of what it is, whatever it is called and swept over; older results don't say.
    #[serde(default)]
    pub rule: String,
    pub axes: Vec<AxisColumn>,
}

/// An axis of a policy's points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisColumn {
    pub column: String,
    pub unit: String,
    pub log: bool,
    /// Whether it is the model's, so that its values are other scenarios.
    pub scenario: bool,
}

/// A column of responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub column: String,
    pub unit: String,
    pub about: String,
    pub good: Option<Direction>,
    pub headline: bool,
    pub family: Option<Family>,
}

/// Which values of a response are the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Less,
    More,
}

impl Direction {
    /// Returns whether a value is better than another.
    pub fn is_better(self, value: f64, than: f64) -> bool {
        match self {
            Direction::Less => value < than,
            Direction::More => value > than,
        }
    }
}

/// What the columns of a response with several stand for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub struct Family {
    pub response: String,
    pub of: Members,
    /// Which of them it is.
    pub number: u32,
}

/// Kinds of families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Members {
    Servers,
    Levels,
    Snapshots,
}

impl Layout {
    pub fn new(experiment: &Experiment) -> Layout {
        let design = &experiment.design;
        let policies = experiment.labels.iter().enumerate().map(|(policy, label)| {
            let own: Vec<&str> = design.own_axes(policy).map(|(_, column)| column).collect();
            let axes = design.axes_of(policy).map(|(axis, column)| {
                let scenario = !own.contains(&column);
                AxisColumn {
                    column: column.to_owned(),
                    unit: experiment.unit((!scenario).then_some(policy), axis).to_owned(),
                    log: is_log(axis),
                    scenario,
                }
            });
            let mut columns: Vec<AxisColumn> = Vec::new();
            for axis in axes {
                if columns.iter().all(|known| known.column != axis.column) {
                    columns.push(axis);
                }
            }
            let rule =
                experiment.rule(policy).map_or_else(String::new, |rule| format!("{rule:032x}"));
            PolicyColumns { label: label.clone(), rule, axes: columns }
        });
        let at = experiment.baseline_levels().into_iter();
        Layout {
            about: experiment.about.clone(),
            source: experiment.source.clone(),
            confidence: experiment.confidence,
            replications: experiment.replications.to_string(),
            differences: differences(experiment),
            baseline: Baseline {
                policy: experiment.labels[experiment.baseline.policy].clone(),
                at: at.map(|(axis, level)| (axis, level.to_string())).collect(),
            },
            policies: policies.collect(),
            responses: experiment
                .columns
                .iter()
                .map(|column| measure(experiment, column))
                .collect(),
        }
    }
}

/// Returns how differences are taken.
fn differences(experiment: &Experiment) -> String {
    let traffic = match experiment.common {
        CommonRandomNumbers::None => "each on traffic of its own",
        _ => "on the same traffic",
    };
    let adjusted = match experiment.adjust {
        Adjust::None => "each interval is its own, however many there are",
        Adjust::Bonferroni => "intervals are adjusted for the number of comparisons",
        Adjust::Holm => "verdicts hold together, intervals are Holm's",
    };
    format!("replication by replication, {traffic}; {adjusted}")
}

fn measure(experiment: &Experiment, column: &str) -> Measure {
    let response = experiment.system.responses.iter().find(|one| one.is_column(column));
    let family = response.and_then(|response| {
        let of = match response.columns {
            Columns::One => return None,
            Columns::PerServer(_) => Members::Servers,
            Columns::Levels(_) => Members::Levels,
            Columns::Snapshots(_) => Members::Snapshots,
        };
        let number = column.strip_prefix(response.name)?.strip_prefix('_');
        let number = number.and_then(|number| number.parse().ok()).unwrap_or_default();
        Some(Family { response: response.name.to_owned(), of, number })
    });
    Measure {
        column: column.to_owned(),
        unit: response.map_or("", |response| response.unit).to_owned(),
        about: response.map_or("", |response| response.about).to_owned(),
        good: response.and_then(|response| response.good).map(|good| match good {
            Good::Less => Direction::Less,
            Good::More => Direction::More,
        }),
        headline: response.is_some_and(|response| response.headline),
        family,
    }
}

/// Returns whether the values of an axis are best shown on a logarithmic scale: they were swept so,
/// or are listed at about equal ratios over a wide range.
fn is_log(axis: &Axis) -> bool {
    let listed = match &axis.levels {
        Levels::Logspace { .. } => return true,
        Levels::Linspace { .. } | Levels::Step { .. } => return false,
        Levels::List(listed) => listed,
    };
    let number = |level: &Level| match level {
        Level::Number(number) if *number > 0.0 => Some(*number),
        _ => None,
    };
    let Some(numbers) = listed.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    let [first, .., last] = numbers[..] else { return false };
    let steps: Vec<f64> = numbers.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs()).collect();
    let most = steps.iter().copied().fold(0.0, f64::max);
    let least = steps.iter().copied().fold(f64::INFINITY, f64::min);
    numbers.len() > 2 && (last / first).ln().abs() >= WIDE.ln() && most <= 2.5 * least
}
