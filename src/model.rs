//! Models: the systems under study.
//!
//! A [`Model`] is a checked description of one scenario. It simulates one replication from a
//! policy and the replication's streams, and returns one number per [`Response`]. Models see
//! plain parameters and streams: no spec, no files, no clock, no global state.

mod loss_router;
mod supermarket;
mod values;

pub use loss_router::{LossRouter, Redirect};
pub use supermarket::{Arrivals, Length, Supermarket, Trace, is_count};

/// Version of the kernels and of everything else that turns a point and a replication into a row;
/// raised when a row of an existing spec changes, so that rows of two versions are never mixed.
pub const KERNELS: u32 = 3;

use crate::policy::{Offers, Policy};
use crate::rng::{Invalid, StreamKey, content_hash};
use crate::sim::Failure;
use crate::stats::Good;

/// A kind of model: what is the same for all of its scenarios.
#[derive(Debug)]
pub struct System {
    /// Its name in a spec.
    pub name: &'static str,
    /// What it measures, in the order of its columns.
    pub responses: &'static [Response],
    /// What theory covers, and under which assumptions.
    pub theory: &'static str,
}

/// All of them.
pub const SYSTEMS: &[System] = &[loss_router::SYSTEM, supermarket::SYSTEM];

/// The columns of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// One, `name`.
    One,
    /// One a server, from 0: `name_0`, `name_1`, ….
    /// If there are no more servers than so many.
    PerServer(usize),
    /// One for each number from 1 to this: `name_1`, `name_2`, ….
    Levels(usize),
    /// One for each number from 1 to this at each snapshot, of `name` less its `_at`: `name_1_at_1`,
    /// `name_2_at_1`, …, `name_1_at_2`, ….
    Snapshots(usize),
}

/// How many columns a model's responses have, where that isn't the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Servers a policy chooses among.
    pub servers: usize,
    /// Instants at which a replication is looked at.
    pub snapshots: u32,
}

/// What a column of a snapshot is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Number of the snapshot, from 1.
    pub snapshot: u32,
    /// When it is taken [time units].
    pub time: f64,
    /// The column is the share of servers with as many jobs at least.
    pub jobs: u32,
    /// That share in the limit of many servers, where theory knows it.
    pub mean_field: Option<f64>,
}

impl Moment {
    /// Returns the name of its column.
    pub fn column(&self) -> String {
        snapshot_column("queue_ge_at", self.jobs, self.snapshot)
    }
}

fn snapshot_column(response: &str, level: u32, snapshot: u32) -> String {
    let stem = response.strip_suffix("_at").unwrap_or(response);
    format!("{stem}_{level}_at_{snapshot}")
}

/// How long a replication runs before anything is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// Up to this time, before the end [time units].
    Time(f64),
    /// Up to this arrival.
    Arrivals(u64),
    /// Up to the arrival that MSER-5 says of what the replication's own arrivals find in the system:
    /// busy channels, or jobs.
    Auto,
}

/// A measured output of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Column name, or its stem where there are several columns.
    pub name: &'static str,
    pub columns: Columns,
    pub unit: &'static str,
    pub about: &'static str,
    /// Which of its values are the good ones, where that can be said.
    pub good: Option<Good>,
    /// Whether terminal tables show it.
    pub headline: bool,
}

impl Response {
    /// Returns a response of one column, which terminal tables don't show.
    const fn new(
        name: &'static str,
        unit: &'static str,
        good: Option<Good>,
        about: &'static str,
    ) -> Response {
        Response { name, columns: Columns::One, unit, about, good, headline: false }
    }

    /// Returns whether a column is one of its own.
    pub fn is_column(&self, column: &str) -> bool {
        let snapshots = matches!(self.columns, Columns::Snapshots(_));
        let stem = if snapshots { self.name.strip_suffix("_at") } else { Some(self.name) };
        match stem.and_then(|stem| column.strip_prefix(stem)) {
            Some("") => self.columns == Columns::One,
            Some(rest) => {
                self.columns != Columns::One
                    && rest.starts_with('_')
                    && rest.contains("_at_") == snapshots
            }
            None => false,
        }
    }

    /// Returns the names of its columns in a model of that shape.
    pub fn columns(&self, shape: Shape) -> impl Iterator<Item = String> + use<> {
        let (numbers, levels) = match self.columns {
            Columns::One => (0..0, 0),
            Columns::PerServer(most) if shape.servers <= most => (0..shape.servers, 0),
            Columns::PerServer(_) => (0..0, 0),
            Columns::Levels(most) => (1..most + 1, 0),
            Columns::Snapshots(most) => (0..0, most as u32),
        };
        let snapshots = if levels > 0 { 1..shape.snapshots + 1 } else { 1..1 };
        let (name, one) = (self.name, self.columns == Columns::One);
        let many = numbers.map(move |number| format!("{name}_{number}"));
        let snapshots = snapshots.flat_map(move |snapshot| {
            (1..=levels).map(move |level| snapshot_column(name, level, snapshot))
        });
        one.then(|| name.to_owned()).into_iter().chain(many).chain(snapshots)
    }
}

/// One scenario of one of the systems.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    LossRouter(LossRouter),
    Supermarket(Supermarket),
}

