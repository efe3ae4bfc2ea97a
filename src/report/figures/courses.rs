//! Figures along something else than a sweep's axis: replications of a search, the length of a queue,
//! time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::along::{colours, is_wide};
use super::{PER_KIND, bands, brief, levels, named, position, scenario, some};
use crate::frame::{Found, FoundPoint, Members};
use crate::report::figure::{Body, Curves, Figure, Look, Mark, Scale, Series};
use crate::report::names::{isolated, with_levels};
use crate::report::numbers::short;

/// The least share that is shown of a tail.
const SMALLEST: f64 = 1e-9;

/// Returns how searches went: where they thought best as replications were spent, and their gains.
pub(super) fn searches(found: &Found) -> Vec<Figure> {
    let mut figures = Vec::new();
    for search in found.searches.iter().filter(|search| search["found"].is_object()) {
        let label = search["search"].as_str().unwrap_or_default();
        let of = isolated(label);
        let number = search["scenario_number"].as_u64().unwrap_or_default();
        let evaluations: Vec<_> = found
            .trace
            .iter()
            .filter(|one| one.search == label && one.scenario == number)
            .filter(|one| !one.phase.starts_with("confirm"))
            .collect();
        let mut spent = 0.0;
        let spent: Vec<f64> = evaluations
            .iter()
            .map(|one| {
                spent += one.replications as f64;
                spent
            })
            .collect();
        let place = scenario_words(search);
        for (parameter, value) in search["found"].as_object().into_iter().flatten() {
            let along = |at: &dyn Fn(usize) -> Option<f64>| -> Vec<Mark> {
                let marks = spent.iter().enumerate();
                marks.filter_map(|(i, &x)| Some(Mark { x, y: at(i)?, ends: None })).collect()
            };
            let tried = along(&|i| evaluations[i].at.get(parameter).copied());
            let estimate = along(&|i| evaluations[i].estimate.get(parameter).copied());
            let ends = [spent.first(), spent.last()].map(|x| x.copied().unwrap_or_default());
            let best = value["value"].as_f64().unwrap_or(f64::NAN);
            let last = ends.map(|x| Mark { x, y: best, ends: None }).to_vec();
            let policy = search["policy"].as_str().and_then(|policy| position(found, policy));
            let series = |name: &str, look, colour, marks| Series {
                name: name.to_owned(),
                policy,
                look,
                colour,
                marks,
            };
            let all = vec![
                series("tried", Look::Tried, None, tried),
                series("estimate", Look::Line, Some(0), estimate),
                series(&format!("found {}", short(best)), Look::Control, None, last),
            ];
            let shown = all.into_iter().filter(|series| !series.marks.is_empty());
            let title = format!("the search {of}: {parameter} as replications are spent{place}");
            let name = format!("search-{label}-{parameter}-{number}");
            let wide = is_wide(evaluations.iter().filter_map(|one| one.at.get(parameter).copied()));
            figures.extend(along_search(name, title, (parameter, wide), shown.collect()));
        }
        let gains = |one: fn((f64, f64)) -> f64| -> Vec<Mark> {
            let marks = evaluations.iter().zip(&spent);
            marks.filter_map(|(at, &x)| Some(Mark { x, y: one(at.gains?), ends: None })).collect()
        };
        let series = |name: &str, colour, marks| Series {
            name: name.to_owned(),
            policy: None,
            look: Look::Line,
            colour: Some(colour),
            marks,
        };
        let both = vec![
            series("step a", 0, gains(|(a, _)| a)),
            series("distance c", 1, gains(|(_, c)| c)),
        ];
        let title = format!("the search {of}: its gains{place}");
        let name = format!("search-{label}-gains-{number}");
        figures.extend(along_search(name, title, ("gain", true), both));
    }
    figures.truncate(2 * PER_KIND);
    figures
}

fn along_search(
    name: String,
    title: String,
    (value, log): (&str, bool),
    series: Vec<Series>,
) -> Option<Figure> {
    let marks = || series.iter().flat_map(|series| &series.marks);
    marks().nth(2)?;
    let x = Scale::over("replications spent", "", false, marks().map(|mark| mark.x));
    let y = Scale::over(value, "", log, marks().map(|mark| mark.y));
    let note = "What the search tried, and what it thought best then.".to_owned();
    Some(Figure { name, title, note, response: None, body: Body::Curves(Curves { x, y, series }) })
}

/// Returns the scenario of a search, as the end of a name.
pub fn scenario_words(search: &Value) -> String {
    let levels = search["scenario"].as_object().into_iter().flatten();
    let levels = levels.map(|(axis, level)| match level.as_f64() {
        Some(number) => (axis.clone(), brief(&number.to_string())),
        None => (axis.clone(), level.as_str().unwrap_or_default().to_owned()),
    });
    let words = with_levels("", levels);
    if words.is_empty() { words } else { format!(" at{words}") }
}

