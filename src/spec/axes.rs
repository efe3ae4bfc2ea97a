//! Swept fields: found in the tree, taken out of it, and turned into axes.

use crate::design::{Axis, Level, Levels, MAX_LEVELS};

use super::diagnostic::{At, Faults, did_you_mean, near_or_all};
use super::section::check_keys;
use super::yaml::{Entry, Node, Value};

const FORMS: [&str; 4] = ["values", "linspace", "logspace", "step"];

/// The swept fields of the model or of one policy.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    pub axes: Vec<Axis>,
    /// Where each axis stands in the text.
    pub at: Vec<At>,
    /// For each axis given by `values:` the nodes themselves.
    listed: Vec<Option<Vec<Node>>>,
}

impl Swept {
    /// Takes the axes out of `kind: {fields}`. Paths start at the fields; where the kind has a
    /// bare value that is swept, the path is the kind's name.
    pub fn take(kind: &mut Entry, faults: &Faults) -> Swept {
        let mut swept = Swept::default();
        match &mut kind.node.value {
            Value::Map(entries) if !is_axis(entries) => {
                // A label names the policy at all its points.
                for entry in entries.iter_mut().filter(|entry| entry.key != "label") {
                    swept.visit(&mut entry.node, &mut vec![entry.key.clone()], faults);
                }
            }
            _ => swept.visit(&mut kind.node, &mut vec![kind.key.clone()], faults),
        }
        swept
    }

    /// Returns the node that stands on axis `axis` at position `at`.
    pub fn node(&self, axis: usize, at: usize) -> Node {
        match &self.listed[axis] {
            Some(nodes) => nodes[at].clone(),
            None => Node::number(self.axes[axis].levels.number(at), self.at[axis]),
        }
    }

    fn visit(&mut self, node: &mut Node, path: &mut Vec<String>, faults: &Faults) {
        match &mut node.value {
            Value::Map(entries)
                if is_axis(entries) && !path.last().is_some_and(|name| empirical(name)) =>
            {
                let at = entries[0].key_at;
                if let Some((levels, listed, shared)) = axis(entries, faults) {
                    self.axes.push(Axis { path: path.clone(), shared, levels });
                    self.at.push(at);
                    self.listed.push(listed);
                    node.value = Value::Axis(self.axes.len() - 1);
                    node.at = at;
                } else {
                    node.value = Value::Broken;
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    path.push(entry.key.clone());
                    self.visit(&mut entry.node, path, faults);
                    path.pop();
                }
            }
            Value::List(list) => {
                for (position, item) in list.iter_mut().enumerate() {
                    path.push(position.to_string());
                    self.visit(item, path, faults);
                    path.pop();
                }
            }
            _ => {}
        }
    }
}

fn is_form(key: &str) -> bool {
    FORMS.contains(&key)
}

/// Whether a map is an axis.
fn is_axis(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| is_form(&entry.key) || entry.key == "axis")
}

/// Whether a value is a map that is an axis.
pub fn is_swept(node: &Node) -> bool {
    is_axis(node.entries())
}

/// Returns the remedy for a value that was meant to be an axis and was left as it is.
pub fn misspelt_form(node: &Node) -> Option<String> {
    if is_swept(node) {
        return Some("only fields of the model and of policies can be swept".to_owned());
    }
    node.entries().iter().find_map(|entry| did_you_mean(&entry.key, FORMS))
}

/// Whether a name is that of the one distribution that has a field called `values`.
fn empirical(name: &str) -> bool {
    name == "empirical"
}

type Parts = (Levels, Option<Vec<Node>>, Option<String>);

fn axis(entries: &[Entry], faults: &Faults) -> Option<Parts> {
    let before = faults.len();
    let known = || FORMS.into_iter().chain(["axis"]);
    check_keys(entries, known, "an axis", faults);
    let mut forms = entries.iter().filter(|entry| is_form(&entry.key));
    let Some(form) = forms.next() else {
        let help = "give `values`, `linspace`, `logspace` or `step` beside it".to_owned();
        faults.add(entries[0].key_at, "an axis needs its values", help);
        return None;
    };
    if let Some(second) = forms.next() {
        faults.add(
            second.key_at,
            format!("an axis has one form, not `{}` and `{}`", form.key, second.key),
            "keep one of them".to_owned(),
        );
    }
    let shared = match entries.iter().find(|entry| entry.key == "axis").map(|entry| &entry.node) {
        Some(Node { value: Value::Text(name), .. }) => Some(name.clone()),
        Some(node) => {
            let help = "it takes a name; axes that share one move together".to_owned();
            faults.add(node.at, format!("`axis` can't be `{}`", node.shown()), help);
            None
        }
        None => None,
    };
    let parts = match form.key.as_str() {
        "values" => values(&form.node, faults),
        _ => formula(form, faults).map(|levels| (levels, None)),
    };
    parts.map(|(levels, listed)| (levels, listed, shared)).filter(|_| faults.len() == before)
}

