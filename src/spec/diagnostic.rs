//! Faults of a spec: where, what, and what to do.
//!
//! Checking never stops at the first fault; it collects [`Diagnostic`]s, and [`SpecError`] shows
//! them all, each with `file:line:column`, the line with a caret, and a remedy.

use std::cell::RefCell;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Most faults shown of one file; a spec with more has one cause.
const MAX_SHOWN: usize = 50;

/// A place in one of the texts that make up a spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Which text: 0 is the file, others are `--set` arguments.
    pub source: usize,
    /// Bytes from the text's start.
    pub start: usize,
    pub end: usize,
}

impl At {
    /// Returns the place `offset` bytes further on.
    pub fn shifted(self, offset: usize) -> At {
        At { start: self.start + offset, end: self.end + offset, ..self }
    }

    fn range(self, text: &str) -> Range<usize> {
        let start = floor_boundary(text, self.start);
        start..floor_boundary(text, self.end.max(start))
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// A text that a spec was read from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's path as the user gave it, or the flag that held the text.
    pub name: String,
    pub text: String,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub at: At,
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// The faults found so far.
///
/// Decoding shares one list among sections that borrow the tree, hence the cell.
#[derive(Debug, Default)]
pub struct Faults(RefCell<Vec<Diagnostic>>);

impl Faults {
    /// Notes a fault, once.
    pub fn add(&self, at: At, message: impl Into<String>, help: impl Into<Option<String>>) {
        let fault = Diagnostic { at, message: message.into(), help: help.into() };
        let mut list = self.0.borrow_mut();
        if !list.contains(&fault) {
            list.push(fault);
        }
    }

    /// Returns how many faults were found.
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Returns whether there are enough faults to stop looking for more.
    pub fn enough(&self) -> bool {
        self.len() > MAX_SHOWN
    }

    /// Returns the faults in the order of the text.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut list = self.0.into_inner();
        list.sort_by_key(|fault| (fault.at.source, fault.at.start));
        list
    }
}

/// A spec that can't be run, with all its faults.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.render(&Renderer::plain()))]
pub struct SpecError {
    pub sources: Vec<Source>,
    pub faults: Vec<Diagnostic>,
}

impl SpecError {
    /// Returns an error about a file as a whole.
    pub fn file(name: &str, message: String, help: Option<String>) -> Self {
        SpecError {
            sources: vec![Source { name: name.to_owned(), text: String::new() }],
            faults: vec![Diagnostic { at: At::default(), message, help }],
        }
    }

    /// Returns the first fault in a line.
    pub fn reason(&self) -> String {
        self.faults.first().map_or_else(String::new, |fault| fault.message.clone())
    }

    /// Returns all faults as text, with colours.
    pub fn styled(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let mut parts: Vec<String> = self
            .faults
            .iter()
            .take(MAX_SHOWN)
            .map(|fault| {
                let source = &self.sources[fault.at.source];
                let title = Level::ERROR.primary_title(fault.message.as_str());
                let group = if source.text.is_empty() {
                    title.element(annotate_snippets::Origin::path(source.name.as_str()))
                } else {
                    let range = fault.at.range(&source.text);
                    title.element(
                        Snippet::source(source.text.as_str())
                            .path(source.name.as_str())
                            .annotation(AnnotationKind::Primary.span(range)),
                    )
                };
                let group = match &fault.help {
                    Some(help) => group.element(Level::HELP.message(help.as_str())),
                    None => group,
                };
                renderer.render(&[group])
            })
            .collect();
        if self.faults.len() > MAX_SHOWN {
            parts.push(format!("and more faults after the first {MAX_SHOWN}"));
        }
        parts.join("\n\n")
    }
}

/// Returns ``did you mean `x`?`` where one of `known` is near `name`.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, candidate)| {
            let shortest = name.chars().count().min(candidate.chars().count());
            distance <= (candidate.len() / 3).max(1) && distance < shortest
        })
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Returns a remedy: a near name, else the list of all.
pub fn near_or_all<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    did_you_mean(name, known.clone()).unwrap_or_else(|| {
        let all: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
        format!("{what}: {}", if all.is_empty() { "nothing".to_owned() } else { all.join(", ") })
    })
}
