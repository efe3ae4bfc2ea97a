//! The parser's complaints, in the words of a spec and with a remedy.

use serde_saphyr::{DefaultMessageFormatter, Error, Location, MessageFormatter};

use super::diagnostic::{At, Diagnostic};

/// Deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 64;

/// Most values that references to anchors may add up to.
pub const MAX_REPEATED: usize = 10_000;

/// Returns the fault that the parser found in the `source`th text of a spec.
pub fn fault(error: &Error, source: usize) -> Diagnostic {
    let place = error.location().map(at).unwrap_or_default();
    let (message, help) = reworded(&DefaultMessageFormatter.format_message(error));
    Diagnostic { at: At { source, ..place }, message, help: Some(help.to_owned()) }
}

/// Returns the place of a location in the first text.
pub fn at(location: Location) -> At {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(span.offset()) as usize;
    let len = span.byte_len().unwrap_or(span.len()) as usize;
    At { source: 0, start, end: start + len }
}

/// Returns message and remedy. The parser tells most of its complaints apart by their texts alone.
fn reworded(said: &str) -> (String, &'static str) {
    let has = |words: &str| said.contains(words);
    if has("recursion limit") || has("Depth {") {
        let help = "close brackets that are open; nothing in a spec is nested that deep";
        (format!("lists and maps are nested more than {MAX_DEPTH} deep"), help)
    } else if has("alias replay") || has("alias expansion") {
        let help = "write the values out where they are needed";
        (format!("the references (`*name`) repeat more than {MAX_REPEATED} values"), help)
    } else if has("unknown anchor") {
        let help = "put the anchor in front, or quote a text that starts with `*`";
        ("the reference (`*name`) is to an anchor (`&name`) that isn't there".to_owned(), help)
    } else if has("Documents {") {
        let help = "remove the `---`, or give each document a file of its own";
        ("a spec is one YAML document, this is the start of another".to_owned(), help)
    } else if has("budget breached") {
        let help = "sweep with `linspace`, `logspace` or `step`; keep measured values in a file";
        ("the YAML holds more than a spec may have".to_owned(), help)
    } else if has("expected string scalar") {
        ("a key must be a word".to_owned(), "write `key: value`")
    } else {
        (said.replace('`', "'"), remedy(said))
    }
}

fn remedy(said: &str) -> &'static str {
    let has = |words: &str| said.contains(words);
    if has("tabs") {
        "indent with spaces"
    } else if has("mapping values are not allowed") {
        "line up the keys of a map, and put quotes around a text that has `: ` in it"
    } else if has("bracket") {
        "close each `[` with `]` and each `{` with `}`"
    } else if has("quote") {
        "end the text with the quote that it starts with"
    } else if has("unexpected character") {
        "remove the character, or put quotes around the text"
    } else if has("binary") {
        "remove the tag: a spec has plain texts and numbers"
    } else {
        "check indentation, brackets and quotes, here and on the line above"
    }
}
