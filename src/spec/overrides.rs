//! Overrides from the command line: `--set PATH=VALUE` and its short forms.

use serde::{Deserialize, Serialize};

use super::catalog::EXPERIMENT;
use super::diagnostic::{At, Diagnostic, Source};
use super::path::Place;
use super::yaml::{Node, Value, parse};

/// A value for a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The flag as the user gave it, for messages.
    pub flag: String,
    /// Keys joined by dots: `model.loss_router.horizon`, `policies.LABEL.alpha`. A policy goes by
    /// its label or its number from 0, and its kind may be left out; so does a search of several.
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
        let mut rest = Some(self.path.as_str());
        while let Some(path) = rest {
            let key = place.key(node, path);
            let at = At { source, start: key_start, end: key_start + key.len() };
            (node, place) = place.step(node, key, at).map_err(|(message, help)| Diagnostic {
                at,
                message,
                help: Some(help),
            })?;
            key_start = at.end + 1;
            rest = path[key.len()..].strip_prefix('.');
        }
        *node = value;
        Ok(())
    }
}
