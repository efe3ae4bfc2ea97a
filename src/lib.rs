//! A parallel parameter-sweep and stochastic-optimisation experiment runner for load-balancing
//! models.
//!
//! One YAML spec expands into seeded replications, run in parallel; results become dataframes
//! and parquet files; published figures are checked. The modules are floors of a house: each
//! imports only from the floors above its own, in the order of the list below, and siblings on
//! a floor don't import each other (`tests/it/floors.rs` keeps the table).

// Floor 1: streams and distributions.
pub mod rng;

// Floor 1: moments, intervals, comparisons.
pub mod stats;

// Floor 1: formulas and Markov chains.
pub mod theory;

// Floor 2: banks of channels, audit.
pub mod sim;

// Floor 3: routers and what they see.
pub mod policy;

// Floor 4: one file a system.
pub mod model;

// Floor 5: axes, points.
pub mod design;

// Floor 6: YAML to a checked experiment.
pub mod spec;

// Floor 7: parallel execution.
pub mod engine;

// Floor 8: polars, parquet, csv; search under noise.
pub mod frame;
pub mod optimize;

// Floor 9: published values to verdicts.
pub mod claims;

// Floor 10: terminal tables.
pub mod report;

// Floor 11: arguments to exit code.
pub mod cli;
