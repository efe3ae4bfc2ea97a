//! The README: that what it says can be done.
//!
//! - Each command line of the program in an `sh` block is run, in the order of the README, by the
//!   built program in a temporary folder that holds a copy of experiments/. `run` would take half a
//!   minute for some; it gets `--replications 3` (in place of its own, if it has one), which changes
//!   how sure the numbers are and not what is done, and leaves searches out, which have tests of
//!   their own. Everything else is run as it stands.
//! - Other command lines (cargo's own) must stand in `.ci/run` as they are, which runs them.
//! - Each `yaml` block must pass `check`.
//! - The `rust` block must be the text of a function below, which a test calls.
//! - The `python` block is run by `.ci/run`, and so is the comparison of the `text` block with what
//!   the first command prints.

use polars::prelude::*;

use super::program::Place;

const README: &str = include_str!("../../README.md");

/// Replications that `run` gets here: enough for intervals.
const REPLICATIONS: &str = "3";

/// Returns the contents of the fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut inside: Option<Vec<&str>> = None;
    for line in README.lines() {
        match &mut inside {
            Some(lines) if line == "```" => {
                blocks.push(lines.join("\n"));
                inside = None;
            }
            Some(lines) => lines.push(line),
            None if line == format!("```{language}") => inside = Some(Vec::new()),
            None => {}
        }
    }
    assert!(inside.is_none(), "the README leaves a block of {language} open");
    assert!(!blocks.is_empty(), "the README has no block of {language}");
    blocks
}

/// Returns the lines of all `sh` blocks.
fn command_lines() -> Vec<String> {
    let lines: Vec<String> =
        blocks("sh").iter().flat_map(|block| block.lines()).map(String::from).collect();
    for line in &lines {
        assert!(!line.contains(['\'', '"', '|', '#', '\\', '>']), "plain words only: {line}");
    }
    lines
}

/// Returns the arguments, if the line starts the program.
fn arguments(line: &str) -> Option<Vec<&str>> {
    let starts = ["cargo run --release -- ", "./target/release/balancelab ", "balancelab "];
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    Some(rest.split_whitespace().collect())
}

/// Returns the arguments with few replications, where they run a whole experiment.
fn shortened(mut arguments: Vec<&str>) -> Vec<&str> {
    if arguments[0] != "run" && !arguments[0].ends_with(".yaml") {
        return arguments;
    }
    match arguments.iter().position(|word| *word == "--replications") {
        Some(flag) => arguments[flag + 1] = REPLICATIONS,
        None => arguments.extend(["--replications", REPLICATIONS]),
    }
    arguments.extend(["--set", "optimize=[]"]);
    arguments
}

/// Returns a folder with a copy of experiments/.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("experiments")).unwrap();
    let experiments = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    for entry in experiments.read_dir().unwrap() {
        let entry = entry.unwrap();
        let copy = place.path("experiments").join(entry.file_name());
        std::fs::copy(entry.path(), copy).unwrap();
    }
    place
}

#[test]
fn its_commands_run() {
    let place = place();
    let lines = command_lines();
    let mut run = 0;
    for arguments in lines.iter().filter_map(|line| arguments(line)) {
        let out = place.fine(&shortened(arguments));
        assert!(!out.is_empty());
        run += 1;
    }
    assert!(run >= 8, "only {run} commands of the program in the README");
    for file in ["results/series2/claims.csv", "results/quickstart/summary.csv"] {
        assert!(place.path(file).exists(), "{file}");
    }
}

#[test]
fn its_commands_show_every_command_there_is() {
    let lines = command_lines();
    let shown: Vec<&str> = lines.iter().filter_map(|line| Some(arguments(line)?[0])).collect();
    let help = Place::new().fine(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .map_while(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        assert!(shown.contains(&command), "no example of `{command}`");
        assert!(README.contains(&format!("| `{command}")), "no row for `{command}`");
    }
}

#[test]
fn its_other_commands_are_run_by_ci() {
    let ci = include_str!("../../.ci/run");
    for line in command_lines().iter().filter(|line| arguments(line).is_none()) {
        let runs = |step: &str| {
            let step = step.trim();
            step == line || step.starts_with(&format!("{line} 2>&1 |"))
        };
        assert!(ci.lines().any(runs), "`.ci/run` has no line with `{line}`");
    }
}

#[test]
fn its_specs_are_valid() {
    let place = Place::new();
    for (number, spec) in blocks("yaml").iter().enumerate() {
        let name = format!("block{number}.yaml");
        place.write(&name, spec);
        place.fine(&["check", &name]);
    }
}

#[test]
fn the_files_and_columns_that_it_names_are_those_written() {
    let place = place();
    place.fine(&["experiments/quickstart.yaml", "--replications", REPLICATIONS]);
    let row = |file: &str| {
        let row = README.lines().find(|line| line.starts_with('|') && line.contains(file));
        let row = row.unwrap_or_else(|| panic!("the README has no row for {file}"));
        row.rsplit('|').nth(1).unwrap().replace("one per axis", "`alpha`")
    };
    for file in ["summary.csv", "comparisons.csv", "best.csv", "claims.csv"] {
        let csv = String::from_utf8(place.bytes(&format!("results/quickstart/{file}"))).unwrap();
        let columns: Vec<String> =
            csv.lines().next().unwrap().split(',').map(|column| format!("`{column}`")).collect();
        assert_eq!(row(file).trim(), columns.join(", "), "{file}");
    }
    let mut written: Vec<String> = place
        .path("results/quickstart")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    written.sort();
    assert!(written.len() >= 5, "{written:?}");
    for file in written {
        row(&file);
    }
}

/// Returns the points with the fewest errors, the best first.
fn fewest_errors(summary: &str) -> PolarsResult<DataFrame> {
    let summary = ParquetReader::new(std::fs::File::open(summary)?).finish()?;
    let errors = summary.column("response")?.str()?.equal("errors_pct");
    let best = summary.filter(&errors)?.sort(["mean"], SortMultipleOptions::default())?;
    best.select(["policy", "alpha", "mean", "ci_low", "ci_high"])
}

#[test]
fn its_rust_lines_read_the_results() {
    let block = blocks("rust").remove(0);
    let function = block.split_once("\n\n").unwrap().1;
    let here = include_str!("readme.rs");
    assert!(here.contains(&format!("\n{function}\n")), "the README's function isn't the one here");

    let place = place();
    place.fine(&["experiments/quickstart.yaml", "--replications", REPLICATIONS]);
    let summary = place.path("results/quickstart/summary.parquet");
    let best = fewest_errors(summary.to_str().unwrap()).unwrap();
    let csv = String::from_utf8(place.bytes("results/quickstart/summary.csv")).unwrap();
    let means = csv.lines().filter(|line| line.contains(",errors_pct,"));
    let means: Vec<f64> =
        means.map(|line| line.split(',').nth(5).unwrap().parse().unwrap()).collect();
    let least = means.iter().copied().min_by(f64::total_cmp);
    assert_eq!((best.height(), best.column("mean").unwrap().f64().unwrap().get(0)), (11, least));
}
