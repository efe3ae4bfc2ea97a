//! A map of the spec, read field by field against the catalog.
//!
//! A section notes every fault it meets in [`Faults`] and goes on with a stand-in, so that one
//! pass finds all faults; whoever opened it looks at the count of faults before using the result.

use super::axes::misspelt_form;
use super::catalog::{Default, Field, Kind, Takes, title};
use super::diagnostic::{At, Faults, did_you_mean, near_or_all};
use super::yaml::{Entry, Node, Number, Value};

/// What decoding needs besides the tree: the swept fields' values, and where faults go.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// For each axis of the model or the policy the value at the point being decoded.
    pub axes: &'a [Node],
    pub faults: &'a Faults,
    /// Reads a file named in the spec.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

impl<'a> Scope<'a> {
    /// Returns the node itself, or the value of the axis it stands for.
    pub fn resolve(&self, node: &'a Node) -> &'a Node {
        match node.value {
            Value::Axis(axis) => &self.axes[axis],
            _ => node,
        }
    }

    /// Splits `kind: value`, or a bare `kind`, into the kind's catalog entry and the value.
    pub fn kind(
        &self,
        node: &'a Node,
        kinds: &'static [Kind],
        what: &str,
    ) -> Option<(&'static Kind, Option<&'a Node>, At)> {
        let node = self.resolve(node);
        let (name, at, value) = match &node.value {
            Value::Text(name) => (name, node.at, None),
            Value::Map(entries) if entries.len() == 1 => {
                (&entries[0].key, entries[0].key_at, Some(self.resolve(&entries[0].node)))
            }
            Value::Map(entries) if entries.len() > 1 => {
                let names: Vec<String> =
                    entries.iter().map(|entry| format!("`{}`", entry.key)).collect();
                self.faults.add(
                    entries[1].key_at,
                    format!("a {what} has one name, not {}: {}", entries.len(), names.join(", ")),
                    format!("indent the fields under the {what}'s name"),
                );
                return None;
            }
            Value::Broken => return None,
            _ => {
                self.faults.add(
                    node.at,
                    format!("expected a {what}, found {}", node.kind()),
                    near_or_all("", kinds.iter().map(|kind| kind.name), "known here"),
                );
                return None;
            }
        };
        let Some(kind) = kinds.iter().find(|kind| kind.name == *name) else {
            self.faults.add(
                at,
                format!("unknown {what} `{name}`"),
                near_or_all(name, kinds.iter().map(|kind| kind.name), "known here"),
            );
            return None;
        };
        Some((kind, value, at))
    }
}

/// One map with the catalog entry that says what it may hold.
pub struct Section<'a> {
    pub scope: Scope<'a>,
    kind: &'static Kind,
    entries: &'a [Entry],
    /// The value of a section that is a bare value and no map.
    bare: Option<(&'static Field, &'a Node)>,
    /// Where to point for a field that is missing.
    at: At,
    /// Whether the section is no map, so that its fields can't be missed.
    broken: bool,
}

