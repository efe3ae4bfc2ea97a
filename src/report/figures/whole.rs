//! Figures of whole sets of points: differences from the baseline, heat maps, servers' loads.

use std::collections::BTreeMap;

use super::along::response_title;
use super::{At, PER_KIND, baseline, levels, mark, named, number, scenario, some};
use crate::frame::{Compared, Direction, Found, FoundPoint, Members};
use crate::report::figure::{Bars, Body, Difference, Figure, Forest, Heat, Mark, titled};

/// Most rows of a forest plot.
const ROWS: usize = 40;
/// Most policies whose servers are shown.
const GROUPS: usize = 6;
/// Most servers that are shown.
const SERVERS: usize = 32;
/// Most values on a side of a heat map.
const SIDE: usize = 128;

/// Returns for each policy in each scenario its best point in a response, in plan order; of a
/// response without a good direction its only point.
///
/// The best of a scenario stands for its policy, however they are ranked; others are the best by their
/// means. Gains tell who is best of all, but two of one policy may have been held against the others
/// on other replications.
pub fn best(found: &Found, response: usize) -> Vec<&FoundPoint> {
    let is_directed = found.layout.responses[response].good.is_some();
    let mut chosen = Vec::new();
    // Points come scenario by scenario and policy by policy.
    for points in found.points.chunk_by(|a, b| a.scenario == b.scenario) {
        let known = points.iter().filter(|point| found.standing(point, response).is_some());
        let known: Vec<&FoundPoint> = known.collect();
        let leader = first(&known, |point| found.standing(point, response));
        for points in known.chunk_by(|a, b| a.policy == b.policy) {
            if is_directed {
                let leader = leader.filter(|leader| leader.policy == points[0].policy);
                chosen.extend(leader.or_else(|| first(points, |one| found.mean(one, response))));
            } else if let [only] = points {
                chosen.push(*only);
            }
        }
    }
    chosen
}

/// Returns the first of those with the least standing.
fn first<'f>(
    points: &[&'f FoundPoint],
    standing: impl Fn(&FoundPoint) -> Option<(bool, f64)>,
) -> Option<&'f FoundPoint> {
    let all = points.iter().filter_map(|&point| Some((point, standing(point)?)));
    let best = all.reduce(|best, next| if next.1 < best.1 { next } else { best });
    best.map(|(point, _)| point)
}

/// Returns the differences of each policy's best point from the baseline.
pub(super) fn forest(found: &Found, response: usize) -> Option<Figure> {
    let measure = &found.layout.responses[response];
    let scenarios = found.scenarios();
    let row = |point: &FoundPoint, compared: &Compared| {
        let place = if scenarios > 1 { scenario(found, point) } else { Vec::new() };
        Difference {
            name: named(&point.policy, &levels(found, point, false)),
            place: named("", &place).trim_start().to_owned(),
            difference: compared.difference,
            ends: compared.ends,
            better: match compared.verdict.as_str() {
                "better" => Some(true),
                "worse" => Some(false),
                _ => None,
            },
        }
    };
    let all: Vec<Difference> = best(found, response)
        .into_iter()
        .filter_map(|point| found.compared(point, response).map(|compared| row(point, compared)))
        .collect();
    if all.is_empty() || all.iter().all(|row| row.difference == 0.0) {
        return None;
    }
    let rows = some(&all, ROWS);
    let baseline = baseline(found);
    let good = match measure.good {
        Some(Direction::Less) => "; less is better",
        Some(Direction::More) => "; more is better",
        None => "",
    };
    let mut note =
        format!("Each policy's best point less {baseline}, {}{good}.", found.layout.differences);
    if rows.len() < all.len() {
        note += &format!(" {} of {} rows are shown.", rows.len(), all.len());
    }
    Some(Figure {
        name: format!("{}-differences", measure.column),
        title: format!("{}: differences from {baseline}", measure.column),
        note,
        response: Some(measure.column.clone()),
        body: Body::Forest(Forest {
            difference: format!("difference of {}", response_title(found, response)),
            rows,
        }),
    })
}

