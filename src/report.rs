//! What people read on a terminal: tables of results, claims, plans and the vocabulary.
//!
//! Everything here returns text; printing is the business of `cli`.

mod figure;
mod figures;
mod names;
mod numbers;
mod overview;
mod page;
mod pdf;
mod plot;
mod searches;
mod verdict;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table, presets};

pub use numbers::{duration, grouped, plus_minus, ranges, short, size};
pub use overview::overview;
pub use pdf::Fonts;
pub use searches::{scenario, searches};
pub use verdict::Sentence;
pub use vocabulary::vocabulary;

use self::figure::Figure;
use self::names::with_levels;
use self::numbers::level;
use self::plot::Drawn;
use crate::claims::Judged;
use crate::engine::{Plan, Selected};
use crate::frame::{Comparison, Found, Kept, verdict, z};
use crate::spec::{Experiment, Replications, Select};
use crate::stats::{Good, Intervals, Moments};

/// The report of a run: its page, and its figures as SVG by name.
#[derive(Debug)]
pub struct Report {
    pub page: String,
    pub figures: Vec<(String, String)>,
    /// What the run came to.
    pub verdict: Vec<Sentence>,
}

impl Report {
    /// Makes the report of stored results.
    pub fn new(found: &Found) -> Report {
        let drawn: Vec<(Figure, Drawn)> = figures::figures(found)
            .into_iter()
            .map(|figure| {
                let drawn = plot::draw(&figure);
                (figure, drawn)
            })
            .collect();
        let files =
            drawn.iter().map(|(figure, drawn)| (figure.name.clone(), drawn.file(&figure.title)));
        Report {
            figures: files.collect(),
            page: page::page(found, &drawn),
            verdict: verdict::verdict(found),
        }
    }
}

/// Most points of an experiment of which the terminal shows all; of more it shows each policy's best.
pub const FEW: u32 = 40;

/// Most points of one policy that the table of results shows.
const SHOWN_OF_POLICY: usize = 11;
/// Most points that the table of results shows.
const SHOWN: usize = 100;

/// Least width of a terminal that tables are fitted to.
const MIN_WIDTH: u16 = 60;

/// Batches whose p value of "not correlated" is below this are called so.
const TOO_CORRELATED: f64 = 0.01;

/// Returns the points that the table of results shows: of each policy in each scenario some at
/// equal distances, the ends included.
pub fn shown_points(experiment: &Experiment) -> BTreeSet<u32> {
    let mut shown = BTreeSet::new();
    let mut run: Vec<u32> = Vec::new();
    let mut key = None;
    let mut flush = |run: &mut Vec<u32>| {
        let count = run.len().min(SHOWN_OF_POLICY);
        let chosen =
            (0..count).map(|i| run[if count > 1 { i * (run.len() - 1) / (count - 1) } else { 0 }]);
        let room = SHOWN.saturating_sub(shown.len());
        shown.extend(chosen.take(room));
        run.clear();
        shown.len() < SHOWN
    };
    for index in 0..experiment.points() {
        let point = experiment.design.point(index);
        let own = Some((point.scenario, point.policy));
        if key != own && !flush(&mut run) {
            return shown;
        }
        key = own;
        run.push(index);
    }
    flush(&mut run);
    shown
}

