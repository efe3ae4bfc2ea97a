//! Overrides from the command line: `--set PATH=VALUE` and its short forms.

use super::axes::is_swept;
use super::catalog::{
    CLAIM, CUSTOM_RULE, DISTRIBUTIONS, EXPERIMENT, Field, Kind, MODELS, POLICIES, PUBLISHED, Takes,
};
use super::diagnostic::{At, Diagnostic, Source, near_or_all};
use super::yaml::{Entry, Node, Value, parse};

/// A value for a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The flag as the user gave it, for messages.
    pub flag: String,
    /// Keys joined by dots: `model.loss_router.horizon`, `policies.LABEL.alpha`. A policy goes by
    /// its label or its number from 0, and its kind may be left out.
    pub path: String,
    /// YAML.
    pub value: String,
}

impl Override {
    /// Parses `PATH=VALUE`.
    ///
    /// # Errors
    /// A sentence, where there is no `=` or no path.
    pub fn parse(argument: &str) -> Result<Override, String> {
        match argument.split_once('=') {
            Some((path, value)) if !path.is_empty() => {
                Ok(Override::of("--set ", path, value, argument))
            }
            _ => Err("expected PATH=VALUE, such as `model.loss_router.horizon=50000`".to_owned()),
        }
    }

    /// Returns the override of a top-level field by a flag of its own.
    pub fn top(field: &str, value: impl std::fmt::Display) -> Override {
        let value = value.to_string();
        Override::of("--", field, &value, &format!("{field} {value}"))
    }

    fn of(prefix: &str, path: &str, value: &str, argument: &str) -> Override {
        Override {
            flag: format!("{prefix}{argument}"),
            path: path.to_owned(),
            value: value.to_owned(),
        }
    }

    /// Returns the text that messages about the override quote.
    pub fn source(&self) -> Source {
        Source { name: "command line".to_owned(), text: self.flag.clone() }
    }

    /// Puts the value into the tree; its text is the `source`th of the spec.
    ///
    /// The field may be one that the spec left at its default. Whether the value fits it is
    /// checked with the rest.
    ///
    /// # Errors
    /// The path leads nowhere, or the value is not YAML.
    pub fn apply(&self, root: &mut Node, source: usize) -> Result<(), Diagnostic> {
        let flag_end = self.flag.len();
        let value_start = flag_end - self.value.len();
        let value_at = At { source, start: value_start, end: flag_end };
        let mut value = parse(&self.value, source)
            .map_err(|fault| Diagnostic { at: fault.at.shifted(value_start), ..fault })?;
        value.shift(value_start);
        if value.value == Value::Null {
            let message = format!("`{}` is given no value", self.path);
            let help = "write PATH=VALUE; leave the override out for the spec's own".to_owned();
            return Err(Diagnostic { at: value_at, message, help: Some(help) });
        }
        let mut key_start = self.flag.find(&self.path).unwrap_or_default();
        let (mut node, mut place) = (root, Place::Fields(&EXPERIMENT));
        for key in self.path.split('.') {
            let at = At { source, start: key_start, end: key_start + key.len() };
            (node, place) = place.step(node, key, at).map_err(|(message, help)| Diagnostic {
                at,
                message,
                help: Some(help),
            })?;
            key_start = at.end + 1;
        }
        *node = value;
        Ok(())
    }
}

/// What the spec's format has at a place, which decides how a path goes on from there.
#[derive(Clone, Copy)]
enum Place {
    /// A map with fields.
    Fields(&'static Kind),
    /// `kind: {fields}`, or a bare kind.
    Kinds { what: &'static str, kinds: &'static [Kind], optional: bool },
    /// The list of policies, whose items have names.
    Policies,
    /// A list of maps with fields.
    Items(&'static Kind),
    /// Anything else: lists by number, maps by key.
    Plain,
}

type Wrong = (String, String);

impl Place {
    /// Returns what stands at a field.
    fn of(field: &Field) -> Place {
        let kinds = |what, kinds| Place::Kinds { what, kinds, optional: false };
        match field.takes {
            Takes::Model => kinds("model", MODELS),
            Takes::Distribution => kinds("distribution", DISTRIBUTIONS),
            Takes::Rule => kinds("rule", std::slice::from_ref(&CUSTOM_RULE)),
            Takes::Policies => Place::Policies,
            Takes::Published => Place::Fields(&PUBLISHED),
            Takes::Claims => Place::Items(&CLAIM),
            _ => Place::Plain,
        }
    }

    /// Goes on by one key; a field that was left out is made, without a value.
    fn step<'n>(
        self,
        node: &'n mut Node,
        key: &str,
        at: At,
    ) -> Result<(&'n mut Node, Place), Wrong> {
        match self {
            Place::Fields(kind) => {
                let names = kind.fields.iter().map(|field| field.name);
                let Some(field) = kind.field(key) else {
                    let message = format!("{} has no field `{key}`", kind.title());
                    return Err((message, near_or_all(key, names, "its fields")));
                };
                entry(open(node, kind, at), key, at).map(|node| (node, Place::of(field)))
            }
            Place::Kinds { .. } if is_swept(node) => Place::Plain.step(node, key, at),
            Place::Kinds { what, kinds, optional } => {
                let name = named(node).map_or("", |(name, _)| name).to_owned();
                let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
                    let message = format!("the {what} here is {}", described(node));
                    return Err((message, format!("set the {what} as a whole")));
                };
                let fields = kind_fields(node, kind, at)?;
                if kind.name == key {
                    Ok((fields, Place::Fields(kind)))
                } else if optional {
                    Place::Fields(kind).step(fields, key, at)
                } else {
                    let message = format!("the {what} here is `{name}`, not `{key}`");
                    let help = match kind.field(key) {
                        Some(_) => format!("did you mean `{name}.{key}`?"),
                        None => near_or_all(key, [kind.name], "the path goes on with"),
                    };
                    Err((message, help))
                }
            }
            Place::Policies => {
                let policy = Place::Kinds { what: "policy", kinds: POLICIES, optional: true };
                let position = node.items().iter().position(|policy| label(policy) == key);
                item(node, position, key, "policy").map(|node| (node, policy))
            }
            Place::Items(kind) => item(node, None, key, "claim").map(|n| (n, Place::Fields(kind))),
            Place::Plain => match &node.value {
                Value::List(_) => item(node, None, key, "item"),
                _ => entry(node, key, at),
            }
            .map(|node| (node, Place::Plain)),
        }
    }
}

