//! YAML as a tree of values that know where they stand.
//!
//! The parser is serde-saphyr; the tree keeps what its typed front end would lose: every
//! duplicate key, every span, and how a number was written.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::diagnostic::{At, Diagnostic};
use super::syntax::{self, MAX_DEPTH, MAX_REPEATED, at};

/// Most characters of a value in a message.
const MAX_SHOWN: usize = 60;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub value: Value,
    pub at: At,
}

/// A YAML value. Maps keep the order and all duplicates of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Stands where a swept field stood: the number of its axis within the model or the policy.
    Axis(usize),
    /// Stands where something was whose fault is noted, so that it brings forth no others.
    Broken,
}

/// A number and how it was written, which tells its printed precision and large integers; a
/// computed one is written nowhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    pub written: String,
}

impl Number {
    /// Returns the number as an integer, if it is one that u64 holds.
    pub fn integer(&self) -> Option<u64> {
        let plain = match self.written.contains('_') {
            true => self.written.replace('_', "").parse(),
            false => self.written.parse(),
        };
        plain.ok().or_else(|| {
            let whole = self.value >= 0.0 && self.value < 2f64.powi(53);
            (whole && self.value.fract() == 0.0).then_some(self.value as u64)
        })
    }
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

impl Entry {
    /// Returns a key with its value.
    pub fn new(key: &str, key_at: At, node: Node) -> Entry {
        Entry { key: key.to_owned(), key_at, node }
    }
}

impl Node {
    /// Returns what the value is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Flag(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Axis(_) | Value::Broken => "an axis",
        }
    }

    /// Returns the value of a key, where the node is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the entries of a map; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; none of anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }

    /// Returns a number that stands nowhere in the text, but comes from what stands at `at`.
    pub fn number(value: f64, at: At) -> Node {
        Node { value: Value::Number(Number { value, written: String::new() }), at }
    }

    /// Returns the value in one line of YAML flow style, with map keys in the order of the file.
    pub fn flow(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(number) => format!("{}", number.value),
            Value::Text(text) => text.clone(),
            Value::List(list) => {
                let items: Vec<String> = list.iter().map(Node::flow).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let items: Vec<String> = entries
                    .iter()
                    .map(|entry| format!("{}: {}", entry.key, entry.node.flow()))
                    .collect();
                format!("{{{}}}", items.join(", "))
            }
            Value::Axis(axis) => format!("<axis {axis}>"),
            Value::Broken => String::new(),
        }
    }

    /// Returns the value for messages: a number as it was written, and nothing too long to read.
    pub fn shown(&self) -> String {
        let text = match &self.value {
            Value::Number(number) if !number.written.is_empty() => number.written.clone(),
            _ => self.flow(),
        };
        match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Moves all places by `offset` bytes, for a text that stands in another one.
    pub fn shift(&mut self, offset: usize) {
        self.at = self.at.shifted(offset);
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.shift(offset)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.key_at = entry.key_at.shifted(offset);
                    entry.node.shift(offset);
                }
            }
            _ => {}
        }
    }

    /// Returns the value as one line of JSON, which is YAML too and says the same.
    pub fn json(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match &self.value {
            Value::Text(text) => quoted(text),
            Value::List(list) => {
                let items: Vec<String> = list.iter().map(Node::json).collect();
                format!("[{}]", items.join(","))
            }
            Value::Map(entries) => {
                let item = |entry: &Entry| format!("{}:{}", quoted(&entry.key), entry.node.json());
                let items: Vec<String> = entries.iter().map(item).collect();
                format!("{{{}}}", items.join(","))
            }
            _ => self.canonical(),
        }
    }

    /// Returns a text that two trees share only if they say the same: keys sorted, numbers by
    /// value, places and comments forgotten.
    pub fn canonical(&self) -> String {
        match &self.value {
            Value::Number(number) => match number.integer() {
                Some(integer) => integer.to_string(),
                None => format!("{:?}", number.value),
            },
            Value::Text(text) => format!("{text:?}"),
            Value::List(list) => {
                let items: Vec<String> = list.iter().map(Node::canonical).collect();
                format!("[{}]", items.join(","))
            }
            Value::Map(entries) => {
                let mut items: Vec<String> = entries
                    .iter()
                    .map(|entry| format!("{:?}:{}", entry.key, entry.node.canonical()))
                    .collect();
                items.sort();
                format!("{{{}}}", items.join(","))
            }
            _ => self.flow(),
        }
    }

    fn place(&mut self, source: usize, text: &str) {
        self.at.source = source;
        match &mut self.value {
            Value::Number(number) => {
                // Aliases and other indirections point elsewhere; keep the value's own form then.
                let written = text.get(self.at.start..self.at.end).unwrap_or_default().trim();
                let plain = written.replace('_', "");
                if plain.parse::<f64>() == Ok(number.value) {
                    number.written = written.to_owned();
                }
            }
            Value::List(list) => list.iter_mut().for_each(|node| node.place(source, text)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.key_at.source = source;
                    entry.node.place(source, text);
                }
            }
            _ => {}
        }
    }
}

