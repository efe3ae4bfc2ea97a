//! What a search has evaluated so far, on disk: killed, it starts again and is soon where it was.
//!
//! A search is a function of its spec alone, so nothing of its state need be kept: run again, it
//! asks for the same values in the same order, and those it had before are read here. Each line
//! holds one evaluation under the hash of everything it depends on, and ends with a hash of its
//! own, so that a torn line is known and cut off.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::model::KERNELS;
use crate::rng::{GENERATOR, content_hash};

/// Name of the file in the folder of an unfinished run.
pub const JOURNAL: &str = "search.journal";
/// Version of the format.
const VERSION: u32 = 1;
/// Time between two calls that bring the file safely to disk.
const SYNC: Duration = Duration::from_secs(1);

/// Returns the first line: of which kernels the values are. Those of others are forgotten.
fn header() -> String {
    format!("balancelab search journal {VERSION}, kernels {KERNELS}, {GENERATOR}")
}

/// The values of evaluations, by the hash of what they depend on.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    known: HashMap<u128, Vec<Option<f64>>>,
    synced: Instant,
}

impl Journal {
    /// Opens the journal of a folder that this process has for itself, makes it if need be, and
    /// reads what is sound of it.
    ///
    /// # Errors
    /// [`io::Error`].
    pub fn open(folder: &Path) -> io::Result<Journal> {
        let path = folder.join(JOURNAL);
        let mut file =
            File::options().read(true).append(true).create(true).truncate(false).open(&path)?;
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let header = header();
        let mut known = HashMap::new();
        let mut sound = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match (number, line.strip_suffix('\n')) {
                (0, Some(line)) if line == header => {}
                (1.., Some(line)) => match parse(line) {
                    Some((key, values)) => drop(known.insert(key, values)),
                    None => break,
                },
                _ => break,
            }
            sound += line.len() as u64;
        }
        file.set_len(sound)?;
        file.seek(SeekFrom::End(0))?;
        if sound == 0 {
            writeln!(file, "{header}")?;
        }
        Ok(Journal { path, file, known, synced: Instant::now() })
    }

    /// Returns the number of evaluations that it knows.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns whether it knows no evaluation.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it knows an evaluation.
    pub fn knows(&self, key: u128) -> bool {
        self.known.contains_key(&key)
    }

    /// Returns the values of an evaluation, if it knows them.
    pub fn get(&self, key: u128) -> Option<&[Option<f64>]> {
        self.known.get(&key).map(Vec::as_slice)
    }

    /// Adds evaluations.
    ///
    /// # Errors
    /// [`io::Error`], a full disk among others; what was added before stays.
    pub fn put(&mut self, evaluations: &[(u128, &[Option<f64>])]) -> io::Result<()> {
        let mut text = String::new();
        for (key, values) in evaluations {
            // Bit patterns: read back, they are the same numbers.
            let words: Vec<String> = values
                .iter()
                .map(|value| value.map_or("-".to_owned(), |v| format!("{:x}", v.to_bits())))
                .collect();
            let line = format!("{key:032x} {}", words.join(","));
            text += &format!("{line} {:032x}\n", content_hash(line.as_bytes()));
        }
        self.file.write_all(text.as_bytes())?;
        for &(key, values) in evaluations {
            self.known.insert(key, values.to_vec());
        }
        if self.synced.elapsed() > SYNC {
            self.file.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

fn parse(line: &str) -> Option<(u128, Vec<Option<f64>>)> {
    let (content, check) = line.rsplit_once(' ')?;
    if u128::from_str_radix(check, 16) != Ok(content_hash(content.as_bytes())) {
        return None;
    }
    let (key, values) = content.split_once(' ')?;
    let value = |word: &str| match word {
        "-" => Some(None),
        _ => u64::from_str_radix(word, 16).ok().map(|bits| Some(f64::from_bits(bits))),
    };
    Some((
        u128::from_str_radix(key, 16).ok()?,
        values.split(',').map(value).collect::<Option<_>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut at any byte, what was whole before the cut is known and can be gone on from.
    #[test]
    fn a_torn_journal_keeps_its_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let values = [Some(0.1), None, Some(f64::MIN_POSITIVE)];
        let mut journal = Journal::open(folder.path()).unwrap();
        for key in 0..5 {
            journal.put(&[(key, &values[..])]).unwrap();
        }
        assert_eq!(journal.get(4), Some(&values[..]));
        drop(journal);
        let path = folder.path().join(JOURNAL);
        let whole = fs::read(&path).unwrap();
        let line = (whole.len() - header().len() - 1) / 5;
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = Journal::open(folder.path()).unwrap();
            assert_eq!(journal.known.len(), cut.saturating_sub(header().len() + 1) / line, "{cut}");
            for key in 0..5 {
                if journal.get(key).is_none() {
                    journal.put(&[(key, &values[..])]).unwrap();
                }
            }
            drop(journal);
            assert_eq!(fs::read(&path).unwrap(), whole, "{cut}");
        }
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(journal.get(3), Some(&values[..]));
    }

    #[test]
    fn a_journal_of_another_version_or_with_a_changed_digit_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        Journal::open(folder.path()).unwrap().put(&[(7, &[Some(1.0)])]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("journal 1", "journal 0"),
            ("kernels ", "kernels 9"),
            ("3ff0000000000000", "3ff0000000000001"),
        ] {
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replace(from, to)).unwrap();
            assert!(Journal::open(folder.path()).unwrap().is_empty());
        }
    }
}
