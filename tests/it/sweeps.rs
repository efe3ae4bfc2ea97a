//! Sweeps: that the points of a spec are the product that it declares, each point once.

mod counts;
mod overrides;
mod values;

use balancelab::design::Level;
use balancelab::spec::{Experiment, Override, SpecError, load};

/// A spec of one model and some policies.
pub fn spec(model: &str, policies: &[&str], rest: &str) -> String {
    let mut text = format!("name: sweep\nmodel:\n  loss_router:\n{}policies:\n", indented(model));
    policies.iter().for_each(|policy| text += &format!("  - {policy}\n"));
    text + rest
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}\n")).collect()
}

pub const MODEL: &str = "\
channels: [2, 4]
interarrival: {poisson: 15}
service: {poisson: 80}
horizon: 1000
";

pub fn try_load(text: &str, overrides: &[&str]) -> Result<Experiment, SpecError> {
    let overrides: Vec<Override> =
        overrides.iter().map(|argument| Override::parse(argument).unwrap()).collect();
    load("spec.yaml", text.to_owned(), &overrides, &|_| Err("no file".to_owned()))
}

pub fn loaded(text: &str) -> Experiment {
    try_load(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns each point's label and levels, in the order of the points.
fn rows(experiment: &Experiment) -> Vec<(String, Vec<Option<Level>>)> {
    (0..experiment.points())
        .map(|index| {
            let point = experiment.design.point(index);
            assert_eq!(point.index, index);
            let label = experiment.labels[point.policy].clone();
            (label, experiment.design.levels(&point))
        })
        .collect()
}

/// Returns the numbers in one column, of the points that have it.
fn column(experiment: &Experiment, name: &str) -> Vec<f64> {
    let names = experiment.design.columns();
    let position = names.iter().position(|column| column == name);
    let position = position.unwrap_or_else(|| panic!("no column {name} in {names:?}"));
    rows(experiment)
        .into_iter()
        .filter_map(|(_, levels)| match &levels[position] {
            Some(Level::Number(number)) => Some(*number),
            Some(Level::Text(text)) => panic!("{text} is no number"),
            None => None,
        })
        .collect()
}
