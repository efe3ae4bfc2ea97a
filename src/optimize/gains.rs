//! The gains of an SPSA.

/// Decay of the steps, and of the perturbations: the least that convergence allows, which serve
/// best in finite samples (J. C. Spall, "Implementation of the simultaneous perturbation algorithm
/// for stochastic optimization", IEEE Trans. Aerosp. Electron. Syst. 34 (1998) 817-823).
const ALPHA: f64 = 0.602;
const GAMMA: f64 = 0.101;

/// The gains a_k = a / (k + 1 + A)^.602 and c_k = c / (k + 1)^.101, in shares of the box, and what
/// they were chosen from.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Gains {
    /// Numerator of the steps [share of the box per unit of slope].
    pub a: f64,
    /// Numerator of the perturbations [share of the box].
    pub c: f64,
    /// A, which holds the first steps back [iterations].
    pub stability: f64,
    pub iterations: u32,
    /// Slope that the pilot measured [cost per box].
    pub slope: f64,
    /// Standard deviation of one paired difference in the pilot [cost].
    pub noise: f64,
}

impl Gains {
    /// Returns the step of iteration `k`, from 0.
    pub fn step(&self, k: u32) -> f64 {
        self.a / libm::pow(f64::from(k) + 1.0 + self.stability, ALPHA)
    }

    /// Returns the perturbation of iteration `k`, from 0.
    pub fn perturbation(&self, k: u32) -> f64 {
        self.c / libm::pow(f64::from(k) + 1.0, GAMMA)
    }

    /// Sets a so that the first step is `share` of the box where a slope estimate is `size`.
    pub(super) fn first_step(&mut self, share: f64, size: f64) {
        let per_slope = if size > 0.0 { share / size } else { share };
        self.a = per_slope * libm::pow(1.0 + self.stability, ALPHA);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_follow_the_published_decay() {
        let mut gains =
            Gains { a: 0.0, c: 0.2, stability: 9.0, iterations: 90, slope: 0.0, noise: 0.0 };
        gains.first_step(0.1, 4.0);
        assert!((gains.step(0) * 4.0 - 0.1).abs() < 1e-15);
        // (10 / 100)^.602 and 100^-.101.
        assert!((gains.step(90) / gains.step(0) - 0.250_035).abs() < 1e-6);
        assert!((gains.perturbation(99) / 0.2 - 0.628_058).abs() < 1e-6);
    }
}
