//! The vocabulary of a spec: every model, policy and distribution with its fields.
//!
//! One table serves the checker, `balancelab models` and `balancelab schema`, and it is the only
//! place where a default is written.

mod distributions;
mod experiment;
mod models;
mod optimize;
mod policies;

pub use distributions::DISTRIBUTIONS;
pub use experiment::{BASELINE, CLAIM, EXPERIMENT, PUBLISHED, REPLICATIONS, SELECT, UNTIL};
pub use models::{FAILURES, MMPP, MODELS, OUTAGE, WARMUP};
pub use optimize::{CONFIRM, MAX_BUDGET, METHODS, OPTIMIZE, PARAMETER, RIVAL};
pub use policies::{CUSTOM_RULE, INFORMATION, POLICIES, RULES};

/// Something that a spec names, with the fields that its map may have.
#[derive(Debug, PartialEq)]
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
}

/// A field of a map.
#[derive(Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    pub takes: Takes,
    pub default: Default,
    pub unit: &'static str,
    pub about: &'static str,
}

/// What a field takes. All numbers must be finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// A number from `min` to `max`, `min` itself excluded if `above`.
    Number {
        min: f64,
        max: f64,
        above: bool,
    },
    /// A whole number from `min` to `max`.
    Integer {
        min: u64,
        max: u64,
    },
    Flag,
    Text,
    Choice(&'static [&'static str]),
    Distribution,
    /// A list of `min_len` or more whole numbers, each from `min`.
    Integers {
        min_len: usize,
        min: u64,
        max: u64,
    },
    /// A list of `min_len` or more numbers in the range.
    Numbers {
        min_len: usize,
        min: f64,
        max: f64,
        above: bool,
    },
    /// A whole number from `min` to `max` for both servers, or a list of one for each.
    Pair {
        min: u64,
        max: u64,
    },
    /// Two numbers in the range, the first below the second.
    Range {
        min: f64,
        max: f64,
        above: bool,
    },
    /// A rule of the theta policy: a name, or a map with the fields of [`CUSTOM_RULE`].
    Rule,
    Model,
    Policies,
    /// One condition or a list of them.
    Conditions,
    /// A map with the fields of [`PUBLISHED`].
    Published,
    /// A list of maps with the fields of [`CLAIM`].
    Claims,
    /// A map from axis names to values.
    Levels,
    /// A number of replications, or a map with the fields of [`REPLICATIONS`].
    Replications,
    /// A map with the fields of [`UNTIL`], or a list of them.
    Until,
    /// A map with the fields of [`SELECT`].
    Select,
    /// A number, `auto`, or a map with the fields of [`WARMUP`].
    Warmup,
    /// A map with the fields of a kind.
    Map(&'static Kind),
    /// A list of such maps.
    Maps(&'static Kind),
    /// `none`, or a map with the fields of [`INFORMATION`].
    Information,
    /// A label, or a map with the fields of [`BASELINE`].
    Baseline,
    /// A map with the fields of [`OPTIMIZE`], or a list of them.
    Optimize,
    /// A map from paths to maps with the fields of [`PARAMETER`].
    Over,
    /// A map from paths to numbers.
    Start,
    /// One of [`METHODS`].
    Method,
    /// A list of labels and of maps with the fields of [`RIVAL`].
    Against,
    /// A map with the fields of [`CONFIRM`].
    Confirm,
}

/// What stands in for a field that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Nothing does: the field must be given.
    Required,
    /// The field has no value then; `about` says what that means.
    Absent,
    Number(f64),
    Integer(u64),
    Flag(bool),
    Text(&'static str),
    Range(f64, f64),
}

/// Greatest whole number that a field takes: integers are exact in `f64` up to here.
const MAX_WHOLE: u64 = 1 << 53;

const POSITIVE: Takes = Takes::Number { min: 0.0, max: f64::MAX, above: true };
const NOT_NEGATIVE: Takes = Takes::Number { min: 0.0, max: f64::MAX, above: false };
const ANY: Takes = Takes::Number { min: f64::MIN, max: f64::MAX, above: false };
const PROBABILITY: Takes = Takes::Number { min: 0.0, max: 1.0, above: false };

/// Returns a name for messages: in backquotes, if the spec has it as a word.
pub fn title(name: &str) -> String {
    if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

impl Kind {
    /// Returns the name for messages: in backquotes, if the spec has it as a word.
    pub fn title(&self) -> String {
        title(self.name)
    }

    /// Returns the names of its fields, as a map has them.
    fn keys(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
        format!("{{{}}}", names.join(", "))
    }

    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the unit of the field at the end of a path from its fields, or from its own name; none
    /// where that isn't known.
    pub fn unit(&self, path: &[String]) -> &'static str {
        let Some((first, rest)) = path.split_first() else { return "" };
        let bare = self.bare().filter(|_| first == self.name);
        let Some(field) = self.field(first).or(bare) else { return "" };
        match (field.takes, rest) {
            (Takes::Distribution, [name, inner, ..]) => {
                let kind = DISTRIBUTIONS.iter().find(|kind| kind.name == name);
                kind.and_then(|kind| kind.field(inner)).map_or("", |field| field.unit)
            }
            (Takes::Map(kind), [_, ..]) => kind.unit(rest),
            _ => field.unit,
        }
    }

    /// Returns the field that a bare value after the name stands for, where it is unambiguous:
    /// the first, if no other is required.
    pub fn bare(&self) -> Option<&'static Field> {
        let (first, others) = self.fields.split_first()?;
        others.iter().all(|field| field.default != Default::Required).then_some(first)
    }
}

