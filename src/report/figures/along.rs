//! Responses along the axes of a sweep.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    At, CONTROLS, LINES, PER_KIND, bands, levels, mark, named, number, position, scenario,
    scenario_words, some,
};
use crate::frame::{Direction, Found, FoundPoint};
use crate::report::figure::{Body, Curves, Figure, Look, Mark, Scale, Series, titled};
use crate::report::names::isolated;

/// Parts of an axis in each of which a line has at most two marks: more would be smaller than a pixel.
const COLUMNS: f64 = 600.0;

/// An axis that responses are shown along, on one kind of scale.
#[derive(Clone, Debug, PartialEq)]
struct Along {
    column: String,
    unit: String,
    log: bool,
    /// Whether it is the model's.
    scenario: bool,
}

/// Returns a response against each axis.
pub(super) fn curves(found: &Found, response: usize) -> Vec<Figure> {
    axes(found).iter().flat_map(|along| against(found, response, along)).collect()
}

/// Returns the axes with at least two numbers.
fn axes(found: &Found) -> Vec<Along> {
    let mut all: Vec<Along> = Vec::new();
    for axis in found.layout.policies.iter().flat_map(|policy| &policy.axes) {
        let along = Along {
            column: axis.column.clone(),
            unit: axis.unit.clone(),
            log: axis.log,
            scenario: axis.scenario,
        };
        let known = all.iter().any(|one| (&one.column, one.log) == (&along.column, along.log));
        let mut values = found
            .points
            .iter()
            .filter(|point| has(found, point, &along))
            .filter_map(|point| number(point.levels.get(&along.column)?));
        let first = values.next();
        if !known && first.is_some_and(|first| values.any(|value| value != first)) {
            all.push(along);
        }
    }
    all
}

/// Whether a point's policy has an axis on that kind of scale.
fn has(found: &Found, point: &FoundPoint, along: &Along) -> bool {
    found.policy(point).is_some_and(|policy| {
        policy.axes.iter().any(|axis| axis.column == along.column && axis.log == along.log)
    })
}

fn has_column(found: &Found, point: &FoundPoint, column: &str) -> bool {
    let policy = found.policy(point);
    policy.is_some_and(|policy| policy.axes.iter().any(|axis| axis.column == column))
}

/// Returns a response against an axis: one figure for each scenario, but for those that the axis
/// makes; if there are few lines in all, one figure.
fn against(found: &Found, response: usize, along: &Along) -> Vec<Figure> {
    let other =
        |all: At| -> At { all.into_iter().filter(|(axis, _)| *axis != along.column).collect() };
    let points: Vec<&FoundPoint> =
        found.points.iter().filter(|point| point.summaries[response].is_some()).collect();
    let mut facets: Vec<At> = Vec::new();
    let mut known: HashMap<At, usize> = HashMap::new();
    let mut facet_of: Vec<Option<usize>> = vec![None; found.scenarios()];
    let mut lines: BTreeMap<(usize, usize, At), Vec<&FoundPoint>> = BTreeMap::new();
    let mut controls: Vec<(usize, &FoundPoint)> = Vec::new();
    for point in &points {
        let facet = *facet_of[point.scenario].get_or_insert_with(|| {
            let facet = other(scenario(found, point));
            *known.entry(facet.clone()).or_insert_with(|| {
                facets.push(facet);
                facets.len() - 1
            })
        });
        let policy = position(found, &point.policy).unwrap_or_default();
        let is_number = point.levels.get(&along.column).is_some_and(|one| number(one).is_some());
        if has(found, point, along) && is_number {
            let own = other(levels(found, point, false));
            lines.entry((facet, policy, own)).or_default().push(point);
        } else if !has_column(found, point, &along.column) {
            controls.push((facet, point));
        }
    }
    // Points without the axis that have others are no yardsticks.
    controls.retain(|(_, point)| levels(found, point, false).is_empty());
    let whole = facets.len() <= 1 || lines.len() <= LINES && controls.len() <= CONTROLS;
    let chosen: Vec<usize> = match whole {
        true => vec![0],
        false => some(&(0..facets.len()).collect::<Vec<_>>(), PER_KIND),
    };
    let figure = |facet: &usize| {
        let is_in = |of: usize| whole || of == *facet;
        let lines: Vec<_> = lines.iter().filter(|((of, ..), _)| is_in(*of)).collect();
        let shown = best_lines(found, response, lines.clone());
        let mut series = Vec::new();
        let colours = colours(found, shown.iter().map(|((_, policy, _), _)| *policy).collect());
        for (((of, policy, own), points), number) in shown.iter().zip(colours) {
            let label = &found.layout.policies[*policy].label;
            let mut name = named(label, own);
            if whole {
                name = named(&name, &facets[*of]);
            }
            series.extend(line(points, response, along, (name, *policy, number)));
        }
        let controls = controls.iter().filter(|(of, _)| is_in(*of));
        let controls: Vec<(String, &FoundPoint)> = controls
            .map(|(of, point)| {
                let place: &[(String, String)] = if whole { &facets[*of] } else { &[] };
                (named(&point.policy, place), *point)
            })
            .collect();
        let numbers = shown.iter().flat_map(|(_, points)| *points).map(|point| point.number);
        let numbers: BTreeSet<u32> = numbers.collect();
        drawn(
            found,
            (response, along),
            series,
            (lines.len(), shown.len()),
            (&controls, &numbers),
            || {
                if whole { Vec::new() } else { facets[*facet].clone() }
            },
        )
    };
    chosen.iter().filter_map(figure).collect()
}

