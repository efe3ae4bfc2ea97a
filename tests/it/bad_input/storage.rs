//! Places where results can't be kept.

use super::{GOOD, balancelab, folder, refused};
use crate::program::parquet;
use std::path::Path;

fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_in_the_place_of_the_output_folder() {
    let folder = folder(GOOD);
    std::fs::write(folder.path().join("out"), "mine").unwrap();
    refused("out_is_a_file", &balancelab(folder.path(), &["spec.yaml", "--out", "out"]));
    refused("out_below_a_file", &balancelab(folder.path(), &["spec.yaml", "--out", "out/deep"]));
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), "mine");
}

/// Arguments of a run whose results are some 300 kB.
const LARGE: [&str; 5] = ["spec.yaml", "--replications", "2000", "--out", "out"];

#[cfg(unix)]
mod unix {
    use super::*;
    use std::process::{Command, Output};

    /// A file system of 64 KiB, gone when dropped.
    struct SmallDisk<'a>(&'a Path);

    impl SmallDisk<'_> {
        /// Mounts the disk; nothing where that isn't allowed.
        fn mount(at: &Path) -> Option<SmallDisk<'_>> {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at);
            mount.output().is_ok_and(|output| output.status.success()).then_some(SmallDisk(at))
        }
    }

    impl SmallDisk<'_> {
        fn resize(&self, size: &str) {
            let mut mount = Command::new("mount");
            mount.args(["-o", &format!("remount,size={size}")]).arg(self.0);
            assert!(mount.status().unwrap().success());
        }
    }

    /// Which file it is that meets the limit first is a matter of time.
    fn storage_failed(output: &Output, why: &str) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.starts_with("error: can't write out/") && said.contains(why), "{said}");
        assert!(said.ends_with("choose another folder with --out\n"), "{said}");
    }

    /// Only the folder of the unfinished run is there, and in it files that are whole.
    fn nothing_is_half_written(out: &Path) {
        assert_eq!(entries(out), ["unfinished"]);
        for name in entries(&out.join("unfinished")) {
            assert!(!name.starts_with('.'), "{name}");
            if name.ends_with(".parquet") {
                parquet(&out.join("unfinished").join(name));
            }
        }
    }

    impl Drop for SmallDisk<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).output();
        }
    }

    #[test]
    fn a_disk_that_fills_up_leaves_no_half_written_file() {
        let folder = folder(GOOD);
        let out = folder.path().join("out");
        std::fs::create_dir(&out).unwrap();
        // Who may not mount has the limit on a file's size, below.
        if let Some(disk) = SmallDisk::mount(&out) {
            storage_failed(&balancelab(folder.path(), &LARGE), "No space left on device");
            nothing_is_half_written(&out);
            disk.resize("64m");
            assert!(balancelab(folder.path(), &LARGE).status.success());
            assert!(!out.join("unfinished").exists());
            let whole = [&LARGE[..3], &["--out", "whole"]].concat();
            assert!(balancelab(folder.path(), &whole).status.success());
            let rows = |out: &str| {
                std::fs::read(folder.path().join(out).join("replications.parquet")).unwrap()
            };
            assert!(rows("out") == rows("whole"));
            drop(disk);
        }
    }

    #[test]
    fn a_file_that_may_not_grow_leaves_no_half_written_file() {
        let folder = folder(GOOD);
        let limited = format!(
            "trap '' XFSZ; ulimit -f 16; exec {} {}",
            env!("CARGO_BIN_EXE_balancelab"),
            LARGE.join(" ")
        );
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
        storage_failed(&output, "File too large");
        nothing_is_half_written(&folder.path().join("out"));
    }
}
