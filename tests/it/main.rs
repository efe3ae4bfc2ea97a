//! Integration tests, in one program so that the library is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod distributions;
mod floors;
mod loss_router;
mod program;
mod readme;
mod reproducible;
mod statistics;
mod sweeps;
mod theory;
