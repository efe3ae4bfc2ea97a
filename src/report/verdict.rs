//! What a run came to, in sentences.

use super::figures::{baseline, best, brief, scenario as scenario_of, shown};
use super::names::{isolated, with_levels};
use super::numbers::{grouped, level, plus_minus, rounded, short};
use crate::frame::{Direction, Found, FoundClaim, FoundPoint, Ranking, Summary};

/// Most responses that sentences are made of.
const RESPONSES: usize = 2;
/// Most scenarios that sentences are made of, for a response.
const SCENARIOS: usize = 6;

/// A sentence, and whether it tells of something good, bad or neither.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    pub text: String,
    pub good: Option<bool>,
}

/// Returns what a run came to: what is best, by how much and how surely; what was claimed; what a
/// search found; what failed.
pub fn verdict(found: &Found) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if found.points.is_empty() {
        let text = "No point has a value.".to_owned();
        sentences.push(Sentence { text, good: Some(false) });
    }
    let responses =
        shown(found).into_iter().filter(|&at| found.layout.responses[at].good.is_some());
    let selected = &found.manifest["selected"];
    if let Some(verdict) = selected["verdict"].as_str() {
        let stop = if verdict.ends_with('…') { "" } else { "." };
        sentences.push(Sentence { text: format!("Selected: {verdict}{stop}"), good: None });
    }
    // What was selected by it is said.
    let column = |&at: &usize| found.layout.responses[at].column.as_str();
    let responses = responses.filter(|at| selected["response"] != *column(at));
    for response in responses.take(RESPONSES) {
        sentences.extend(winners(found, response));
    }
    sentences.extend(found.searches.iter().map(search));
    sentences.extend(claims(found));
    let failed = found.manifest["counts"]["failed"].as_u64().unwrap_or_default();
    if failed > 0 {
        let text =
            format!("{} replications failed; failures.csv names them.", grouped(failed as f64));
        sentences.push(Sentence { text, good: Some(false) });
    }
    sentences
}

/// Returns for each scenario what is best in a response.
fn winners(found: &Found, response: usize) -> Vec<Sentence> {
    let measure = &found.layout.responses[response];
    let Some(good) = measure.good else { return Vec::new() };
    let candidates = best(found, response);
    // Points come scenario by scenario.
    let scenarios: Vec<&[&FoundPoint]> =
        candidates.chunk_by(|a, b| a.scenario == b.scenario).collect();
    let all = scenarios.len();
    let mut sentences: Vec<Sentence> = scenarios
        .iter()
        .take(SCENARIOS)
        .filter_map(|candidates| winner(found, response, good, candidates))
        .collect();
    if all > SCENARIOS && !sentences.is_empty() {
        let text =
            format!("{}: {} more scenarios are in the tables.", measure.column, all - SCENARIOS);
        sentences.push(Sentence { text, good: None });
    }
    sentences
}