fn values(node: &Node, faults: &Faults) -> Option<(Levels, Option<Vec<Node>>)> {
    let list = match &node.value {
        Value::List(list) if !list.is_empty() => list,
        _ => {
            let help = "it takes a list of one or more values".to_owned();
            faults.add(node.at, format!("`values` can't be `{}`", node.shown()), help);
            return None;
        }
    };
    let mut levels: Vec<Level> = Vec::new();
    for item in list {
        if let Some(inner) = axis_within(item) {
            let help = "make each an axis of its own, on different fields".to_owned();
            faults.add(inner, "an axis can't stand in the values of another", help);
        }
        let level = match &item.value {
            Value::Number(number) => Level::Number(number.value),
            _ => Level::Text(item.flow()),
        };
        if levels.contains(&level) {
            let help = "each value of an axis is a point of its own".to_owned();
            faults.add(item.at, format!("`{level}` is listed twice"), help);
        }
        levels.push(level);
    }
    Some((Levels::List(levels), Some(list.clone())))
}

/// Returns the place of the first axis in a value.
fn axis_within(node: &Node) -> Option<At> {
    match &node.value {
        Value::Map(entries) if is_axis(entries) => Some(entries[0].key_at),
        Value::Map(entries) => {
            let others = entries.iter().filter(|entry| !empirical(&entry.key));
            others.map(|entry| &entry.node).find_map(axis_within)
        }
        Value::List(list) => list.iter().find_map(axis_within),
        _ => None,
    }
}

fn formula(form: &Entry, faults: &Faults) -> Option<Levels> {
    let name = form.key.as_str();
    let usage = match name {
        "linspace" => {
            "linspace: [from, to, count], 1 or more at equal distances, both ends included"
        }
        "logspace" => "logspace: [from, to, count], 1 or more at equal ratios, both ends included",
        _ => "step: [from, to, step], the end included when the steps reach it",
    };
    let fault = |message: String| {
        faults.add(form.node.at, message, usage.to_owned());
        None
    };
    let Value::List(list) = &form.node.value else {
        return fault(format!("`{name}` can't be `{}`", form.node.shown()));
    };
    let numbers: Vec<f64> = list
        .iter()
        .filter_map(|item| match &item.value {
            Value::Number(number) if number.value.is_finite() => Some(number.value),
            _ => None,
        })
        .collect();
    let [a, b, third] = numbers[..] else {
        return fault(format!("`{name}` takes three finite numbers, not `{}`", form.node.shown()));
    };
    if list.len() != 3 {
        return fault(format!("`{name}` takes three numbers, not {}", list.len()));
    }
    if name == "step" {
        if third == 0.0 || (b - a) * third < 0.0 {
            return fault(format!("steps of `{third}` never lead from `{a}` to `{b}`"));
        }
        return match Levels::step(a, b, third) {
            Ok(levels) if told_apart(&levels) => Some(levels),
            Ok(_) => fault(format!("steps of `{third}` are lost in rounding at `{a}`")),
            Err(error) => fault(format!("`step`: {error}")),
        };
    }
    if third < 1.0 || third.fract() != 0.0 {
        return fault(format!("`{name}` can't make `{third}` values"));
    }
    if third > MAX_LEVELS as f64 {
        return fault(format!("`{name}`: {}", crate::design::TooMany(third)));
    }
    let n = third as usize;
    if n > 1 && a == b {
        return fault(format!("`{name}` from `{a}` to `{b}` gives one value {n} times"));
    }
    if name == "logspace" && (a <= 0.0 || b <= 0.0) {
        return fault(format!("`logspace` from `{a}` to `{b}`: both must be above 0"));
    }
    let levels =
        if name == "linspace" { Levels::linspace(a, b, n) } else { Levels::Logspace { a, b, n } };
    if !told_apart(&levels) {
        return fault(format!("`{n}` values from `{a}` to `{b}` are too close to be told apart"));
    }
    Some(levels)
}

/// Whether neighbours differ where they are closest, at an end.
fn told_apart(levels: &Levels) -> bool {
    let n = levels.len();
    n < 2
        || [0, n - 2].into_iter().all(|i| levels.number(i).total_cmp(&levels.number(i + 1)).is_ne())
}

/// Returns the remedy for an axis name that a claim or condition got wrong.
pub fn axis_help<'a>(name: &str, columns: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if columns.clone().into_iter().next().is_none() {
        return "nothing that it could name is swept: leave it out, or sweep a field by `{values: [1, \
                2, 5]}` in place of its value"
            .to_owned();
    }
    near_or_all(name, columns, "the axes are")
}
