//! Names of users in sentences of ours.

use unicode_bidi::{BidiClass, bidi_class};

/// Begins and ends a part of a text whose direction is its own (Unicode Annex 9).
const ISOLATE: (char, char) = ('\u{2068}', '\u{2069}');

/// Returns a name as it stands in a sentence: one that is written from right to left turns neither
/// what is before it nor what comes after, and what would turn more than itself is left out.
pub fn isolated(name: &str) -> String {
    use BidiClass::{AL, FSI, LRE, LRI, LRO, PDF, PDI, R, RLE, RLI, RLO};
    let turns = |letter: char| {
        matches!(bidi_class(letter), LRE | RLE | LRO | RLO | PDF | LRI | RLI | FSI | PDI)
    };
    let clean: String = name.chars().filter(|&letter| !turns(letter)).collect();
    match clean.chars().any(|letter| matches!(bidi_class(letter), R | AL)) {
        true => format!("{}{clean}{}", ISOLATE.0, ISOLATE.1),
        false => clean,
    }
}

/// Returns a policy with the values of some axes.
pub fn with_levels(policy: &str, levels: impl Iterator<Item = (String, String)>) -> String {
    let levels = levels.map(|(axis, level)| format!(" {} {}", isolated(&axis), isolated(&level)));
    isolated(policy) + &levels.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_right_to_left_turn_nothing_else() {
        assert_eq!(isolated("least loaded, 2 µs"), "least loaded, 2 µs");
        assert_eq!(isolated("שלום"), "\u{2068}שלום\u{2069}");
        assert_eq!(isolated("مرحبا 3"), "\u{2068}مرحبا 3\u{2069}");
        assert_eq!(isolated("a\u{202e}b\u{2067}c"), "abc");
        let levels = [("θ".to_owned(), "0.1".to_owned())].into_iter();
        assert_eq!(with_levels("coin", levels), "coin θ 0.1");
    }
}
