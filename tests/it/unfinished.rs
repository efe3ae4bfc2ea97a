//! The folder of an unfinished run: who may be in it, and what of it is believed.

use std::process::Stdio;

use crate::program::Place;
use crate::resume::{SPEC, assert_equal, count, wait_for_rows};

/// A run that is killed while it puts its results in place, at whichever file, goes on from there;
/// what then is damaged isn't believed.
#[test]
fn results_that_are_half_in_place_are_those_of_the_old_run_or_the_new() {
    let place = Place::new();
    let small = SPEC.replace("replications: 3000", "replications: 40");
    place.write("old.yaml", &small);
    place.write("new.yaml", &small.replace("replications: 40", "replications: 60"));
    place.fine(&["new.yaml", "--quiet", "--out", "whole"]);
    for new in [false, true] {
        for damaged in [false, true] {
            let folder = format!("a{new}{damaged}");
            place.fine(&["old.yaml", "--quiet", "--out", &folder]);
            let path = place.path(&format!("{folder}/replications.parquet"));
            // The results can't be put in place of a folder, so the run ends in the midst of it.
            let wall = if new { "summary.parquet" } else { "replications.parquet" };
            let old = place.bytes(&format!("{folder}/replications.parquet"));
            let wall = place.path(&format!("{folder}/{wall}"));
            if new {
                std::fs::remove_file(&wall).unwrap();
                std::fs::create_dir(&wall).unwrap();
                let said = place.run(&["new.yaml", "--quiet", "--out", &folder]);
                assert_eq!(said.code, Some(4), "{}", said.err);
                std::fs::remove_dir(&wall).unwrap();
                assert!(std::fs::read(&path).unwrap() != old);
            } else {
                let work = balancelab::frame::Work::open(&place.path(&folder)).unwrap();
                let mut staging = balancelab::frame::Staging::new(&work);
                staging.write("replications.parquet", "new").unwrap();
                std::fs::remove_file(&path).unwrap();
                std::fs::create_dir(&path).unwrap();
                assert!(staging.commit(serde_json::json!({})).is_err());
                std::fs::remove_dir(&path).unwrap();
                std::fs::write(&path, &old).unwrap();
            }
            assert!(!place.path(&format!("{folder}/manifest.json")).exists());
            if damaged {
                let mut bytes = std::fs::read(&path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                std::fs::write(&path, bytes).unwrap();
                let said = place.run(&["new.yaml", "--quiet", "--out", &folder]);
                assert_eq!(said.code, Some(2), "{}", said.err);
                assert!(said.err.contains("it isn't what it was"), "{}", said.err);
            } else {
                place.fine(&["new.yaml", "--quiet", "--out", &folder]);
                assert_equal(&place, "whole", &folder);
                assert!(count(&place, &folder, "reused") > 0);
            }
        }
    }
}

/// Files in the folder that are not ours are never touched; ours are kept where a run is refused.
#[test]
fn a_refusal_deletes_nothing_and_no_end_what_is_not_ours() {
    let place = Place::new();
    place.write("night.yaml", &SPEC.replace("replications: 3000", "replications: 50"));
    place.fine(&["night.yaml", "--quiet", "--out", "a"]);
    std::fs::create_dir(place.path("a/unfinished")).unwrap();
    let theirs = ["notes.txt", "rows-mine.parquet", "shard-of-ice.parquet", "error-log.txt"];
    for name in theirs {
        place.write(&format!("a/unfinished/{name}"), "mine");
    }
    let all_there = || {
        for name in theirs {
            assert_eq!(place.bytes(&format!("a/unfinished/{name}")), b"mine", "{name}");
        }
    };
    let refused = place.run(&["night.yaml", "--seed", "8", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    all_there();
    place.fine(&["night.yaml", "--quiet", "--out", "a"]);
    place.fine(&["night.yaml", "--quiet", "--out", "a", "--seed", "8", "--fresh"]);
    place.fine(&["status", "a"]);
    all_there();
    // Rows whose plan is lost or damaged are still rows.
    for damage in [None, Some(""), Some("{}")] {
        place.fine(&["night.yaml", "--quiet", "--out", "b", "--shard", "1/2"]);
        match damage {
            None => std::fs::remove_file(place.path("b/unfinished/plan.json")).unwrap(),
            Some(text) => place.write("b/unfinished/plan.json", text),
        }
        let expected = if damage.is_some() { "plan.json: it is damaged" } else { "not its plan" };
        let files = || std::fs::read_dir(place.path("b/unfinished")).unwrap().count();
        let before = files();
        for command in ["status", "merge"] {
            let said = place.run(&[command, "b"]);
            assert!(matches!(said.code, Some(2 | 4)), "{}", said.err);
            assert!(said.err.contains(expected), "{command} {}", said.err);
        }
        let refused = place.run(&["night.yaml", "--seed", "8", "--quiet", "--out", "b"]);
        assert!(matches!(refused.code, Some(2 | 4)), "{}", refused.err);
        assert_eq!(files(), before);
        if damage.is_some() {
            std::fs::remove_file(place.path("b/unfinished/plan.json")).unwrap();
        }
        place.fine(&["night.yaml", "--quiet", "--out", "b"]);
        assert!(count(&place, "b", "reused") > 0);
        std::fs::remove_dir_all(place.path("b")).unwrap();
    }
}

/// A folder's run goes on from any other folder.
#[test]
fn a_run_goes_on_from_elsewhere() {
    let place = Place::new();
    let text = SPEC.replace("{exponential: {values: [6, 7]}}", "{empirical: times.csv}");
    place.write("night.yaml", &text.replace("replications: 3000", "replications: 50"));
    place.write("times.csv", "3\n6\n9\n");
    place.fine(&["night.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let mut command = place.command(&["run", "../a", "--quiet"]);
    let output = command.current_dir(place.path("elsewhere")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(count(&place, "a", "reused") > 0);
}

/// A file that can't be read just now is no torn one.
#[cfg(unix)]
#[test]
fn rows_that_cannot_be_read_are_not_discarded() {
    let place = Place::new();
    place.write("night.yaml", &SPEC.replace("replications: 3000", "replications: 50"));
    place.fine(&["night.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
    // Even a file's owner and root can't read a folder as a file.
    let name = format!("a/unfinished/rows-{:032x}.parquet", 7);
    std::fs::create_dir(place.path(&name)).unwrap();
    for arguments in [&["night.yaml", "--quiet", "--out", "a"][..], &["status", "a", "--missing"]] {
        let said = place.run(arguments);
        if arguments[0] == "status" {
            assert_eq!(said.out, "2\n", "{}", said.err);
            continue;
        }
        assert_eq!(said.code, Some(4), "{}", said.err);
        assert!(said.err.contains(&format!("can't read {name}: ")), "{}", said.err);
    }
    assert!(place.path(&name).is_dir());
}

#[cfg(unix)]
#[test]
fn of_two_runs_in_one_folder_the_second_stops_and_the_first_ends_well() {
    let place = Place::new();
    place.write("night.yaml", SPEC);
    place.fine(&["night.yaml", "--quiet", "--out", "whole"]);
    let mut first = place.command(&["night.yaml", "--quiet", "--out", "cut"]).spawn().unwrap();
    wait_for_rows(&place.path("cut"));
    for more in [&[][..], &["--fresh"], &["--seed", "3"], &["--shard", "1/4"]] {
        let second = place.run(&[&["night.yaml", "--quiet", "--out", "cut"], more].concat());
        assert_eq!(second.code, Some(4), "{more:?} {}", second.err);
        assert!(second.err.contains("another run is at work in this folder"), "{}", second.err);
    }
    assert!(first.wait().unwrap().success());
    assert_equal(&place, "whole", "cut");
    // Nor does a whole run begin beside a shard; but other shards do.
    let shard = ["night.yaml", "--quiet", "--out", "parts", "--shard", "1/2"];
    let mut first = place.command(&shard).spawn().unwrap();
    wait_for_rows(&place.path("parts"));
    let second = place.run(&["night.yaml", "--quiet", "--out", "parts"]);
    assert_eq!(second.code, Some(4), "{}", second.err);
    assert!(second.err.contains("another run is at work in this folder"), "{}", second.err);
    place.fine(&["night.yaml", "--quiet", "--out", "parts", "--shard", "2/2"]);
    assert!(first.wait().unwrap().success());
    place.fine(&["merge", "parts", "--quiet"]);
    assert_equal(&place, "whole", "parts");
}

/// A folder that is taken away from under a run ends it with a sentence, and isn't made again.
#[cfg(unix)]
#[test]
fn a_folder_that_vanishes_is_an_error_of_storage() {
    let place = Place::new();
    place.write("night.yaml", SPEC);
    let mut command = place.command(&["night.yaml", "--quiet", "--out", "cut"]);
    let run = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.path("cut"));
    std::fs::rename(place.path("cut"), place.path("elsewhere")).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.starts_with("error: can't write cut/unfinished"), "{said}");
    assert!(!place.path("cut").exists());
    // What was there goes on from where it is now.
    place.fine(&["night.yaml", "--quiet", "--out", "elsewhere"]);
    assert!(count(&place, "elsewhere", "reused") > 0);
}
