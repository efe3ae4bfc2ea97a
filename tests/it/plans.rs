//! Plans of shards: whose they are, and when they are done.

use crate::program::Place;
use crate::resume::wait_for_rows;
use crate::shards::{SPEC, assert_equal, in_shards};

/// Of shards of two plans that begin at the same time in a new folder those of one are refused.
#[cfg(unix)]
#[test]
fn shards_of_two_plans_at_once_are_not_mixed() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    for turn in 0..10 {
        let folder = format!("f{turn}");
        let start = |seed: &str, number: u32| {
            let shard = format!("{number}/4");
            let mut command = place.command(&["parts.yaml", "--quiet", "--out", &folder]);
            command.args(["--seed", seed, "--shard", &shard]).stderr(std::process::Stdio::piped());
            (seed.to_owned(), command.spawn().unwrap())
        };
        let seeds = ["1", "2"];
        let runs: Vec<_> =
            (1..=4).flat_map(|number| seeds.map(|seed| start(seed, number))).collect();
        let mut fine = Vec::new();
        for (seed, run) in runs {
            let output = run.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => fine.push(seed),
                code => assert_eq!(code, Some(2), "{said}"),
            }
        }
        assert!(fine.len() == 4 && fine.iter().all(|seed| *seed == fine[0]), "{fine:?}");
        assert_eq!(place.run(&["status", &folder, "--missing"]).out, "\n");
        place.fine(&["merge", &folder, "--quiet"]);
    }
}

