//! Runs in shards, which a scheduler may start anywhere, in any order and more than once.

use balancelab::engine::{self, Case, Options, Plan, Shard};
use balancelab::frame::{Store, Work, finished_shard};

use crate::program::Place;

pub const SPEC: &str = "
name: parts
seed: 4
model:
  loss_router:
    channels: [3, 5]
    interarrival: {exponential: 1}
    service: {exponential: 6}
    horizon: {values: [300, 900]}
policies:
  - coin: {theta: 0.4}
  - trigger
  - theta: {rule: j, alpha: {values: [0.1, 0.2, 0.3]}}
replications: 23
";

fn experiment(text: &str) -> balancelab::spec::Experiment {
    balancelab::spec::load("spec", text.to_owned(), &[], &|_| Err("none".to_owned())).unwrap()
}

/// Runs all shards of a spec, last one first, and merges them.
pub fn in_shards(place: &Place, spec: &str, folder: &str, shards: u32) {
    for number in (1..=shards).rev() {
        let shard = format!("{number}/{shards}");
        let said = place.run(&[spec, "--quiet", "--out", folder, "--shard", &shard]);
        assert!(matches!(said.code, Some(0 | 3)), "{shard} {}", said.err);
    }
    let status = place.run(&["status", folder]);
    assert_eq!(status.code, Some(0), "{}", status.out);
}

/// Compares two folders of results, but for what tells how they were made.
pub fn assert_equal(place: &Place, a: &str, b: &str) {
    let files = |folder: &str| {
        let list = std::fs::read_dir(place.path(folder)).unwrap();
        list.map(|entry| entry.unwrap()).filter(|entry| entry.file_type().unwrap().is_file())
    };
    let mut count = 0;
    for part in ["", "/figures"] {
        for entry in files(&format!("{a}{part}")) {
            let file = entry.file_name().into_string().unwrap();
            if !["manifest.json", "report.html"].contains(&file.as_str()) {
                let bytes = |folder: &str| place.bytes(&format!("{folder}{part}/{file}"));
                assert!(bytes(a) == bytes(b), "{file} of {a} and {b}");
                count += 1;
            }
        }
    }
    assert!(count >= 8);
}

/// Whatever their number, shards follow each other without gap or overlap, and have about equal
/// numbers of arrivals where replications are small.
#[test]
fn shards_are_the_plan_cut_into_even_parts() {
    let until = "replications: {max: 50, until: {response: errors_pct, half_width: 1}}";
    for text in [
        SPEC.to_owned(),
        SPEC.replace("replications: 23", "replications: {batches: 5}"),
        SPEC.replace("replications: 23", until),
        SPEC.replace("replications: 23", "replications: 1\nwhere: alpha != 0.2 || horizon < 500"),
    ] {
        let experiment = experiment(&text);
        let whole = Plan::all(&experiment);
        for of in (1..=engine::most_shards(&experiment).unwrap()).step_by(7) {
            let mut jobs = Vec::new();
            let mut arrivals: Vec<f64> = Vec::new();
            for number in 1..=of {
                let plan = Plan::shard(&experiment, Shard { number, of });
                let mut count = 0.0;
                let before = jobs.len();
                for (at, &point) in plan.points.iter().enumerate() {
                    let (first, until) = plan.part.unwrap();
                    let start = if at == 0 { first } else { 0 };
                    let last = at + 1 == plan.points.len();
                    let end = if last { until } else { plan.most() };
                    jobs.extend((start..end).map(|replication| (point, replication)));
                    let model = experiment.model(&experiment.design.point(point)).unwrap();
                    count += f64::from(end - start) * model.expected_arrivals();
                }
                assert_eq!(plan.total(), (jobs.len() - before) as u64, "{number}/{of}");
                arrivals.push(count);
            }
            let most = whole.most();
            let all = (0..experiment.points()).flat_map(|p| (0..most).map(move |r| (p, r)));
            assert!(jobs.iter().copied().eq(all), "{of} shards");
            if of < 12 && whole.checkpoints == [23] {
                let fair = arrivals.iter().sum::<f64>() / f64::from(of);
                assert!(arrivals.iter().all(|count| (count - fair).abs() <= 900.0), "{arrivals:?}");
            }
        }
    }
}

