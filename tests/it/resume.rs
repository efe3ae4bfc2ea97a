//! Nothing that was simulated is lost: not to a signal, nor to a change that leaves it valid.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use polars::io::parquet::write::KeyValueMetadata;
use polars::prelude::{ParquetReader, ParquetWriter, SerReader};

use crate::program::Place;

/// Some 6 seconds of one core.
pub const SPEC: &str = "
name: night
seed: 9
model:
  loss_router:
    channels: [3, 5]
    interarrival: {exponential: 1}
    service: {exponential: {values: [6, 7]}}
    horizon: 2000
policies:
  - coin: {theta: 0.4}
  - trigger
  - theta: {rule: j, alpha: {values: [0.1, 0.2, 0.3]}}
replications: 3000
";

const FILES: [&str; 7] = [
    "replications.parquet",
    "summary.parquet",
    "summary.csv",
    "comparisons.parquet",
    "comparisons.csv",
    "best.parquet",
    "best.csv",
];

pub fn assert_equal(place: &Place, a: &str, b: &str) {
    for file in FILES {
        let (one, other) =
            (place.bytes(&format!("{a}/{file}")), place.bytes(&format!("{b}/{file}")));
        assert!(one == other, "{file} of {a} and {b}");
    }
}

pub fn count(place: &Place, folder: &str, name: &str) -> u64 {
    let manifest = place.bytes(&format!("{folder}/manifest.json"));
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    manifest["counts"][name].as_u64().unwrap()
}

/// Waits until a run has brought rows to disk.
pub fn wait_for_rows(folder: &Path) {
    let limit = Instant::now() + Duration::from_secs(60);
    let is_rows = |name: &str| name.starts_with("rows-");
    loop {
        let list = std::fs::read_dir(folder.join("unfinished"));
        let mut names = list.into_iter().flatten().flatten().map(|entry| entry.file_name());
        if names.any(|name| is_rows(&name.to_string_lossy())) {
            return;
        }
        assert!(Instant::now() < limit, "no rows in {}", folder.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
pub fn signal(name: &str, child: &std::process::Child) {
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A run is killed at 200 moments and each time started again; whenever it got to its end, its
/// files are those of an undisturbed run, and it begins anew.
#[test]
fn killed_at_200_moments_a_run_ends_in_the_same_bytes() {
    let place = Place::new();
    place.write("night.yaml", SPEC);
    place.fine(&["night.yaml", "--quiet", "--out", "whole"]);
    let (mut kills, mut ends, mut reused) = (0, 0, 0);
    let mut moment: u64 = 12345;
    while kills < 200 || ends == 0 {
        let mut run = place.command(&["night.yaml", "--quiet", "--out", "cut"]).spawn().unwrap();
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let patience = if kills < 200 { (moment >> 33) % 250 } else { 20_000 };
        let limit = Instant::now() + Duration::from_millis(patience);
        while run.try_wait().unwrap().is_none() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        match run.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success());
                assert_equal(&place, "whole", "cut");
                assert!(!place.path("cut/unfinished").exists());
                reused += count(&place, "cut", "reused");
                ends += 1;
                std::fs::remove_dir_all(place.path("cut")).unwrap();
            }
            None => {
                run.kill().unwrap();
                run.wait().unwrap();
                kills += 1;
            }
        }
    }
    assert!(reused > 0, "{ends} ends, and no row was kept");
}

/// A signal that comes while rows are written, not made, doesn't end a run as if it were whole.
#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_while_it_writes_is_not_taken_for_a_whole_one() {
    let place = Place::new();
    // Replications of some 30 requests: storing them takes longer.
    let text = SPEC.replace("horizon: 2000", "horizon: 30").replace("[6, 7]", "[6, 7, 8, 9]");
    place.write("tiny.yaml", &text.replace("replications: 3000", "replications: 20000"));
    for milliseconds in [300, 500, 700, 900] {
        let folder = format!("cut{milliseconds}");
        let arguments = ["tiny.yaml", "--quiet", "--out", &folder, "--threads", "2"];
        let run = place.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let mut kill = std::process::Command::new("kill");
        let _ = kill.args(["-TERM", &run.id().to_string()]).status();
        let output = run.wait_with_output().unwrap();
        match output.status.code() {
            Some(130) => assert!(!place.path(&folder).join("manifest.json").exists()),
            code => {
                assert_eq!(code, Some(0));
                assert_eq!(count(&place, &folder, "rows"), 4 * 5 * 20000);
            }
        }
    }
}

