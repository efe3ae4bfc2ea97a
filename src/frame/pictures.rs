//! The report beside the results: a page, and figures in a folder.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::StoreError;
use super::work::{Work, put_in_place, remove};

/// Name of the page.
pub const PAGE: &str = "report.html";
/// Name of the folder of figures.
const FIGURES: &str = "figures";
/// How a figure of ours begins, so that those of others stay.
pub const MARK: &str = "<!-- balancelab -->";

impl Work {
    /// Puts a report beside the results, in place of an earlier one: figures by the names of their
    /// files, SVG beginning with [`MARK`], and a page.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn put_report(&self, page: &str, figures: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        remove_report(self.results())?;
        let folder = self.results().join(FIGURES);
        fs::create_dir_all(&folder).map_err(|error| StoreError::new(&folder, error))?;
        for (name, figure) in figures {
            put_in_place(self.written(figure)?, &folder.join(name))?;
        }
        put_in_place(self.written(page)?, &self.results().join(PAGE))
    }
}

/// Removes the report of earlier results, and leaves what others put beside it.
///
/// # Errors
/// [`StoreError`]: something can't be removed.
pub(super) fn remove_report(results: &Path) -> Result<(), StoreError> {
    remove(&results.join(PAGE))?;
    let folder = results.join(FIGURES);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| StoreError::reading(&folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| StoreError::reading(&folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "svg") && is_ours(&path) {
            remove(&path.with_extension("pdf"))?;
            remove(&path)?;
        }
    }
    // What is empty goes too; what isn't, or isn't ours to remove, stays.
    _ = fs::remove_dir(&folder);
    Ok(())
}

fn is_ours(path: &Path) -> bool {
    let mut start = [0; MARK.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *MARK.as_bytes()
}
