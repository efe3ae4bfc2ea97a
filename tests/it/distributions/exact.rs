//! What can be checked without drawing: moments and alias tables.

use super::*;
use balancelab::rng::{AliasTable, Draw};

#[test]
fn moments_agree_with_closed_forms() {
    let close =
        |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 1e-12, "{found} {exact}");
    let distribution = weibull(2.0, 3.0);
    close(distribution.mean(), 1.5 * std::f64::consts::PI.sqrt());
    close(distribution.variance(), 9.0 * (1.0 - std::f64::consts::FRAC_PI_4));
    // Shapes 1 and 2 are where the textbook formulas divide by zero.
    let pareto = bounded_pareto(1.0, 2.0, 8.0);
    close(pareto.mean(), 4f64.ln() / 0.375);
    close(pareto.variance(), 16.0 - (4f64.ln() / 0.375).powi(2));
    let pareto = bounded_pareto(2.0, 2.0, 8.0);
    close(pareto.mean(), 2.0 * 0.375 / 0.234375);
    close(pareto.variance(), 2.0 * 4f64.ln() / 0.234375 - (0.75 / 0.234375f64).powi(2));
    for mean in [0.01, 0.5, 15.0] {
        let pmf = truncated_poisson(mean);
        let moment =
            |n: i32| (1..200).map(|k| f64::from(k).powi(n) * pmf(f64::from(k))).sum::<f64>();
        close(poisson(mean).mean(), moment(1));
        assert!((poisson(mean).variance() - (moment(2) - moment(1).powi(2))).abs() < 1e-10);
    }
    assert_eq!(deterministic(3.0).variance(), 0.0);
}

#[test]
fn alias_tables_hold_the_cumulative_distribution_to_32_bits() {
    // The tolerance of the large means is that of the oracle's logarithms.
    for (mean, tolerance) in [
        (1e-9, 0.0),
        (0.5, 0.0),
        (1.0, 0.0),
        (15.0, 0.0),
        (460.0, 0.0),
        (50_000.0, 1e-8),
        (1e6, 1e-8),
    ] {
        let table = AliasTable::poisson(mean);
        let (bits, cells) = (table.bits(), table.entries().len());
        assert_eq!(cells, 1 << bits);
        let mut atoms = vec![0u64; cells];
        for (cell, entry) in table.entries().iter().enumerate() {
            let threshold = u64::from(entry >> bits);
            atoms[cell] += threshold;
            atoms[*entry as usize & (cells - 1)] += (1 << (32 - bits)) - threshold;
        }
        assert_eq!(atoms.iter().sum::<u64>(), 1 << 32);
        let pmf = truncated_poisson(mean);
        let mut exact: f64 = (1..table.offset()).map(|k| pmf(f64::from(k))).sum();
        let mut found = 0;
        for (value, count) in (table.offset()..).zip(atoms) {
            exact += pmf(f64::from(value));
            found += count;
            let error = (found as f64 * 2f64.powi(-32) - exact).abs();
            assert!(error < 2f64.powi(-33) + 1e-11 + tolerance, "{mean} {value}: {error}");
        }
    }
}

#[test]
fn parameters_outside_the_poisson_range_give_the_nearest_table() {
    assert_eq!(AliasTable::poisson(f64::NAN), AliasTable::poisson(f64::MIN_POSITIVE));
    assert_eq!(AliasTable::poisson(-1.0), AliasTable::poisson(f64::MIN_POSITIVE));
    assert_eq!(AliasTable::poisson(f64::INFINITY), AliasTable::poisson(1e6));
    assert_eq!(AliasTable::poisson(f64::NAN).draw(&mut stream(0, Role::Service)), 1.0);
}