fn described(node: &Node) -> String {
    match &node.value {
        Value::Null => "a field without a value".to_owned(),
        _ => format!("`{}`", node.shown()),
    }
}

/// Turns a bare kind into a map, `trigger` into `trigger: {}`, and returns its value.
fn kind_fields<'n>(node: &'n mut Node, kind: &Kind, at: At) -> Result<&'n mut Node, Wrong> {
    if let Value::Text(_) = &node.value {
        let empty = Node { value: Value::Map(Vec::new()), at };
        node.value = Value::Map(vec![Entry::new(kind.name, node.at, empty)]);
    }
    entry(node, kind.name, at)
}

/// Turns a bare value into a map, `poisson: 15` into `poisson: {mean: 15}`, and returns the map.
fn open<'n>(node: &'n mut Node, kind: &Kind, at: At) -> &'n mut Node {
    if node.value == Value::Null {
        *node = Node { value: Value::Map(Vec::new()), at };
    }
    let bare = !matches!(node.value, Value::Map(_)) || is_swept(node);
    if let Some(field) = kind.bare().filter(|_| bare) {
        let value = std::mem::replace(&mut node.value, Value::Null);
        let inner = Node { value, at: node.at };
        node.value = Value::Map(vec![Entry::new(field.name, node.at, inner)]);
    }
    node
}

/// Returns the value of a key in a map, which gets it if it lacks it.
fn entry<'n>(node: &'n mut Node, key: &str, at: At) -> Result<&'n mut Node, Wrong> {
    let found = described(node);
    let Value::Map(entries) = &mut node.value else {
        let message = format!("there is nothing below {found}");
        return Err((message, format!("end the path before `.{key}`")));
    };
    let position = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        entries.push(Entry::new(key, at, Node { value: Value::Null, at }));
        entries.len() - 1
    });
    Ok(&mut entries[position].node)
}

/// Returns the item of a list at a position, or else at the position that the key says.
fn item<'n>(
    node: &'n mut Node,
    position: Option<usize>,
    key: &str,
    what: &str,
) -> Result<&'n mut Node, Wrong> {
    let known: Vec<String> = match what {
        "policy" => node.items().iter().map(|policy| label(policy).to_owned()).collect(),
        _ => Vec::new(),
    };
    let len = node.items().len();
    let position = position.or_else(|| key.parse().ok()).filter(|&position| position < len);
    match (&mut node.value, position) {
        (Value::List(list), Some(position)) => Ok(&mut list[position]),
        _ => {
            let numbers = match len {
                0 => "there are none".to_owned(),
                1 => "there is only `0`".to_owned(),
                len => format!("they are counted from 0 to {}", len - 1),
            };
            let names = known.iter().map(String::as_str);
            let help =
                if known.is_empty() { numbers } else { near_or_all(key, names, "there are") };
            Err((format!("there is no {what} `{key}`"), help))
        }
    }
}

/// Returns what an item of the list of policies is called: its label, or else its name.
pub fn label(policy: &Node) -> &str {
    let Some((name, fields)) = named(policy) else { return "" };
    match fields.and_then(|fields| fields.get("label")).map(|label| &label.value) {
        Some(Value::Text(label)) => label,
        _ => name,
    }
}

/// Returns where a policy's kind stands.
pub fn kind_at(policy: &Node) -> At {
    policy.entries().first().map_or(policy.at, |entry| entry.key_at)
}

/// Returns where what [`label`] returns stands.
pub fn label_at(policy: &Node) -> At {
    let fields = named(policy).and_then(|(_, fields)| fields);
    fields.and_then(|fields| fields.get("label")).map_or(kind_at(policy), |label| label.at)
}

/// Splits `name: value`, or a bare `name`; of a map with many names, which is a fault, the first.
fn named(node: &Node) -> Option<(&str, Option<&Node>)> {
    match &node.value {
        Value::Text(name) => Some((name, None)),
        Value::Map(entries) => entries.first().map(|entry| (entry.key.as_str(), Some(&entry.node))),
        _ => None,
    }
}
