//! Specs that are kept beside what was made of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Experiment, Override, SpecError, load};
use crate::rng::content_hash;

/// A spec as it was when it was planned: it can be loaded again when its file has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The file's name, for messages.
    pub name: String,
    pub text: String,
    pub overrides: Vec<Override>,
    /// The folder that files named in the spec are read from.
    pub folder: String,
    /// Hashes of those files.
    pub files: BTreeMap<String, String>,
}

/// What results say of the spec they were made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// [`Experiment::json`].
    pub json: String,
    /// Hashes of the files that the spec names, as a JSON object.
    pub files: String,
}

impl Stored {
    /// Keeps a spec.
    pub fn new(
        experiment: &Experiment,
        name: String,
        folder: String,
        overrides: Vec<Override>,
    ) -> Stored {
        let (text, files) = (experiment.text.clone(), experiment.file_hashes());
        Stored { name, text, overrides, folder, files }
    }

    /// Loads the spec again; `read` reads a file that it names.
    ///
    /// # Errors
    /// [`SpecError`], also where such a file has changed.
    pub fn load(
        &self,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Experiment, SpecError> {
        let read = |path: &str| unchanged(path, read(path)?, self.files.get(path));
        load(&self.name, self.text.clone(), &self.overrides, &read)
    }
}

impl Earlier {
    /// Loads the spec again; `read` reads a file that it names. What isn't there any more may be what
    /// `now` has under another name.
    ///
    /// # Errors
    /// [`SpecError`]: it is no spec any more, or a file has changed.
    pub fn load(
        &self,
        read: &dyn Fn(&str) -> Result<String, String>,
        now: &Experiment,
    ) -> Result<Experiment, SpecError> {
        let hashes: BTreeMap<String, String> =
            serde_json::from_str(&self.files).unwrap_or_default();
        let of_now = now.file_hashes();
        let read = |path: &str| {
            let hash = hashes.get(path);
            read(path).and_then(|text| unchanged(path, text, hash)).or_else(|why| {
                let mut known = of_now.iter();
                let same = known.find(|(_, other)| Some(*other) == hash).ok_or(why)?;
                now.files[same.0].clone()
            })
        };
        load("earlier spec", self.json.clone(), &[], &read)
    }
}

impl Experiment {
    /// Returns the hashes of the files that the spec names, by name.
    pub fn file_hashes(&self) -> BTreeMap<String, String> {
        let hash = |text: &String| format!("{:032x}", content_hash(text.as_bytes()));
        let read = |(path, file): (&String, &Result<String, String>)| {
            Some((path.clone(), hash(file.as_ref().ok()?)))
        };
        self.files.iter().filter_map(read).collect()
    }

    /// Returns what its results are to say of it.
    pub fn earlier(&self) -> Earlier {
        let files = serde_json::json!(self.file_hashes()).to_string();
        Earlier { json: self.json.clone(), files }
    }
}

fn unchanged(path: &str, text: String, hash: Option<&String>) -> Result<String, String> {
    match hash {
        Some(hash) if *hash != format!("{:032x}", content_hash(text.as_bytes())) => {
            Err(format!("{path} has changed"))
        }
        _ => Ok(text),
    }
}