#[test]
fn shards_end_in_the_bytes_of_one_process() {
    let place = Place::new();
    let until = "replications: {max: 50, until: {response: errors_pct, half_width: 1}}";
    let capped = SPEC.replace("values: [300, 900]}", "values: [300, 900]}\n    max_arrivals: 920");
    for (name, text, shards) in [
        ("fixed", SPEC.to_owned(), &[1, 3, 40, 230][..]),
        ("failing", capped, &[7]),
        ("batches", SPEC.replace("replications: 23", "replications: {batches: 5}"), &[4]),
        ("until", SPEC.replace("replications: 23", until), &[10]),
    ] {
        let spec = format!("{name}.yaml");
        place.write(&spec, &text);
        let said = place.run(&[&spec, "--quiet", "--out", name]);
        for &shards in shards {
            let folder = format!("{name}-{shards}");
            in_shards(&place, &spec, &folder, shards);
            let merged = place.run(&["merge", &folder, "--quiet"]);
            assert_eq!((merged.code, merged.err), (said.code, said.err.clone()));
            assert_equal(&place, name, &folder);
            assert!(!place.path(&format!("{folder}/unfinished")).exists());
            // Tasks that come late, or twice, find everything done.
            let late = [folder.as_str(), "--shard", "1/3", "--quiet"];
            let other = [&spec, "--out", &folder, "--shard", "1/3", "--quiet"];
            for late in [&[&["run"], &late[..]].concat()[..], &other, &["merge", &folder]] {
                assert_eq!(place.run(late).code, said.code, "{late:?}");
            }
            assert!(!place.path(&format!("{folder}/unfinished")).exists());
        }
    }
    let rows = place.parquet("failing/replications.parquet").height();
    assert!((115..230).contains(&rows), "{rows} rows did not fail");
}

