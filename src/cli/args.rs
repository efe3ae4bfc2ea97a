//! Arguments and their help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::engine::{MAX_SHARDS, Options, Shard};
use crate::spec::Override;

const EXAMPLES: &str = "\
Examples:
  balancelab experiments/series2.yaml                the same as `balancelab run …`
  balancelab plan experiments/series2.yaml           what that would do, and how long
  balancelab verify experiments/series*.yaml         check published figures; exit 1 if one fails
  balancelab run my.yaml --set model.loss_router.horizon=10000 --out /tmp/short
  balancelab models                                  everything that a spec may name

Exit codes: 0 fine, 1 a claim failed, 2 bad spec or usage, 3 some replications failed or a search
found nothing or shards are missing, 4 input or output failed, 130 interrupted.";

/// Parallel parameter sweeps for load-balancing models: one YAML spec in, checked results out.
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXAMPLES)]
#[command(override_usage = "balancelab SPEC.yaml [OPTIONS]\n       balancelab COMMAND …")]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Arguments {
    /// Parses the program's arguments, where `balancelab SPEC` stands for `balancelab run SPEC`.
    pub(super) fn from_env() -> Self {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        let known = Arguments::command();
        let whole = ["help", "--help", "-h", "--version", "-V"];
        let runs = words.get(1).is_some_and(|first| {
            let command = known.get_subcommands().any(|command| *first == *command.get_name());
            !command && !whole.iter().any(|word| first == word)
        });
        if runs {
            words.insert(1, "run".into());
        }
        Arguments::parse_from(words)
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Sweep, search, compare, check claims, write results; bars on stderr, tables on stdout.
    Run(Run),
    /// Show what `run` would do: points, replications, arrivals, predicted time and disk.
    Plan(PlanArgs),
    /// Validate specs: every fault of a file at once, each with its place and a remedy.
    Check(Check),
    /// Run and judge the claims of specs only; exit 1 when one fails.
    Verify(Verify),
    /// Print what theory says of a spec's points, without simulating.
    Theory(Theory),
    /// Rerun one replication alone and print its numbers, equal to its row.
    Replay(Replay),
    /// Tell what of a sharded or interrupted run is missing; exit 3 while something is.
    Status(Status),
    /// Make the results of all shards; exit 3 and name them while some are missing.
    Merge(Merge),
    /// Hand the shards that are missing to a batch system, as its job array.
    Submit(Submit),
    /// Make report.html and figures/ again, of stored results alone.
    Report(Report),
    /// List models, policies, distributions and search methods with units and defaults.
    Models,
    /// Print the JSON Schema of a spec, for editors.
    Schema,
}

/// A spec and what is changed in it.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SpecArgs {
    /// The YAML file that describes the experiment, or the folder of an unfinished run.
    pub(super) spec: PathBuf,
    #[command(flatten)]
    pub(super) changes: Changes,
}

/// What is changed in a spec before it is checked.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Changes {
    /// Set a field of the spec, such as model.loss_router.horizon=10000 or
    /// policies.LABEL.alpha=0.01. Repeatable.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// Seed to use instead of the file's.
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    /// Replications of every point, instead of the file's.
    #[arg(long, value_name = "N")]
    pub(super) replications: Option<u32>,
}

/// A shard whose number may be left to the environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShardArg {
    Given(Shard),
    /// One of so many.
    Task(u32),
}

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<ShardArg, String> {
        match text.strip_prefix('/') {
            Some(of) => format!("1/{of}").parse().map(|shard: Shard| ShardArg::Task(shard.of)),
            None => text.parse().map(ShardArg::Given),
        }
    }
}

/// How a plan is cut.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Cut {
    /// Cut the plan into N shards.
    #[arg(long, value_name = "N", conflicts_with = "shard_seconds")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    pub(super) shards: Option<u32>,
    /// Cut the plan into shards that take about S seconds of one core.
    #[arg(long, value_name = "S")]
    pub(super) shard_seconds: Option<f64>,
}

