//! What a spec says of statistics: replications, stopping, common random numbers, the baseline.

use crate::design::Level;
use crate::stats::multiple::Adjust;
use crate::stats::selection::Selection;
use crate::stats::stopping::{Condition, Rule, Target};
use crate::stats::{Good, Moments};

use super::catalog::{BASELINE, REPLICATIONS, SELECT, UNTIL};
use super::diagnostic::near_or_all;
use super::published::{Context, levels};
use super::section::{Scope, Section};
use super::yaml::{Node, Value};

/// How many replications a point gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Replications {
    Fixed(u32),
    Until(Rule),
    /// Rows that are batches of one run.
    Batches(u32),
}

impl Replications {
    /// Returns the numbers of replications at which a point may be precise enough, rising; the
    /// last is the most it gets.
    pub fn checkpoints(&self) -> Vec<u32> {
        match self {
            Replications::Fixed(n) | Replications::Batches(n) => vec![*n],
            Replications::Until(rule) => rule.checkpoints().collect(),
        }
    }

    /// Returns whether a point with these moments of its columns, at a checkpoint, is precise.
    pub fn precise(&self, moments: &[Moments]) -> bool {
        match self {
            Replications::Fixed(_) | Replications::Batches(_) => true,
            Replications::Until(rule) => rule.satisfied(moments),
        }
    }
}

impl std::fmt::Display for Replications {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.checkpoints()[..].first(), self.checkpoints()[..].last()) {
            (Replications::Until(_), Some(least), Some(most)) => {
                write!(f, "{least} to {most} replications")
            }
            (Replications::Batches(n), ..) => write!(f, "{n} batches of one run"),
            (_, _, most) => write!(f, "{} replications", most.copied().unwrap_or_default()),
        }
    }
}

/// What shares the random streams of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonRandomNumbers {
    /// The policies of a scenario.
    Scenario,
    /// All points.
    All,
    /// Nothing.
    None,
}

/// The search for the best point.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Position of the response's column.
    pub column: usize,
    pub good: Good,
    /// Smallest difference that matters, in the response's unit.
    pub delta: f64,
    pub confidence: f64,
    /// The procedure before its first replication; it is known to be possible.
    fresh: Selection,
}

impl Select {
    /// Returns the procedure before its first replication.
    pub fn start(&self) -> Selection {
        self.fresh.clone()
    }
}

/// What the other points of a scenario are compared with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// Position of the policy.
    pub policy: usize,
    /// Values of its axes, where they matter.
    pub at: Vec<(String, Level)>,
}

/// Decodes `replications:`; nothing if it has faults, which are noted.
pub(super) fn replications(
    section: &Section,
    confidence: f64,
    columns: &[String],
) -> Option<Replications> {
    let scope = section.scope;
    let Some(node) = section.node("replications").filter(|node| is_map(node)) else {
        return section.integer("replications").map(|n| Replications::Fixed(n as u32));
    };
    let until = Section::open(scope, &REPLICATIONS, Some(node), node.at);
    let (min, max) = (until.integer("min"), until.integer("max"));
    let batches = until.integer("batches");
    let given = ["min", "max", "until", "batches"].map(|field| until.node(field).is_some());
    let conditions = match given {
        [_, true, true, false] => until.node("until")?,
        [false, false, false, true] => return batches.map(|n| Replications::Batches(n as u32)),
        _ => {
            let help = "write `{max: 1000, until: {response: .., half_width: ..}}` or \
                        `{batches: 30}`";
            let message = "`replications` has `max` and `until`, or `batches` alone";
            scope.faults.add(node.at, message, help.to_owned());
            return None;
        }
    };
    let one = std::slice::from_ref(conditions);
    let list = if let Value::List(list) = &conditions.value { list } else { one };
    let conditions: Vec<Option<Condition>> =
        list.iter().map(|node| condition(scope, node, columns)).collect();
    let conditions: Vec<Condition> = conditions.into_iter().collect::<Option<_>>()?;
    match Rule::new(min? as u32, max? as u32, conditions, confidence) {
        Ok(rule) => Some(Replications::Until(rule)),
        Err(fault) => {
            let help = "a point gets `min` to `max` replications, 2 or more".to_owned();
            scope.faults.add(until.at("max"), fault.to_string(), help);
            None
        }
    }
}

fn condition(scope: Scope, node: &Node, columns: &[String]) -> Option<Condition> {
    let section = Section::open(scope, &UNTIL, Some(node), node.at);
    let name = section.text("response");
    let (half_width, relative) = (section.number("half_width"), section.number("relative"));
    let given = [section.node("half_width"), section.node("relative")];
    if given.iter().flatten().count() != 1 {
        scope.faults.add(
            node.at,
            "a condition has `half_width` or `relative`, and one of them",
            "write `{response: errors_pct, half_width: 0.05}`".to_owned(),
        );
        return None;
    }
    let name = name?;
    let response = columns.iter().position(|column| column == name);
    if response.is_none() && !columns.is_empty() {
        let help = near_or_all(name, columns.iter().map(String::as_str), "there are");
        scope.faults.add(section.at("response"), format!("there is no response `{name}`"), help);
    }
    let target = half_width.map(Target::HalfWidth).or(relative.map(Target::Relative));
    Some(Condition { response: response?, target: target? })
}