impl<'a> Section<'a> {
    /// Opens a map and notes unknown and duplicate keys.
    pub fn open(
        scope: Scope<'a>,
        kind: &'static Kind,
        value: Option<&'a Node>,
        at: At,
    ) -> Section<'a> {
        let mut section = Section { scope, kind, entries: &[], bare: None, at, broken: false };
        let Some(node) = value else { return section };
        match (&node.value, kind.bare()) {
            (Value::Map(entries), _) => {
                section.entries = entries;
                check_keys(
                    entries,
                    || kind.fields.iter().map(|field| field.name),
                    kind.name,
                    scope.faults,
                );
            }
            (Value::Null, _) => {}
            (Value::Broken, _) => section.broken = true,
            (_, Some(field)) => section.bare = Some((field, node)),
            _ => {
                section.broken = true;
                scope.faults.add(
                    node.at,
                    format!("{} takes a map, found {}", kind.title(), node.kind()),
                    near_or_all("", kind.fields.iter().map(|field| field.name), "its fields"),
                );
            }
        }
        section
    }

    /// Returns the node of a field, axes resolved, if it was given.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        if let Some((field, node)) = self.bare {
            return (field.name == name).then_some(node);
        }
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        let node = self.scope.resolve(&entry.node);
        if node.value == Value::Null {
            let help = match self.kind.field(name) {
                Some(field) if field.default == Default::Required => remedy("give", field),
                _ => "give one or leave the key out".to_owned(),
            };
            self.scope.faults.add(entry.key_at, format!("`{name}` has no value"), help);
        }
        Some(node)
    }

    /// Returns the node of a field; notes it if it is required and missing.
    pub fn required(&self, name: &str) -> Option<&'a Node> {
        self.given(self.field(name)?)
    }

    /// Returns a place to point at for a fault of the field, or of the section if it isn't given.
    pub fn at(&self, name: &str) -> At {
        self.node(name).map_or(self.at, |node| node.at)
    }

    /// Opens the map in a field, if it was given.
    pub fn map(&self, name: &str, kind: &'static Kind) -> Option<Section<'a>> {
        let node = self.given(self.field(name)?)?;
        Some(Section::open(self.scope, kind, Some(node), node.at))
    }

    /// Opens the maps of a list in a field, if it was given.
    pub fn maps(&self, name: &str, kind: &'static Kind) -> Option<Vec<Section<'a>>> {
        let field = self.field(name)?;
        let node = self.given(field)?;
        let Value::List(list) = &node.value else {
            self.unfit(field, node);
            return Some(Vec::new());
        };
        let items = list.iter().map(|item| self.scope.resolve(item));
        Some(items.map(|item| Section::open(self.scope, kind, Some(item), item.at)).collect())
    }

    /// Notes that a field is missing, though others may stand in for it; `help` is the remedy.
    pub fn missing(&self, name: &str, help: &str) {
        if !self.broken && !self.misspelt(name) {
            let message = format!("{} needs `{name}`", self.kind.title());
            self.scope.faults.add(self.at, message, help.to_owned());
        }
    }

    /// Notes that a field is given, if it is, which has no meaning beside others.
    pub fn unwanted(&self, name: &str, message: &str) {
        if self.node(name).is_some() {
            let help = format!("leave `{name}` out");
            self.scope.faults.add(self.at(name), message, help);
        }
    }

    /// Notes if not exactly one of two fields is given; `help` is the remedy.
    pub fn one_of(&self, a: &str, b: &str, help: &str) {
        let title = || self.kind.title();
        let (message, at) = match (self.node(a), self.node(b)) {
            (Some(_), Some(_)) => {
                (format!("{} takes `{a}` or `{b}`, not both", title()), self.at(b))
            }
            (None, None) if self.broken || self.misspelt(a) || self.misspelt(b) => return,
            (None, None) => (format!("{} needs `{a}` or `{b}`", title()), self.at),
            _ => return,
        };
        self.scope.faults.add(at, message, help.to_owned());
    }

    /// Notes what a check of the decoded section says about one of its fields.
    pub fn refuse(&self, name: &str, message: String) {
        let help = match self.kind.field(name) {
            Some(field) => remedy("it takes", field),
            None => format!("change the fields of {}", self.kind.title()),
        };
        self.scope.faults.add(self.at(name), message, help);
    }

    /// Returns a number, or nothing if it was left out and has no default.
    pub fn number(&self, name: &str) -> Option<f64> {
        let field = self.field(name)?;
        match self.given(field) {
            Some(node) => self.in_range(field, node),
            None => match field.default {
                Default::Number(number) => Some(number),
                _ => None,
            },
        }
    }

    /// Returns a whole number, or nothing if it was left out and has no default.
    pub fn integer(&self, name: &str) -> Option<u64> {
        let field = self.field(name)?;
        match self.given(field) {
            Some(node) => self.whole(field, node),
            None => match field.default {
                Default::Integer(integer) => Some(integer),
                _ => None,
            },
        }
    }

    /// Returns a flag; false if it is faulty.
    pub fn flag(&self, name: &str) -> bool {
        let Some(field) = self.field(name) else { return false };
        match self.given(field).map(|node| (&node.value, node)) {
            Some((Value::Flag(flag), _)) => *flag,
            Some((_, node)) => {
                self.unfit(field, node);
                false
            }
            None => field.default == Default::Flag(true),
        }
    }

    /// Returns a text, or nothing if it was left out and has no default.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let field = self.field(name)?;
        match self.given(field).map(|node| (&node.value, node)) {
            Some((Value::Text(text), _)) => Some(text),
            Some((Value::Number(_) | Value::Flag(_), node)) => {
                let shown = node.shown();
                let help = format!("put it in quotes to make it a text: `\"{shown}\"`");
                self.scope.faults.add(node.at, format!("`{name}` can't be `{shown}`"), help);
                None
            }
            Some((_, node)) => {
                self.unfit(field, node);
                None
            }
            None => match field.default {
                Default::Text(text) => Some(text),
                _ => None,
            },
        }
    }

    /// Returns one of a choice's names; the empty text if it is faulty.
    pub fn choice(&self, name: &str) -> &'a str {
        let Some(Field { takes: Takes::Choice(names), .. }) = self.field(name) else { return "" };
        match self.text(name) {
            Some(text) if names.contains(&text) => text,
            Some(text) => {
                let help = near_or_all(text, names.iter().copied(), "it takes one of");
                let message = format!("`{name}` can't be `{text}`");
                self.scope.faults.add(self.at(name), message, help);
                ""
            }
            None => "",
        }
    }

    /// Returns a list of numbers, or nothing if it was left out.
    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        let field = self.field(name)?;
        let items = self.items(field, self.given(field)?)?;
        items.iter().map(|&item| self.in_range(field, item)).collect()
    }

    /// Returns a list of whole numbers, or nothing if it was left out.
    pub fn integers(&self, name: &str) -> Option<Vec<u64>> {
        let field = self.field(name)?;
        let items = self.items(field, self.given(field)?)?;
        // All items are looked at, so that all their faults are found.
        let whole: Vec<Option<u64>> = items.iter().map(|&item| self.whole(field, item)).collect();
        whole.into_iter().collect()
    }

    /// Returns two whole numbers, equal if one was given for both, or nothing if it was left out.
    pub fn pair(&self, name: &str) -> Option<[u64; 2]> {
        let field = self.field(name)?;
        let node = self.given(field)?;
        match &node.value {
            Value::List(list) if list.len() == 2 => {
                let both = [&list[0], &list[1]].map(|item| self.scope.resolve(item));
                let [a, b] = both.map(|item| self.whole(field, item));
                Some([a?, b?])
            }
            _ => self.whole(field, node).map(|both| [both; 2]),
        }
    }

    /// Returns two rising numbers.
    pub fn range(&self, name: &str) -> Option<[f64; 2]> {
        let field = self.field(name)?;
        let Some(node) = self.given(field) else {
            return match field.default {
                Default::Range(low, high) => Some([low, high]),
                _ => None,
            };
        };
        let items = self.items(field, node)?;
        let ends: Vec<f64> =
            items.iter().map(|&item| self.in_range(field, item)).collect::<Option<_>>()?;
        match ends[..] {
            [low, high] if low < high => Some([low, high]),
            _ => {
                self.unfit(field, node);
                None
            }
        }
    }

    /// Returns the catalog's entry for a field. Only decoders ask; one that asks for a field that
    /// the catalog lacks gets a fault at every spec, so no test of its kind passes.
    fn field(&self, name: &str) -> Option<&'static Field> {
        let field = self.kind.field(name);
        if field.is_none() {
            let message = format!("the catalog lacks `{name}` of {}", self.kind.title());
            self.scope.faults.add(self.at, message, "report this as a bug".to_owned());
        }
        field
    }

    /// Returns the field's node if it has a value; notes that a required one is missing.
    fn given(&self, field: &'static Field) -> Option<&'a Node> {
        let node = self.node(field.name);
        let missing = node.is_none() && field.default == Default::Required;
        if missing && !self.broken && !self.misspelt(field.name) {
            self.scope.faults.add(
                self.at,
                format!("{} needs `{}`", self.kind.title(), field.name),
                remedy("give", field),
            );
        }
        node.filter(|node| !matches!(node.value, Value::Null | Value::Broken))
    }

    /// Whether one of the unknown keys is meant to be `name`.
    pub fn misspelt(&self, name: &str) -> bool {
        let mut unknown = self.entries.iter().filter(|entry| self.kind.field(&entry.key).is_none());
        unknown.any(|entry| did_you_mean(&entry.key, [name]).is_some())
    }

    fn items(&self, field: &'static Field, node: &'a Node) -> Option<Vec<&'a Node>> {
        let min_len = match field.takes {
            Takes::Integers { min_len, .. } | Takes::Numbers { min_len, .. } => min_len,
            _ => 2,
        };
        match &node.value {
            Value::List(list) if list.len() >= min_len => {
                Some(list.iter().map(|item| self.scope.resolve(item)).collect())
            }
            _ => {
                self.unfit(field, node);
                None
            }
        }
    }

    fn in_range(&self, field: &'static Field, node: &Node) -> Option<f64> {
        let (min, max, above) = match field.takes {
            Takes::Number { min, max, above }
            | Takes::Numbers { min, max, above, .. }
            | Takes::Range { min, max, above } => (min, max, above),
            Takes::Warmup => (0.0, f64::MAX, false),
            _ => (f64::MIN, f64::MAX, false),
        };
        match &node.value {
            Value::Number(Number { value, .. })
                if *value <= max && if above { *value > min } else { *value >= min } =>
            {
                Some(*value)
            }
            _ => {
                self.unfit(field, node);
                None
            }
        }
    }

    fn whole(&self, field: &'static Field, node: &Node) -> Option<u64> {
        let (min, max) = match field.takes {
            Takes::Integer { min, max }
            | Takes::Integers { min, max, .. }
            | Takes::Pair { min, max } => (min, max),
            Takes::Replications => (1, u64::from(u32::MAX)),
            _ => (0, u64::MAX),
        };
        match &node.value {
            Value::Number(number) => {
                number.integer().filter(|integer| (min..=max).contains(integer))
            }
            _ => None,
        }
        .or_else(|| {
            self.unfit(field, node);
            None
        })
    }

    fn unfit(&self, field: &'static Field, node: &Node) {
        if node.value == Value::Broken {
            return;
        }
        let help = misspelt_form(node).unwrap_or_else(|| remedy("it takes", field));
        let message = format!("`{}` can't be `{}`", field.name, node.shown());
        self.scope.faults.add(node.at, message, help);
    }
}

/// Returns what a field takes as a sentence that starts with `verb`.
fn remedy(verb: &str, field: &Field) -> String {
    format!("{verb} {}: {}", field.takes.words(), field.about)
}

/// Notes unknown and duplicate keys of a map.
pub fn check_keys<'k, I: Iterator<Item = &'k str> + Clone>(
    entries: &[Entry],
    known: impl Fn() -> I,
    what: &str,
    faults: &Faults,
) {
    for (position, entry) in entries.iter().enumerate() {
        if !known().any(|name| name == entry.key) {
            faults.add(
                entry.key_at,
                format!("unknown key `{}` in {}", entry.key, title(what)),
                near_or_all(&entry.key, known(), "known here"),
            );
        }
        if entries[..position].iter().any(|other| other.key == entry.key) {
            faults.add(
                entry.key_at,
                format!("`{}` is given twice in {}", entry.key, title(what)),
                "remove one of them".to_owned(),
            );
        }
    }
}