fn winner(
    found: &Found,
    response: usize,
    good: Direction,
    candidates: &[&FoundPoint],
) -> Option<Sentence> {
    let column = &found.layout.responses[response].column;
    let of = |point: &FoundPoint| point.summaries[response];
    let standing =
        |point: &FoundPoint| found.standing(point, response).map_or(f64::NAN, |(_, rank)| rank);
    let first = *candidates.iter().min_by(|a, b| standing(a).total_cmp(&standing(b)))?;
    let summary = of(first)?;
    let most = if good == Direction::Less { "least" } else { "most" };
    let place = words(&scenario_of(found, first));
    let at = if place.is_empty() { String::new() } else { format!("At {place}: ") };
    let in_it = |point: &&FoundPoint| point.scenario == first.scenario;
    let all: Vec<&FoundPoint> = found.points.iter().filter(in_it).collect();
    if all.len() < 2 {
        return None;
    }
    let is_same = |point: &&&FoundPoint| {
        (standing(point) - standing(first)).abs() <= 1e-12 * summary.mean.abs()
    };
    let same: Vec<u32> = all.iter().filter(is_same).map(|point| point.number).collect();
    let ranking = found.ranking(first.scenario, response);
    let mut known = all.iter().filter_map(|point| found.compared(point, response)).peekable();
    let is_equal = known.peek().is_some() && known.all(|compared| compared.difference == 0.0);
    if same.len() == all.len() || ranking == Ranking::UnequalMeans && is_equal {
        // There is nothing to win.
        return None;
    }
    let mut name = point_name(found, first);
    name += &match same.len() - 1 {
        0 => String::new(),
        // Of those that are left out, nobody knows how many.
        _ if found.stride > 1 => " (and more points with the same value)".to_owned(),
        1 => " (and one more point with the same value)".to_owned(),
        more => format!(" (and {} more points with the same value)", grouped(more as f64)),
    };
    let mut text = format!("{at}{name} has the {most} {column}, {}", value(&summary));
    text += match ranking {
        Ranking::Means => "",
        Ranking::UnequalMeans => ", though not all points may have values of the same replications",
        Ranking::Gains => ", judged by the replications that points share",
    };
    let may_be_best =
        |point: &FoundPoint| Some(found.bests.get(&(point.number, response))?.may_be_best);
    let equal =
        |point: &&&FoundPoint| may_be_best(point) == Some(true) && !same.contains(&point.number);
    let equal: Vec<&FoundPoint> = all.iter().filter(equal).copied().collect();
    // Where points are left out, some that may be as good may be among them.
    let compared = found.stride == 1 && may_be_best(first).is_some();
    let confidence = format!("{} %", short(100.0 * found.layout.confidence));
    text += &match (compared, equal.len()) {
        _ if summary.ends.is_none() => "; one run says nothing of how sure that is".to_owned(),
        (false, _) => String::new(),
        (true, 0) => format!(", and no other point can be as good ({confidence} confidence)"),
        (true, count) => {
            let policies = policies(&equal);
            let points = if count == 1 { "point" } else { "points" };
            format!(
                ", but {} other {points} may be as good or better, of {policies}",
                grouped(count as f64)
            )
        }
    };
    text.push('.');
    let compared = found.compared(first, response);
    if let Some(compared) = compared.filter(|one| one.difference != 0.0) {
        let baseline = baseline(found);
        text += &match compared.ends {
            Some((low, high)) => format!(
                " Its difference from {baseline} is {}: {}.",
                plus_minus(compared.difference, (high - low) / 2.0),
                compared.verdict
            ),
            None => {
                format!(" Its difference from {baseline} is {}.", short(compared.difference))
            }
        };
    }
    Some(Sentence { text, good: None })
}

/// Returns the policy that a claim is about, and where.
pub fn claimed(found: &Found, claim: &FoundClaim) -> String {
    let point = claim.point.and_then(|point| found.point(point));
    let levels = point.into_iter().flat_map(|point| &point.levels);
    // The axes that it names; it may give fewer digits than their levels have.
    let named = format!(" {}", claim.at);
    let levels = levels.filter(|(axis, _)| named.contains(&format!(" {axis}=")));
    let levels: Vec<(String, String)> =
        levels.map(|(axis, level)| (axis.clone(), level.to_string())).collect();
    match (levels.is_empty(), claim.at.is_empty()) {
        (_, true) => isolated(&claim.policy),
        (true, _) => format!("{} at {}", isolated(&claim.policy), isolated(&claim.at)),
        _ => format!("{} at {}", isolated(&claim.policy), words(&levels)),
    }
}

/// Returns the policies of some points.
fn policies(points: &[&FoundPoint]) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for point in points {
        if !policies.contains(&point.policy.as_str()) {
            policies.push(&point.policy);
        }
    }
    let shown: Vec<String> = policies.iter().take(5).map(|policy| isolated(policy)).collect();
    let more = if policies.len() > 5 { ", …" } else { "" };
    shown.join(", ") + more
}

/// Returns a point's policy with the values of the policy's own axes.
pub fn point_name(found: &Found, point: &FoundPoint) -> String {
    let axes = found
        .policy(point)
        .into_iter()
        .flat_map(|policy| &policy.axes)
        .filter(|axis| !axis.scenario);
    let levels =
        axes.filter_map(|axis| Some((axis.column.clone(), level(point.levels.get(&axis.column)?))));
    with_levels(&point.policy, levels)
}

