//! What it costs to keep rows while they are made: a run that keeps them against one that doesn't,
//! in turns.
//!
//! The argument is the length of a run [seconds on one thread].
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use balancelab::engine::{self, NoStore, Options, Output, Plan};
use balancelab::frame::{Intent, Store, StoreError, Work};
use balancelab::spec::{Experiment, Override, Stored, load};

const ROUNDS: usize = 4;
/// Replications of series 2 in a second.
const PER_SECOND: f64 = 500.0;

fn seconds(experiment: &Experiment, store: &dyn engine::Store<StoreError>) -> f64 {
    let cancel = AtomicBool::new(false);
    let options = Options { threads: 2, fail_fast: false, cancel: &cancel };
    let mut rows = 0;
    let mut sink = |output: Output| {
        rows += usize::from(matches!(output, Output::Row(_)));
        Ok(())
    };
    let start = Instant::now();
    engine::run(experiment, &Plan::all(experiment), options, store, &|_| {}, &mut sink).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(rows > 0);
    seconds
}

fn main() {
    let argument = std::env::args().filter_map(|word| word.parse().ok()).next_back();
    let length: f64 = argument.unwrap_or(60.0);
    let text = std::fs::read_to_string("experiments/series2.yaml").unwrap();
    let series = |changes: &[Override]| {
        load("series2.yaml", text.clone(), changes, &|_| Err(String::new())).unwrap()
    };
    let set = |change: &str| Override::parse(change).unwrap();
    let points = f64::from(series(&[]).points());
    let replications = (2.0 * length * PER_SECOND / points).ceil();
    let changes = [set("optimize=[]"), set(&format!("replications={replications}"))];
    let experiment = series(&changes);
    let spec = Stored::new(&experiment, String::new(), String::new(), changes.to_vec());
    let intent = Intent::new(&experiment, spec, None, false);
    let cancel = AtomicBool::new(false);
    let options = Options { threads: 2, fail_fast: false, cancel: &cancel };
    // Beside the build, on the disk where results would be.
    let beside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = beside.path().join("store");
    let kept = || {
        let work = Work::open(&folder).unwrap();
        let store = Store::open(&work, &experiment, &intent, None, options, &mut |_| {}).unwrap();
        let seconds = seconds(&experiment, &store);
        let files = work.row_files(None).unwrap().len();
        work.remove().unwrap();
        (seconds, files)
    };
    let [mut with, mut without] = [0.0; 2];
    let mut files = 0;
    for round in 0..ROUNDS {
        // Who is first changes, so that a machine that gets slower or faster favours nobody.
        if round % 2 == 0 {
            without += seconds(&experiment, &NoStore);
        }
        let (seconds_kept, files_kept) = kept();
        (with, files) = (with + seconds_kept, files_kept);
        if round % 2 == 1 {
            without += seconds(&experiment, &NoStore);
        }
    }
    let rounds = ROUNDS as f64;
    println!("a run of {:.1} s, kept in {files} files: {:.1} s", without / rounds, with / rounds);
    println!("keeping rows costs {:+.2} %", 100.0 * (with / without - 1.0));
}
