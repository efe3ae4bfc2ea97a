//! Where rows of earlier runs are, by the identity of their point.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;

/// A file of rows.
#[derive(Debug)]
pub(super) struct Source {
    pub path: PathBuf,
    /// Whether it has the rows of finished results.
    pub finished: bool,
    /// Whether it was made for another plan, so that rows of it may not belong.
    pub other: bool,
}

/// Where some rows are: in a file, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Position of the file.
    pub file: usize,
    /// The row of the first replication.
    pub row: usize,
    pub first: u32,
    len: u32,
}

impl Segment {
    /// Returns its replications.
    pub(super) fn range(&self) -> Range<u32> {
        self.first..self.first + self.len
    }
}

/// Rows made for other plans, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    pub all: u64,
    /// Those that have no place.
    pub lost: u64,
    /// Whether such a one is not among finished results.
    pub unfinished: bool,
}

/// Where all of them are: a few words for each point and file.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub files: Vec<Source>,
    segments: HashMap<u128, Vec<Segment>>,
}

impl Index {
    /// Takes in a file; its rows follow.
    pub(super) fn add(&mut self, file: Source) -> Adding<'_> {
        self.files.push(file);
        Adding { index: self, row: 0, run: None }
    }

    /// Returns where rows of a point are.
    pub(super) fn of(&self, identity: u128) -> &[Segment] {
        self.segments.get(&identity).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the number of rows, each counted once.
    pub(super) fn rows(&self) -> u64 {
        self.segments.values().map(|segments| distinct(segments.iter()).len() as u64).sum()
    }

    /// Returns the number of rows of a point within a range of replications, each counted once.
    pub(super) fn rows_within(&self, identity: u128, range: Range<u32>) -> u64 {
        let rows = distinct(self.of(identity).iter());
        rows.beyond(range.start) - rows.beyond(range.end)
    }

    /// Whether there are rows that were made for another plan.
    pub(super) fn has_others(&self) -> bool {
        self.files.iter().any(|file| file.other)
    }

    /// Counts the rows made for other plans, of which a point keeps those of its first replications.
    pub(super) fn lost(&self, kept: impl Fn(u128) -> u32) -> Lost {
        let mut sum = Lost::default();
        for (&identity, segments) in &self.segments {
            let kept = kept(identity);
            let others = segments.iter().filter(|segment| self.files[segment.file].other);
            sum.unfinished |= others
                .clone()
                .any(|other| other.range().end > kept && !self.files[other.file].finished);
            let rows = distinct(others);
            sum.all += rows.len() as u64;
            sum.lost += rows.beyond(kept);
        }
        sum
    }
}

/// The replications of some segments.
enum Distinct {
    /// Those of the only one.
    Range(Range<u32>),
    /// Those of several, which may have the same rows.
    Set(BTreeSet<u32>),
}

fn distinct<'a>(mut segments: impl Iterator<Item = &'a Segment> + Clone) -> Distinct {
    match (segments.clone().nth(1), segments.next()) {
        (None, Some(one)) => Distinct::Range(one.range()),
        (_, first) => {
            Distinct::Set(first.into_iter().chain(segments).flat_map(Segment::range).collect())
        }
    }
}

impl Distinct {
    fn len(&self) -> usize {
        match self {
            Distinct::Range(range) => range.len(),
            Distinct::Set(set) => set.len(),
        }
    }

    /// Returns how many there are from a replication on.
    fn beyond(&self, first: u32) -> u64 {
        match self {
            Distinct::Range(range) => u64::from(range.end.saturating_sub(first.max(range.start))),
            Distinct::Set(set) => set.range(first..).count() as u64,
        }
    }
}

/// Rows of a file on their way into the index.
pub(super) struct Adding<'a> {
    index: &'a mut Index,
    row: usize,
    /// The segment that the last rows make.
    run: Option<(u128, Segment)>,
}

impl Adding<'_> {
    /// Takes in the file's next row.
    pub(super) fn row(&mut self, identity: u128, replication: u32) {
        match &mut self.run {
            Some((of, segment)) if *of == identity && segment.range().end == replication => {
                segment.len += 1;
            }
            _ => {
                self.end();
                let file = self.index.files.len() - 1;
                let segment = Segment { file, row: self.row, first: replication, len: 1 };
                self.run = Some((identity, segment));
            }
        }
        self.row += 1;
    }

    fn end(&mut self) {
        if let Some((identity, segment)) = self.run.take() {
            self.index.segments.entry(identity).or_default().push(segment);
        }
    }
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_other_plans_are_counted_once_and_ours_not_at_all() {
        let mut index = Index::default();
        let file = |finished, other| Source { path: PathBuf::new(), finished, other };
        let add = |index: &mut Index, file, rows: &[(u128, u32)]| {
            let mut adding = index.add(file);
            rows.iter().for_each(|&(identity, replication)| adding.row(identity, replication));
        };
        add(&mut index, file(true, true), &[(7, 0), (7, 1), (7, 2), (8, 0), (8, 2)]);
        assert_eq!(index.of(8).len(), 2);
        assert_eq!((index.of(7)[0].range(), index.of(8)[1].row), (0..3, 4));
        let count = |all, lost, unfinished| Lost { all, lost, unfinished };
        assert_eq!(index.lost(|_| 3), count(5, 0, false));
        assert_eq!(index.lost(|identity| if identity == 7 { 1 } else { 3 }), count(5, 2, false));
        // The same rows again, and some more, in a file of an unfinished run.
        add(&mut index, file(false, true), &[(7, 1), (7, 2), (7, 3)]);
        assert_eq!(index.lost(|_| 3), count(6, 1, true));
        // Ours may be as many as they like.
        add(&mut index, file(false, false), &[(7, 4), (9, 0)]);
        assert_eq!(index.lost(|_| 4), count(6, 0, false));
        assert_eq!(index.rows(), 8);
    }
}