/// The first Ctrl-C ends a run in order, a second one at once; both leave what was done.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_it_goes_on() {
    let place = Place::new();
    place.write("night.yaml", SPEC);
    place.fine(&["night.yaml", "--quiet", "--out", "whole"]);
    // Under `nohup`, which this process may be, a hangup is passed over.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    let hangup = if ignored.trim().ends_with(['1', '3', '5', '7', '9', 'b', 'd', 'f']) {
        "-TERM"
    } else {
        "-HUP"
    };
    for signals in [&["-INT"][..], &["-TERM"], &[hangup], &["-INT", "-INT"]] {
        let mut command = place.command(&["night.yaml", "--quiet", "--out", "cut"]);
        let run = command.stderr(Stdio::piped()).spawn().unwrap();
        wait_for_rows(&place.path("cut"));
        signals.iter().for_each(|name| signal(name, &run));
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let said = String::from_utf8(output.stderr).unwrap();
        let kept =
            said.contains("of 30 000 replications are kept; run the same again, and it goes");
        assert!(kept || signals.len() == 2, "{said}");
        assert!(!place.path("cut/replications.parquet").exists());
        let status = place.run(&["status", "cut"]);
        assert_eq!(status.code, Some(3), "{}", status.err);
        // As many as it said it had kept.
        let number = |text: &str| text.rsplit(": ").next().unwrap().replace(' ', "");
        let told = said.split_once(" of 30 000").map(|(before, _)| number(before));
        let found = status.out.split_once(" replications are kept").unwrap().0;
        assert!(signals.len() == 2 || told.unwrap() == number(found), "{said}{}", status.out);
        assert!(status.out.contains("`balancelab run cut` goes on"), "{}", status.out);
        // By the folder's name too, whatever became of the spec's file.
        place.fine(&["run", "cut", "--quiet"]);
        assert_equal(&place, "whole", "cut");
        assert!(count(&place, "cut", "reused") > 0);
        assert_eq!(place.run(&["status", "cut"]).code, Some(0));
        std::fs::remove_dir_all(place.path("cut")).unwrap();
    }
}

#[test]
fn more_replications_values_and_policies_use_the_rows_that_are_there() {
    let place = Place::new();
    let small = SPEC.replace("replications: 3000", "replications: 100");
    place.write("night.yaml", &small);
    let more = small
        .replace("replications: 100", "replications: 250")
        .replace("  - trigger", "  - alternate\n  - trigger")
        .replace("values: [6, 7]", "values: [5, 6, 6.5, 7]")
        .replace("[0.1, 0.2, 0.3]", "[0.3, 0.25, 0.2, 0.1]")
        .replace("name: night", "name: night\nabout: other words\nconfidence: 0.9");
    place.write("more.yaml", &more);
    place.fine(&["night.yaml", "--quiet", "--out", "a"]);
    assert_eq!(count(&place, "a", "reused"), 0);
    let said = place.fine(&["night.yaml", "--replications", "200", "--out", "a"]);
    assert!(said.contains("= 2 000 rows (1 000 were there)"), "{said}");
    // Exactly 100 more of each of the 10 points were made.
    assert_eq!((count(&place, "a", "rows"), count(&place, "a", "reused")), (2000, 1000));
    place.fine(&["night.yaml", "--quiet", "--replications", "200", "--out", "b"]);
    assert_equal(&place, "a", "b");
    place.fine(&["more.yaml", "--quiet", "--out", "a"]);
    place.fine(&["more.yaml", "--quiet", "--out", "c"]);
    assert_equal(&place, "a", "c");
    assert_eq!(count(&place, "a", "reused"), 2000);
    assert_eq!(count(&place, "a", "rows"), 4 * 7 * 250);
}

