//! The tables of a page: points, and their differences from the baseline.

use serde_json::{Value, json};

use crate::design::Level;
use crate::frame::{Compared, Found, FoundPoint, Summary};
use crate::report::figures;
use crate::report::numbers::{self, grouped, short};

/// Room for the table of points, and for that of comparisons [bytes].
const POINTS: usize = 750_000;
const COMPARISONS: usize = 250_000;
/// What a value with its interval takes in a table, and a number or a policy [bytes].
const INTERVAL: usize = 17;
const CELL: usize = 8;

/// Returns a number with at most six significant digits and all of its whole part, or null.
fn number(value: Option<f64>) -> Value {
    with_digits(value, 6)
}

/// Returns a number with so many digits that those of half of its interval are among them.
pub(super) fn precise(value: Option<f64>, half: Option<f64>) -> Value {
    let ratio = value.zip(half).map_or(0.0, |(value, half)| (value / half).abs());
    // A number of this kind has 15 digits; what is less than the last of them is none, as of 0 / 0.
    let digits = match ratio {
        1e4..1e14 => (ratio.log10().ceil() as usize + 2).min(15),
        _ => 6,
    };
    with_digits(value, digits)
}

fn with_digits(value: Option<f64>, digits: usize) -> Value {
    let Some(value) = value.filter(|value| value.is_finite()) else { return Value::Null };
    let rounded = numbers::whole(value, digits);
    // Without a needless `.0`.
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}