impl Takes {
    /// Returns what an item of the list takes, where that is known.
    pub fn item(self) -> Option<Takes> {
        match self {
            Takes::Integers { min, max, .. } | Takes::Pair { min, max } => {
                Some(Takes::Integer { min, max })
            }
            Takes::Numbers { min, max, above, .. } | Takes::Range { min, max, above } => {
                Some(Takes::Number { min, max, above })
            }
            _ => None,
        }
    }

    /// Returns what the field takes, for messages and listings.
    pub fn words(&self) -> String {
        let range = |min: f64, max: f64, above: bool| {
            let low = if above { "above" } else { "of at least" };
            match (min > f64::MIN, max < f64::MAX) {
                (true, true) if above => format!("above {min} and up to {max}"),
                (true, true) => format!("from {min} to {max}"),
                (true, false) => format!("{low} {min}"),
                _ => "that is finite".to_owned(),
            }
        };
        match *self {
            Takes::Number { min, max, above } => format!("a number {}", range(min, max, above)),
            Takes::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Takes::Flag => "true or false".to_owned(),
            Takes::Text => "a text".to_owned(),
            Takes::Choice(names) => format!("one of {}", names.join(", ")),
            Takes::Distribution => "a distribution".to_owned(),
            Takes::Integers { min_len, min, max } => {
                format!("a list of {min_len} or more whole numbers from {min} to {max}")
            }
            Takes::Numbers { min_len, min, max, above } => {
                format!("a list of {min_len} or more numbers {}", range(min, max, above))
            }
            Takes::Pair { min, max } => {
                format!("a whole number from {min} to {max}, or a list of two")
            }
            Takes::Range { min, max, above } => match range(min, max, above).as_str() {
                "that is finite" => "two rising finite numbers".to_owned(),
                range => format!("two rising numbers {range}"),
            },
            Takes::Rule => format!("one of {}, or {{custom: {{j: .., i: ..}}}}", RULES.join(", ")),
            Takes::Model => "a model with its fields".to_owned(),
            Takes::Policies => "a list of policies".to_owned(),
            Takes::Conditions => "a condition or a list of conditions".to_owned(),
            Takes::Published => "a map with `source` and `claims`".to_owned(),
            Takes::Claims => "a list of claims".to_owned(),
            Takes::Replications => "a whole number of at least 1, or {min, max, until}".to_owned(),
            Takes::Until => "{response, half_width or relative}, or a list of them".to_owned(),
            Takes::Select => "{response, delta}".to_owned(),
            Takes::Warmup => "a number of at least 0, auto, or {arrivals: ..}".to_owned(),
            Takes::Map(kind) => kind.keys(),
            Takes::Maps(kind) => format!("a list of {}", kind.keys()),
            Takes::Information => "none, or {update, age}".to_owned(),
            Takes::Baseline => "a label, or {policy, at}".to_owned(),
            Takes::Levels => "a map from axes to values".to_owned(),
            Takes::Optimize => {
                "{policy, minimize or maximize, over, budget}, or a list of them".to_owned()
            }
            Takes::Over => {
                "a map from paths to {log: [low, high]} or {linear: [low, high]}".to_owned()
            }
            Takes::Start => "a map from the paths of `over` to numbers".to_owned(),
            Takes::Method => "a method, with its options if need be".to_owned(),
            Takes::Against => "a list of labels or of {policy, at}".to_owned(),
            Takes::Confirm => "{replications, grid, delta}".to_owned(),
        }
    }
}

impl std::fmt::Display for Default {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Default::Required => f.write_str("required"),
            Default::Absent => f.write_str("none"),
            Default::Number(number) => write!(f, "{number}"),
            Default::Integer(integer) => write!(f, "{integer}"),
            Default::Flag(flag) => write!(f, "{flag}"),
            Default::Text(text) => f.write_str(text),
            Default::Range(low, high) => write!(f, "[{low}, {high}]"),
        }
    }
}
