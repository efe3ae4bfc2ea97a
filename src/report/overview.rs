//! The best point of each policy, on a terminal: what a large sweep comes to.

use comfy_table::Cell;

use super::figures::{baseline, best, shown};
use super::numbers::{level, plus_minus, short};
use super::verdict::value;
use super::{judged_cell, table};
use crate::design::Level;
use crate::frame::{Direction, Found, FoundPoint, Ranking};

/// Most rows.
const ROWS: usize = 60;
/// Most letters of a sparkline.
const SPARKS: usize = 20;

/// Returns a table with the best point of each policy in each scenario by the first response that has
/// good values, its difference from the baseline, and how the response goes along the policy's axis;
/// nothing where no response has good values.
pub fn overview(found: &Found) -> Option<String> {
    let measures = &found.layout.responses;
    let responses: Vec<usize> = (0..measures.len())
        .filter(|&at| measures[at].headline && measures[at].family.is_none())
        .collect();
    let by = shown(found).into_iter().find(|&at| measures[at].good.is_some())?;
    let points = best(found, by);
    let axes = found.axis_columns();
    let along: Vec<Option<Along>> =
        points.iter().take(ROWS).map(|point| Along::new(found, by, point)).collect();
    let compared: Vec<_> = points.iter().map(|point| found.compared(point, by)).collect();
    let has_differences = compared.iter().any(Option::is_some);
    let mut header = vec!["policy".to_owned()];
    header.extend(axes.iter().cloned());
    header.push(measures[by].column.clone());
    if has_differences {
        header.extend([format!("less {}", baseline(found)), "verdict".to_owned()]);
    }
    let others = responses.iter().filter(|&&at| at != by);
    header.extend(others.clone().map(|&at| measures[at].column.clone()));
    let has_sparks = along.iter().any(Option::is_some);
    if has_sparks {
        header.push("along its axis".to_owned());
    }
    let mut table = table(header, 1);
    for ((point, compared), along) in points.iter().zip(compared).zip(&along) {
        let of = |at: usize| point.summaries[at].as_ref().map_or(String::new(), value);
        let level = |axis: &String| point.levels.get(axis).map_or(String::new(), level);
        let mut row = vec![Cell::new(&point.policy)];
        row.extend(axes.iter().map(|axis| Cell::new(level(axis))));
        row.push(Cell::new(of(by)));
        if has_differences {
            row.push(Cell::new(compared.map_or(String::new(), |one| match one.ends {
                Some((low, high)) => plus_minus(one.difference, (high - low) / 2.0),
                None => short(one.difference),
            })));
            row.push(judged_cell(compared.map_or("", |one| one.verdict.as_str())));
        }
        row.extend(others.clone().map(|&at| Cell::new(of(at))));
        if has_sparks {
            row.push(Cell::new(along.as_ref().map_or(String::new(), Along::words)));
        }
        table.add_row(row);
    }
    let most = match measures[by].good {
        Some(Direction::More) => "most",
        _ => "least",
    };
    let is_by_gains = |point: &&FoundPoint| found.ranking(point.scenario, by) == Ranking::Gains;
    let how = match points.iter().any(is_by_gains) {
        true => "; the best of all is judged by the replications that points share",
        false => "",
    };
    let column = &measures[by].column;
    let mut text = format!("each policy's point with the {most} {column}{how}\n{table}\n");
    if points.len() > ROWS {
        text += &format!("{} more are in summary.csv\n", points.len() - ROWS);
    }
    Some(text)
}

/// How a response goes along the own axis of a policy.
struct Along {
    axis: String,
    values: Vec<(f64, f64)>,
}

impl Along {
    /// Returns it for the policy of a point in its scenario, if the policy has one axis of numbers.
    fn new(found: &Found, response: usize, point: &FoundPoint) -> Option<Along> {
        let policy = found.policy(point)?;
        let mut own = policy.axes.iter().filter(|axis| !axis.scenario);
        let (axis, None) = (own.next()?, own.next()) else { return None };
        let same = found
            .points
            .iter()
            .filter(|other| other.policy == point.policy && other.scenario == point.scenario);
        let mut values: Vec<(f64, f64)> = same
            .filter_map(|other| match other.levels.get(&axis.column)? {
                Level::Number(x) => Some((*x, other.summaries[response]?.mean)),
                Level::Text(_) => None,
            })
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        (values.len() > 2).then(|| Along { axis: axis.column.clone(), values })
    }

    /// Returns a sparkline with the ends of the axis.
    fn words(&self) -> String {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let count = self.values.len().min(SPARKS);
        let picked = (0..count).map(|at| self.values[at * (self.values.len() - 1) / (count - 1)].1);
        let means = || self.values.iter().map(|value| value.1);
        let low = means().fold(f64::INFINITY, f64::min);
        let high = means().fold(f64::NEG_INFINITY, f64::max);
        let block = |mean: f64| {
            let share = if high > low { (mean - low) / (high - low) } else { 0.0 };
            BLOCKS[((share * 7.0).round() as usize).min(7)]
        };
        let line: String = picked.map(block).collect();
        let [first, .., last] = &self.values[..] else { return line };
        format!("{} {} {line} {}", self.axis, short(first.0), short(last.0))
    }
}
