//! Natural logarithms of many numbers at once.
//!
//! The steps are those of `libm::log` (FreeBSD's `e_log.c`) for positive normal numbers, and so are
//! the results, bit for bit; without its branches a compiler puts several into one SIMD register.

const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// Coefficients of the odd powers of s, from s³ on, in ln(1 + f) − (f − f²/2 + s · f²/2), where
/// s = f / (2 + f).
const ODD: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];
/// √2/2 to the 32 bits of its upper half, and 1.
const LOWEST: u64 = 0x3fe6_a09e << 32;
const ONE: u64 = 0x3ff0_0000 << 32;
/// 2⁵², beneath which a whole number written into the fraction is added to it.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// Returns the natural logarithm of a positive normal number.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    // x = 2^k (1 + f) with 1 + f from √2/2 to √2.
    let bits = x.to_bits() + (ONE - LOWEST);
    let k = f64::from_bits(SHIFT.to_bits() | bits >> 52) - (SHIFT + 1023.0);
    let f = f64::from_bits((bits & (u64::MAX >> 12)) + LOWEST) - 1.0;
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (ODD[1] + w * (ODD[3] + w * ODD[5]));
    let odd = z * (ODD[0] + w * (ODD[2] + w * (ODD[4] + w * ODD[6])));
    s * (half + (odd + even)) + k * LN2_LOW - half + f + k * LN2_HIGH
}

#[cfg(test)]
mod tests {
    use super::ln;
    use crate::rng::{Pcg32, unit_open};

    #[test]
    fn logarithms_are_those_of_libm_to_the_last_bit() {
        let mut random = Pcg32::new(7, 1);
        let uniform = (0..1_000_000).map(|_| unit_open(&mut random));
        let powers = (-53..=53).map(|power| 2f64.powi(power));
        let near = |x: f64| [x.next_down(), x, x.next_up()];
        let edges = powers.chain([std::f64::consts::FRAC_1_SQRT_2, f64::MIN_POSITIVE, f64::MAX]);
        for x in uniform.chain(edges.flat_map(near)).filter(|x| x.is_normal()) {
            assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x}");
        }
    }
}
