//! What searches found, and how it compares.

use serde_json::Value;

use crate::report::figures::scenario_words;
use crate::report::names::{isolated, with_levels};
use crate::report::numbers::{grouped, plus_minus, short};
use crate::report::plot::escaped;

/// Returns a search: how it went, and what it found beside its rivals. One that found nothing is in the
/// verdict.
pub(super) fn one(search: &Value) -> String {
    let Some(values) = search["found"].as_object() else { return String::new() };
    let text = |name: &str| search[name].as_str().unwrap_or_default();
    let count = |value: &Value| grouped(value.as_f64().unwrap_or_default());
    let number = |value: &Value| value.as_f64().map_or_else(String::new, short);
    let (confirmed, grid) = (&search["confirmed"], &search["grid"]);
    let why = if text("why").is_empty() { String::new() } else { format!(": {}", text("why")) };
    let mut note = format!(
        "By {}, {} of {} replications{why}; confirmed in {} that it never saw.",
        text("method"),
        count(&search["spent"]),
        count(&search["budget"]),
        count(&confirmed["replications"])
    );
    if let Some(best) = grid["best"].as_object() {
        let at = best.iter().map(|(name, value)| (name.clone(), number(value)));
        note += &format!(
            " The best of a grid of {} is at{}: {}.",
            count(&grid["points"]),
            with_levels("", at),
            number(&grid["best_value"])
        );
    }
    let found =
        with_levels("", values.iter().map(|(name, one)| (name.clone(), number(&one["value"]))));
    let mut rows =
        vec![[format!("found:{found}"), interval(confirmed, "mean"), String::new(), String::new()]];
    for rival in search["against"].as_array().into_iter().flatten() {
        rows.push([
            isolated(rival["rival"].as_str().unwrap_or_default()),
            interval(&rival["value"], "mean"),
            interval(rival, "difference"),
            rival["verdict"].as_str().unwrap_or_default().to_owned(),
        ]);
    }
    let policy = match text("policy") {
        policy if policy == text("search") => String::new(),
        policy => format!(" of {}", isolated(policy)),
    };
    let row = |[name, value, difference, verdict]: &[String; 4]| {
        format!(
            "<tr><td>{}</td><td class=\"number\">{value}</td><td class=\"number\">{difference}</td>\
             <td>{}</td></tr>\n",
            escaped(name),
            escaped(verdict)
        )
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<h3>{}{}</h3>\n<p class=\"note\">{}</p>\n<table>\n<caption>What {} found</caption>\n\
         <thead><tr><th scope=\"col\">policy</th><th scope=\"col\">{}</th>\
         <th scope=\"col\">found − rival</th><th scope=\"col\">verdict</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n",
        escaped(&isolated(text("search"))),
        escaped(&(policy + &scenario_words(search))),
        escaped(&note),
        escaped(&isolated(text("search"))),
        escaped(text("response"))
    )
}

/// Returns a value with its interval.
fn interval(of: &Value, name: &str) -> String {
    let end = |name: &str| of[name].as_f64();
    match (end(name), end("ci_low").zip(end("ci_high"))) {
        (Some(mean), Some((low, high))) => plus_minus(mean, (high - low) / 2.0),
        (Some(mean), None) => short(mean),
        _ => "none".to_owned(),
    }
}