#[test]
fn what_is_missing_is_named_and_made() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.fine(&["parts.yaml", "--quiet", "--out", "one"]);
    in_shards(&place, "parts.yaml", "many", 12);
    let file = |number: u32| {
        let prefix = format!("shard-{number:06}-");
        let list = std::fs::read_dir(place.path("many/unfinished")).unwrap();
        let mut names = list.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        format!("many/unfinished/{}", names.find(|name| name.starts_with(&prefix)).unwrap())
    };
    let whole = place.bytes(&file(5));
    // One is gone, three are torn, one is another's.
    std::fs::remove_file(place.path(&file(3))).unwrap();
    std::fs::write(place.path(&file(7)), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(place.path(&file(8)), "").unwrap();
    std::fs::write(place.path(&file(9)), "not parquet at all").unwrap();
    let theirs = file(5).replace("shard-000005", "shard-000012");
    std::fs::rename(place.path(&file(12)), place.path(&theirs)).unwrap();
    std::fs::copy(place.path(&file(5)), place.path(&theirs)).unwrap();
    std::fs::write(place.path("many/unfinished/error-000008.txt"), "no such node\n").unwrap();
    let missing = place.run(&["status", "many", "--missing"]);
    assert_eq!((missing.code, missing.out.as_str()), (Some(3), "3,7-9,12\n"));
    let status = place.run(&["status", "many"]);
    assert!(status.out.starts_with("many: 7 of 12 shards are there; missing: 3,7-9,12\n"));
    assert!(status.out.contains("shard 8: no such node\n"), "{}", status.out);
    let merge = place.run(&["merge", "many"]);
    assert_eq!(merge.code, Some(3));
    assert!(merge.err.contains("5 of 12 shards are missing: 3,7-9,12"), "{}", merge.err);
    assert!(!place.path("many/replications.parquet").exists());
    for number in [3, 7, 8, 9, 12] {
        let shard = format!("{number}/12");
        let said = place.run(&["run", "many", "--shard", &shard, "--quiet"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let torn = said.err.contains("is torn; it is discarded");
        assert_eq!(torn, (7..=9).contains(&number), "{number} {}", said.err);
    }
    place.fine(&["merge", "many", "--quiet"]);
    assert_equal(&place, "one", "many");
}

/// What is complete is what was asked for: another file of data, or another figure to compare with,
/// is another run.
#[test]
fn results_of_other_data_are_not_taken_for_complete() {
    let place = Place::new();
    let data = SPEC.replace("service: {exponential: 6}", "service: {empirical: times.csv}");
    let figure = "published: {claims: [{policy: coin, at: {horizon: 300}, response: errors_pct, value: 7.7}]}\n";
    place.write("parts.yaml", &format!("{data}{figure}"));
    place.write("times.csv", "3\n6\n9\n");
    let said = place.run(&["parts.yaml", "--quiet", "--out", "a"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let rows = place.bytes("a/replications.parquet");
    place.write("parts.yaml", &format!("{data}{}", figure.replace("7.7", "7.70")));
    place.run(&["parts.yaml", "--quiet", "--out", "a", "--shard", "1/1"]);
    assert_eq!(place.run(&["merge", "a", "--quiet"]).code, Some(1));
    let manifest = String::from_utf8(place.bytes("a/manifest.json")).unwrap();
    assert!(place.bytes("a/replications.parquet") == rows && manifest.contains("7.70"));
    place.write("times.csv", "3\n6\n12\n");
    for arguments in [&["--shard", "1/2"][..], &[]] {
        let said = place.run(&[&["parts.yaml", "--quiet", "--out", "a"], arguments].concat());
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("times.csv has changed"), "{}", said.err);
        assert_eq!(said.err.contains("--fresh"), arguments.is_empty(), "{}", said.err);
        assert!(!place.path("a/unfinished").exists());
    }
    let submit = ["submit", "parts.yaml", "--engine", "hq", "--out", "a"];
    std::fs::create_dir(place.path("bin")).unwrap();
    std::fs::copy("/bin/true", place.path("bin/hq")).unwrap();
    let output = place.command(&submit).env("PATH", place.path("bin")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("times.csv has changed"), "{said}");
    assert!(place.bytes("a/replications.parquet") == rows);
    // A run that was stopped says why it can't go on, too.
    place.fine(&["parts.yaml", "--quiet", "--out", "b", "--shard", "1/2"]);
    place.write("times.csv", "1\n2\n");
    let said = place.run(&["parts.yaml", "--quiet", "--out", "b"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("times.csv has changed"), "{}", said.err);
    assert!(said.err.contains("removing b/unfinished discards"), "{}", said.err);
    std::fs::remove_dir_all(place.path("b/unfinished")).unwrap();
    place.run(&["parts.yaml", "--quiet", "--out", "b"]);
    assert!(place.path("b/manifest.json").exists());
}

/// A small file of rows is torn at every byte: none of its rows is believed.
#[test]
fn rows_torn_at_any_byte_are_made_again() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--shard", "9/230"]);
    let work = Work::share(&place.path("a")).unwrap();
    let intent = work.intent().unwrap().unwrap();
    let experiment = experiment(SPEC);
    let shard = Shard { number: 9, of: 230 };
    let [file] = work.row_files(Some(shard)).unwrap().try_into().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let identity = Case::new(&experiment, 0).unwrap().identity();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let options = Options { threads: 1, fail_fast: false, cancel: &cancel };
    let rows = || {
        let mut said = Vec::new();
        let tell = &mut |line| said.push(line);
        let store = Store::open(&work, &experiment, &intent, Some(shard), options, tell).unwrap();
        let known = engine::Store::recall(&store, identity, 0..23).unwrap();
        (known.into_iter().flatten().count(), said.len())
    };
    let all = rows();
    assert!(all.0 > 0 && all.1 == 0, "{all:?}");
    for cut in 0..bytes.len() {
        std::fs::write(&file, &bytes[..cut]).unwrap();
        assert_eq!(finished_shard(&work, &intent, shard).unwrap(), None, "cut at {cut}");
        assert_eq!(rows(), (0, 1), "cut at {cut}");
        assert!(!file.exists());
    }
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(finished_shard(&work, &intent, shard).unwrap(), Some(0));
    assert_eq!(rows(), all);
}

#[test]
fn the_number_of_a_task_comes_from_its_environment() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    let shard = ["parts.yaml", "--out", "a", "--shard", "/4", "--quiet"];
    for (number, name) in
        [(1, "SLURM_ARRAY_TASK_ID"), (2, "HQ_TASK_ID"), (3, "SGE_TASK_ID"), (4, "PBS_ARRAY_INDEX")]
    {
        let mut command = place.command(&shard);
        // SGE says so to tasks that are in no array.
        let status = command.env("SGE_TASK_ID", "undefined").env(name, number.to_string()).status();
        assert!(status.unwrap().success());
        let missing = place.run(&["status", "a", "--missing"]);
        assert_eq!(missing.out, ["2-4\n", "3-4\n", "4\n", "\n"][number - 1]);
    }
    let none = place.run(&shard);
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("none of them is set; write --shard K/4"), "{}", none.err);
    let output = place.command(&shard).env("HQ_TASK_ID", "5").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("HQ_TASK_ID is `5`, which is no number from 1 to 4"), "{said}");
}