/// Returns a heat map for each policy with two axes or more, over the two with the most values; others
/// stand at their first.
pub(super) fn heat_maps(found: &Found, response: usize) -> Vec<Figure> {
    let measure = &found.layout.responses[response];
    let mut figures = Vec::new();
    for policy in &found.layout.policies {
        let points: Vec<&FoundPoint> =
            found.points.iter().filter(|point| point.policy == policy.label).collect();
        let values = |column: &str| -> Vec<f64> {
            let all = points.iter().filter_map(|point| number(point.levels.get(column)?));
            let mut all: Vec<f64> = all.collect();
            all.sort_by(f64::total_cmp);
            all.dedup();
            all
        };
        let mut axes: Vec<(&str, &str, Vec<f64>)> = policy
            .axes
            .iter()
            .map(|axis| (axis.column.as_str(), axis.unit.as_str(), values(&axis.column)))
            .filter(|(.., values)| values.len() > 2)
            .collect();
        axes.sort_by_key(|(.., values)| std::cmp::Reverse(values.len()));
        let [(x, x_unit, xs), (y, y_unit, ys), ..] = &axes[..] else { continue };
        if xs.len() > SIDE || ys.len() > SIDE {
            continue;
        }
        let mut cells = vec![vec![None; xs.len()]; ys.len()];
        let rest = |point: &FoundPoint| -> At {
            let others = point.levels.iter().filter(|(axis, _)| axis != x && axis != y);
            others.map(|(axis, level)| (axis.clone(), level.to_string())).collect()
        };
        let fixed = points.first().map(|point| rest(point)).unwrap_or_default();
        for point in points.iter().filter(|point| rest(point) == fixed) {
            let place = |column: &str, values: &[f64]| {
                let value = number(point.levels.get(column)?)?;
                values.iter().position(|one| *one == value)
            };
            if let (Some(column), Some(row)) = (place(x, xs), place(y, ys)) {
                cells[row][column] = point.summaries[response].map(|summary| summary.mean);
            }
        }
        let known = cells.iter().flatten().flatten().count();
        if known < 6 {
            continue;
        }
        let name = named(&policy.label, &fixed);
        figures.push(Figure {
            name: format!("{}-{x}-{y}-{}", measure.column, policy.label),
            title: format!("{} of {name} over {x} and {y}", measure.column),
            note: format!("{}: {}.", measure.column, measure.about),
            response: Some(measure.column.clone()),
            body: Body::Heat(Heat {
                x: (titled(x, x_unit), xs.clone()),
                y: (titled(y, y_unit), ys.clone()),
                value: (measure.column.clone(), measure.unit.clone()),
                cells,
            }),
        });
    }
    figures.truncate(PER_KIND);
    figures
}

/// Returns what each server took or how busy it was, of each policy's best point.
pub(super) fn bars(found: &Found) -> Vec<Figure> {
    let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, measure) in found.layout.responses.iter().enumerate() {
        let family = measure.family.as_ref().filter(|family| family.of == Members::Servers);
        if let Some(family) = family {
            families.entry(&family.response).or_default().push(at);
        }
    }
    let Some(&by) = super::shown(found).first() else { return Vec::new() };
    let best = best(found, by);
    let first = best.first().copied();
    let best: Vec<&FoundPoint> = best
        .into_iter()
        .filter(|point| first.is_some_and(|first| point.scenario == first.scenario))
        .collect();
    let figure = |(response, columns): (&str, Vec<usize>)| {
        let unit = &found.layout.responses[columns[0]].unit;
        let group = |point: &&FoundPoint| {
            let marks = columns.iter().enumerate();
            let marks: Vec<Mark> = marks
                .filter_map(|(server, &at)| {
                    Some(mark(server as f64, point.summaries[at].as_ref()?))
                })
                .collect();
            (named(&point.policy, &levels(found, point, false)), marks)
        };
        let groups: Vec<_> = some(&best, GROUPS).iter().map(group).collect();
        let is_empty = groups.iter().all(|(_, marks)| marks.is_empty());
        let place = first.map(|point| scenario(found, point)).filter(|place| !place.is_empty());
        let place = place.map_or(String::new(), |place| format!(" at{}", named("", &place)));
        (columns.len() <= SERVERS && !is_empty).then(|| Figure {
            name: format!("servers-{response}"),
            title: format!("{response} of each server{place}"),
            note: format!(
                "{response}: {}, of each policy's best point in {}.",
                found.layout.responses[columns[0]].about, found.layout.responses[by].column
            ),
            response: None,
            body: Body::Bars(Bars { value: titled(response, unit), groups }),
        })
    };
    families.into_iter().filter_map(figure).collect()
}
