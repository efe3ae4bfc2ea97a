//! Which figures the results of a run have.

mod along;
mod courses;
mod whole;

use std::collections::BTreeSet;

use super::figure::{Curves, Figure, Mark};
use super::names::with_levels;
use super::numbers::{place, short, written};
use crate::design::Level;
use crate::frame::{Found, FoundPoint, Summary};

pub use courses::scenario_words;
pub use whole::best;

/// Most responses that have figures.
const RESPONSES: usize = 12;
/// Most figures of one kind for a response.
const PER_KIND: usize = 6;
/// Most lines of a figure, those of policies without its axis apart.
const LINES: usize = 7;
/// Most policies without the axis of a figure.
const CONTROLS: usize = 6;
/// Most figures of a run.
const FIGURES: usize = 80;

/// Returns the figures of a run, those that matter first.
pub fn figures(found: &Found) -> Vec<Figure> {
    let mut others = courses::searches(found);
    others.extend(courses::tails(found));
    others.extend(courses::transients(found));
    others.extend(whole::bars(found));
    let mut figures = Vec::new();
    for response in shown(found) {
        figures.extend(along::curves(found, response));
        figures.extend(whole::forest(found, response));
        figures.extend(whole::heat_maps(found, response));
    }
    figures.truncate(FIGURES.saturating_sub(others.len()));
    figures.extend(others);
    let mut names = BTreeSet::new();
    for figure in &mut figures {
        figure.name = file_name(&figure.name);
        let stem = figure.name.clone();
        let mut number = 2;
        while !names.insert(figure.name.clone()) {
            figure.name = format!("{stem}-{number}");
            number += 1;
        }
    }
    figures
}

/// Returns the positions of the responses that are shown: what terminal tables show, what is claimed
/// and what was searched for, then others with one column, as many as there is room for. What is the
/// same at all of several points isn't.
pub fn shown(found: &Found) -> Vec<usize> {
    let measures = &found.layout.responses;
    let asked = |column: &str| {
        found.claims.iter().any(|claim| claim.response == column)
            || found.searches.iter().any(|search| search["response"] == column)
    };
    let varies = |&at: &usize| {
        let mut means = found.points.iter().filter_map(|point| Some(point.summaries[at]?.mean));
        let first = means.next();
        let is_off = |first: f64, mean: f64| (mean - first).abs() > 1e-9 * first.abs();
        first.is_some_and(|first| found.points.len() == 1 || means.any(|mean| is_off(first, mean)))
    };
    let all = || (0..measures.len()).filter(varies);
    let first = all().filter(|&at| measures[at].headline && measures[at].family.is_none());
    let claimed = all().filter(|&at| measures[at].family.is_none() && asked(&measures[at].column));
    let directed = all().filter(|&at| measures[at].family.is_none() && measures[at].good.is_some());
    let rest = all().filter(|&at| measures[at].family.is_none());
    let mut shown = Vec::new();
    for at in first.chain(claimed).chain(directed).chain(rest) {
        if !shown.contains(&at) && measures[at].column != "counted_from" {
            shown.push(at);
        }
    }
    shown.truncate(RESPONSES);
    shown
}

/// Returns what is said of the bands of a figure, if it has any.
fn bands(found: &Found, curves: &Curves) -> String {
    let marks = curves.series.iter().flat_map(|series| &series.marks);
    let ends: Vec<f64> =
        marks.filter_map(|mark| mark.ends).flat_map(|(low, high)| [low, high]).collect();
    let is_cut = ends.iter().any(|end| !(curves.y.from..=curves.y.to).contains(end));
    match (ends.is_empty(), is_cut) {
        (true, _) => String::new(),
        (_, false) => format!(" Bands are {} intervals.", percent(found)),
        (_, true) => {
            format!(" Bands are {} intervals, cut where they leave the figure.", percent(found))
        }
    }
}

fn percent(found: &Found) -> String {
    format!("{} %", short(100.0 * found.layout.confidence))
}

/// Returns a name that file systems take.
fn file_name(name: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || "-_.".contains(letter) => letter,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(80).collect();
    name.trim_start_matches('.').to_owned()
}

fn mark(x: f64, summary: &Summary) -> Mark {
    Mark { x, y: summary.mean, ends: summary.ends }
}

fn number(level: &Level) -> Option<f64> {
    match level {
        Level::Number(number) => Some(*number),
        Level::Text(_) => None,
    }
}

/// Returns a value of an axis as people read it.
pub fn brief(level: &str) -> String {
    level.parse().map_or_else(|_| level.to_owned(), |number| written(place(number)))
}

/// Values of axes by name, in words that tell any two apart.
pub type At = Vec<(String, String)>;

/// Returns a policy with the values of some axes, for people.
fn named(policy: &str, levels: &[(String, String)]) -> String {
    with_levels(policy, levels.iter().map(|(axis, level)| (axis.clone(), brief(level))))
}

/// Returns the name of the baseline.
pub fn baseline(found: &Found) -> String {
    named(&found.layout.baseline.policy, &found.layout.baseline.at)
}

/// Returns the values of the model's axes at a point: its scenario.
pub fn scenario(found: &Found, point: &FoundPoint) -> At {
    levels(found, point, true)
}

/// Returns the values of a point's axes, those of the model or those of its policy.
fn levels(found: &Found, point: &FoundPoint, of_scenario: bool) -> At {
    let axes = found.policy(point).into_iter().flat_map(|policy| &policy.axes);
    let axes = axes.filter(|axis| axis.scenario == of_scenario);
    axes.filter_map(|axis| Some((axis.column.clone(), point.levels.get(&axis.column)?.to_string())))
        .collect()
}

/// Returns the position of a policy among the layout's.
fn position(found: &Found, label: &str) -> Option<usize> {
    found.layout.policies.iter().position(|policy| policy.label == label)
}

/// Returns at most so many items, at equal distances, the ends included.
fn some<T: Clone>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most || most < 2 {
        return items.iter().take(most).cloned().collect();
    }
    (0..most).map(|at| items[at * (items.len() - 1) / (most - 1)].clone()).collect()
}
