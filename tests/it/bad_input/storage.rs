//! Places where results can't be kept.

use super::{GOOD, balancelab, folder, refused};
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
    use std::process::Command;

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
            refused("disk_full", &balancelab(folder.path(), &LARGE));
            assert_eq!(entries(&out), [""; 0]);
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
        refused("file_size_limit", &output);
        assert_eq!(entries(&folder.path().join("out")), [""; 0]);
    }
}