/// Returns the shares of time with queues of at least each length, on a logarithmic scale.
pub(super) fn tails(found: &Found) -> Vec<Figure> {
    let measures = found.layout.responses.iter().enumerate();
    let levels_of = measures.filter_map(|(at, measure)| {
        let family = measure.family.as_ref().filter(|family| family.of == Members::Levels)?;
        Some((family.number, at))
    });
    let columns: Vec<(u32, usize)> = levels_of.collect();
    // A run that is looked at on its way has not settled.
    let is_on_its_way = !found.transients.is_empty();
    if columns.len() < 3 || is_on_its_way {
        return Vec::new();
    }
    // Points come scenario by scenario.
    let facets = found.points.chunk_by(|a, b| a.scenario == b.scenario);
    let facets: Vec<&[FoundPoint]> = facets.collect();
    let figure = |points: &&[FoundPoint]| {
        let facet = points.first().map(|point| scenario(found, point)).unwrap_or_default();
        let mut series = Vec::new();
        let points = some(&points.iter().collect::<Vec<_>>(), 6);
        let policies =
            points.iter().map(|point| position(found, &point.policy).unwrap_or_default());
        let colours = colours(found, policies.collect());
        for (colour, point) in colours.into_iter().zip(points) {
            // The mean field knows all lengths, theory of so many servers not always.
            let of = |expected: bool| -> Vec<Mark> {
                let marks = columns.iter().filter_map(|&(level, at)| {
                    let summary = point.summaries[at].as_ref()?;
                    let known = || summary.mean_field.or(summary.theory);
                    let y = if expected { known()? } else { summary.mean };
                    // What reaches down to zero reaches the end of the scale.
                    let ends = summary.ends.filter(|_| !expected);
                    let ends = ends.map(|(low, high)| (low.max(SMALLEST), high));
                    (y > SMALLEST).then_some(Mark { x: f64::from(level), y, ends })
                });
                marks.collect()
            };
            let name = named(&point.policy, &levels(found, point, false));
            let policy = position(found, &point.policy);
            let (line, theory) = (of(false), of(true));
            if line.len() > 1 {
                let colour = Some(colour);
                let series_of = |name, look, marks| Series { name, policy, look, colour, marks };
                series.push(series_of(name.clone(), Look::Line, line));
                if theory.len() > 1 {
                    series.push(series_of(format!("{name}, mean field"), Look::Theory, theory));
                }
            }
        }
        let marks = || series.iter().flat_map(|series: &Series| &series.marks);
        marks().next()?;
        let x = Scale::over("jobs in a queue, at least", "", false, marks().map(|mark| mark.x));
        let y = Scale::over("share of time", "", true, marks().map(|mark| mark.y));
        let curves = Curves { x, y, series };
        let place =
            if facet.is_empty() { String::new() } else { format!(" at{}", named("", &facet)) };
        Some(Figure {
            name: format!("queue-tail{}", named("", &facet)),
            title: format!("the tail of queues{place}"),
            note: format!(
                "How much of the time a queue has at least so many jobs, beside the mean field, \
                 which holds for infinitely many servers.{}",
                bands(found, &curves)
            ),
            response: None,
            body: Body::Curves(curves),
        })
    };
    some(&facets, PER_KIND).iter().filter_map(figure).collect()
}

/// Returns the shares of queues with at least each length over time, beside the mean field.
pub(super) fn transients(found: &Found) -> Vec<Figure> {
    let mut points: Vec<u32> = found.transients.iter().map(|instant| instant.point).collect();
    points.dedup();
    let figure = |number: &u32| {
        let point = found.point(*number)?;
        let mut lines: BTreeMap<u32, (Vec<Mark>, Vec<Mark>)> = BTreeMap::new();
        for instant in found.transients.iter().filter(|instant| instant.point == *number) {
            let (line, theory) = lines.entry(instant.jobs).or_default();
            line.push(Mark { x: instant.time, y: instant.mean, ends: instant.ends });
            if let Some(y) = instant.mean_field {
                theory.push(Mark { x: instant.time, y, ends: None });
            }
        }
        let mut series = Vec::new();
        for (number, (jobs, (line, theory))) in lines.into_iter().take(6).enumerate() {
            if line.iter().all(|mark| mark.y < 1e-3) {
                continue;
            }
            let series_of = |name: String, look, marks| Series {
                name,
                policy: position(found, &point.policy),
                look,
                colour: Some(number),
                marks,
            };
            series.push(series_of(format!("at least {jobs}"), Look::Line, line));
            if !theory.is_empty() {
                series.push(series_of(
                    format!("at least {jobs}, mean field"),
                    Look::Theory,
                    theory,
                ));
            }
        }
        let marks = || series.iter().flat_map(|series: &Series| &series.marks);
        marks().next()?;
        let x = Scale::over("time", "", false, marks().map(|mark| mark.x));
        let mut y =
            Scale::over("share of queues with so many jobs", "", false, marks().map(|mark| mark.y));
        y.stretch(marks().filter_map(|mark| mark.ends));
        let curves = Curves { x, y, series };
        let all: Vec<(String, String)> =
            point.levels.iter().map(|(axis, level)| (axis.clone(), level.to_string())).collect();
        let name = named(&point.policy, &all);
        Some(Figure {
            name: format!("transient-{name}"),
            title: format!("the start of {name}"),
            note: format!(
                "Shares of queues as time goes, beside the mean field's equation.{}",
                bands(found, &curves)
            ),
            response: None,
            body: Body::Curves(curves),
        })
    };
    some(&points, PER_KIND).iter().filter_map(figure).collect()
}
