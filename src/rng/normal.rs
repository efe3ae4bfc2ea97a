//! The standard normal variate by inversion.
//!
//! The quantile is algorithm AS 241, routine PPND16 (Wichura 1988, Applied Statistics 37, 477-484): three ratios of
//! polynomials of degree 7, in the centre (|p − ½| ≤ 0.425), in the tails and in the far tails, with a relative error
//! of about 10⁻¹⁶. Inversion costs a little more than a ziggurat and buys a fixed two outputs a draw, and a draw
//! monotone in them.

use super::{Pcg32, ULP, bits53};

/// Returns a standard normal variate from two outputs, monotone in the 53 bits that they give.
///
/// The bits k stand for the probability (2k + 1) / 2⁵⁴, the middle of their interval, so that the variate is symmetric
/// about 0 and at most 8.3 in size.
#[inline]
pub(super) fn standard_normal(rng: &mut Pcg32) -> f64 {
    let bits = bits53(rng);
    let mirrored = (1 << 53) - 1 - bits;
    if bits < mirrored {
        lower_quantile((2 * bits + 1) as f64 * (0.5 * ULP))
    } else {
        // The upper half is taken from its mirror image: 1 − p would lose the bits of the far tail.
        -lower_quantile((2 * mirrored + 1) as f64 * (0.5 * ULP))
    }
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// Returns the standard normal quantile of a probability in (0, ½].
fn lower_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q >= -0.425 {
        return q * ratio(&CENTRE, 0.180_625 - q * q);
    }
    let r = (-libm::log(p)).sqrt();
    if r <= 5.0 { -ratio(&TAIL, r - 1.6) } else { -ratio(&FAR_TAIL, r - 5.0) }
}

/// Returns the ratio of two polynomials, whose coefficients are given from the constant one on.
fn ratio([upper, lower]: &[[f64; 8]; 2], x: f64) -> f64 {
    let polynomial = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    polynomial(upper) / polynomial(lower)
}

#[cfg(test)]
mod tests {
    use super::lower_quantile;

    /// Quantiles computed with 40 digits and rounded.
    const EXACT: [(f64, f64); 8] = [
        (0.5, 0.0),
        (0.4, -0.2533471031357997),
        (0.075, -1.439531470938456),
        (0.025, -1.9599639845400543),
        (1e-05, -4.264890793922825),
        (1e-10, -6.361340902404057),
        (1e-12, -7.034483825301132),
        (1e-16, -8.222082216130435),
    ];

    #[test]
    fn quantiles_are_right_in_every_region() {
        for (p, exact) in EXACT {
            let z = lower_quantile(p);
            assert!((z - exact).abs() <= 2e-15 * exact.abs(), "{p}: {z} {exact}");
        }
    }
}
