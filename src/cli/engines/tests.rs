//! What engines are told, and how their answers are read.

use std::process::Stdio;

use super::*;

const PLAN: &str = "00c0ffee";

/// Calls `test` with a submission whose paths hold what a shell could stumble over.
fn with_submission(missing: &[u32], options: &[&str], test: impl FnOnce(&Submission, &Paths)) {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let submission = Submission {
        program: Path::new("/opt/it's $HOME/balancelab"),
        folder: Path::new("/data/100% \"new\""),
        name: "quick start",
        missing,
        shards: 40,
        options: &options,
        dry_run: true,
        plan: PLAN,
        set_plan: &|| Ok(()),
    };
    let paths = Paths::new(&submission).unwrap();
    test(&submission, &paths);
}

fn sh(arguments: &[&str], script: &str) -> (Option<i32>, String) {
    let mut shell = Command::new("sh")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn scripts_are_what_a_plain_shell_understands() {
    with_submission(&[1], &[], |submission, paths| {
        for script in
            [slurm_script(paths, submission.shards), hyperqueue_script(paths, submission.shards)]
        {
            assert_eq!(sh(&["-n"], &script), (Some(0), String::new()), "{script}");
            assert!(script.lines().all(|line| line.len() <= 100), "{script}");
            let head = script.lines().take(6).collect::<Vec<_>>().join("\n");
            let (_, said) = sh(&[], &format!("{head}\necho \"$program|$folder|$shards|$plan\""));
            assert_eq!(said, "/opt/it's $HOME/balancelab|/data/100% \"new\"|40|00c0ffee\n");
        }
    });
}

/// Runs a script in a folder `it's here` whose program ends as `program` says, with a
/// `scontrol` that notes its calls. Returns the exit code, what is kept of errors,
/// and those calls.
fn end_of_task(engine: fn(&Paths, u32) -> String, program: &str) -> (i32, String, String) {
    end_beside(engine, program, &[("unfinished/plan.json", PLAN)])
}

/// As [`end_of_task`], in a folder with these files.
fn end_beside(
    engine: fn(&Paths, u32) -> String,
    program: &str,
    files: &[(&str, &str)],
) -> (i32, String, String) {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join("it's here").join(name);
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
    std::fs::create_dir_all(path("unfinished")).unwrap();
    let executable = |name: &str, content: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path(name), format!("#!/bin/sh\n{content}\n")).unwrap();
        std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o755)).unwrap();
    };
    executable("program", &format!("echo \"$@\" >>\"${{0%/*}}\"/calls; echo said >&2; {program}"));
    executable("scontrol", "echo \"$@\" >>\"${0%/*}\"/calls");
    executable("sleep", "");
    let paths = Paths {
        program: path("program").to_str().unwrap().to_owned(),
        folder: path("").to_str().unwrap().trim_end_matches('/').to_owned(),
        unfinished: path("unfinished").to_str().unwrap().to_owned(),
        plan: PLAN.to_owned(),
    };
    for (name, content) in files {
        std::fs::write(path(name), format!("{{\"plan\": \"{content}\", \"shards\": 4000, }}"))
            .unwrap();
    }
    std::fs::write(path("job.sh"), engine(&paths, 4000)).unwrap();
    let search = format!("{}:{}", paths.folder, std::env::var("PATH").unwrap());
    let status = Command::new("sh")
        .args([path("job.sh").to_str().unwrap(), "1000"])
        .env("PATH", search)
        .envs([("SLURM_ARRAY_JOB_ID", "12"), ("SLURM_ARRAY_TASK_ID", "7")])
        .envs([("SLURM_CPUS_PER_TASK", "4"), ("SLURM_RESTART_COUNT", "1")])
        .envs([("HQ_JOB_ID", "12"), ("HQ_TASK_ID", "1007"), ("HQ_CPUS", "3,5,6,7")])
        .status()
        .unwrap();
    let calls = text("calls").replace(&paths.folder, "DIR");
    let host = Command::new("uname").arg("-n").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let error = text("unfinished/error-001007.txt").replace(host.trim(), "HOST");
    (status.code().unwrap(), error, calls)
}

const SHARD: &str = "run DIR --shard 1007/4000 --out DIR --threads 4 --quiet\n";

#[test]
fn a_complete_shard_is_a_success_and_leaves_no_error() {
    for engine in [slurm_script, hyperqueue_script] {
        for program in ["exit 0", "exit 3"] {
            assert_eq!(end_of_task(engine, program), (0, String::new(), SHARD.to_owned()));
        }
    }
}

