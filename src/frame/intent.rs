//! What an unfinished run is to do, as its folder tells.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::work::{PLAN, Work, put_if_new, put_in_place};
use super::{StoreError, read_input};
use crate::engine::Shard;
use crate::model::KERNELS;
use crate::rng::{GENERATOR, content_hash};
use crate::spec::{Experiment, SpecError, Stored};

/// What an unfinished run is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Hash of all that its results depend on.
    pub plan: String,
    /// How many shards it is cut into, if it is.
    pub shards: Option<u32>,
    /// Whether results that were there before are to be replaced.
    pub fresh: bool,
    /// Hashes of the rows of those.
    pub replaces: Vec<String>,
    pub kernels: u32,
    pub generator: String,
    pub spec: Stored,
}

/// The intent on disk, with a hash by which damage is known.
#[derive(Serialize, Deserialize)]
struct Sealed {
    hash: String,
    intent: Intent,
}

impl Intent {
    /// Returns what a run of an experiment is to do.
    pub fn new(experiment: &Experiment, spec: Stored, shards: Option<u32>, fresh: bool) -> Intent {
        // The digits of published figures bear on what they are compared with.
        let figures: Vec<&str> =
            experiment.claims.iter().map(|claim| claim.written.as_str()).collect();
        let content = format!(
            "{:032x} {:?} {figures:?} {KERNELS} {GENERATOR}",
            experiment.hash,
            experiment.file_hashes()
        );
        Intent {
            plan: format!("{:032x}", content_hash(content.as_bytes())),
            shards,
            fresh,
            replaces: Vec::new(),
            kernels: KERNELS,
            generator: GENERATOR.to_owned(),
            spec,
        }
    }

    /// Returns the text of a file that the spec names, as it is now.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, path: &str) -> Result<String, String> {
        let text = read_input(&Path::new(&self.spec.folder).join(path));
        text.map_err(|error| format!("{error} (in {})", self.spec.folder))
    }

    /// Loads its spec again.
    ///
    /// # Errors
    /// [`SpecError`], also where a file that it names has changed.
    pub fn load(&self) -> Result<Experiment, SpecError> {
        self.spec.load(&|path| self.read(path))
    }

    fn hash(&self) -> String {
        let content = serde_json::json!(self).to_string();
        format!("{:032x}", content_hash(content.as_bytes()))
    }

    /// Returns the metadata of its files of rows, or of those of a shard.
    pub(super) fn header(&self, shard: Option<Shard>) -> Vec<(String, String)> {
        let mut header = vec![
            ("plan", self.plan.clone()),
            ("kernels", self.kernels.to_string()),
            ("generator", self.generator.clone()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        header.extend(shard.map(|shard| ("shard", shard.to_string())));
        header.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

impl Work {
    /// Returns what the unfinished run is to do, if there is one.
    ///
    /// # Errors
    /// [`StoreError`]; it is there and can't be read.
    pub fn intent(&self) -> Result<Option<Intent>, StoreError> {
        let path = self.folder().join(PLAN);
        match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(None),
            Err(error) => Err(StoreError::reading(&path, error)),
            Ok(text) => match serde_json::from_slice::<Sealed>(&text) {
                Ok(Sealed { hash, intent }) if hash == intent.hash() => Ok(Some(intent)),
                _ => {
                    let message = "it is damaged; remove it, and a run of its spec takes up the \
                                   rows beside it";
                    Err(StoreError::said("read", &path, message))
                }
            },
        }
    }

    /// Checks that the folder is still given to a plan: without locks another run may have taken it
    /// over.
    ///
    /// # Errors
    /// [`StoreError`]; it isn't, or can't be read.
    pub(super) fn check_plan(&self, plan: &str) -> Result<(), StoreError> {
        match self.intent()? {
            Some(now) if now.plan == plan => Ok(()),
            _ => {
                let why = "meanwhile another run has begun in this folder";
                Err(StoreError::new(self.folder(), why))
            }
        }
    }

    /// Writes down what the run is to do. Whoever shares the folder doesn't write over what
    /// another wrote: returns what is there.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn set_intent(&self, intent: &Intent) -> Result<Intent, StoreError> {
        let sealed = Sealed { hash: intent.hash(), intent: intent.clone() };
        let path = self.folder().join(PLAN);
        let text = serde_json::to_string_pretty(&sealed);
        let text = text.map_err(|error| StoreError::new(&path, error))?;
        let file = self.written(&text)?;
        if self.is_alone() {
            put_in_place(file, &path)?;
            return Ok(intent.clone());
        }
        put_if_new(file, &path)?;
        Ok(self.intent()?.unwrap_or_else(|| intent.clone()))
    }
}
