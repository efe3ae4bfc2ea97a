//! Models: the systems under study.
//!
//! A [`Model`] is a checked description of one scenario. It simulates one replication from a
//! policy and the replication's streams, and returns one number per [`Response`]. Models see
//! plain parameters and streams: no spec, no files, no clock, no global state.

mod loss_router;

pub use loss_router::THEORY as LOSS_ROUTER_THEORY;

pub use loss_router::{LossRouter, RESPONSES as LOSS_ROUTER_RESPONSES, Redirect, Warmup};

/// Version of the kernels and of everything else that turns a point and a replication into a row;
/// raised when a row of an existing spec changes, so that rows of two versions are never mixed.
pub const KERNELS: u32 = 1;

use crate::policy::Policy;
use crate::rng::{Invalid, StreamKey, content_hash};
use crate::sim::Failure;
use crate::stats::Good;

/// A measured output of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Column name, or its stem where there is one column a server.
    pub name: &'static str,
    /// Whether it has one column a server: `name_0`, `name_1`, ….
    pub per_server: bool,
    pub unit: &'static str,
    pub about: &'static str,
    /// Which of its values are the good ones, where that can be said.
    pub good: Option<Good>,
    /// Whether terminal tables show it.
    pub headline: bool,
}

impl Response {
    /// Returns whether a column is one of its own.
    pub fn is_column(&self, column: &str) -> bool {
        match column.strip_prefix(self.name) {
            Some("") => !self.per_server,
            Some(server) => self.per_server && server.starts_with('_'),
            None => false,
        }
    }

    /// Returns the names of its columns in a model of `servers` servers.
    pub fn columns(&self, servers: usize) -> impl Iterator<Item = String> + use<> {
        let (name, per_server) = (self.name, self.per_server);
        (0..if per_server { servers } else { 1 })
            .map(move |k| if per_server { format!("{name}_{k}") } else { name.to_owned() })
    }
}

/// One scenario of one of the systems.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    LossRouter(LossRouter),
}

impl Model {
    /// Returns what the model measures.
    pub fn responses(&self) -> &'static [Response] {
        match self {
            Model::LossRouter(_) => loss_router::RESPONSES,
        }
    }

    /// Returns the number of servers a policy chooses among.
    pub fn servers(&self) -> usize {
        match self {
            Model::LossRouter(model) => model.channels.len(),
        }
    }

    /// Returns the names of the columns that [`Compiled::replicate`] fills, in its order.
    pub fn columns(&self) -> Vec<String> {
        let servers = self.servers();
        self.responses().iter().flat_map(|response| response.columns(servers)).collect()
    }

    /// Returns the hash of the scenario's content, on which its streams depend.
    pub fn scenario(&self) -> u128 {
        match self {
            Model::LossRouter(model) => content_hash(model.identity().as_bytes()),
        }
    }

    /// Returns the text of what isn't in [`Model::scenario`], but bears on what a row says: what is
    /// counted, and when a replication is given up.
    pub fn counted(&self) -> String {
        match self {
            Model::LossRouter(model) => {
                format!("{:?} max_arrivals={}", model.warmup, model.max_arrivals)
            }
        }
    }

    /// Returns the mean number of arrivals of a replication.
    pub fn expected_arrivals(&self) -> f64 {
        match self {
            Model::LossRouter(model) => model.expected_arrivals(),
        }
    }

    /// Checks what no single field shows.
    ///
    /// # Errors
    /// A sentence that names the fields at odds and what to do.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Model::LossRouter(model) => model.check(),
        }
    }

    /// Returns a theoretical value per column, nothing where there is none.
    pub fn theory(&self, policy: &Policy) -> Vec<Option<f64>> {
        match self {
            Model::LossRouter(model) => model.theory(policy),
        }
    }

    /// Returns the scenario with its distributions compiled, for any number of replications.
    ///
    /// # Errors
    /// [`Invalid`] names the parameter that a distribution can't have.
    pub fn compile(&self) -> Result<Compiled, Invalid> {
        match self {
            Model::LossRouter(model) => model.compile().map(Compiled::LossRouter),
        }
    }
}

/// A scenario with its distributions compiled.
#[derive(Clone, Debug)]
pub enum Compiled {
    LossRouter(loss_router::Compiled),
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