#[test]
fn an_error_is_kept_and_not_tried_again() {
    for program in ["exit 2", "exit 4", "exit 130"] {
        let code: i32 = program[5..].parse().unwrap();
        let (end, error, calls) = end_of_task(slurm_script, program);
        assert_eq!((end, calls.as_str()), (code, SHARD), "{program}");
        assert_eq!(
            error,
            format!(
                "said\n\
                 shard 1007 of 4000: exit code {code} on HOST, Slurm job 12_7, restart 1\n"
            )
        );
        let (end, _, calls) = end_of_task(hyperqueue_script, program);
        assert_eq!((end, calls.as_str()), (code, SHARD), "{program}");
    }
}

#[test]
fn a_killed_program_is_started_again() {
    let (end, error, calls) = end_of_task(slurm_script, "kill -9 $$");
    assert_eq!((end, calls), (137, format!("{SHARD}requeue 12_7\n")));
    assert!(error.contains("exit code 137 on HOST, Slurm job 12_7, restart 1\n"), "{error}");
    let (end, error, calls) = end_of_task(hyperqueue_script, "kill -9 $$");
    assert_eq!((end, calls), (137, SHARD.repeat(3)));
    assert!(error.ends_with("HyperQueue job 12, start 3 of 3\n"), "{error}");
}

#[test]
fn a_task_of_a_plan_that_is_done_or_gone_runs_nothing() {
    let (plan, results) = ("unfinished/plan.json", "manifest.json");
    for engine in [slurm_script, hyperqueue_script] {
        let (end, _, calls) = end_beside(engine, "exit 0", &[(results, PLAN)]);
        assert_eq!((end, calls.as_str()), (0, ""));
        for files in [&[(plan, "other"), (results, "third")][..], &[(results, "other")], &[]] {
            let (end, _, calls) = end_beside(engine, "exit 0", files);
            assert_eq!((end, calls.as_str()), (2, ""), "{files:?}");
        }
        // Results that are to be replaced are no sign that it is done.
        let (end, _, calls) = end_beside(engine, "exit 0", &[(plan, PLAN), (results, "other")]);
        assert_eq!((end, calls.as_str()), (0, SHARD));
    }
}

#[test]
fn merging_of_a_plan_that_is_gone_does_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("it's $HOME");
    std::fs::create_dir_all(folder.join("unfinished")).unwrap();
    let of = Submission {
        program: Path::new("/bin/echo"),
        folder: &folder,
        name: "",
        missing: &[1],
        shards: 1,
        options: &[],
        dry_run: false,
        plan: PLAN,
        set_plan: &|| Ok(()),
    };
    let call = merge_call(&of, &Paths::new(&of).unwrap(), &[]);
    let script = call.arguments.last().unwrap().strip_prefix("--wrap=").unwrap();
    for (name, plan, code) in
        [("manifest.json", "", 2), ("manifest.json", PLAN, 0), ("unfinished/plan.json", PLAN, 0)]
    {
        std::fs::write(folder.join(name), plan).unwrap();
        let (end, said) = sh(&[], script);
        assert_eq!(end, Some(code), "{said}");
        // What is merged already isn't again, and least of all with another plan's.
        assert_eq!(said.contains("merge"), name != "manifest.json", "{said}");
    }
}

#[test]
fn a_cancelled_task_is_not_started_again() {
    // As an engine does, the program signals the shell too. Not by SIGINT: a test that is run in the
    // background ignores it, and so does every shell below.
    let (end, _, calls) = end_of_task(slurm_script, "kill $PPID; kill $$");
    assert_eq!((end, calls.as_str()), (143, SHARD));
    let (end, _, calls) = end_of_task(hyperqueue_script, "kill $PPID; kill -9 $$");
    assert_eq!((end, calls.as_str()), (137, SHARD));
}

#[test]
fn an_array_is_what_is_missing() {
    with_submission(&[3, 7, 8, 9], &["--time=10", "-p", "long"], |submission, paths| {
        let array = Array { offset: 0, indices: vec![3, 7, 8, 9] };
        assert_eq!(
            array_call(submission, paths, &array).to_string(),
            "sbatch --parsable --requeue --array=3,7-9 '--job-name=quick start' \
             '--output=/data/100%% \"new\"/unfinished/slurm-%A_%a.txt' --open-mode=append \
             --time=10 -p long '/data/100% \"new\"/unfinished/slurm-00c0ffee-40.sh'"
        );
        let array = Array { offset: 1000, indices: vec![1] };
        let call = array_call(submission, paths, &array).to_string();
        assert!(call.ends_with("unfinished/slurm-00c0ffee-40.sh' 1000"), "{call}");
    });
}

