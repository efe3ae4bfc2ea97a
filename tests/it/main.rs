//! Integration tests, in one program so that the library is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod distributions;