/// Returns the table of all points.
pub(super) fn points(found: &Found) -> Option<Value> {
    found.points.first()?;
    let measures = &found.layout.responses;
    let axes = found.axis_columns();
    let rows = found.points.len();
    // Those that have figures come first, as many as there is room for.
    let mut order = figures::shown(found);
    let others: Vec<usize> = (0..measures.len()).filter(|at| !order.contains(at)).collect();
    order.extend(others);
    let has_theory = |at: usize| {
        found.points.iter().any(|point| point.summaries[at].is_some_and(|one| one.theory.is_some()))
    };
    let mut room = POINTS.saturating_sub(rows * CELL * (3 + axes.len()));
    let mut columns = vec![
        json!({
            "name": "point", "kind": "number",
            "values": found.points.iter().map(|point| point.number).collect::<Vec<_>>(),
        }),
        policy_column(found, found.points.iter().map(|point| point.policy.as_str())),
    ];
    columns.extend(axes.iter().map(|axis| {
        axis_column(axis, found.points.iter().map(|point| point.levels.get(axis)).collect())
    }));
    // Some responses may have fewer values than the replications of their point.
    let counts: Vec<u64> = found.points.iter().map(|one| values(one).max().unwrap_or(0)).collect();
    let all = || found.points.iter().flat_map(values);
    let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    if counts.iter().any(|&count| count < most) {
        columns.push(json!({
            "name": "replications", "kind": "number",
            "about": "replications that the point's values are means of", "values": counts,
        }));
    }
    let mut left = 0;
    for (place, at) in order.into_iter().enumerate() {
        let theory = has_theory(at);
        let size = rows * (INTERVAL + if theory { CELL } else { 0 });
        if size > room && place > 0 {
            left += 1;
            continue;
        }
        room = room.saturating_sub(size);
        let measure = &measures[at];
        let summaries = || found.points.iter().map(|point| point.summaries[at]);
        let half = |one: Summary| one.ends.map(|(low, high)| (high - low) / 2.0);
        columns.push(json!({
            "name": measure.column, "kind": "interval", "unit": measure.unit,
            "about": measure.about,
            "values": summaries().map(|one| precise(one.map(|one| one.mean), one.and_then(half)))
                .collect::<Vec<_>>(),
            "half": summaries().map(|one| number(one.and_then(half))).collect::<Vec<_>>(),
        }));
        if theory {
            columns.push(json!({
                "name": format!("{} in theory", measure.column), "kind": "number",
                "unit": measure.unit,
                "values": summaries().map(|one| number(one.and_then(|one| one.theory)))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    let count = |n: u64| grouped(n as f64);
    let mut note = format!(
        "Means of {} replications with {} % intervals",
        if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) },
        short(100.0 * found.layout.confidence)
    );
    if most < 2 {
        note = "Values of single runs, which have no intervals".to_owned();
    }
    note += ", rounded; summary.parquet has all digits.";
    if left > 0 {
        note += &format!(" {left} more responses are there.");
    }
    if found.stride > 1 {
        let all = found.manifest["counts"]["points"].as_f64().unwrap_or_default();
        note += &format!(
            " Of {} points every {}th is here, and the best of each policy.",
            grouped(all),
            found.stride
        );
    }
    Some(json!({
        "id": "points", "title": "Points", "note": note, "columns": columns,
        "replay": found.manifest["replay"],
    }))
}

/// Returns of how many replications there are values of each response.
fn values(point: &FoundPoint) -> impl Iterator<Item = u64> {
    point.summaries.iter().flatten().map(|one| one.n)
}

fn policy_column<'f>(found: &Found, policies: impl Iterator<Item = &'f str>) -> Value {
    let labels: Vec<&str> =
        found.layout.policies.iter().map(|policy| policy.label.as_str()).collect();
    let values = policies.map(|policy| labels.iter().position(|label| *label == policy));
    json!({"name": "policy", "kind": "text", "values": values.collect::<Vec<_>>(), "names": labels})
}

fn axis_column(name: &str, levels: Vec<Option<&Level>>) -> Value {
    let is_text = levels.iter().flatten().any(|level| matches!(level, Level::Text(_)));
    if !is_text {
        let value = |level: &Option<&Level>| match level {
            Some(Level::Number(value)) => with_digits(Some(numbers::place(*value)), 15),
            _ => Value::Null,
        };
        return json!({
            "name": name, "kind": "number", "values": levels.iter().map(value).collect::<Vec<_>>(),
        });
    }
    let mut names: Vec<String> = Vec::new();
    let mut values = Vec::new();
    for level in levels {
        let Some(level) = level.map(Level::to_string) else {
            values.push(None);
            continue;
        };
        values.push(names.iter().position(|name| *name == level).or_else(|| {
            names.push(level);
            Some(names.len() - 1)
        }));
    }
    json!({"name": name, "kind": "text", "names": names, "values": values})
}

/// Returns the table of differences from the baseline, of the responses that are shown.
pub(super) fn comparisons(found: &Found) -> Option<Value> {
    let shown = figures::shown(found);
    let all: Vec<_> =
        found.comparisons.iter().filter(|one| shown.contains(&one.response)).collect();
    let axes = found.axis_columns();
    let most = COMPARISONS / (INTERVAL + CELL * (4 + axes.len()));
    let rows = &all[..all.len().min(most)];
    if rows.is_empty() {
        return None;
    }
    let point = |number: u32| found.point(number);
    let names: Vec<&str> =
        shown.iter().map(|&at| found.layout.responses[at].column.as_str()).collect();
    let verdicts = ["better", "worse", "undecided"];
    let mut columns = vec![
        json!({
            "name": "point", "kind": "number",
            "values": rows.iter().map(|one| one.point).collect::<Vec<_>>(),
        }),
        policy_column(
            found,
            rows.iter().map(|one| point(one.point).map_or("", |point| point.policy.as_str())),
        ),
    ];
    columns.extend(axes.iter().map(|axis| {
        let level = |number: u32| point(number).and_then(|point| point.levels.get(axis));
        axis_column(axis, rows.iter().map(|one| level(one.point)).collect())
    }));
    columns.push(json!({
        "name": "response", "kind": "text", "names": names,
        "values": rows.iter().map(|one| shown.iter().position(|at| *at == one.response))
            .collect::<Vec<_>>(),
    }));
    let half = |one: &&Compared| one.ends.map(|(low, high)| (high - low) / 2.0);
    columns.push(json!({
        "name": "difference", "kind": "interval", "about": "the point's value less the baseline's",
        "values": rows.iter().map(|one| precise(Some(one.difference), half(one)))
            .collect::<Vec<_>>(),
        "half": rows.iter().map(|one| number(half(one))).collect::<Vec<_>>(),
    }));
    columns.push(json!({
        "name": "verdict", "kind": "text", "names": verdicts,
        "values": rows.iter().map(|one| verdicts.iter().position(|name| *name == one.verdict))
            .collect::<Vec<_>>(),
    }));
    let mut note =
        format!("Differences from {}, {}.", figures::baseline(found), found.layout.differences);
    if rows.len() < all.len() {
        note += &format!(
            " {} more are in comparisons.parquet.",
            grouped((all.len() - rows.len()) as f64)
        );
    }
    Some(json!({
        "id": "comparisons", "title": "Against the baseline", "note": note, "columns": columns,
        "replay": null,
    }))
}
