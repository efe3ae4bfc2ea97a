//! The progress bar, fed by the engine's events, and Ctrl-C.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::engine::Event;
use crate::optimize::{Phase, Step};
use crate::report::{grouped, short};
use crate::spec::{Experiment, Optimize};

const TEMPLATE: &str = "{bar:30} {pos}/{len} replications, {speed}, {left} left{failed}";

/// Returns the column of the number of arrivals, where the model counts them.
pub(super) fn arrivals_column(experiment: &Experiment) -> Option<usize> {
    experiment.columns.iter().position(|column| column == "arrivals")
}

/// A bar on stderr; silent when stderr is no terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    arrivals: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    /// Column of the number of arrivals.
    column: Option<usize>,
}

impl Progress {
    pub(super) fn new(
        experiment: &Experiment,
        replications: u64,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(replications), target);
        let arrivals = Arc::new(AtomicU64::new(0));
        let failed = Arc::new(AtomicU64::new(0));
        let (seen, broken) = (arrivals.clone(), failed.clone());
        bar.set_style(
            ProgressStyle::with_template(TEMPLATE)?
                .with_key("speed", move |state: &ProgressState, out: &mut dyn Write| {
                    let seconds = state.elapsed().as_secs_f64().max(1e-3);
                    let replications = state.pos() as f64 / seconds;
                    let arrivals = seen.load(Ordering::Relaxed) as f64 / seconds;
                    let _ = write!(
                        out,
                        "{}/s, {:.1} million arrivals/s",
                        grouped(replications),
                        arrivals / 1e6
                    );
                })
                .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                    let _ = write!(out, "{} s", state.eta().as_secs());
                })
                .with_key("failed", move |_: &ProgressState, out: &mut dyn Write| {
                    let count = broken.load(Ordering::Relaxed);
                    if count > 0 {
                        let _ = write!(out, ", {count} failed");
                    }
                }),
        );
        let column = arrivals_column(experiment);
        Ok(Progress { bar, arrivals, failed, column })
    }

    pub(super) fn observe(&self, event: Event) {
        match event {
            Event::Finished(values) => {
                let arrivals = self.column.map_or(0, |column| values[column] as u64);
                self.arrivals.fetch_add(arrivals, Ordering::Relaxed);
            }
            Event::Recalled(_) => {
                let expected = self.bar.length().unwrap_or_default();
                self.bar.set_length(expected.saturating_sub(1));
                return;
            }
            Event::Failed(_) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            Event::Done { spared } => {
                let expected = self.bar.length().unwrap_or_default();
                self.bar.set_length(expected.saturating_sub(u64::from(spared)));
                return;
            }
        }
        self.bar.inc(1);
    }

    /// Takes the bar off the screen.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

const SEARCH_TEMPLATE: &str = "{bar:20} {pos}/{len} replications, {msg}";

/// A bar per search on stderr, with the current estimate; silent when stderr is no terminal.
pub(super) struct SearchProgress {
    bar: ProgressBar,
    /// The search and the streams of the last step.
    last: RefCell<(String, u128)>,
}

impl SearchProgress {
    pub(super) fn new(quiet: bool) -> anyhow::Result<Self> {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_style(ProgressStyle::with_template(SEARCH_TEMPLATE)?);
        Ok(SearchProgress { bar, last: RefCell::default() })
    }

    pub(super) fn observe(&self, search: &Optimize, step: &Step) {
        let confirm = step.phase == Phase::Confirm;
        let key = (search.label.clone(), step.streams.scenario);
        if self.last.replace(key.clone()) != key {
            self.bar.set_position(0);
        }
        let targets = 1 + search.against.len() as u64 + u64::from(search.confirm.grid.unwrap_or(0));
        self.bar.set_length(if confirm {
            targets * u64::from(search.confirm.replications)
        } else {
            search.budget
        });
        let values = |point: &Vec<f64>| -> Vec<String> {
            let named = search.over.iter().zip(point);
            named.map(|(over, &value)| format!("{} {}", over.name, short(value))).collect()
        };
        let at = step.estimate.as_ref().map(values).unwrap_or_default();
        self.bar.set_message(if confirm {
            format!("confirming {}", search.label)
        } else {
            format!("{} {}", search.label, at.join(", "))
        });
        self.bar.inc(u64::from(step.replications));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Set by the first Ctrl-C or SIGTERM.
static CANCEL: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes Ctrl-C, SIGTERM and SIGHUP end the run in good order, and a second one at once.
pub(super) fn cancel_on_signal() -> anyhow::Result<&'static AtomicBool> {
    let mut signals = vec![signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
    #[cfg(unix)]
    if !hangup_is_ignored() {
        signals.push(signal_hook::consts::SIGHUP);
    }
    for signal in signals {
        // In this order the first signal sets what the second one finds set.
        signal_hook::flag::register_conditional_shutdown(signal, 130, CANCEL.clone())?;
        signal_hook::flag::register(signal, CANCEL.clone())?;
    }
    Ok(&CANCEL)
}

/// Whether the program was started to outlive its terminal, by `nohup` for instance; where the
/// system doesn't tell, it was not.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) & (1 << (signal_hook::consts::SIGHUP - 1)) != 0
}
