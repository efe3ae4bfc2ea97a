//! A parallel parameter-sweep and stochastic-optimisation experiment runner for load-balancing
//! models.
//!
//! One YAML spec expands into seeded replications, run in parallel; results become dataframes
//! and parquet files; published figures are checked. The modules are floors of a house: each
//! imports only from the floors above its own, in the order of the list below, and siblings on
//! a floor don't import each other (`tests/floors.rs` keeps the table).

pub mod claims; // 9: published values to verdicts
pub mod cli;
pub mod design; // 5: axes, points
pub mod engine; // 7: parallel execution
pub mod frame; // 8: polars, parquet, csv
pub mod model; // 4: one file a system
pub mod policy; // 3: routers and what they see
pub mod report; // 10: terminal tables
pub mod rng; // 1: streams and distributions
pub mod sim; // 2: banks of channels, audit
pub mod spec; // 6: YAML to a checked experiment
pub mod stats; // 1: moments, intervals // 11: arguments to exit code
