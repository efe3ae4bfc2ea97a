//! What runs say of folders and files that aren't what they were, and where rows count all the same.

use std::process::Stdio;

use crate::program::Place;
use crate::resume::{count, wait_for_rows};
use crate::shards::SPEC;

const QUEUE: &str = "
name: queue
model: {supermarket: {servers: 2, trace: jobs.csv, horizon: 100}}
policies: [random, jsq]
replications: 20
";
const JOBS: &str = "time,size\n1,1\n1,2\n2,5\n50,1\n";

/// Rows are of what a file has in it, not of its name.
#[test]
fn a_trace_that_was_renamed_keeps_its_rows() {
    let place = Place::new();
    place.write("jobs.csv", JOBS);
    place.write("queue.yaml", QUEUE);
    place.fine(&["queue.yaml", "--quiet", "--out", "a"]);
    std::fs::rename(place.path("jobs.csv"), place.path("night.csv")).unwrap();
    let renamed =
        QUEUE.replace("jobs.csv", "night.csv").replace("replications: 20", "replications: 30");
    place.write("queue.yaml", &renamed);
    place.fine(&["queue.yaml", "--quiet", "--out", "a"]);
    assert_eq!(count(&place, "a", "reused"), 40);
    // One that is gone, or isn't what it was, is to be put back.
    place.fine(&["queue.yaml", "--quiet", "--out", "b", "--shard", "1/2"]);
    for change in ["time,size\n1,1\n", ""] {
        match change {
            "" => std::fs::remove_file(place.path("night.csv")).unwrap(),
            change => place.write("night.csv", change),
        }
        let said = place.run(&["merge", "b"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("put it back"), "{}", said.err);
    }
}

/// Whoever has changed a spec is told what, also by shards and submissions.
#[test]
fn a_changed_spec_is_told_by_its_changes_to_shards_too() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
    let shard = ["run", "parts.yaml", "--seed", "7", "--out", "a", "--shard", "1/2"];
    let submit = ["submit", "parts.yaml", "--seed", "7", "--out", "a", "--engine", "slurm"];
    for command in [&shard[..], &submit[..]] {
        let said = place.run(command);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("with other settings\n  seed: 4 → 7\n"), "{}", said.err);
    }
}

/// Commands without `--out` don't advise it.
#[test]
fn remedies_are_those_that_there_are() {
    let place = Place::new();
    place.write("file", "");
    for command in ["status", "merge"] {
        let said = place.run(&[command, "file"]);
        assert!(said.code != Some(0) && !said.err.contains("--out"), "{}", said.err);
    }
    place.write("parts.yaml", SPEC);
    std::fs::create_dir_all(place.path("a/report.html/in the way")).unwrap();
    let said = place.run(&["parts.yaml", "--quiet", "--out", "a"]);
    assert_eq!(said.code, Some(4), "{}", said.err);
    let expected = "report isn't, which `balancelab report a` makes";
    assert!(said.err.contains(expected) && !said.err.contains("--out"), "{}", said.err);
}

#[cfg(unix)]
#[test]
fn a_stopped_shard_counts_its_own_rows() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.fine(&["parts.yaml", "--quiet", "--out", "a"]);
    let all = count(&place, "a", "rows");
    let more =
        ["parts.yaml", "--quiet", "--out", "a", "--replications", "500000", "--shard", "2/2"];
    let run = place.command(&more).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.path("a"));
    crate::resume::signal("-TERM", &run);
    let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
    let told = said.strip_prefix("error: interrupted: ").unwrap().split(" of ").next().unwrap();
    let told: u64 = told.replace(' ', "").parse().unwrap();
    let made: usize = std::fs::read_dir(place.path("a/unfinished"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("rows-"))
        .map(|entry| crate::program::parquet(&entry.path()).height())
        .sum();
    let before = told - made as u64;
    // Those of the second half of the points, not of all.
    assert!(before > 0 && before < all, "{said}{made} made, {all} before");
}

/// Files that a spec names are looked up again by the name of its folder.
#[cfg(unix)]
#[test]
fn a_folder_that_has_no_name_in_utf8_is_refused_before_anything_is_lost() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let folder = place.path("").join(std::ffi::OsStr::from_bytes(b"n\xff"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("jobs.csv"), JOBS).unwrap();
    std::fs::write(folder.join("queue.yaml"), QUEUE).unwrap();
    let mut command = place.command(&["queue.yaml", "--quiet"]);
    let output = command.current_dir(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("rename the folder"), "{said}");
    assert!(!folder.join("results").exists());
}