/// Returns the table of results: headline responses of the shown points with their intervals.
pub fn results(experiment: &Experiment, kept: &Kept, shown: &BTreeSet<u32>) -> String {
    let headline = headlines(experiment);
    let axes = experiment.design.columns();
    let mut header = vec!["policy".to_owned()];
    header.extend(axes.iter().cloned());
    header.extend(headline.iter().map(|&column| experiment.columns[column].clone()));
    // A column of theory only where theory says something of a shown point.
    let theoretical: Vec<usize> = headline
        .iter()
        .copied()
        .filter(|&column| {
            kept.theory.values().any(|theory| theory.get(column).is_some_and(Option::is_some))
        })
        .collect();
    header.extend(
        theoretical.iter().map(|&column| format!("{} in theory", experiment.columns[column])),
    );
    let until = matches!(experiment.replications, Replications::Until(_));
    let counts = until || experiment.select.is_some();
    if counts {
        header.push("replications".to_owned());
    }
    let mut table = table(header, 1);
    let mut intervals = Intervals::new(experiment.confidence);
    for index in shown {
        let Some(moments) = kept.moments.get(index) else { continue };
        let mut row = point_cells(experiment, *index);
        let theory = kept.theory.get(index);
        let runs = moments.iter().map(Moments::n).max().unwrap_or_default();
        row.extend(headline.iter().map(|&column| {
            let sample = &moments[column];
            match (sample.mean(), intervals.of(sample)) {
                (Some(mean), Some(interval)) if sample.n() < runs => {
                    format!("{} (of {})", plus_minus(mean, interval.half_width()), sample.n())
                }
                (Some(mean), Some(interval)) => plus_minus(mean, interval.half_width()),
                (Some(mean), None) if runs == 1 => format!("{mean:.4} (one run)"),
                (Some(mean), None) => format!("{mean:.4} ({} of {runs})", sample.n()),
                _ if runs > 0 => format!("none of {runs}"),
                _ => "no run".to_owned(),
            }
        }));
        row.extend(theoretical.iter().map(|&column| {
            let value = theory.and_then(|theory| theory.get(column).copied().flatten());
            match (value, z(&moments[column], value)) {
                (Some(value), Some(z)) => format!("{value:.4}, z {z:+.1}"),
                (Some(value), None) => format!("{value:.4}"),
                _ => String::new(),
            }
        }));
        if counts {
            let precise = experiment.replications.precise(moments);
            row.push(format!("{runs}{}", if precise { "" } else { ", not precise" }));
        }
        table.add_row(row);
    }
    let more = experiment.points() as usize - shown.len();
    let mut text = format!("{table}\n");
    if !theoretical.is_empty() {
        text += "theory is of the long run: `warmup` leaves the start out, which is empty\n";
    }
    text += &short_batches(experiment, kept, shown);
    if more > 0 {
        text += &format!("{} more points are in summary.csv\n", grouped(more as f64));
    }
    text
}

/// Returns the columns that terminal tables show.
fn headlines(experiment: &Experiment) -> Vec<usize> {
    let responses = experiment.system.responses.iter().filter(|response| response.headline);
    let column = |name: &str| experiment.columns.iter().position(|column| column == name);
    responses.filter_map(|response| column(response.name)).collect()
}

/// Warns of batches of the shown points that are too short.
pub fn short_batches(experiment: &Experiment, kept: &Kept, shown: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    for column in headlines(experiment) {
        let p = |point: &u32| kept.uncorrelated.get(point).and_then(|p| p.get(column).copied());
        let short =
            shown.iter().filter(|point| p(point).flatten().is_some_and(|p| p < TOO_CORRELATED));
        let count = short.count();
        if count > 0 {
            text += &format!(
                "batches of {} are too short at {count} of {} points: empty, or correlated, so \
                 that their intervals are too narrow; use fewer batches or a longer horizon\n",
                experiment.columns[column],
                shown.len()
            );
        }
    }
    text
}

/// Returns what the search for the best point came to, and what it took.
pub fn selected(experiment: &Experiment, rule: &Select, selected: &Selected) -> String {
    let mut text = format!(
        "\nselected: {}\n{} replications",
        selection(experiment, rule, selected),
        grouped(selected.total as f64)
    );
    // What was stopped before it was decided spared nothing.
    if selected.best.is_some() {
        let equal = f64::from(selected.most) * f64::from(experiment.points());
        text += &format!(
            ", where {} for each point would have been {}",
            grouped(f64::from(selected.most)),
            grouped(equal)
        );
    }
    text + "\n"
}

/// Returns which point a selection found, in a clause.
pub fn selection(experiment: &Experiment, rule: &Select, selected: &Selected) -> String {
    let name = |point: u32| {
        let cells = point_cells(experiment, point);
        let axes = experiment.design.columns().iter().zip(&cells[1..]);
        let axes = axes.filter(|(_, level)| !level.is_empty());
        with_levels(&cells[0], axes.map(|(name, level)| (name.clone(), level.clone())))
    };
    let response = &experiment.columns[rule.column];
    let best = match rule.good {
        Good::Less => "least",
        Good::More => "most",
    };
    let verdict = match selected.best {
        Some(point) => format!(
            "{} has the {best} {response}, with probability {} at least where it is so by {}",
            name(point),
            rule.confidence,
            rule.delta
        ),
        None => format!(
            "undecided which point has the {best} {response}; {} are left: {}{}",
            selected.left.len(),
            selected.left.iter().take(5).map(|&point| name(point)).collect::<Vec<_>>().join(", "),
            if selected.left.len() > 5 { ", …" } else { "" }
        ),
    };
    let tied = match selected.tied.len() {
        0 => String::new(),
        1 => "; one other equals it in every replication".to_owned(),
        n => format!("; {n} others equal it in every replication"),
    };
    match selected.without_value {
        Some((point, replication)) => {
            format!("{verdict}: {} has no {response} in replication {replication}", name(point))
        }
        None => verdict + &tied,
    }
}

