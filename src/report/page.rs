//! The page of a run: one file that needs nothing else.

mod searches;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::tables::{comparisons, points, precise};
use super::figure::{Body, Figure, Look, Mark, Scale, Series, titled};
use super::numbers::{plus_minus, short, written};
use super::plot::{self, Drawn, escaped};
use super::verdict::{claimed, verdict};
use crate::frame::Found;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Room for figures [bytes]: with tables and the page itself less than 2 MB.
const FIGURES: usize = 800_000;

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
        "searches" => found.searches.iter().map(searches::one).collect(),
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
            _ => "no value".to_owned(),
        };
        let mut cells = vec![
            ("", claimed(found, claim)),
            ("", claim.response.clone()),
            ("number", written(claim.published)),
            ("number", simulated),
            ("number", claim.p.map_or("none".to_owned(), p_value)),
            (claim.verdict.as_str(), claim.verdict.clone()),
        ];
        if tolerances {
            let tolerance = claim.tolerance.map_or(String::new(), written);
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
        data.insert(
            "series".to_owned(),
            curves.series.iter().map(|one| series(one, &curves.x)).collect(),
        );
    }
    if !drawn.marks.is_empty() {
        data.insert("marks".to_owned(), json!(drawn.marks));
        data.insert("rows".to_owned(), json!(!matches!(figure.body, Body::Bars(_))));
    }
    data.into()
}

fn scale(scale: &Scale) -> Value {
    json!({
        "name": scale.name, "unit": scale.unit, "from": scale.from, "to": scale.to,
        "log": scale.log,
    })
}

fn series(series: &Series, axis: &Scale) -> Value {
    let look = match series.look {
        Look::Line => "line",
        Look::Control => "control",
        Look::Theory => "theory",
        Look::Published | Look::Found | Look::Tried => "marks",
    };
    let list = |of: &dyn Fn(&Mark) -> Option<f64>| -> Value {
        let half = |mark: &Mark| mark.ends.map(|(low, high)| (high - low) / 2.0);
        series.marks.iter().map(|mark| precise(of(mark), half(mark))).collect()
    };
    // Marks are found by their place.
    let apart = (axis.to - axis.from) / 1000.0;
    let mut data = json!({
        "name": series.name, "policy": series.policy, "look": look,
        "x": series.marks.iter().map(|mark| precise(Some(mark.x), Some(apart))).collect::<Vec<_>>(),
        "y": list(&|mark| Some(mark.y)),
    });
    if series.marks.iter().any(|mark| mark.ends.is_some()) {
        data["low"] = list(&|mark| mark.ends.map(|ends| ends.0));
        data["high"] = list(&|mark| mark.ends.map(|ends| ends.1));
    }
    data
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
         table of points has the line of each. Its numbers are those of its row, on any machine, and one \
         that failed fails again.</p>\n",
        command("run"),
        manifest["seed"],
        text("generator"),
        text("version"),
        text("commit"),
        command("replay"),
    )
}
