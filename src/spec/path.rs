//! Paths: from a place in the tree to one below it, by the format's own words.
//!
//! A path serves the command line (`--set policies.LABEL.alpha=0.1`) and searches
//! (`over: {alpha: ..}`). It may lead to a field that the spec left at its default, which is then
//! made, without a value.

use super::axes::is_swept;
use super::catalog::{
    CLAIM, CONFIRM, CUSTOM_RULE, DISTRIBUTIONS, Default, Field, INFORMATION, Kind, METHODS, MODELS,
    OPTIMIZE, PARAMETER, POLICIES, PUBLISHED, Takes,
};
use super::diagnostic::{At, near_or_all};
use super::yaml::{Entry, Node, Value};

/// What the spec's format has at a place, which decides how a path goes on from there.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A map with fields.
    Fields(&'static Kind),
    /// `kind: {fields}`, or a bare kind, which the path may leave out where it is `optional`.
    Kinds { what: &'static str, kinds: &'static [Kind], optional: bool },
    /// The list of policies, whose items have names.
    Policies,
    /// A list of maps with fields.
    Items(&'static Kind),
    /// The search, or a list of searches, whose items have names.
    Searches,
    /// A map whose keys are paths; what is below them has these fields, if any.
    Paths(Option<&'static Kind>),
    /// Anything else: lists by number, maps by key; and what is known to fit there.
    Plain { takes: Option<Takes>, default: Default },
}

/// What is wrong with a path, and the remedy.
pub type Wrong = (String, String);

/// A place of which nothing is known.
const PLAIN: Place = Place::Plain { takes: None, default: Default::Absent };

/// The model, below `model.`.
pub const MODEL: Place = Place::Kinds { what: "model", kinds: MODELS, optional: true };

/// A policy, below `policies.LABEL.`.
pub const POLICY: Place = Place::Kinds { what: "policy", kinds: POLICIES, optional: true };

impl Place {
    /// Returns what stands at a field.
    fn of(field: &Field) -> Place {
        let kinds = |what, kinds| Place::Kinds { what, kinds, optional: false };
        match field.takes {
            Takes::Model => kinds("model", MODELS),
            Takes::Distribution => kinds("distribution", DISTRIBUTIONS),
            Takes::Rule => kinds("rule", std::slice::from_ref(&CUSTOM_RULE)),
            Takes::Method => kinds("method", METHODS),
            Takes::Policies => Place::Policies,
            Takes::Published => Place::Fields(&PUBLISHED),
            Takes::Claims => Place::Items(&CLAIM),
            Takes::Optimize => Place::Searches,
            Takes::Over => Place::Paths(Some(&PARAMETER)),
            Takes::Start => Place::Paths(None),
            Takes::Confirm => Place::Fields(&CONFIRM),
            Takes::Information => Place::Fields(&INFORMATION),
            takes => Place::Plain { takes: Some(takes), default: field.default },
        }
    }

    /// Returns the first key of a path that goes on from here. Keys end at a dot, but where the
    /// keys of a map are paths themselves.
    pub fn key<'p>(self, node: &Node, path: &'p str) -> &'p str {
        let until = |end: Option<usize>| end.map_or(path, |end| &path[..end]);
        let Place::Paths(kind) = self else { return until(path.find('.')) };
        let is_there = |end: &usize| node.get(&path[..*end]).is_some();
        let dots = path.match_indices('.').map(|(dot, _)| dot);
        let known = std::iter::once(path.len()).chain(dots.rev()).find(is_there);
        let field = path
            .rfind('.')
            .filter(|dot| kind.is_some_and(|kind| kind.field(&path[dot + 1..]).is_some()));
        until(known.or(field))
    }

    /// Goes on by one key; a field that was left out is made, without a value.
    pub fn step<'n>(
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
            Place::Kinds { .. } if is_swept(node) => PLAIN.step(node, key, at),
            Place::Kinds { what, kinds, optional } => {
                if node.value == Value::Null && kinds.iter().any(|kind| kind.name == key) {
                    *node = Node { value: Value::Text(key.to_owned()), at };
                }
                let name = named(node).map_or("", |(name, _)| name).to_owned();
                let names = kinds.iter().map(|kind| kind.name);
                let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
                    let message = format!("the {what} here is {}", described(node));
                    let help = format!("set the {what} as a whole, to one that has fields");
                    return Err((message, near_or_all("", names, &help)));
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
                let names: Vec<String> =
                    node.items().iter().map(label).map(str::to_owned).collect();
                item(node, &names, key, "policy").map(|node| (node, POLICY))
            }
            Place::Items(kind) => item(node, &[], key, "claim").map(|n| (n, Place::Fields(kind))),
            Place::Searches => match &node.value {
                Value::List(list) => {
                    let names: Vec<String> = list.iter().map(search_label).collect();
                    item(node, &names, key, "search").map(|n| (n, Place::Fields(&OPTIMIZE)))
                }
                _ => Place::Fields(&OPTIMIZE).step(node, key, at),
            },
            Place::Paths(kind) => {
                if node.value == Value::Null {
                    *node = Node { value: Value::Map(Vec::new()), at };
                }
                entry(node, key, at).map(|node| (node, kind.map_or(PLAIN, Place::Fields)))
            }
            Place::Plain { takes, default } => {
                if let (Value::Null, Default::Range(low, high)) = (&node.value, default) {
                    let ends = [low, high].map(|end| Node::number(end, at));
                    *node = Node { value: Value::List(ends.into()), at };
                }
                let takes = takes.and_then(Takes::item);
                match &node.value {
                    Value::List(_) => item(node, &[], key, "item"),
                    _ => entry(node, key, at),
                }
                .map(|node| (node, Place::Plain { takes, default: Default::Absent }))
            }
        }
    }

    /// Returns where a number stands at the end of a path, and what may stand there, if that is
    /// known.
    pub fn number(self, node: &mut Node, at: At) -> Result<(&mut Node, Option<Takes>), Wrong> {
        match self {
            Place::Fields(kind) => {
                let names = kind.fields.iter().map(|field| field.name);
                let Some(field) = kind.bare() else {
                    let message = format!("{} is no number, it has fields", kind.title());
                    return Err((message, near_or_all("", names, "the path goes on with")));
                };
                let node = match node.value {
                    Value::Map(_) => entry(node, field.name, at)?,
                    _ => node,
                };
                Place::of(field).number(node, at)
            }
            Place::Kinds { what, kinds, .. } => {
                let mut known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                if let Some((name, _)) = named(node).filter(|(name, _)| known.contains(name)) {
                    known = vec![name];
                }
                let help = near_or_all("", known, "the path goes on with");
                Err((format!("a {what} is no number"), help))
            }
            // One number for both, or one each.
            Place::Plain { takes: Some(takes @ Takes::Pair { .. }), .. } => {
                Ok((node, takes.item()))
            }
            Place::Plain { takes: Some(takes), .. } if takes.item().is_some() => {
                let message = format!("the field takes {}, not a number", takes.words());
                Err((message, "the path goes on with a position, from `.0`".to_owned()))
            }
            Place::Plain {
                takes: Some(takes @ (Takes::Flag | Takes::Text | Takes::Choice(_))),
                ..
            } => {
                let message = format!("the field takes {}, not a number", takes.words());
                Err((message, "search a field that takes numbers".to_owned()))
            }
            Place::Plain { takes, .. } => Ok((node, takes)),
            _ => Err(("a list is no number".to_owned(), "name a field of it".to_owned())),
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

/// Returns the item of a list that has the key as its name, or else as its position.
fn item<'n>(
    node: &'n mut Node,
    names: &[String],
    key: &str,
    what: &str,
) -> Result<&'n mut Node, Wrong> {
    let len = node.items().len();
    let named = names.iter().position(|name| name == key);
    let position = named.or_else(|| key.parse().ok()).filter(|&position| position < len);
    match (&mut node.value, position) {
        (Value::List(list), Some(position)) => Ok(&mut list[position]),
        _ => {
            let numbers = match len {
                0 => "there are none".to_owned(),
                1 => "there is only `0`".to_owned(),
                len => format!("they are counted from 0 to {}", len - 1),
            };
            let known = names.iter().map(String::as_str);
            let help =
                if names.is_empty() { numbers } else { near_or_all(key, known, "there are") };
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

/// Returns a policy's kind.
pub fn kind(policy: &Node) -> Option<&str> {
    named(policy).map(|(name, _)| name)
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

/// Returns what a search is called: its label, or else that of its policy.
fn search_label(search: &Node) -> String {
    let text = |field| match search.get(field).map(|node| &node.value) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    text("label").or(text("policy")).unwrap_or_default()
}

/// Splits `name: value`, or a bare `name`; of a map with many names, which is a fault, the first.
fn named(node: &Node) -> Option<(&str, Option<&Node>)> {
    match &node.value {
        Value::Text(name) => Some((name, None)),
        Value::Map(entries) => entries.first().map(|entry| (entry.key.as_str(), Some(&entry.node))),
        _ => None,
    }
}
