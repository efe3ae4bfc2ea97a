//! Counts of values by size, for their quantiles.

use hdrhistogram::{CreationError, Histogram};

/// Values from 0 up, in bins of width 1 that are at most 1/128 of their values wide from 128 on.
///
/// The bins are those of a [`Histogram`] of two digits; a value's is a piece of its bits.
#[derive(Clone, Debug)]
pub struct Bins {
    counts: Vec<u64>,
}

/// Greatest value, beyond which all count as it does: the last of its octave, as in a histogram.
const MOST: u64 = (1 << 31) - 1;
/// Digits of the histogram.
const DIGITS: u8 = 2;
/// Bits of the fraction that don't matter.
const SHIFT: u32 = 45;
/// Where counted bits begin: at a half, for all that is below 1.
const LEAST: f64 = 0.5;

/// Returns the number of a value's bin.
#[inline(always)]
fn bin(value: f64) -> usize {
    let value = if value > LEAST { value } else { LEAST };
    let value = if value < MOST as f64 { value } else { MOST as f64 };
    ((value.to_bits() - LEAST.to_bits()) >> SHIFT) as usize
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { counts: vec![0; bin(f64::INFINITY) + 1] }
    }
}

impl Bins {
    /// Counts a value.
    #[inline(always)]
    pub fn record(&mut self, value: f64) {
        if let Some(count) = self.counts.get_mut(bin(value)) {
            *count += 1;
        }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Returns the values rounded down.
    ///
    /// # Errors
    /// None with these bounds.
    pub fn histogram(&self) -> Result<Histogram<u64>, CreationError> {
        let mut histogram = Histogram::new_with_bounds(1, MOST, DIGITS)?;
        for (bin, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let value = f64::from_bits(LEAST.to_bits() + ((bin as u64) << SHIFT));
            histogram.saturating_record_n(value as u64, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Pcg32, unit_open};

    #[test]
    fn bins_are_those_of_the_histogram() {
        let mut random = Pcg32::new(1, 9);
        let (mut bins, mut expected) =
            (Bins::default(), Histogram::<u64>::new_with_bounds(1, MOST, DIGITS).unwrap());
        let spread = (0..100_000).map(|_| unit_open(&mut random).powi(-3) / 4.0);
        for value in spread.chain((0..3000).map(f64::from)).chain([0.0, 1e9, 1e10, f64::INFINITY]) {
            bins.record(value);
            expected.saturating_record(value as u64);
        }
        let counts = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            let recorded = histogram.iter_recorded();
            recorded.map(|it| (it.value_iterated_to(), it.count_at_value())).collect()
        };
        assert!(counts(&bins.histogram().unwrap()) == counts(&expected));
    }
}