/// Decodes `select:`; nothing if it is left out or has faults, which are noted.
pub(super) fn select(
    section: &Section,
    context: &Context,
    replications: Option<&Replications>,
    good: &Goodness,
) -> Option<Select> {
    let scope = section.scope;
    let node = section.node("select")?;
    let map = Section::open(scope, &SELECT, Some(node), node.at);
    let (name, delta) = (map.text("response"), map.number("delta"));
    let (confidence, first_stage) = (map.number("confidence"), map.integer("first_stage"));
    let (name, delta, confidence, first) = (name?, delta?, confidence?, first_stage? as u32);
    let fault = |field: &str, message: String, help: &str| {
        scope.faults.add(map.at(field), message, help.to_owned());
        None
    };
    let column = context.columns.iter().position(|column| column == name);
    let Some((column, good)) = column.and_then(|column| Some((column, good(column)?))) else {
        let known = (0..context.columns.len()).filter(|&column| good(column).is_some());
        let known: Vec<&str> = known.map(|column| context.columns[column].as_str()).collect();
        let help = near_or_all(name, known.iter().copied(), "there are");
        return fault("response", format!("no response `{name}` has good and bad values"), &help);
    };
    match replications? {
        Replications::Fixed(most) if *most > first => {}
        Replications::Fixed(_) => {
            let help = "give more `replications`, the most of each point, or a smaller first stage";
            let message = format!("`first_stage` of {first} leaves no replications to decide by");
            return fault("first_stage", message, help);
        }
        _ => {
            let help = "give `replications` as a number, the most of each point";
            return fault("", "`select` goes with independent replications".to_owned(), help);
        }
    }
    if section.node("published").is_some() {
        let help = "put the claims into a spec of their own";
        let message = "`select` spares replications that claims are judged by";
        return fault("", message.to_owned(), help);
    }
    let points = context.design?.len() as usize;
    if points < 2 {
        let message = "there is one point, and nothing to select from";
        return fault("", message.to_owned(), "sweep a field or add a policy");
    }
    match Selection::new(points, first, delta, confidence, good) {
        Ok(fresh) => Some(Select { column, good, delta, confidence, fresh }),
        Err(error) => fault("confidence", error.to_string(), "select among fewer points"),
    }
}

/// Tells which values of a column's response are the good ones.
pub(super) type Goodness<'a> = dyn Fn(usize) -> Option<Good> + 'a;

/// Decodes `baseline:`; the first policy where it is left out.
pub(super) fn baseline(section: &Section, context: &Context) -> Option<Baseline> {
    let scope = section.scope;
    let Some(node) = section.node("baseline") else { return Some(Baseline::default()) };
    let (name, at, levels) = match &node.value {
        Value::Text(name) => (name.as_str(), node.at, Vec::new()),
        _ => {
            let map = Section::open(scope, &BASELINE, Some(node), node.at);
            let name = map.text("policy")?;
            (name, map.at("policy"), levels(scope, map.node("at"), context.design?)?)
        }
    };
    let Some(policy) = context.labels.iter().position(|label| label == name) else {
        let help = near_or_all(name, context.labels.iter().map(String::as_str), "there are");
        scope.faults.add(at, format!("there is no policy `{name}`"), help);
        return None;
    };
    let design = context.design?;
    let meets = |column: &str, level: &Level| {
        levels.iter().all(|(name, wanted)| name != column || level.is_about(wanted))
    };
    let has = |name: &str| design.axes_of(policy).any(|(_, column)| column == name);
    if !levels.iter().all(|(name, _)| has(name)) || design.points_of(policy, &meets).1 == 0 {
        let help = "`at` names axes of that policy and values that they take".to_owned();
        scope.faults.add(node.at, format!("no point of `{name}` is such a baseline"), help);
        return None;
    }
    Some(Baseline { policy, at: levels })
}

/// Decodes `adjust:`.
pub(super) fn adjust(section: &Section) -> Adjust {
    match section.choice("adjust") {
        "none" => Adjust::None,
        "holm" => Adjust::Holm,
        _ => Adjust::Bonferroni,
    }
}

/// Decodes `common_random_numbers:`.
pub(super) fn common(section: &Section) -> CommonRandomNumbers {
    match section.choice("common_random_numbers") {
        "all" => CommonRandomNumbers::All,
        "none" => CommonRandomNumbers::None,
        _ => CommonRandomNumbers::Scenario,
    }
}

fn is_map(node: &Node) -> bool {
    matches!(node.value, Value::Map(_))
}