/// Parses one YAML document, the `source`th text of a spec.
///
/// # Errors
/// The syntax fault with its place: not YAML, too deep, an alias bomb, more than one document.
pub fn parse(text: &str, source: usize) -> Result<Node, Diagnostic> {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_documents: 1 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED },
    };
    match serde_saphyr::from_str_with_options::<Spanned<Node>>(text, options) {
        Ok(spanned) => {
            let mut node = placed(spanned);
            node.place(source, text);
            Ok(node)
        }
        Err(error) => Err(syntax::fault(&error, source)),
    }
}

fn placed(spanned: Spanned<Node>) -> Node {
    Node { at: at(spanned.referenced), ..spanned.value }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

fn bare<E>(value: Value) -> Result<Node, E> {
    Ok(Node { value, at: At::default() })
}

fn number<E>(value: f64, written: String) -> Result<Node, E> {
    bare(Value::Number(Number { value, written }))
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        bare(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        bare(Value::Flag(flag))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Node, E> {
        number(integer as f64, integer.to_string())
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Node, E> {
        number(integer as f64, integer.to_string())
    }

    fn visit_f64<E>(self, float: f64) -> Result<Node, E> {
        number(float, format!("{float:?}"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        bare(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Node>>()? {
            list.push(placed(item));
        }
        bare(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let node = placed(map.next_value::<Spanned<Node>>()?);
            entries.push(Entry { key_at: at(key.referenced), key: key.value, node });
        }
        bare(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_duplicates_and_written_forms_are_kept() {
        let text = "a: [10, 7.70]\né: x\na: {b: 18446744073709551615, c: 1_000}\n";
        let root = parse(text, 0).unwrap();
        let keys: Vec<&str> = root.entries().iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["a", "é", "a"]);
        let Value::List(list) = &root.entries()[0].node.value else { panic!() };
        let Value::Number(number) = &list[1].value else { panic!() };
        assert_eq!((number.value, number.written.as_str()), (7.7, "7.70"));
        assert_eq!(&text[list[1].at.start..list[1].at.end], "7.70");
        let last = &root.entries()[2];
        assert_eq!(&text[last.key_at.start..last.key_at.end], "a");
        let Value::Number(seed) = &last.node.get("b").unwrap().value else { panic!() };
        assert_eq!(seed.integer(), Some(u64::MAX));
        let Value::Number(thousand) = &last.node.get("c").unwrap().value else { panic!() };
        assert_eq!(thousand.integer(), Some(1000));
    }

    #[test]
    fn canonical_text_forgets_order_and_writing() {
        let a = parse("{x: 1.0, y: [2, true]}", 0).unwrap();
        let b = parse("# other\ny: [2.00, true]\nx: 1\n", 0).unwrap();
        assert_eq!(a.canonical(), b.canonical());
        let c = parse("{x: '1', y: [2, true]}", 0).unwrap();
        assert_ne!(a.canonical(), c.canonical());
    }
}