/// `--fresh` may be given again, to `run` as to `submit`: what it began goes on.
#[cfg(unix)]
#[test]
fn fresh_given_twice_keeps_its_plan() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    std::fs::create_dir(place.path("bin")).unwrap();
    for (name, text) in [("sbatch", "echo 7"), ("scontrol", "echo MaxArraySize = 1001")] {
        let path = format!("bin/{name}");
        place.write(&path, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(place.path(&path), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let old_path = std::env::var("PATH").unwrap();
    let path = format!("{}:{old_path}", place.path("bin").display());
    let submit = |more: &[&str]| {
        let mut command = place.command(&["submit", "parts.yaml", "--engine", "slurm"]);
        command.args(["--out", "a"]).args(more).env("PATH", &path);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    place.fine(&["parts.yaml", "--seed", "9", "--quiet", "--out", "a"]);
    let old = place.bytes("a/replications.parquet");
    let fresh = ["--shards", "2", "--fresh"];
    assert_eq!(submit(&fresh), (Some(0), String::new()));
    place.fine(&["run", "a", "--shard", "1/2", "--quiet"]);
    // The shard that is there is kept, and the other one submitted.
    assert_eq!(submit(&fresh), (Some(0), String::new()));
    assert_eq!(place.run(&["status", "a", "--missing"]).out, "2\n");
    // What is refused has discarded nothing, whoever refuses it.
    let said = submit(&["--shards", "2", "--fresh", "--seed", "3", "--", "--arra=1"]);
    assert!(said.0 == Some(2) && said.1.contains("--arra can't be passed on"), "{said:?}");
    place.write("bin/sbatch", "#!/bin/sh\necho no such partition >&2; exit 1\n");
    let said = submit(&["--shards", "2", "--fresh", "--seed", "3"]);
    assert!(said.0 == Some(4) && said.1.contains("no such partition"), "{said:?}");
    assert_eq!(place.run(&["status", "a", "--missing"]).out, "2\n");
    // Nor does a run of something else take the plan from tasks that may be waiting.
    let said = place.run(&["parts.yaml", "--seed", "3", "--quiet", "--out", "a"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("cut into 2 shards whose tasks may be waiting"), "{}", said.err);
    // Nor does a run that is stopped at once.
    let mut ended = false;
    for milliseconds in [1, 5, 10, 20, 40] {
        let mut command = place.command(&["parts.yaml", "--quiet", "--out", "a"]);
        let mut run = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        let mut kill = std::process::Command::new("kill");
        let _ = kill.args(["-TERM", &run.id().to_string()]).output();
        if run.wait().unwrap().success() {
            // It was quicker.
            ended = true;
            break;
        }
        assert!(place.path("a/unfinished/plan.json").exists());
        assert!(place.bytes("a/replications.parquet") == old);
    }
    place.run(&["run", "a", "--shard", "2/2", "--quiet"]);
    // The shards are what is merged, though the plan is to replace what was there.
    place.fine(&["merge", "a", "--quiet"]);
    assert!(ended || crate::resume::count(&place, "a", "reused") == 230);
    place.fine(&["parts.yaml", "--quiet", "--out", "one"]);
    assert_equal(&place, "one", "a");
    // Another submission may come while this one waits for Slurm's word.
    let other = "submit parts.yaml --engine slurm --out a --shards 3 --fresh --seed 6";
    let program = place.command(&[]).get_program().to_str().unwrap().to_owned();
    let sbatch = format!("case $* in --test*) [ $BESIDE ] || BESIDE=1 {program} {other};; esac");
    place.write("bin/sbatch", &format!("#!/bin/sh\n{{ {sbatch}; }} >&2\necho 7\n"));
    assert_eq!(submit(&["--shards", "2", "--fresh", "--seed", "5"]).0, Some(2));
    assert_eq!(place.run(&["status", "a", "--missing"]).out, "1-3\n");
    assert_eq!(submit(&["--seed", "6"]).0, Some(0));
    place.write("bin/sbatch", "#!/bin/sh\necho 7\n");
    assert_eq!(submit(&["--shards", "2", "--fresh", "--seed", "5"]).0, Some(0));
    place.write("bin/sbatch", &format!("#!/bin/sh\n{{ {sbatch}; }} >&2\necho 7\n"));
    let said = submit(&["--seed", "5"]);
    assert!(said.0 == Some(2) && said.1.contains("in this folder meanwhile"), "{said:?}");
    assert_eq!(place.run(&["status", "a", "--missing"]).out, "1-3\n");
    // Whatever is to be replaced, damaged or not.
    place.write("bin/sbatch", "#!/bin/sh\necho 7\n");
    place.write("a/manifest.json", "{");
    assert_eq!(submit(&["--shards", "1", "--fresh", "--seed", "8"]), (Some(0), String::new()));
    place.fine(&["run", "a", "--shard", "1/1", "--quiet"]);
    place.fine(&["merge", "a", "--quiet"]);
    place.fine(&["parts.yaml", "--quiet", "--out", "one", "--seed", "8", "--fresh"]);
    assert_equal(&place, "one", "a");
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--fresh"]);
    let said = submit(&["--shards", "2"]);
    assert!(said.0 == Some(2) && said.1.contains("its results are in place"), "{said:?}");
}

/// What says otherwise than it is, is not believed: neither that all is there, nor that it is done.
#[test]
fn only_what_is_there_is_complete() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    // A shard that fails is no success because its like was there before.
    place.fine(&["parts.yaml", "--quiet", "--out", "a"]);
    place.fine(&["parts.yaml", "--quiet", "--out", "b", "--shard", "1/2"]);
    std::fs::rename(place.path("b/unfinished"), place.path("a/unfinished")).unwrap();
    let wall = place.path(&format!("a/unfinished/rows-000002-{:032x}.parquet", 7));
    std::fs::create_dir(&wall).unwrap();
    let shard = place.run(&["parts.yaml", "--quiet", "--out", "a", "--shard", "2/2"]);
    assert_eq!(shard.code, Some(4), "{}", shard.err);
    std::fs::remove_dir(&wall).unwrap();
    // A plan that was altered is no plan.
    let plan = String::from_utf8(place.bytes("a/unfinished/plan.json")).unwrap();
    for (from, to) in [("seed: 4", "seed: 5"), ("\"shards\": 2", "\"shards\": 0")] {
        assert!(plan.contains(from), "{plan}");
        place.write("a/unfinished/plan.json", &plan.replace(from, to));
        for command in ["status", "merge"] {
            let said = place.run(&[command, "a"]);
            assert_eq!(said.code, Some(4), "{}", said.err);
            assert!(said.err.contains("plan.json: it is damaged"), "{}", said.err);
        }
    }
    // Whatever is left of the folder after its end, the results are complete.
    std::fs::remove_file(place.path("a/unfinished/plan.json")).unwrap();
    place.fine(&["status", "a"]);
    place.fine(&["merge", "a"]);
    // Another question is not answered by what is finished.
    for change in ["--seed", "--replications"] {
        let said = place.run(&["run", "one", "--shard", "1/2", change, "99"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
    }
    std::fs::create_dir(place.path("empty")).unwrap();
    let said = place.run(&["run", "empty", "--shard", "7/9", "--out", "a"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    // A claim that failed is still one that failed.
    let claim = "published: {claims: [{policy: coin, at: {horizon: 300}, response: errors_pct, value: 99}]}\n";
    place.write("claim.yaml", &format!("{SPEC}{claim}"));
    place.fine(&["claim.yaml", "--quiet", "--out", "c", "--shard", "1/1"]);
    for merge in
        [&["merge", "c", "--quiet"][..], &["merge", "c", "--quiet"], &["merge", "c", "--json"]]
    {
        let said = place.run(merge);
        assert_eq!(said.code, Some(1), "{}", said.err);
        let json = serde_json::from_str::<serde_json::Value>(&said.out);
        assert!(
            if merge[2] == "--json" { json.is_ok() } else { said.out.is_empty() },
            "{}",
            said.out
        );
    }
}

/// An unfinished whole run is cut by the first shard that comes, and once.
#[cfg(unix)]
#[test]
fn a_whole_run_is_cut_once() {
    let place = Place::new();
    for turn in 0..3 {
        // The last one's shards take longer than others are waited for.
        let replications = if turn == 2 { 60_000 } else { 2000 };
        let text = SPEC.replace("replications: 23", &format!("replications: {replications}"));
        place.write("parts.yaml", &text);
        place.fine(&["parts.yaml", "--quiet", "--out", "one", "--fresh"]);
        let folder = format!("f{turn}");
        let mut run = place.command(&["parts.yaml", "--quiet", "--out", &folder]).spawn().unwrap();
        wait_for_rows(&place.path(&folder));
        run.kill().unwrap();
        run.wait().unwrap();
        let start = |shard: String| {
            let mut command = place.command(&["parts.yaml", "--quiet", "--out", &folder]);
            command.args(["--shard", &shard]).stderr(std::process::Stdio::piped());
            (shard, command.spawn().unwrap())
        };
        let shards: Vec<_> =
            (1..=3).flat_map(|k| [format!("{k}/3"), format!("{k}/4")]).map(start).collect();
        let mut fine: Vec<String> = Vec::new();
        for (shard, run) in shards {
            let output = run.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => fine.push(shard),
                code => assert_eq!(code, Some(2), "{said}"),
            }
        }
        let of = fine[0].split_once('/').unwrap().1;
        assert!(fine.len() == 3 && fine.iter().all(|shard| shard.ends_with(of)), "{fine:?}");
        let missing = place.run(&["status", &folder, "--missing"]).out;
        assert_eq!(missing, if of == "3" { "\n" } else { "4\n" });
        place.fine(&["run", &folder, "--quiet"]);
        assert_equal(&place, "one", &folder);
    }
}

/// Whoever looks while another merges sees shards or results, never neither.
#[test]
fn nothing_seems_missing_beside_a_merge() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    for turn in 0..3 {
        let folder = format!("m{turn}");
        in_shards(&place, "parts.yaml", &folder, 30);
        let mut merge = place.command(&["merge", &folder, "--quiet"]).spawn().unwrap();
        while merge.try_wait().unwrap().is_none() {
            let said = place.run(&["status", &folder]);
            assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        }
    }
}

/// A run whose folder was given to another plan keeps nothing there: its rows would be foreign.
#[test]
fn a_run_that_lost_its_folder_leaves_it_alone() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.write("long.yaml", &SPEC.replace("replications: 23", "replications: 200_000"));
    let mut command = place.command(&["long.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
    let long = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.path("a"));
    std::fs::remove_dir_all(place.path("a/unfinished")).unwrap();
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--shard", "1/2"]);
    let output = long.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4), "{said}");
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--shard", "2/2"]);
    place.fine(&["merge", "a", "--quiet"]);
    place.fine(&["parts.yaml", "--quiet", "--out", "one"]);
    assert_equal(&place, "one", "a");
}
