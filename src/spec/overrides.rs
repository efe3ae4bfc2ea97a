//! Overrides from the command line: `--set PATH=VALUE` and its short forms.

use super::diagnostic::{At, Diagnostic, Source, near_or_all};
use super::yaml::{Entry, Node, Value, parse};

/// A value for a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The flag as the user gave it, for messages.
    pub flag: String,
    /// Keys joined by dots; an item of a list by its label, its name or its number from 0.
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
    /// The last key may be new, so that a field left at its default can be set; whether there is
    /// such a field is checked with the rest.
    ///
    /// # Errors
    /// The path leads nowhere, or the value is not YAML.
    pub fn apply(&self, root: &mut Node, source: usize) -> Result<(), Diagnostic> {
        let everywhere = At { source, start: 0, end: self.flag.len() };
        let value_at = At { start: self.flag.len() - self.value.len(), ..everywhere };
        let mut value =
            parse(&self.value, source).map_err(|fault| Diagnostic { at: value_at, ..fault })?;
        value.at = value_at;
        let start = self.flag.find(&self.path).unwrap_or_default();
        let path_at = At { start, end: start + self.path.len(), ..everywhere };
        let mut node = root;
        let keys: Vec<&str> = self.path.split('.').collect();
        for (depth, key) in keys.iter().enumerate() {
            let last = depth + 1 == keys.len();
            node = step(node, key, last, path_at)
                .ok_or_else(|| missing(root_names(&keys[..depth]), key, path_at))??;
        }
        *node = value;
        Ok(())
    }
}

fn root_names(keys: &[&str]) -> String {
    if keys.is_empty() { "the spec".to_owned() } else { format!("`{}`", keys.join(".")) }
}

fn missing(place: String, key: &str, at: At) -> Diagnostic {
    Diagnostic { at, message: format!("{place} has no `{key}`"), help: None }
}

/// Returns the node under a key; `None` if the node can't have one.
fn step<'n>(
    node: &'n mut Node,
    key: &str,
    last: bool,
    at: At,
) -> Option<Result<&'n mut Node, Diagnostic>> {
    // `- trigger` is a policy without fields: a field can be set in it all the same.
    if let Value::Text(name) = &node.value
        && last
    {
        let empty = Node { value: Value::Map(Vec::new()), at: node.at };
        let entry = Entry { key: name.clone(), key_at: node.at, node: empty };
        node.value = Value::Map(vec![entry]);
    }
    match &mut node.value {
        Value::Map(entries) => {
            // A list's item `{theta: {...}}` is addressed by its label; its name may be left out.
            if let [only] = &entries[..]
                && only.key != key
                && matches!(only.node.value, Value::Map(_))
                && only.node.get(key).is_some() | last
                && is_policy(&only.key)
            {
                return step(&mut entries.first_mut()?.node, key, last, at);
            }
            let position = entries.iter().position(|entry| entry.key == key);
            let position = match position {
                Some(position) => position,
                None if last => {
                    let node = Node { value: Value::Null, at };
                    entries.push(Entry { key: key.to_owned(), key_at: at, node });
                    entries.len() - 1
                }
                None => {
                    let names = entries.iter().map(|entry| entry.key.as_str());
                    let help = near_or_all(key, names, "there are");
                    return Some(Err(Diagnostic {
                        at,
                        message: format!("the path leads nowhere: there is no `{key}`"),
                        help: Some(help),
                    }));
                }
            };
            Some(Ok(&mut entries.get_mut(position)?.node))
        }
        Value::List(list) => {
            let names: Vec<String> = list.iter().map(label).collect();
            let position = names
                .iter()
                .position(|name| name == key)
                .or_else(|| key.parse().ok().filter(|&position| position < names.len()));
            match position {
                Some(position) => Some(Ok(&mut list[position])),
                None => Some(Err(Diagnostic {
                    at,
                    message: format!("the path leads nowhere: there is no `{key}`"),
                    help: Some(near_or_all(key, names.iter().map(String::as_str), "there are")),
                })),
            }
        }
        _ => None,
    }
}

fn is_policy(name: &str) -> bool {
    super::catalog::POLICIES.iter().any(|kind| kind.name == name)
}

/// Returns what an item of the list of policies is called: its label, or else its name.
pub fn label(policy: &Node) -> String {
    match &policy.value {
        Value::Text(name) => name.clone(),
        Value::Map(entries) if entries.len() == 1 => {
            match entries[0].node.get("label").map(|label| &label.value) {
                Some(Value::Text(label)) => label.clone(),
                _ => entries[0].key.clone(),
            }
        }
        _ => String::new(),
    }
}