fn words(levels: &[(String, String)]) -> String {
    let words = levels
        .iter()
        .map(|(axis, level)| format!("{} {}", isolated(axis), isolated(&brief(level))));
    words.collect::<Vec<String>>().join(", ")
}

/// Returns a mean with its interval.
pub fn value(summary: &Summary) -> String {
    match summary.ends {
        Some((low, high)) => plus_minus(summary.mean, (high - low) / 2.0),
        None => short(summary.mean),
    }
}

fn search(search: &serde_json::Value) -> Sentence {
    let text = |name: &str| search[name].as_str().unwrap_or_default();
    let place = super::figures::scenario_words(search);
    let Some(values) = search["found"].as_object() else {
        let label = isolated(text("search"));
        let text = format!("The search {label}{place} found nothing: {}.", text("error"));
        return Sentence { text, good: Some(false) };
    };
    let values: Vec<String> = values
        .iter()
        .map(|(name, value)| {
            let at = value["value"].as_f64().map_or_else(String::new, short);
            match value["se"].as_f64() {
                Some(se) => format!("{name} = {at} (standard error {})", three(se)),
                None => format!("{name} = {at}"),
            }
        })
        .collect();
    let confirmed = &search["confirmed"];
    let end = |name: &str| confirmed[name].as_f64();
    let value = match (end("mean"), end("ci_low").zip(end("ci_high"))) {
        (Some(mean), Some((low, high))) => plus_minus(mean, (high - low) / 2.0),
        (Some(mean), None) => short(mean),
        _ => "none".to_owned(),
    };
    let policy = match text("policy") {
        policy if policy == text("search") => String::new(),
        policy => format!(" of {}", isolated(policy)),
    };
    let mut said = format!(
        "The search {}{policy}{place} found {} in {} replications; confirmed {}: {value}",
        isolated(text("search")),
        values.join(", "),
        grouped(search["spent"].as_f64().unwrap_or_default()),
        text("response"),
    );
    if let Some(regret) = search["grid"]["regret"].as_f64() {
        let end = |name: &str| search["grid"][name].as_f64().map_or_else(String::new, three);
        said += &format!(
            "; its regret against the best of a grid is {} ({} to {})",
            three(regret),
            end("ci_low"),
            end("ci_high")
        );
        if let Some(delta) = search["grid"]["delta"].as_f64() {
            said += match search["grid"]["at_noise_floor"].as_bool() {
                Some(true) => ", at the noise floor of ±",
                _ => ", not known to be within ±",
            };
            said += &short(delta);
        }
    }
    Sentence { text: said + ".", good: None }
}

/// Returns a number with three significant digits.
fn three(number: f64) -> String {
    // Not −0.
    short(rounded(number, 3) + 0.0)
}

fn claims(found: &Found) -> Option<Sentence> {
    // Without a tolerance a figure is judged by how runs differ.
    let is_judged = |claim: &FoundClaim| {
        claim.simulated.is_some() && (claim.tolerance.is_some() || claim.p.is_some())
    };
    let all = found.claims.len();
    let failed: Vec<String> = found
        .claims
        .iter()
        .filter(|claim| claim.verdict != "pass" && is_judged(claim))
        .map(|claim| format!("{} of {}", claim.response, claimed(found, claim)))
        .collect();
    let unknown = found.claims.iter().filter(|claim| !is_judged(claim)).count();
    let mut text = match (all, failed.len(), all - unknown) {
        (0, ..) => return None,
        (.., 0) => "No published figure can be judged".to_owned(),
        (1, 0, _) => "The published figure agrees with the simulation".to_owned(),
        (1, ..) => format!("The simulation doesn't agree with the published {}", failed.join("")),
        (2, 0, 2) => "Both published figures agree with the simulation".to_owned(),
        (_, 0, judged) if judged == all => {
            format!("All {all} published figures agree with the simulation")
        }
        (_, 0, judged) => format!("{judged} of {all} published figures agree with the simulation"),
        (_, count, _) => format!(
            "The simulation doesn't agree with {count} of {all} published figures: {}",
            failed.join("; ")
        ),
    };
    if unknown > 0 {
        text += &format!("; {unknown} of {all} can't be judged: too few replications have a value");
    }
    Some(Sentence { text: text + ".", good: Some(failed.is_empty() && unknown == 0) })
}