/// Returns the table of comparisons with the baseline, of the shown points.
pub fn comparisons(experiment: &Experiment, kept: &Kept) -> String {
    let apart = match kept.without_baseline {
        0 => String::new(),
        n => format!("{} scenarios have no baseline and no comparisons\n", grouped(n as f64)),
    };
    if kept.comparisons.is_empty() {
        return apart;
    }
    let axes = experiment.design.columns();
    let mut header = vec!["policy".to_owned()];
    header.extend(axes.iter().cloned());
    header.extend(["response", "difference", "verdict", "variance ÷"].map(String::from));
    let mut table = table(header, 1);
    // What is equal in every replication, as refusals are, would only fill the screen.
    let equal = |comparison: &Comparison| {
        comparison.difference == 0.0 && comparison.interval.is_some_and(|i| i.half_width() == 0.0)
    };
    let headline = |comparison: &&Comparison| {
        let name = &experiment.columns[comparison.column];
        experiment
            .system
            .responses
            .iter()
            .any(|response| response.headline && response.is_column(name))
    };
    for comparison in kept.comparisons.iter().filter(headline).filter(|one| !equal(one)) {
        let mut row = point_cells(experiment, comparison.point);
        row.push(experiment.columns[comparison.column].clone());
        row.push(match comparison.interval {
            Some(interval) => plus_minus(comparison.difference, interval.half_width()),
            None => format!("{:.4} (one run)", comparison.difference),
        });
        let by = comparison.variance_reduction.map_or(String::new(), |by| format!("{by:.1}"));
        let judged = [judged_cell(verdict(comparison.verdict)), Cell::new(by)];
        table.add_row(row.into_iter().map(Cell::new).chain(judged));
    }
    let levels = experiment.baseline_levels();
    let levels = levels.into_iter().map(|(axis, value)| (axis, level(&value)));
    let baseline = with_levels(&experiment.labels[experiment.baseline.policy], levels);
    let mut text = format!("\nagainst {baseline}, replication by replication\n{apart}");
    if !table.is_empty() {
        text += &format!("{table}\n");
    }
    let columns = kept.comparisons.iter().filter(headline).map(|comparison| comparison.column);
    let columns: BTreeSet<usize> = columns.collect();
    let is_all = shown_points(experiment).len() == experiment.points() as usize;
    let seen = if is_all { "" } else { " of these points" };
    for column in columns {
        let mut same = kept.comparisons.iter().filter(|comparison| comparison.column == column);
        if same.all(equal) {
            let name = &experiment.columns[column];
            text += &format!("{name} is the same in every replication{seen}\n");
        }
    }
    text
}

/// Returns the table of theoretical values of some points, and what theory covers.
pub fn theory(experiment: &Experiment, values: &BTreeMap<u32, Vec<Option<f64>>>) -> String {
    let known = |column: &usize| values.values().any(|values| values[*column].is_some());
    let columns: Vec<usize> = (0..experiment.columns.len()).filter(known).collect();
    let covers = experiment.system.theory;
    let mut text = format!("theory covers {covers}\n");
    if columns.is_empty() {
        return text + "and so nothing of this experiment\n";
    }
    let mut header = vec!["policy".to_owned()];
    header.extend(experiment.design.columns().iter().cloned());
    header.extend(columns.iter().map(|&column| experiment.columns[column].clone()));
    let mut table = table(header, 1);
    for (&point, values) in values {
        let mut row = point_cells(experiment, point);
        row.extend(columns.iter().map(|&column| match values[column] {
            Some(value) => format!("{value:.6}"),
            None => "none".to_owned(),
        }));
        table.add_row(row);
    }
    text += &format!("\n{table}\n");
    let more = experiment.points() as usize - values.len();
    if more > 0 {
        text += &format!("{} more points\n", grouped(more as f64));
    }
    text
}

/// Returns a point's policy and the values of its axes.
fn point_cells(experiment: &Experiment, index: u32) -> Vec<String> {
    let point = experiment.design.point(index);
    let mut cells = vec![experiment.labels[point.policy].clone()];
    let levels = experiment.design.levels(&point);
    cells.extend(levels.iter().map(|value| value.as_ref().map_or(String::new(), level)));
    cells
}

