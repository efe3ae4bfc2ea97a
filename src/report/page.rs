//! The page of a run: one file that needs nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::figure::{Body, Figure, Look, Mark, Scale, Series, titled};
use super::numbers::{grouped, plus_minus, short};
use super::plot::{self, Drawn, escaped};
use super::verdict::verdict;
use super::{figures, numbers};
use crate::design::Level;
use crate::frame::Found;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Room for the table of points, for that of comparisons, and for figures [bytes]: with the page
/// itself less than 2 MB.
const POINTS: usize = 750_000;
const COMPARISONS: usize = 250_000;
const FIGURES: usize = 800_000;
/// What a value with its interval takes in a table, and a number or a policy [bytes].
const INTERVAL: usize = 17;
const CELL: usize = 8;

/// Returns the page of a run with some figures, of which it shows as many as there is room for.
pub fn page(found: &Found, figures: &[(Figure, Drawn)]) -> String {
    let manifest = &found.manifest;
    let name = manifest["name"].as_str().unwrap_or_default();
    let mut room = FIGURES;
    let (mut shown, mut left) = (Vec::new(), Vec::new());
    for (figure, drawn) in figures {
        let number = shown.len();
        let html = inline(number, figure, drawn);
        let data = figure_data(number, figure, drawn);
        let size = html.len() + data.to_string().len();
        if size <= room {
            room -= size;
            shown.push((figure, html, data));
        } else {
            left.push(figure);
        }
    }
    let tables: Vec<Value> = [points(found), comparisons(found)].into_iter().flatten().collect();
    let data = json!({
        "policies": found.layout.policies.iter().map(|policy| &policy.label).collect::<Vec<_>>(),
        "figures": shown.iter().map(|(.., data)| data).collect::<Vec<_>>(),
        "tables": tables,
    });
    // In a script, nothing but `<` could end it.
    let data = data.to_string().replace('<', "\\u003c");
    let mut pictures: String = shown.iter().map(|(_, html, _)| html.as_str()).collect();
    if !left.is_empty() {
        let names: Vec<String> = left
            .iter()
            .map(|figure| format!("<code>figures/{}.svg</code>", escaped(&figure.name)))
            .collect();
        pictures += &format!(
            "<p>{} more figures are beside this page: {}.</p>\n",
            names.len(),
            names.join(", ")
        );
    }
    let mut brief = manifest.clone();
    if let Some(brief) = brief.as_object_mut() {
        // The one has a part of the page for itself, the other is what the page is made of.
        brief.remove("spec");
        brief.remove("layout");
    }
    let about = found.layout.about.as_deref().map(|about| format!("<p>{}</p>", escaped(about)));
    filled(&|placeholder| match placeholder {
        "title" => escaped(name),
        "about" => about.clone().unwrap_or_default(),
        "verdict" => verdict_html(found),
        "responses" => {
            responses(&shown.iter().map(|(figure, ..)| *figure).collect::<Vec<_>>(), found)
        }
        "policies" => {
            policies(&shown.iter().map(|(figure, ..)| *figure).collect::<Vec<_>>(), found)
        }
        "figures" => pictures.clone(),
        "searches" => String::new(),
        "spec" => escaped(&spec(manifest)),
        "manifest" => escaped(&format!("{brief:#}")),
        "reproduce" => reproduce(found),
        "data" => data.clone(),
        "style" => STYLE.to_owned(),
        "script" => SCRIPT.to_owned(),
        _ => String::new(),
    })
}

/// Returns the template with its placeholders replaced, in one pass: what comes in has none.
fn filled(content: &dyn Fn(&str) -> String) -> String {
    let mut parts = TEMPLATE.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (placeholder, rest) = part.split_once("}}").unwrap_or(("", part));
        page += &content(placeholder);
        page += rest;
    }
    page
}

fn verdict_html(found: &Found) -> String {
    let item = |sentence: &super::verdict::Sentence| {
        let class = match sentence.good {
            Some(true) => " class=\"pass\"",
            Some(false) => " class=\"fail\"",
            None => "",
        };
        format!("<li{class}>{}</li>\n", escaped(&sentence.text))
    };
    let items: String = verdict(found).iter().map(item).collect();
    let list = if items.is_empty() {
        String::new()
    } else {
        format!("<ul class=\"verdict\">\n{items}</ul>\n")
    };
    list + &claims(found)
}

