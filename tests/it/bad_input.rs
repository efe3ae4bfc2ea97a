//! Bad input: every refusal with its whole message, as the program prints it.
//!
//! Each case breaks one thing in a good spec. Its snapshot is what a user sees on stderr, and the exit code.

mod command_line;
mod files;
mod policies;
mod searches;
mod specs;
mod storage;
mod supermarket;

use std::path::Path;
use std::process::{Command, Output};

use insta::{Settings, assert_snapshot};
use tempfile::TempDir;

/// The good spec that the cases break.
const GOOD: &str = "\
name: small
seed: 7
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: 80}
    horizon: 1000
policies:
  - trigger
  - coin: {theta: 0.333}
  - theta: {rule: j, alpha: 0.01}
replications: 2
published:
  claims:
    - {policy: coin, response: errors_pct, value: 22.7, tolerance: 30}
";

/// Returns the good spec with one piece of its text replaced.
fn good_but(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "`{old}` must stand once in the good spec");
    GOOD.replace(old, new)
}

/// Returns a folder that holds `spec.yaml`.
fn folder(spec: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("spec.yaml"), spec).unwrap();
    folder
}

/// Runs the program in a folder.
fn balancelab(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_balancelab"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Compares a refusal with its snapshot.
fn refused(name: &str, output: &Output) {
    let code = output.status.code().expect("no signal ends the program");
    let stderr = std::str::from_utf8(&output.stderr).unwrap();
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("snapshots/bad_input");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, format!("{stderr}exit code {code}\n")));
    assert!(output.stdout.is_empty(), "{name}: a refusal prints nothing on stdout");
    assert_ne!(code, 0, "{name}");
}

/// Checks a spec and compares the refusal with its snapshot.
fn check(name: &str, spec: impl AsRef<[u8]>) {
    refused(name, &balancelab(folder(spec).path(), &["check", "spec.yaml"]));
}

#[test]
fn the_good_spec_is_fine() {
    let output = balancelab(folder(GOOD).path(), &["check", "spec.yaml"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "spec.yaml: fine, 3 points\n");
    assert_eq!(output.status.code(), Some(0));
}