/// A line: its facet, its policy, the values of the policy's other axes, and its points.
type Line<'a, 'f> = (&'a (usize, usize, At), &'a Vec<&'f FoundPoint>);

/// Returns as many lines as a figure has, in their order: of each policy the best, and then the best of
/// the others; some at equal distances where no value is better.
fn best_lines<'a, 'f>(
    found: &Found,
    response: usize,
    lines: Vec<Line<'a, 'f>>,
) -> Vec<Line<'a, 'f>> {
    let Some(good) = found.layout.responses[response].good else { return some(&lines, LINES) };
    let value = |(_, points): &Line| {
        let means = points.iter().filter_map(|point| Some(point.summaries[response]?.mean));
        let better = |a: f64, b: f64| if good.is_better(b, a) { b } else { a };
        means.reduce(better).unwrap_or(f64::NAN)
    };
    let rank = |at: usize| match good {
        Direction::Less => value(&lines[at]),
        Direction::More => -value(&lines[at]),
    };
    let mut ranked: Vec<usize> = (0..lines.len()).collect();
    ranked.sort_by(|&a, &b| rank(a).total_cmp(&rank(b)));
    let mut policies = Vec::new();
    let is_first = |&at: &usize| {
        let policy = lines[at].0.1;
        !policies.contains(&policy) && {
            policies.push(policy);
            true
        }
    };
    let (mut chosen, others): (Vec<usize>, Vec<usize>) = ranked.into_iter().partition(is_first);
    chosen.extend(others);
    chosen.truncate(LINES);
    chosen.sort_unstable();
    chosen.into_iter().map(|at| lines[at]).collect()
}

/// Returns a colour for each line: that of its policy wherever it is, if no two are alike then.
pub(super) fn colours(found: &Found, policies: Vec<usize>) -> Vec<usize> {
    let swept = |policy: &&usize| !found.layout.policies[**policy].axes.is_empty();
    let rank = |policy: &usize| (0..*policy).collect::<Vec<_>>().iter().filter(swept).count();
    let own: Vec<usize> = policies.iter().map(|policy| rank(policy) % LINES).collect();
    let alike = (1..own.len()).any(|at| own[..at].contains(&own[at]));
    if alike { (0..policies.len()).collect() } else { own }
}

/// Returns the line of some points, and that of theory.
fn line(
    points: &[&FoundPoint],
    response: usize,
    along: &Along,
    (name, policy, colour): (String, usize, usize),
) -> Vec<Series> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut theory: Vec<Mark> = Vec::new();
    for point in points {
        let x = point.levels.get(&along.column).and_then(number);
        if let (Some(x), Some(summary)) = (x, &point.summaries[response]) {
            marks.push(mark(x, summary));
            let y = summary.theory.unwrap_or(f64::NAN);
            theory.push(Mark { x, y, ends: None });
        }
    }
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    theory.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (policy, colour) = (Some(policy), Some(colour));
    let has_theory = theory.iter().any(|mark| mark.y.is_finite());
    let line = Series { name: name.clone(), policy, look: Look::Line, colour, marks };
    let theory = Series {
        name: format!("{name}, theory"),
        policy,
        look: Look::Theory,
        colour,
        marks: theory,
    };
    if has_theory { vec![line, theory] } else { vec![line] }
}