/// Returns the table of claims: simulated and published values and verdicts side by side.
pub fn claims(experiment: &Experiment, judged: &[Judged]) -> String {
    let places = judged.iter().any(|claim| !claim.at.is_empty());
    let tolerances = judged.iter().any(|claim| claim.tolerance.is_some());
    let mut header: Vec<String> = vec!["policy".into(), "response".into()];
    if places {
        header.insert(1, "at".into());
    }
    let text = header.len();
    header.extend(["published", "simulated", "sd of a run"].map(String::from));
    if tolerances {
        header.push("tolerance".into());
    }
    header.extend(["p", "verdict"].map(String::from));
    let mut table = table(header, text);
    for claim in judged {
        let mut row = vec![claim.policy.clone(), claim.response.clone()];
        if places {
            row.insert(1, claim.at.clone());
        }
        row.push(claim.written.clone());
        row.push(match (claim.simulated, claim.interval) {
            (Some(mean), Some(interval)) => plus_minus(mean, interval.half_width()),
            (Some(mean), None) => format!("{mean}"),
            _ => "no value".to_owned(),
        });
        row.push(claim.sd_run.map_or("none".to_owned(), |sd| format!("{sd:.3}")));
        if tolerances {
            row.push(claim.tolerance.map_or(String::new(), |tolerance| tolerance.to_string()));
        }
        row.push(claim.p.map_or("none".to_owned(), |p| format!("{p:.3}")));
        let verdict = judged_cell(claim.verdict());
        table.add_row(row.into_iter().map(Cell::new).chain([verdict]));
    }
    let source = match &experiment.source {
        Some(source) => format!("published: {source}\n"),
        None => String::new(),
    };
    format!("{table}\n{source}")
}

/// Returns what a run would do: points per axis, replications, arrivals, time and disk.
pub fn plan(experiment: &Experiment, plan: &Plan, threads: usize) -> String {
    let mut text = format!("{}\n", experiment.name);
    for (axis, column) in experiment.design.axes() {
        let last = axis.levels.len() - 1;
        text += &format!(
            "  axis {column}: {} values, {} to {}\n",
            grouped(axis.levels.len() as f64),
            axis.levels.level(0),
            axis.levels.level(last)
        );
    }
    let scenarios = experiment.design.scenarios();
    if scenarios > 1 {
        text += &format!("  {} scenarios\n", grouped(scenarios as f64));
    }
    for (policy, label) in experiment.labels.iter().enumerate() {
        let combinations = experiment.design.combinations(policy);
        let points = if combinations == 1 { "point" } else { "points" };
        text += &format!("  policy {label}: {} {points}\n", grouped(combinations as f64));
    }
    let most =
        matches!(experiment.replications, Replications::Until(_)) || experiment.select.is_some();
    let searched =
        experiment.optimize.iter().map(|search| searches::replications(experiment, search));
    let searched: u64 = searched.sum();
    let arrivals = plan.arrivals * (plan.total() + searched) as f64;
    let seconds = plan.seconds(searched) / threads as f64;
    // Values of a row as parquet, and those of a point as csv besides.
    let (columns, points) = (experiment.columns.len() as f64, plan.points.len() as f64);
    let bytes = plan.total() as f64 * (columns * 6.0 + 2.0) + points * columns * 130.0;
    text += &format!(
        "{} points × {} = {} rows{}\n",
        grouped(plan.points.len() as f64),
        experiment.replications,
        grouped(plan.total() as f64),
        if most { " at the most" } else { "" }
    );
    text += &searches::plan(experiment);
    text += &format!("about {} arrivals\n", grouped(arrivals.round()));
    text +=
        &format!("about {} on {threads} threads, and {} on disk\n", duration(seconds), size(bytes));
    text
}

/// Returns how long each shard of a plan takes.
pub fn shards(plan: &Plan, shards: u32) -> String {
    let seconds = plan.seconds(0) / f64::from(shards);
    let shards = grouped(f64::from(shards));
    format!("in {shards} shards of about {} on one thread\n", duration(seconds))
}

/// Returns one replication's numbers, in full precision.
pub fn replication(columns: &[String], values: &[f64]) -> String {
    let mut table = table(vec!["response".into(), "value".into()], 1);
    for (name, value) in columns.iter().zip(values) {
        let value = if value.is_nan() { "none".to_owned() } else { value.to_string() };
        table.add_row([name.clone(), value]);
    }
    format!("{table}\n")
}

/// Returns the cell of a verdict, in colour on a terminal that wants it.
fn judged_cell(verdict: &str) -> Cell {
    match verdict {
        "pass" | "better" => Cell::new(verdict).fg(Color::Green),
        "fail" | "worse" => Cell::new(verdict).fg(Color::Red),
        _ => Cell::new(verdict),
    }
}

/// Returns an empty table whose columns from `numbers` on are aligned as numbers.
fn table(header: Vec<String>, numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    // Squeezed into a few columns a table reads worse than one that is cut off.
    if table.width().is_some_and(|width| width >= MIN_WIDTH) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
