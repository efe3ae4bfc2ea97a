//! Integration tests, in one program so that the library is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod comparisons;
mod distributions;
mod elsewhere;
mod floors;
mod found;
mod kernels;
mod ledger;
mod loss_router;
mod optimize;
mod plans;
mod policies;
mod program;
mod readme;
mod report;
mod reproducible;
mod resume;
mod schema;
mod searches;
mod selection;
mod shards;
mod statistics;
mod stopping;
mod supermarket;
mod sweeps;
mod theory;
mod theory_column;
mod transients;
mod unfinished;
mod verdicts;
mod verify;
mod warmup;
