//! The folder of an unfinished run: who may be in it, and what of it is believed.

use std::process::Stdio;

use crate::program::Place;
use crate::resume::{SPEC, assert_equal, count, wait_for_rows};

/// Files that a run is about to put in place.
fn written(place: &Place, folder: &str) -> Vec<std::path::PathBuf> {
    let list = std::fs::read_dir(place.path(&format!("{folder}/unfinished"))).unwrap();
    let paths = list.map(|entry| entry.unwrap().path());
    let is_temporary = |path: &std::path::PathBuf| path.to_string_lossy().contains("/.writing-");
    paths.filter(is_temporary).collect()
}

/// A run that ends while it puts its results in place goes on from there; damaged rows are not
/// believed, and where nothing was changed yet the old results stay.
#[test]
fn results_that_are_half_in_place_are_those_of_the_old_run_or_the_new() {
    let place = Place::new();
    let small = SPEC.replace("replications: 3000", "replications: 40");
    place.write("old.yaml", &small);
    place.write("new.yaml", &small.replace("replications: 40", "replications: 60"));
    place.fine(&["new.yaml", "--quiet", "--out", "whole"]);
    let new = place.bytes("whole/replications.parquet");
    // Which of the files can't be put in place: it vanishes.
    for (fails, damaged) in [(0, false), (1, false), (1, true)] {
        let folder = format!("a{fails}{damaged}");
        place.fine(&["old.yaml", "--quiet", "--out", &folder]);
        let manifest = place.path(&format!("{folder}/manifest.json"));
        let path = place.path(&format!("{folder}/replications.parquet"));
        let old = std::fs::read(&path).unwrap();
        let work = balancelab::frame::Work::open(&place.path(&folder)).unwrap();
        let mut staging = balancelab::frame::Staging::new(&work);
        let mut file = staging.create("replications.parquet").unwrap();
        std::io::Write::write_all(&mut file, &new).unwrap();
        let first = written(&place, &folder);
        staging.write("summary.csv", "new").unwrap();
        let vanish = |path: &std::path::PathBuf| fails == 0 || !first.contains(path);
        let doomed = written(&place, &folder).into_iter().filter(vanish);
        doomed.for_each(|path| std::fs::remove_file(path).unwrap());
        assert!(staging.commit(serde_json::json!({})).is_err());
        work.leave().unwrap();
        drop(work);
        assert_eq!(manifest.exists(), fails == 0);
        assert!(std::fs::read(&path).unwrap() == if fails == 0 { old } else { new.clone() });
        // What was kept of an unfinished run is of no account for it.
        let _ = std::fs::remove_dir_all(place.path(&format!("{folder}/unfinished")));
        if damaged {
            let mut bytes = new.clone();
            bytes[new.len() / 2] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            let said = place.run(&["new.yaml", "--quiet", "--out", &folder]);
            assert_eq!(said.code, Some(2), "{}", said.err);
            assert!(said.err.contains("it isn't what its manifest.json tells"), "{}", said.err);
        } else {
            place.fine(&["new.yaml", "--quiet", "--out", &folder]);
            assert_equal(&place, "whole", &folder);
            assert_eq!(count(&place, &folder, "reused"), if fails == 0 { 400 } else { 600 });
            assert!(!place.path(&format!("{folder}/commit.json")).exists());
        }
    }
    // What is in the way is found before anything is changed.
    place.fine(&["old.yaml", "--quiet", "--out", "b"]);
    std::fs::remove_file(place.path("b/best.csv")).unwrap();
    std::fs::create_dir(place.path("b/best.csv")).unwrap();
    let said = place.run(&["new.yaml", "--quiet", "--out", "b"]);
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(said.err.contains("can't write b/best.csv: it is a folder"), "{}", said.err);
    place.fine(&["status", "whole"]);
    assert_eq!(count(&place, "b", "rows"), 400);
}