impl Model {
    /// Returns what kind of model it is.
    pub fn system(&self) -> &'static System {
        match self {
            Model::LossRouter(_) => &loss_router::SYSTEM,
            Model::Supermarket(_) => &supermarket::SYSTEM,
        }
    }

    /// Returns the number of servers a policy chooses among.
    pub fn servers(&self) -> usize {
        match self {
            Model::LossRouter(model) => model.channels.len(),
            Model::Supermarket(model) => model.speeds.len(),
        }
    }

    /// Returns how many columns its responses have.
    pub fn shape(&self) -> Shape {
        let snapshots = match self {
            Model::LossRouter(_) => 0,
            Model::Supermarket(model) => model.snapshots,
        };
        Shape { servers: self.servers(), snapshots }
    }

    /// Returns a value per column in the limit of many servers, nothing where theory knows none; no
    /// value at all for a model without such a limit.
    pub fn mean_field(&self, policy: &Policy) -> Vec<Option<f64>> {
        match self {
            Model::LossRouter(_) => Vec::new(),
            Model::Supermarket(model) => model.mean_field(policy),
        }
    }

    /// Returns what the columns of its snapshots are about; nothing where there are none.
    pub fn transient(&self, policy: &Policy) -> Vec<Moment> {
        match self {
            Model::LossRouter(_) => Vec::new(),
            Model::Supermarket(model) => model.transient(policy),
        }
    }

    /// Returns what it shows to policies.
    pub fn offers(&self) -> Offers {
        let servers = self.servers();
        match self {
            Model::LossRouter(_) => {
                let (queues, sizes, between) = (false, false, false);
                Offers { servers, refusals: true, queues, sizes, between }
            }
            Model::Supermarket(model) => {
                let (queues, sizes, between) = (true, true, true);
                Offers {
                    servers,
                    refusals: model.capacity.is_some() || model.fails(),
                    queues,
                    sizes,
                    between,
                }
            }
        }
    }

    /// Returns the names of the columns that [`Compiled::replicate`] fills, in its order.
    pub fn columns(&self) -> Vec<String> {
        let shape = self.shape();
        self.system().responses.iter().flat_map(|response| response.columns(shape)).collect()
    }

    /// Returns the hash of the scenario's content, on which its streams depend.
    pub fn scenario(&self) -> u128 {
        match self {
            Model::LossRouter(model) => content_hash(model.identity().as_bytes()),
            Model::Supermarket(model) => content_hash(model.identity().as_bytes()),
        }
    }

    /// Returns the text of what isn't in [`Model::scenario`], but bears on what a row says: what is
    /// counted, and when a replication is given up.
    pub fn counted(&self) -> String {
        let text = match self {
            Model::LossRouter(LossRouter { warmup, max_arrivals, .. })
            | Model::Supermarket(Supermarket { warmup, max_arrivals, .. }) => {
                format!("{warmup:?} max_arrivals={max_arrivals}")
            }
        };
        match self.shape().snapshots {
            0 => text,
            n => text + &format!(" snapshots={n}"),
        }
    }

    /// Returns the mean number of arrivals of a replication.
    pub fn expected_arrivals(&self) -> f64 {
        match self {
            Model::LossRouter(model) => model.expected_arrivals(),
            Model::Supermarket(model) => model.expected_arrivals(),
        }
    }

    /// Checks what no single field shows.
    ///
    /// # Errors
    /// A sentence that names the fields at odds and what to do.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Model::LossRouter(model) => model.check(),
            Model::Supermarket(model) => model.check(),
        }
    }

    /// Returns a theoretical value per column, nothing where there is none.
    pub fn theory(&self, policy: &Policy) -> Vec<Option<f64>> {
        match self {
            Model::LossRouter(model) => model.theory(policy),
            Model::Supermarket(model) => model.theory(policy),
        }
    }

    /// Returns the scenario with its distributions compiled, for any number of replications.
    ///
    /// # Errors
    /// [`Invalid`] names the parameter that a distribution can't have.
    pub fn compile(&self) -> Result<Compiled, Invalid> {
        match self {
            Model::LossRouter(model) => model.compile().map(Compiled::LossRouter),
            Model::Supermarket(model) => model.compile().map(Compiled::Supermarket),
        }
    }
}

/// A scenario with its distributions compiled.
#[derive(Clone, Debug)]
pub enum Compiled {
    LossRouter(loss_router::Compiled),
    Supermarket(supermarket::Compiled),
}

impl Compiled {
    /// Simulates one replication, cuts its time after the warm-up into `periods` ≥ 1 equal ones,
    /// and returns for each a value per column; NaN where there is none.
    ///
    /// # Errors
    /// [`Failure`] when the event cap stops it or the audit fails.
    pub fn periods(
        &self,
        policy: &Policy,
        streams: &StreamKey,
        periods: u32,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        match self {
            Compiled::LossRouter(model) => model.replicate(policy, streams, periods),
            Compiled::Supermarket(model) => model.replicate(policy, streams, periods),
        }
    }

    /// Simulates one replication as [`Compiled::periods`] does, in one period.
    ///
    /// # Errors
    /// As [`Compiled::periods`].
    pub fn replicate(&self, policy: &Policy, streams: &StreamKey) -> Result<Vec<f64>, Failure> {
        self.periods(policy, streams, 1).map(|mut rows| rows.swap_remove(0))
    }
}