#[test]
fn merging_waits_for_every_array_and_has_the_last_word_on_its_log() {
    with_submission(&[1], &["--output=x", "--account=a"], |submission, paths| {
        let call = merge_call(submission, paths, &["12".into(), "13".into()]);
        assert_eq!(
            call.arguments,
            [
                "--parsable",
                "--output=x",
                "--account=a",
                "--dependency=afterany:12:13",
                "--job-name=quick start-merge",
                "--output=/data/100%% \"new\"/merge.log",
                "--open-mode=truncate",
                "--wrap=grep -qs 00c0ffee '/data/100% \"new\"/unfinished'/plan.json || \
                 { grep -qs 00c0ffee '/data/100% \"new\"'/manifest.json && exit 0; echo 'the folder has another run now, or is gone'; exit 2; }; \
                 exec '/opt/it'\\''s $HOME/balancelab' merge '/data/100% \"new\"' \
                 --threads \"${SLURM_CPUS_PER_TASK:-1}\"",
            ]
        );
    });
}

#[test]
fn arrays_have_the_indices_that_the_site_accepts() {
    assert_eq!(arrays(&[1, 2, 15], 15), [Array { offset: 0, indices: vec![1, 2, 15] }]);
    assert_eq!(
        arrays(&[2, 15, 16, 30, 31, 40], 15),
        [
            Array { offset: 0, indices: vec![2, 15] },
            Array { offset: 15, indices: vec![1, 15] },
            Array { offset: 30, indices: vec![1, 10] },
        ]
    );
    assert_eq!(arrays(&[u32::MAX], 1)[0].offset, u32::MAX - 1);
}

#[test]
fn max_array_size_is_found_in_what_scontrol_prints() {
    let config = "MaxArraySizeOfOthers    = 3\nMaxArraySize            = 1001\nA = b = c\n";
    assert_eq!(max_array_size(config), Some(1001));
    assert_eq!(max_array_size("Configuration data as of 2026-11-30T03:30:12\n"), None);
}

#[test]
fn a_job_number_is_read_with_and_without_a_cluster() {
    let call = Call::new("sbatch", SLURM_HELP, ["--parsable"]);
    assert_eq!(job_id(&call, "12\n").unwrap(), "12");
    assert_eq!(job_id(&call, "12;far\n").unwrap(), "12");
    let error = job_id(&call, "Submitted batch job 12").unwrap_err().after(&["7".into()]);
    assert_eq!(
        error.to_string(),
        "sbatch --parsable\n\
         did not answer with a job's number but with `Submitted batch job 12`\n\
         submitted before it, and going on: 7; end them with `scancel 7`, or let them end and \
         submit again, which runs what is missing then"
    );
}

#[test]
fn nothing_else_than_the_missing_shards_is_submitted() {
    for options in [&["--array=1-9"][..], &["-p", "long", "-a", "3"], &["--wrap", "true"]] {
        with_submission(&[1], options, |submission, _| {
            let error = slurm(submission).unwrap_err();
            assert!(error.is::<Usage>(), "{error}");
        });
    }
    with_submission(&[], &[], |submission, _| {
        assert!(slurm(submission).is_err());
        assert!(hyperqueue(submission).is_err());
    });
}

#[test]
fn a_dry_run_shows_commands_and_script_and_needs_no_engine() {
    with_submission(&[1, 2, 40], &["--cpus=4"], |submission, _| {
        let text = hyperqueue(submission).unwrap();
        assert!(text.starts_with(
            "hq --output-mode=quiet submit --array=1-2,40 '--name=quick start' --stdout=none \
             --stderr=none --cpus=4 -- sh -c "
        ));
        assert!(text.contains("shard=$HQ_TASK_ID\n"));
        let text = slurm(submission).unwrap();
        assert!(text.contains("sbatch --parsable --requeue --array=1-2,40 "), "{text}");
        assert!(text.contains("--dependency=afterany:JOB1 "), "{text}");
        assert!(text.contains("scontrol requeue \"$task\""), "{text}");
    });
}

#[test]
fn words_are_quoted_where_a_shell_would_split_or_change_them() {
    assert_eq!(quoted("--array=1,3-5"), "--array=1,3-5");
    assert_eq!(quoted(""), "''");
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted("~/a"), "'~/a'");
    assert_eq!(quoted("größe"), "'größe'");
}