#[test]
fn shards_of_different_plans_are_not_mixed() {
    let place = Place::new();
    place.write("parts.yaml", SPEC);
    place.fine(&["parts.yaml", "--quiet", "--out", "a", "--shard", "1/4"]);
    let other = |more: &[&str], part: &str| {
        let said = place.run(&[&["parts.yaml", "--quiet", "--out", "a"], more].concat());
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(part), "{}", said.err);
    };
    other(&["--shard", "1/5"], "is cut into 4 shards, not 5");
    other(&["--shard", "1/4", "--seed", "5"], "an unfinished run of another spec");
    other(&["--shard", "1/4", "--seed", "5"], "discard what it has kept by removing a/unfinished");
    other(&["--shard", "1/231"], "231 shards are more than the 230");
    other(&["--shard", "0/4"], "`0/4` is no shard");
    other(&["--shard", "5/4"], "`5/4` is no shard");
    other(&["--shard", "1/4", "--fresh"], "cannot be used with");
    place.write("best.yaml", &format!("{SPEC}select: {{response: errors_pct, delta: 1}}\n"));
    let said = place.run(&["best.yaml", "--shard", "1/2"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    // The whole run takes the shard's rows up.
    let said = place.fine(&["parts.yaml", "--out", "a"]);
    assert!(said.contains("were there)"), "{said}");
    place.fine(&["parts.yaml", "--quiet", "--out", "one"]);
    assert_equal(&place, "one", "a");
    for (command, folder, code) in
        [("status", "nowhere", 2), ("merge", "nowhere", 2), ("status", "a", 0), ("merge", "a", 0)]
    {
        assert_eq!(place.run(&[command, folder]).code, Some(code), "{command} {folder}");
    }
    let plan = place.fine(&["plan", "parts.yaml", "--shards", "40"]);
    assert!(plan.ends_with("in 40 shards of about less than a second on one thread\n"), "{plan}");
    let plan = place.fine(&["plan", "parts.yaml", "--shard-seconds", "0.001"]);
    assert!(plan.contains("in 5 shards of about"), "{plan}");
}

/// A shard that is killed or asked to stop goes on from where it was.
#[cfg(unix)]
#[test]
fn a_stopped_shard_keeps_its_rows() {
    let place = Place::new();
    place.write("parts.yaml", &SPEC.replace("replications: 23", "replications: 20000"));
    place.fine(&["parts.yaml", "--quiet", "--out", "one"]);
    for signal in ["KILL", "TERM"] {
        let arguments = ["parts.yaml", "--quiet", "--out", signal, "--shard", "2/2"];
        let unfinished = place.path(&format!("{signal}/unfinished"));
        let kept = || -> usize {
            let list = std::fs::read_dir(&unfinished).into_iter().flatten().flatten();
            let files = list
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("rows-000002-"));
            files.map(|entry| crate::program::parquet(&entry.path()).height()).sum()
        };
        let mut command = place.command(&arguments);
        let run = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while kept() == 0 {
            assert!(std::time::Instant::now() < limit);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-s", signal, &run.id().to_string()]).status().unwrap().success());
        let output = run.wait_with_output().unwrap();
        if signal == "TERM" {
            assert_eq!(output.status.code(), Some(130));
            let said = String::from_utf8(output.stderr).unwrap();
            let rows = balancelab::report::grouped(kept() as f64);
            let expected = format!("interrupted: {rows} of 66 666 replications of shard 2/2");
            assert!(said.contains(&expected), "{said}");
        }
        assert!(kept() > 0);
        assert_eq!(place.run(&["status", signal, "--missing"]).out, "1-2\n");
        place.fine(&arguments);
        assert_eq!(kept(), 0);
        place.fine(&["parts.yaml", "--quiet", "--out", signal, "--shard", "1/2"]);
        place.fine(&["merge", signal, "--quiet"]);
        assert_equal(&place, "one", signal);
    }
}
