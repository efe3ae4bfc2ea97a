//! Swept fields: found in the tree, taken out of it, and turned into axes.

use crate::design::{Axis, Level, Levels, MAX_LEVELS};

use super::diagnostic::{At, Faults, did_you_mean};
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
            Value::Map(entries) if !entries.iter().any(|entry| is_form(&entry.key)) => {
                for entry in entries {
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
                if entries.iter().any(|entry| is_form(&entry.key)) && !empirical(path) =>
            {
                let at = entries[0].key_at;
                if let Some((levels, listed, shared)) = axis(entries, faults) {
                    self.axes.push(Axis { path: path.clone(), shared, levels });
                    self.at.push(at);
                    self.listed.push(listed);
                    node.value = Value::Axis(self.axes.len() - 1);
                    node.at = at;
                } else {
                    // Its faults are noted; a null would bring forth others.
                    node.value = Value::Null;
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

/// Whether the path ends in the one distribution that has a field called `values`.
fn empirical(path: &[String]) -> bool {
    path.last().is_some_and(|name| name == "empirical")
}

type Parts = (Levels, Option<Vec<Node>>, Option<String>);

fn axis(entries: &[Entry], faults: &Faults) -> Option<Parts> {
    let before = faults.len();
    let known = || FORMS.into_iter().chain(["axis"]);
    check_keys(entries, known, "an axis", faults);
    let mut forms = entries.iter().filter(|entry| is_form(&entry.key));
    let form = forms.next()?;
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
            let help = "axes that share a name move together".to_owned();
            faults.add(node.at, format!("`axis` can't be `{}`", node.flow()), help);
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
            faults.add(node.at, format!("`values` can't be `{}`", node.flow()), help);
            return None;
        }
    };
    let mut levels: Vec<Level> = Vec::new();
    for item in list {
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

fn formula(form: &Entry, faults: &Faults) -> Option<Levels> {
    let name = form.key.as_str();
    let usage = match name {
        "linspace" => "linspace: [from, to, count], equal distances, both ends included",
        "logspace" => "logspace: [from, to, count], equal ratios, both ends included and above 0",
        _ => "step: [from, to, step], the end included when the steps reach it",
    };
    let fault = |message: String| {
        faults.add(form.node.at, message, usage.to_owned());
        None
    };
    let Value::List(list) = &form.node.value else {
        return fault(format!("`{name}` can't be `{}`", form.node.flow()));
    };
    let numbers: Vec<f64> = list
        .iter()
        .filter_map(|item| match &item.value {
            Value::Number(number) if number.value.is_finite() => Some(number.value),
            _ => None,
        })
        .collect();
    let [a, b, third] = numbers[..] else {
        return fault(format!("`{name}` takes three finite numbers, not `{}`", form.node.flow()));
    };
    if list.len() != 3 {
        return fault(format!("`{name}` takes three numbers, not {}", list.len()));
    }
    if name == "step" {
        if third == 0.0 || (b - a) * third < 0.0 {
            return fault(format!("steps of {third} never lead from {a} to {b}"));
        }
        return match Levels::step(a, b, third) {
            Ok(levels) => Some(levels),
            Err(error) => fault(format!("`step`: {error}")),
        };
    }
    if third < 1.0 || third.fract() != 0.0 {
        return fault(format!("`{name}` can't make {third} values"));
    }
    if third > MAX_LEVELS as f64 {
        return fault(format!("`{name}`: {}", crate::design::TooMany(third)));
    }
    let n = third as usize;
    if n > 1 && a == b {
        return fault(format!("`{name}` from {a} to {b} gives one value {n} times"));
    }
    if name == "linspace" {
        return Some(Levels::Linspace { a, b, n });
    }
    if a <= 0.0 || b <= 0.0 {
        return fault(format!("`logspace` from {a} to {b}: both must be above 0"));
    }
    Some(Levels::Logspace { a, b, n })
}

/// Returns the remedy for an axis name that a claim or condition got wrong.
pub fn axis_help(name: &str, columns: &[String]) -> String {
    did_you_mean(name, columns.iter().map(String::as_str)).unwrap_or_else(|| {
        match columns.is_empty() {
            true => "no field of this spec is swept".to_owned(),
            false => format!("the axes are: {}", columns.join(", ")),
        }
    })
}
