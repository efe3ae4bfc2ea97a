//! Alias tables: a bounded integer distribution in one look-up.
//!
//! A table is built once from a probability mass function (Walker 1977, ACM TOMS 3, 253-256; linear construction of
//! Vose 1991, IEEE Trans. Softw. Eng. 17, 972-975) and then only read, by any number of replications at once. A draw is
//! one generator output: its top `bits` bits pick one of 2^`bits` cells, the rest is a fraction; below the cell's
//! threshold the draw is the cell itself, else the cell's alias. Threshold and alias share one `u32`, so a draw loads
//! four bytes, and the load can be a SIMD gather.
//!
//! One output has 2³² atoms, so every probability is a multiple of 2⁻³². The weights are differences of the rounded
//! cumulative distribution and the table is built from them in integers, without any further error. With n values:
//!
//! - the cumulative distribution is off by at most 2⁻³³ at every value (plus 10⁻¹¹ of summation at the largest mean),
//! - the total variation distance is at most n · 2⁻³³, and so is the error of the mean,
//! - values whose whole tail is less likely than 2⁻³³, some 6.3 standard deviations out where the mean is large, are
//!   never drawn and take no room.
//!
//! For Poisson means 15, 460 and 10⁶ that is a total variation of at most 6·10⁻⁹, 4·10⁻⁸ and 1.5·10⁻⁶.

use super::{Draw, Pcg32};
use rand::Rng;
use std::hint::select_unpredictable;

/// Largest Poisson parameter of a table: some 12 700 values, 64 KiB.
pub(super) const MAX_POISSON_MEAN: f64 = 1e6;

/// A distribution on consecutive integers, drawn with one output a draw.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasTable {
    /// One per cell: threshold in the upper 32 − `bits` bits, alias in the lower `bits`.
    entries: Box<[u32]>,
    bits: u32,
    offset: u32,
}

impl AliasTable {
    /// Returns the table of a Poisson variable conditioned on being at least 1.
    ///
    /// `mean` is the Poisson parameter λ, in (0, 10⁶]; a value outside is taken for the nearest end, NaN for the
    /// lower. [`Distribution::sampler`](super::Distribution::sampler) is the door that refuses instead.
    ///
    /// The mass function comes from p(k + 1) = p(k) · λ / (k + 1), from the mode outwards in both directions, so nothing
    /// underflows at the start and no logarithm is taken. What is below 10⁻¹⁸ of the mode is dropped.
    pub fn poisson(mean: f64) -> Self {
        let mean =
            if mean > f64::MIN_POSITIVE { mean.min(MAX_POISSON_MEAN) } else { f64::MIN_POSITIVE };
        let mode = mean.floor().max(1.0);
        let lower = masses(mode, |k| if k > 1.0 { k / mean } else { 0.0 }, -1.0);
        let upper = masses(mode, |k| mean / (k + 1.0), 1.0);
        let first = mode as u32 - lower.len() as u32;
        let pmf: Vec<f64> = lower.into_iter().rev().chain([1.0]).chain(upper).collect();
        Self::from_weights(first, &weights(&pmf))
    }

    /// Builds the table of integer weights that sum to 2³², the first of them for the value `first`.
    fn from_weights(first: u32, weights: &[u64]) -> Self {
        let skipped = weights.iter().take_while(|&&w| w == 0).count();
        let trailing = weights.iter().rev().take_while(|&&w| w == 0).count();
        let mut left = weights[skipped..weights.len() - trailing].to_vec();
        let cells = left.len().next_power_of_two().max(2);
        left.resize(cells, 0);
        let bits = cells.ilog2();
        let full = 1u64 << (32 - bits);

        let (mut under, mut over): (Vec<usize>, Vec<usize>) =
            (0..cells).partition(|&cell| left[cell] < full);
        // A cell that is exactly full is its own alias, which makes its threshold idle.
        let mut entries: Box<[u32]> = (0..cells as u32).collect();
        while let (Some(cell), Some(&donor)) = (under.pop(), over.last()) {
            entries[cell] = (left[cell] as u32) << bits | donor as u32;
            left[donor] -= full - left[cell];
            if left[donor] < full {
                over.pop();
                under.push(donor);
            }
        }
        Self { entries, bits, offset: first + skipped as u32 }
    }

    /// Returns an index into the support: the value drawn less [`offset`](Self::offset).
    #[inline]
    pub fn draw_index(&self, rng: &mut Pcg32) -> u32 {
        let output = rng.next_u32();
        let cell = output >> (32 - self.bits);
        let low = self.entries.len() as u32 - 1;
        // Always in bounds; the check is a branch never taken, which costs nothing that can be measured.
        let entry = self.entries[cell as usize];
        // With the low bits set, which no alias exceeds, this is the fraction against the threshold alone.
        let itself = (output << self.bits | low) < entry;
        select_unpredictable(itself, cell, entry & low)
    }

    /// Returns the value drawn.
    #[inline]
    pub fn draw_integer(&self, rng: &mut Pcg32) -> u32 {
        self.offset + self.draw_index(rng)
    }

    /// Returns the smallest value.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// Returns the binary logarithm of the number of cells, 1 to 14.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the cells, 2^[`bits`](Self::bits) of them: threshold in the upper 32 − `bits` bits, alias in the lower
    /// `bits`, as a kernel that gathers them needs them.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }
}

impl Draw for AliasTable {
    const UNSIGNED: bool = true;
    const ALONE: bool = true;

    #[inline]
    fn draw(&self, rng: &mut Pcg32) -> f64 {
        f64::from(self.draw_integer(rng))
    }
}

/// Returns the masses next to the mode, whose own is 1, in one direction, until they are negligible.
fn masses(mode: f64, ratio: impl Fn(f64) -> f64, step: f64) -> Vec<f64> {
    const NEGLIGIBLE: f64 = 1e-18;
    let mut found = Vec::new();
    let (mut k, mut mass) = (mode, ratio(mode));
    while mass > NEGLIGIBLE {
        found.push(mass);
        k += step;
        mass *= ratio(k);
    }
    found
}

/// Returns weights in proportion to a mass function, as differences of its rounded sums: they add up to 2³² exactly.
fn weights(pmf: &[f64]) -> Vec<u64> {
    let total: f64 = pmf.iter().sum();
    let (mut sum, mut before) = (0.0, 0);
    pmf.iter()
        .map(|mass| {
            sum += mass;
            let rounded = (sum / total * 2f64.powi(32)).round() as u64;
            let weight = rounded - before;
            before = rounded;
            weight
        })
        .collect()
}
