//! The built program, run in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use polars::prelude::{DataFrame, ParquetReader, SerReader};
use tempfile::TempDir;

/// What the program said and how it ended.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A temporary folder in which the program runs.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// Returns the program with its arguments, ready to run here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_balancelab"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env_remove("NO_COLOR");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs what must end well, and returns stdout.
    pub fn fine(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}{}", said.out, said.err);
        said.out
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn parquet(&self, name: &str) -> DataFrame {
        parquet(&self.path(name))
    }
}

pub fn parquet(path: &Path) -> DataFrame {
    ParquetReader::new(std::fs::File::open(path).unwrap()).finish().unwrap()
}