/// Returns the figure of some lines, with what stands beside them.
fn drawn(
    found: &Found,
    (response, along): (usize, &Along),
    mut series: Vec<Series>,
    (lines, shown): (usize, usize),
    (controls, numbers): (&[(String, &FoundPoint)], &BTreeSet<u32>),
    facet: impl FnOnce() -> At,
) -> Option<Figure> {
    let measure = &found.layout.responses[response];
    let xs = || series.iter().flat_map(|series| &series.marks).map(|mark| mark.x);
    let x = Scale::over(&along.column, &along.unit, along.log, xs());
    let (from, to) =
        xs().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let long = series.iter_mut().filter(|series| series.marks.len() > 2 * COLUMNS as usize);
    long.for_each(|series| series.thin(&x, COLUMNS));
    if series.iter().all(|series| series.marks.len() < 2) {
        return None;
    }
    let facet = facet();
    let searched = confirmed(found, response, along, &facet, &series);
    for (name, point) in some(controls, CONTROLS) {
        let Some(summary) = &point.summaries[response] else { continue };
        let policy = position(found, &point.policy);
        let level = |name, look, mark: &dyn Fn(f64) -> Mark| {
            let marks = [from, to].map(mark).to_vec();
            Series { name, policy, look, colour: None, marks }
        };
        let theory = summary.theory.map(|y| {
            let name = format!("{name}, theory");
            level(name, Look::Theory, &|x| Mark { x, y, ends: None })
        });
        series.push(level(name, Look::Control, &|x| mark(x, summary)));
        series.extend(theory);
    }
    series.extend(published(found, response, along, numbers));
    series.extend(searched);
    let y = {
        // Theory and intervals may be far off; what was simulated has to be seen.
        let solid = series.iter().filter(|series| series.look != Look::Theory);
        let values = solid.flat_map(|series| &series.marks).map(|mark| mark.y);
        let log = along.scenario && is_wide(values.clone());
        let mut y = Scale::over(&measure.column, &measure.unit, log, values);
        let solid = series.iter().filter(|series| series.look != Look::Theory);
        let ends = solid.flat_map(|series| &series.marks).filter_map(|mark| mark.ends);
        y.stretch(ends);
        y
    };
    let place = match facet.is_empty() {
        true => String::new(),
        false => format!(" at{}", named("", &facet)),
    };
    let (kind, scale) = if along.log { ("-log", ", logarithmic") } else { ("", "") };
    let mut note = format!("{}: {}.", measure.column, measure.about);
    let curves = Curves { x, y, series };
    note += &bands(found, &curves);
    if lines > shown {
        note += &format!(" {shown} of {lines} lines are shown.");
    }
    Some(Figure {
        name: format!("{}-{}{kind}{}", measure.column, along.column, named("", &facet)),
        title: format!("{} against {}{scale}{place}", measure.column, along.column),
        note,
        response: Some(measure.column.clone()),
        body: Body::Curves(curves),
    })
}

/// Whether values are so far apart that the small ones are lost on a linear scale.
pub(super) fn is_wide(values: impl Iterator<Item = f64> + Clone) -> bool {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    low > 0.0 && high / low > 30.0
}

/// Returns the published figures of what is shown.
fn published(
    found: &Found,
    response: usize,
    along: &Along,
    shown: &BTreeSet<u32>,
) -> Option<Series> {
    let column = &found.layout.responses[response].column;
    let marks = found.claims.iter().filter(|claim| claim.response == *column);
    let mut marks: Vec<Mark> = marks
        .filter_map(|claim| {
            let point = found.point(claim.point?)?;
            let x = number(point.levels.get(&along.column)?)?;
            shown.contains(&point.number).then_some(Mark { x, y: claim.published, ends: None })
        })
        .collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    let name = "published".to_owned();
    let series = Series { name, policy: None, look: Look::Published, colour: None, marks };
    (!series.marks.is_empty()).then_some(series)
}

/// Returns what searches over the axis found for the policies of some lines, and how good it is.
fn confirmed(
    found: &Found,
    response: usize,
    along: &Along,
    facet: &[(String, String)],
    lines: &[Series],
) -> Vec<Series> {
    let column = &found.layout.responses[response].column;
    let xs = || lines.iter().flat_map(|line| &line.marks).map(|mark| mark.x);
    let range = xs().fold(f64::INFINITY, f64::min)..=xs().fold(f64::NEG_INFINITY, f64::max);
    let searches = found.searches.iter().filter(|search| search["response"] == *column.as_str());
    let series = searches.filter_map(|search| {
        let values = search["found"].as_object()?;
        let (name, value) = values.iter().next().filter(|_| values.len() == 1)?;
        let x = value["value"].as_f64().filter(|x| range.contains(x))?;
        // Of another scenario than the figure's, or of the one that is along the axis.
        let is_elsewhere = facet.iter().any(|(axis, level)| {
            let own = &search["scenario"][axis.as_str()];
            own.as_str().map(str::to_owned).or(own.as_f64().map(|own| own.to_string()))
                != Some(level.clone())
        });
        let policy = search["policy"].as_str().and_then(|policy| position(found, policy))?;
        let mut own = lines.iter().filter_map(|line| line.policy);
        // One rule may be swept twice, over different values.
        let rule = |policy: usize| {
            Some(&found.layout.policies[policy].rule).filter(|rule| !rule.is_empty())
        };
        let is_its =
            own.any(|own| own == policy || rule(own).is_some_and(|its| rule(policy) == Some(its)));
        if is_elsewhere || !is_its || !is_parameter(name, &along.column) {
            return None;
        }
        let confirmed = &search["confirmed"];
        let end = |name: &str| confirmed[name].as_f64();
        let mark = Mark { x, y: end("mean")?, ends: end("ci_low").zip(end("ci_high")) };
        let label = isolated(search["search"].as_str().unwrap_or_default());
        Some(Series {
            name: format!("found by the search {label}{}", scenario_words(search)),
            policy: Some(policy),
            look: Look::Found,
            colour: None,
            marks: vec![mark],
        })
    });
    series.collect()
}

/// Whether a searched parameter, which is a path, is the field behind an axis.
fn is_parameter(path: &str, column: &str) -> bool {
    path == column || path.rsplit('.').next() == Some(column)
}

/// Returns name and unit of a response.
pub(super) fn response_title(found: &Found, response: usize) -> String {
    let measure = &found.layout.responses[response];
    titled(&measure.column, &measure.unit)
}