fn claims(found: &Found) -> String {
    if found.claims.is_empty() {
        return String::new();
    }
    let tolerances = found.claims.iter().any(|claim| claim.tolerance.is_some());
    let row = |claim: &crate::frame::FoundClaim| {
        let simulated = match (claim.simulated, claim.ends) {
            (Some(mean), Some((low, high))) => plus_minus(mean, (high - low) / 2.0),
            (Some(mean), None) => short(mean),
            _ => "no run".to_owned(),
        };
        let point = match claim.at.as_str() {
            "" => claim.policy.clone(),
            at => format!("{} at {at}", claim.policy),
        };
        let mut cells = vec![
            ("", point),
            ("", claim.response.clone()),
            ("number", short(claim.published)),
            ("number", simulated),
            ("number", claim.p.map_or("none".to_owned(), p_value)),
            (claim.verdict.as_str(), claim.verdict.clone()),
        ];
        if tolerances {
            let tolerance = claim.tolerance.map_or(String::new(), short);
            cells.insert(4, ("number", tolerance));
        }
        let cells = cells.iter().map(|(class, cell)| match *class {
            "" => format!("<td>{}</td>", escaped(cell)),
            class => format!("<td class=\"{}\">{}</td>", escaped(class), escaped(cell)),
        });
        let cells: Vec<String> = cells.collect();
        format!("<tr>{}</tr>\n", cells.concat())
    };
    let source = match &found.layout.source {
        Some(source) => format!("Published figures: {}", escaped(source)),
        None => "Published figures".to_owned(),
    };
    let mut head = vec!["policy", "response", "published", "simulated", "p", "verdict"];
    if tolerances {
        head.insert(4, "tolerance");
    }
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows: String = found.claims.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"claims\">\n<caption>{source}</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// Returns the spec with what the command line changed.
fn spec(manifest: &Value) -> String {
    let text = manifest["spec"].as_str().unwrap_or_default();
    let changes = manifest["overrides"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let changes: String =
        changes.map(|change| format!("# changed on the command line: {change}\n")).collect();
    changes + text
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

fn responses(shown: &[&Figure], found: &Found) -> String {
    let mut names: Vec<&str> = Vec::new();
    for response in shown.iter().filter_map(|figure| figure.response.as_deref()) {
        if !names.contains(&response) {
            names.push(response);
        }
    }
    let option = |name: &&str| {
        let measure = found.layout.responses.iter().find(|measure| measure.column == **name);
        let title = titled(name, measure.map_or("", |measure| &measure.unit));
        format!("<option value=\"{}\">{}</option>\n", escaped(name), escaped(&title))
    };
    names.iter().map(option).collect()
}

/// Returns a box for each policy that figures show, with its colour where all of its lines have one.
fn policies(shown: &[&Figure], found: &Found) -> String {
    let mut colours: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
    for figure in shown {
        let Body::Curves(curves) = &figure.body else { continue };
        for series in &curves.series {
            let Some(policy) = series.policy else { continue };
            let of = colours.entry(policy).or_default();
            // The colours of other figures, such as those of searches, are of something else.
            let is_line = matches!(series.look, Look::Line | Look::Control);
            if is_line && figure.response.is_some() {
                of.insert(series.colour);
            }
        }
    }
    let policy = |(policy, colours): (&usize, &BTreeSet<Option<usize>>)| {
        let one = colours.first().filter(|_| colours.len() == 1);
        let swatch = one.map_or(String::new(), |colour| {
            let colour = colour.map_or("#7A7A7A".to_owned(), plot::colour);
            format!("<span class=\"swatch\" style=\"--c:{colour}\"></span>")
        });
        format!(
            "<label><input type=\"checkbox\" checked value=\"{policy}\">{swatch}{}</label>\n",
            escaped(&found.layout.policies[*policy].label)
        )
    };
    colours.iter().map(policy).collect()
}

fn inline(number: usize, figure: &Figure, drawn: &Drawn) -> String {
    format!(
        "<figure id=\"figure-{number}\" data-response=\"{}\" tabindex=\"0\">\n<h3>{}</h3>\n{}\n\
         <figcaption>{} <code>figures/{}.svg</code></figcaption>\n</figure>\n",
        escaped(figure.response.as_deref().unwrap_or_default()),
        escaped(&figure.title),
        drawn.inline(&figure.title),
        escaped(&figure.note),
        escaped(&figure.name)
    )
}

fn figure_data(number: usize, figure: &Figure, drawn: &Drawn) -> Value {
    let mut data = Map::new();
    data.insert("id".to_owned(), json!(format!("figure-{number}")));
    data.insert("frame".to_owned(), json!(drawn.frame));
    if let Body::Curves(curves) = &figure.body {
        data.insert("x".to_owned(), scale(&curves.x));
        data.insert("y".to_owned(), scale(&curves.y));
        data.insert("series".to_owned(), curves.series.iter().map(series).collect());
    }
    if !drawn.marks.is_empty() {
        data.insert("marks".to_owned(), json!(drawn.marks));
    }
    data.into()
}

fn scale(scale: &Scale) -> Value {
    json!({
        "name": scale.name, "unit": scale.unit, "from": scale.from, "to": scale.to,
        "log": scale.log,
    })
}

fn series(series: &Series) -> Value {
    let look = match series.look {
        Look::Line => "line",
        Look::Control => "control",
        Look::Theory => "theory",
        Look::Published | Look::Found | Look::Tried => "marks",
    };
    let list = |of: &dyn Fn(&Mark) -> Option<f64>| -> Value {
        series.marks.iter().map(|mark| number(of(mark))).collect()
    };
    let mut data = json!({
        "name": series.name, "policy": series.policy, "look": look,
        "x": list(&|mark| Some(mark.x)), "y": list(&|mark| Some(mark.y)),
    });
    if series.marks.iter().any(|mark| mark.ends.is_some()) {
        data["low"] = list(&|mark| mark.ends.map(|ends| ends.0));
        data["high"] = list(&|mark| mark.ends.map(|ends| ends.1));
    }
    data
}

/// Returns a number with at most six significant digits, or null.
fn number(value: Option<f64>) -> Value {
    let Some(value) = value.filter(|value| value.is_finite()) else { return Value::Null };
    let rounded = numbers::rounded(value, 6);
    // Without a needless `.0`.
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}

/// Returns the table of all points.
fn points(found: &Found) -> Option<Value> {
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
    let mut room = POINTS.saturating_sub(rows * CELL * (2 + axes.len()));
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
        let half = |(low, high): (f64, f64)| (high - low) / 2.0;
        columns.push(json!({
            "name": measure.column, "kind": "interval", "unit": measure.unit,
            "about": measure.about,
            "values": summaries().map(|one| number(one.map(|one| one.mean))).collect::<Vec<_>>(),
            "half": summaries().map(|one| number(one.and_then(|one| one.ends).map(half)))
                .collect::<Vec<_>>(),
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
    let summaries = found.points.iter().flat_map(|point| point.summaries.iter().flatten());
    let n = summaries.map(|one| one.n).max().unwrap_or_default();
    let mut note = format!(
        "Means of {} with {} % intervals",
        found.layout.replications,
        short(100.0 * found.layout.confidence)
    );
    if n < 2 {
        note = "Values of single runs, which have no intervals".to_owned();
    }
    note += ", rounded to six digits; summary.parquet has all.";
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
            Some(Level::Number(value)) => number(Some(*value)),
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
fn comparisons(found: &Found) -> Option<Value> {
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
    columns.push(json!({
        "name": "difference", "kind": "interval", "about": "the point's value less the baseline's",
        "values": rows.iter().map(|one| number(Some(one.difference))).collect::<Vec<_>>(),
        "half": rows.iter().map(|one| number(one.ends.map(|(low, high)| (high - low) / 2.0)))
            .collect::<Vec<_>>(),
    }));
    columns.push(json!({
        "name": "verdict", "kind": "text", "names": verdicts,
        "values": rows.iter().map(|one| verdicts.iter().position(|name| *name == one.verdict))
            .collect::<Vec<_>>(),
    }));
    let baseline = &found.layout.baseline;
    let at: String = baseline.at.iter().map(|(axis, level)| format!(" {axis} {level}")).collect();
    let mut note =
        format!("Differences from {}{at}, {}.", baseline.policy, found.layout.differences);
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

fn reproduce(found: &Found) -> String {
    let manifest = &found.manifest;
    let text = |name: &str| escaped(manifest[name].as_str().unwrap_or_default());
    let command = |name: &str| match manifest[name].as_str() {
        Some(command) => format!("<code>{}</code>", escaped(command)),
        None => "<code>balancelab</code> with the experiment above".to_owned(),
    };
    format!(
        "<p>All of it: {}. Seed {}, {}, balancelab {}, commit {}.</p>\n\
         <p>One replication of one point alone: {} with <code>--point P --replication R</code>; the \
         table of points has the line of each. Its numbers are those of its row, on any machine.</p>\n",
        command("run"),
        manifest["seed"],
        text("generator"),
        text("version"),
        text("commit"),
        command("replay"),
    )
}