/// A folder moved to other results is not theirs, whatever its plan says.
#[test]
fn a_plan_that_was_moved_replaces_nothing() {
    let place = Place::new();
    place.write("night.yaml", &SPEC.replace("replications: 3000", "replications: 50"));
    place.fine(&["night.yaml", "--quiet", "--seed", "5", "--out", "other"]);
    let other = place.bytes("other/replications.parquet");
    for fresh in [false, true] {
        place.fine(&["night.yaml", "--quiet", "--out", "a"]);
        if fresh {
            let small = ["night.yaml", "--quiet", "--out", "a", "--seed", "7", "--fresh"];
            let stop = [&small[..], &["--fail-fast", "--set"]].concat();
            let cap = "model.loss_router.max_arrivals=2005";
            assert_eq!(place.run(&[&stop[..], &[cap]].concat()).code, Some(3));
        } else {
            std::fs::remove_dir_all(place.path("a")).unwrap();
            place.fine(&["night.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
        }
        std::fs::rename(place.path("a/unfinished"), place.path("other/unfinished")).unwrap();
        let said = place.run(&["run", "other", "--quiet"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("500 of their"), "{}", said.err);
        assert!(place.bytes("other/replications.parquet") == other);
        std::fs::remove_dir_all(place.path("other/unfinished")).unwrap();
    }
}

/// What a run says of a folder and of itself is so.
#[cfg(unix)]
#[test]
fn what_is_said_is_so() {
    let place = Place::new();
    let capped = SPEC.replace("horizon: 2000", "horizon: 200\n    max_arrivals: 205");
    place.write("night.yaml", &capped.replace("replications: 3000", "replications: 200"));
    // The same override twice is one, for whoever replays a failure too.
    let seed = ["night.yaml", "--quiet", "--out", "a", "--seed", "5"];
    assert_eq!(place.run(&[&seed[..], &["--shard", "1/2"]].concat()).code, Some(3));
    let said = place.run(&["run", "a", "--seed", "5", "--quiet"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    let replay = said.err.lines().find(|line| line.contains("balancelab replay")).unwrap();
    assert_eq!(replay.matches("--seed").count(), 1, "{replay}");
    place.run(&["night.yaml", "--seed", "5", "--quiet", "--out", "b"]);
    assert_equal(&place, "b", "a");
    assert!(place.bytes("a/failures.csv") == place.bytes("b/failures.csv"));
    // Failed replications are no rows.
    let again = place.run(&["night.yaml", "--seed", "5", "--out", "b"]);
    let rows = count(&place, "b", "rows");
    assert!(rows < 2000 && count(&place, "b", "reused") == rows, "{}", again.out);
    // A refused run leaves torn files as they are, and a user's folder where it is.
    place.run(&["night.yaml", "--quiet", "--out", "c", "--shard", "1/2"]);
    let torn = format!("c/unfinished/rows-{:032x}.parquet", 7);
    place.write(&torn, "torn");
    let refused = place.run(&["night.yaml", "--seed", "5", "--quiet", "--out", "c"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(!refused.err.contains("is torn") && place.path(&torn).exists(), "{}", refused.err);
    std::fs::create_dir(place.path("mine")).unwrap();
    let refused = place.run(&["night.yaml", "--quiet", "--out", "mine", "--shard", "1/9999"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(place.path("mine").exists());
    // Nor does `verify` write among the results of a run.
    place.write("claims.yaml", &SPEC.replace("3000", "20\npublished: {claims: [{policy: coin, at: {exponential: 6}, response: errors_pct, value: 1, tolerance: 99}]}"));
    place.fine(&["claims.yaml", "--quiet", "--out", "v/night"]);
    let before = place.bytes("v/night/claims.csv");
    let refused = place.run(&["verify", "claims.yaml", "--seed", "77", "--out", "v"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(place.bytes("v/night/claims.csv") == before);
    // Discarding what is there needs nothing of it.
    place.write("c/unfinished/plan.json", "{");
    assert_eq!(place.run(&["night.yaml", "--quiet", "--out", "c", "--fresh"]).code, Some(3));
    // Whoever asks for it outlives a terminal.
    place.write("long.yaml", SPEC);
    let mut command = std::process::Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_balancelab")).args(["long.yaml", "--quiet", "--out", "d"]);
    command.current_dir(place.path("")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    wait_for_rows(&place.path("d"));
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-HUP", &run.id().to_string()]).status().unwrap().success());
    assert!(run.wait().unwrap().success());
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
    use crate::resume::signal;

    let place = Place::new();
    place.write("night.yaml", SPEC);
    place.fine(&["night.yaml", "--quiet", "--out", "whole"]);
    let mut first = place.command(&["night.yaml", "--quiet", "--out", "cut"]).spawn().unwrap();
    wait_for_rows(&place.path("cut"));
    // It holds the folder, and doesn't come to its end meanwhile.
    signal("-STOP", &first);
    for more in [&[][..], &["--fresh"], &["--seed", "3"], &["--shard", "1/4"]] {
        let second = place.run(&[&["night.yaml", "--quiet", "--out", "cut"], more].concat());
        assert_eq!(second.code, Some(4), "{more:?} {}", second.err);
        assert!(second.err.contains("another run is at work in this folder"), "{}", second.err);
    }
    signal("-CONT", &first);
    assert!(first.wait().unwrap().success());
    assert_equal(&place, "whole", "cut");
    // Nor does a whole run begin beside a shard; but other shards do.
    let shard = ["night.yaml", "--quiet", "--out", "parts", "--shard", "1/2"];
    let mut first = place.command(&shard).spawn().unwrap();
    wait_for_rows(&place.path("parts"));
    signal("-STOP", &first);
    let second = place.run(&["night.yaml", "--quiet", "--out", "parts"]);
    assert_eq!(second.code, Some(4), "{}", second.err);
    assert!(second.err.contains("another run is at work in this folder"), "{}", second.err);
    place.fine(&["night.yaml", "--quiet", "--out", "parts", "--shard", "2/2"]);
    signal("-CONT", &first);
    assert!(first.wait().unwrap().success());
    place.fine(&["merge", "parts", "--quiet"]);
    assert_equal(&place, "whole", "parts");
}

/// A folder that is taken away from under a run ends it with a sentence, and isn't made again.
#[cfg(unix)]
#[test]
fn a_folder_that_vanishes_is_an_error_of_storage() {
    let place = Place::new();
    // Minutes of work: on a slow disk rows are brought there rarely, and a short run would be at
    // its end before it finds out.
    place.write("long.yaml", &SPEC.replace("replications: 3000", "replications: 200_000"));
    let mut command = place.command(&["long.yaml", "--quiet", "--out", "cut"]);
    let run = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.path("cut"));
    std::fs::rename(place.path("cut"), place.path("elsewhere")).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.starts_with("error: can't write cut/unfinished"), "{said}");
    assert!(!place.path("cut").exists());
    // What was there goes on from where it is now.
    let status = place.run(&["status", "elsewhere"]);
    assert_eq!(status.code, Some(3), "{}", status.err);
    assert!(!status.out.contains(": 0 replications are kept"), "{}", status.out);
    assert!(status.out.contains("`balancelab run elsewhere` goes on"), "{}", status.out);
}
