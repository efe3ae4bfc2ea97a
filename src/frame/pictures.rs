//! The report beside the results: a page, and figures in a folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::work::{Work, closed, remove, sync_folder};

/// Name of the page.
pub const PAGE: &str = "report.html";
/// What is in a PDF of ours.
const PDF: &[u8] = b"svg2pdf";
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
        let (folder, path) = (self.results().join(FIGURES), self.results().join(PAGE));
        fs::create_dir_all(&folder).map_err(|error| StoreError::new(&folder, error))?;
        // What is in the way is told of before anything is changed.
        let files = figures.iter().map(|(name, _)| folder.join(name));
        for path in files.clone().chain([path.clone()]) {
            let is_theirs = path != self.results().join(PAGE) && path.exists() && !is_ours(&path);
            if path.is_dir() || is_theirs {
                let why = "something else of that name is there; give it another name";
                return Err(StoreError::said("write", &path, why));
            }
        }
        // An earlier report goes when this one is whole on disk.
        let files = files.zip(figures.iter().map(|(_, figure)| figure.as_slice()));
        let mut written = Vec::new();
        for (path, content) in files.chain([(path, page.as_bytes())]) {
            written.push((closed(self.written(content)?)?, path));
        }
        let names: Vec<PathBuf> = written.iter().map(|(_, path)| path.clone()).collect();
        for (file, path) in written {
            file.persist(&path).map_err(|persist| StoreError::new(&path, persist.error))?;
        }
        sync_folder(&folder)?;
        sync_folder(self.results())?;
        remove_all_but(self.results(), &names)
    }
}

/// Removes the report of earlier results, and leaves what others put beside it.
///
/// # Errors
/// [`StoreError`]: something can't be removed.
pub(super) fn remove_report(results: &Path) -> Result<(), StoreError> {
    remove_all_but(results, &[])
}

fn remove_all_but(results: &Path, kept: &[PathBuf]) -> Result<(), StoreError> {
    let remove = |path: &Path| {
        if kept.iter().any(|kept| kept == path) { Ok(()) } else { remove(path) }
    };
    remove(&results.join(PAGE))?;
    let folder = results.join(FIGURES);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| StoreError::reading(&folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| StoreError::reading(&folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "svg") && is_ours(&path) {
            let pdf = path.with_extension("pdf");
            if is_ours(&pdf) {
                remove(&pdf)?;
            }
            remove(&path)?;
        }
    }
    // What is empty goes too; what isn't, or isn't ours to remove, stays.
    _ = fs::remove_dir(&folder);
    Ok(())
}

/// Whether a figure is of a report: an SVG that begins with the mark, or a PDF that says what made it.
fn is_ours(path: &Path) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => content.starts_with(MARK.as_bytes()),
        Some("pdf") => content.windows(PDF.len()).any(|window| window == PDF),
        _ => false,
    }
}