/// Runs whose length depends on their data take up rows as well: those that they come to.
#[test]
fn points_that_stop_by_themselves_use_the_rows_that_are_there() {
    let place = Place::new();
    let until = |half_width: &str| {
        let until = format!("{{response: refusals_pct, half_width: {half_width}}}");
        SPEC.replace("replications: 3000", &format!("replications: {{max: 400, until: {until}}}"))
    };
    place.write("coarse.yaml", &until("0.4"));
    place.write("fine.yaml", &until("0.2"));
    place.fine(&["coarse.yaml", "--quiet", "--out", "a"]);
    let coarse = count(&place, "a", "rows");
    place.fine(&["fine.yaml", "--quiet", "--out", "a"]);
    place.fine(&["fine.yaml", "--quiet", "--out", "b"]);
    assert_equal(&place, "a", "b");
    assert_eq!(count(&place, "a", "reused"), coarse);
    assert!(count(&place, "a", "rows") > coarse);
    // The other way some rows would be lost, which only --fresh may do.
    let refused = place.run(&["coarse.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("rows no longer belong"), "{}", refused.err);
    assert!(refused.err.contains("half_width: 0.2 → 0.4"), "{}", refused.err);
    assert_equal(&place, "a", "b");
    // A policy twice doesn't make up for it; and what was made meanwhile serves elsewhere.
    let twice =
        until("0.4").replace("- trigger", "- trigger\n  - trigger: {label: again}\n  - alternate");
    place.write("twice.yaml", &twice);
    std::fs::remove_dir_all(place.path("a/unfinished")).unwrap();
    let refused = place.run(&["twice.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("a/unfinished keeps what this run made"), "{}", refused.err);
    assert_equal(&place, "a", "b");
    let refused = place.run(&["fine.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("removing a/unfinished discards"), "{}", refused.err);
    std::fs::create_dir(place.path("moved")).unwrap();
    std::fs::rename(place.path("a/unfinished"), place.path("moved/unfinished")).unwrap();
    place.fine(&["twice.yaml", "--quiet", "--out", "moved"]);
    assert!(count(&place, "moved", "reused") > 0);
    place.fine(&["twice.yaml", "--quiet", "--out", "anew"]);
    assert_equal(&place, "moved", "anew");
    place.fine(&["fine.yaml", "--quiet", "--out", "a"]);
    assert_equal(&place, "a", "b");
    // Batches of one run are all there or all made.
    place.write("batches.yaml", &SPEC.replace("replications: 3000", "replications: {batches: 20}"));
    place.fine(&["batches.yaml", "--quiet", "--out", "c"]);
    place.fine(&["batches.yaml", "--quiet", "--out", "c"]);
    assert_eq!((count(&place, "c", "rows"), count(&place, "c", "reused")), (200, 200));
}

#[test]
fn a_changed_spec_is_told_by_its_changes_and_needs_fresh() {
    let place = Place::new();
    let small = SPEC.replace("replications: 3000", "replications: 50");
    place.write("night.yaml", &small);
    place.fine(&["night.yaml", "--quiet", "--out", "a"]);
    let before = place.bytes("a/replications.parquet");
    let changed =
        small.replace("values: [6, 7]", "values: [6, 8]").replace("horizon: 2000", "horizon: 2500");
    place.write("night.yaml", &changed);
    let refused = place.run(&["night.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2));
    let expected =
        "error: a holds results of another spec, or of this one with other settings: 500 of \
        their 500 rows no longer belong
  model.loss_router.service.exponential.values: [6, 7] → [6, 8]
  model.loss_router.horizon: 2000 → 2500
--fresh discards them, --out DIR keeps both\n";
    assert_eq!(refused.err, expected);
    assert!(!place.path("a/unfinished").exists());
    let half = small.replace("values: [6, 7]", "values: [6, 8]");
    place.write("night.yaml", &half);
    let refused = place.run(&["night.yaml", "--quiet", "--out", "a"]);
    assert!(refused.err.contains("250 of their 500 rows no longer belong"), "{}", refused.err);
    assert!(place.bytes("a/replications.parquet") == before);
    place.fine(&["night.yaml", "--quiet", "--out", "a", "--fresh"]);
    place.fine(&["night.yaml", "--quiet", "--out", "b"]);
    assert_equal(&place, "a", "b");
}

/// Whoever discarded results and was stopped goes on with the new ones, and not with the old.
#[cfg(unix)]
#[test]
fn a_fresh_run_that_was_stopped_goes_on_without_fresh() {
    let place = Place::new();
    place.write("night.yaml", SPEC);
    place.fine(&["night.yaml", "--quiet", "--out", "whole"]);
    let other =
        SPEC.replace("seed: 9", "seed: 10").replace("replications: 3000", "replications: 40");
    place.write("other.yaml", &other);
    place.fine(&["other.yaml", "--quiet", "--out", "cut"]);
    let mut command = place.command(&["night.yaml", "--quiet", "--fresh", "--out", "cut"]);
    let run = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.path("cut"));
    signal("-INT", &run);
    let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
    assert!(said.contains("run the same again, without --fresh"), "{said}");
    // Until the new ones are whole, the old ones stay.
    assert_eq!(place.parquet("cut/replications.parquet").height(), 400);
    place.fine(&["night.yaml", "--quiet", "--out", "cut"]);
    assert_equal(&place, "whole", "cut");
    assert!(count(&place, "cut", "reused") > 0);
}

#[test]
fn rows_of_another_version_of_the_kernels_are_not_mixed_in() {
    let place = Place::new();
    place.write("night.yaml", &SPEC.replace("replications: 3000", "replications: 5"));
    place.fine(&["night.yaml", "--quiet", "--out", "a"]);
    let path = place.path("a/replications.parquet");
    let mut reader = ParquetReader::new(std::fs::File::open(&path).unwrap());
    let metadata = reader.get_metadata().unwrap().key_value_metadata().clone().unwrap();
    let mut frame = reader.finish().unwrap();
    let pairs = metadata.into_iter().map(|pair| {
        let older = pair.key == "kernels";
        (pair.key, if older { "0".to_owned() } else { pair.value.unwrap() })
    });
    let metadata = KeyValueMetadata::from_static(pairs.collect());
    let file = std::fs::File::create(&path).unwrap();
    ParquetWriter::new(file).with_key_value_metadata(Some(metadata)).finish(&mut frame).unwrap();
    // Whoever changes the rows of finished results keeps them for himself.
    for command in [&["night.yaml", "--quiet", "--out", "a"][..], &["status", "a"], &["merge", "a"]]
    {
        let refused = place.run(command);
        assert!(matches!(refused.code, Some(2 | 4)), "{command:?} {}", refused.err);
        assert!(refused.err.contains("it isn't what its manifest.json tells"), "{}", refused.err);
    }
    // Without a manifest nobody knows what they were.
    let manifest = String::from_utf8(place.bytes("a/manifest.json")).unwrap();
    std::fs::remove_file(place.path("a/manifest.json")).unwrap();
    let refused = place.run(&["night.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("there is no manifest"), "{}", refused.err);
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let hash = balancelab::rng::content_hash(&place.bytes("a/replications.parquet"));
    manifest["rows_hash"] = format!("{hash:032x}").into();
    place.write("a/manifest.json", &manifest.to_string());
    let refused = place.run(&["night.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("rows of version 0 of the kernels"), "{}", refused.err);
    place.fine(&["night.yaml", "--quiet", "--out", "a", "--fresh"]);
    // A file that isn't ours at all is no reason to lose it either.
    std::fs::write(&path, "not parquet").unwrap();
    let refused = place.run(&["night.yaml", "--quiet", "--out", "a"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("can't use the rows of a/replications.parquet"),
        "{}",
        refused.err
    );
}