impl Changes {
    pub(super) fn overrides(&self) -> Result<Vec<Override>, String> {
        let parse = |argument: &String| {
            Override::parse(argument).map_err(|error| format!("--set {argument}: {error}"))
        };
        let mut overrides: Vec<Override> = self.set.iter().map(parse).collect::<Result<_, _>>()?;
        overrides.extend(self.seed.map(|seed| Override::top("seed", seed)));
        overrides.extend(self.replications.map(|n| Override::top("replications", n)));
        Ok(overrides)
    }
}

/// How results are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Output {
    /// Print neither progress nor tables.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print a machine-readable summary on stdout instead of tables.
    #[arg(long)]
    pub(super) json: bool,
}

/// How much of the machine is used.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Effort {
    /// Threads to use; all cores by default. Results don't depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(super) threads: u16,
    /// End at the first failed replication.
    #[arg(long)]
    pub(super) fail_fast: bool,
}

impl Effort {
    pub(super) fn options(self, cancel: &AtomicBool) -> Options<'_> {
        Options { threads: usize::from(self.threads), fail_fast: self.fail_fast, cancel }
    }
}

#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    /// Folder for the results, instead of results/NAME.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Discard earlier results and start from nothing.
    #[arg(long, conflicts_with = "shard")]
    pub(super) fresh: bool,
    /// Run a part of the plan only, such as 3/40; /40 takes the number from the task's
    /// environment (Slurm, HyperQueue, SGE, PBS). `merge` makes the results of all parts.
    #[arg(long, value_name = "K/N", conflicts_with = "json")]
    pub(super) shard: Option<ShardArg>,
    #[command(flatten)]
    pub(super) effort: Effort,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    #[command(flatten)]
    pub(super) cut: Cut,
}

#[derive(Debug, Args)]
pub(super) struct Status {
    /// The folder of results.
    pub(super) folder: PathBuf,
    /// Print the numbers of the missing shards alone, such as 3,7-9.
    #[arg(long)]
    pub(super) missing: bool,
}

/// What runs the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    Slurm,
    Hq,
}

#[derive(Debug, Args)]
pub(super) struct Submit {
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    /// Batch system: Slurm, or HyperQueue (hq).
    #[arg(long)]
    pub(super) engine: Engine,
    #[command(flatten)]
    pub(super) cut: Cut,
    /// Folder for the results, instead of results/NAME; every node has to see it.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Discard earlier results and start from nothing.
    #[arg(long)]
    pub(super) fresh: bool,
    /// Show the commands and the job's script, and run nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Options for the engine, such as -- --time=30 --partition=short.
    #[arg(last = true, value_name = "OPTIONS")]
    pub(super) options: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Merge {
    /// The folder of results.
    pub(super) folder: PathBuf,
    #[command(flatten)]
    pub(super) effort: Effort,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What figures are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Figures {
    Svg,
    /// PDF beside SVG, with fonts of this machine.
    Pdf,
}

#[derive(Debug, Args)]
pub(super) struct Report {
    /// The folder of results.
    pub(super) folder: PathBuf,
    /// What figures are written as.
    #[arg(long, value_enum, default_value_t = Figures::Svg)]
    pub(super) figures: Figures,
    /// Print nothing.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print the verdict and the names of the files as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// The YAML files.
    #[arg(required = true)]
    pub(super) specs: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) changes: Changes,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The YAML files.
    #[arg(required = true)]
    pub(super) specs: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Folder for each spec's claims.csv, as DIR/NAME/claims.csv; nothing is written by default.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) effort: Effort,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Debug, Args)]
pub(super) struct Theory {
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    /// Number of the point, as in the column `point`.
    #[arg(long, value_name = "P")]
    pub(super) point: u32,
    /// Number of the replication, as in the column `replication`.
    #[arg(long, value_name = "R")]
    pub(super) replication: u32,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}
