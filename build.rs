//! Tells the program which commit it was built from, for the manifests of results.

use std::process::Command;

fn main() {
    let commit = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=40"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_else(|| "unknown".to_owned());
    #[allow(clippy::print_stdout)]
    {
        println!("cargo:rerun-if-changed=.git/logs/HEAD");
        println!("cargo:rerun-if-changed=src");
        println!("cargo:rustc-env=BALANCELAB_COMMIT={}", commit.trim());
    }
}
