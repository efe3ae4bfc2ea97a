//! The box that is searched, and the unit cube that stands for it.

use crate::design::Range;

/// A box of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    pub parameters: Vec<Range>,
}

impl Space {
    /// Returns the number of parameters.
    pub fn dimension(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the point of the box, in natural units, at a point of the unit cube; whole
    /// parameters are rounded.
    pub fn natural(&self, unit: &[f64]) -> Vec<f64> {
        self.parameters.iter().zip(unit).map(|(this, &share)| this.value(share)).collect()
    }

    /// Returns the point of the unit cube at a point of the box.
    pub fn unit(&self, natural: &[f64]) -> Vec<f64> {
        self.parameters.iter().zip(natural).map(|(this, &value)| this.share(value)).collect()
    }

    /// Returns how much each value changes, in natural units, where its coordinate of the unit cube
    /// changes by a little `change`.
    pub fn change(&self, unit: &[f64], change: &[f64]) -> Vec<f64> {
        let slope = |(i, this): (usize, &Range)| {
            let slope = if this.log {
                this.value(unit[i]) * libm::log(this.high / this.low)
            } else {
                this.high - this.low
            };
            slope * change[i]
        };
        self.parameters.iter().enumerate().map(slope).collect()
    }

    /// Returns up to `points` ≥ 2 coordinates along parameter `i`, from end to end at equal
    /// distances on its scale; of a whole parameter each number once, and all if they are so few.
    pub fn lattice(&self, i: usize, points: u32) -> Vec<f64> {
        let this = &self.parameters[i];
        let count = this.high - this.low + 1.0;
        if this.integer && count <= f64::from(points) {
            return (0..count as u32).map(|n| this.share(this.low + f64::from(n))).collect();
        }
        let mut along: Vec<f64> = (0..points)
            .map(|n| f64::from(n) / f64::from(points - 1))
            .map(|share| if this.integer { this.share(this.value(share)) } else { share })
            .collect();
        along.dedup();
        along
    }

    /// Returns where a point of the unit cube is evaluated: itself, but for whole parameters.
    pub fn actual(&self, unit: &[f64]) -> Vec<f64> {
        let actual = |(this, &share): (&Range, &f64)| {
            let share = share.clamp(0.0, 1.0);
            if this.integer { this.share(this.value(share)) } else { share }
        };
        self.parameters.iter().zip(unit).map(actual).collect()
    }

    /// Returns the two points of the unit cube at `c` to both sides of `at` along `direction`, a
    /// sign per coordinate, each projected on the cube on its own.
    ///
    /// The two differ in every coordinate: a whole parameter that `c` doesn't move goes on by one.
    pub fn spread(&self, at: &[f64], c: f64, direction: &[f64]) -> [Vec<f64>; 2] {
        let side = |sign: f64| -> Vec<f64> {
            let moved: Vec<f64> =
                at.iter().zip(direction).map(|(at, way)| at + sign * c * way).collect();
            self.actual(&moved)
        };
        let (mut plus, mut minus) = (side(1.0), side(-1.0));
        for (i, this) in self.parameters.iter().enumerate().filter(|(_, this)| this.integer) {
            if plus[i] == minus[i] {
                let value = this.value(plus[i]);
                let next = if value + 1.0 <= this.high { value + 1.0 } else { value - 1.0 };
                // The larger of the two goes to the side that the direction says.
                let upper = if direction[i] > 0.0 { &mut plus } else { &mut minus };
                if next > value {
                    upper[i] = this.share(next);
                } else {
                    let lower = if direction[i] > 0.0 { &mut minus } else { &mut plus };
                    lower[i] = this.share(next);
                }
            }
        }
        [plus, minus]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(low: f64, high: f64, log: bool, integer: bool) -> Range {
        Range { low, high, log, integer }
    }

    #[test]
    fn scales_meet_their_ends_and_their_middles() {
        let space = Space {
            parameters: vec![
                parameter(-2.0, 6.0, false, false),
                parameter(0.01, 100.0, true, false),
                parameter(1.0, 9.0, false, true),
            ],
        };
        assert_eq!(space.natural(&[0.0; 3]), [-2.0, 0.01, 1.0]);
        assert_eq!(space.natural(&[1.0; 3]), [6.0, 100.0, 9.0]);
        let middle = space.natural(&[0.5, 0.5, 0.52]);
        assert_eq!((middle[0], middle[2]), (2.0, 5.0));
        assert!((middle[1] - 1.0).abs() < 1e-12);
        let back = space.unit(&[2.0, 1.0, 5.0]);
        assert!(back.iter().all(|share| (share - 0.5).abs() < 1e-12), "{back:?}");
        assert_eq!(space.actual(&[0.3, 1.2, 0.52]), [0.3, 1.0, 0.5]);
    }

    #[test]
    fn a_lattice_has_each_whole_number_once_and_all_of_few() {
        let wholes = Space {
            parameters: vec![parameter(1.0, 50.0, true, true), parameter(2.0, 3.0, false, false)],
        };
        let numbers = |points| -> Vec<f64> {
            let along = wholes.lattice(0, points);
            along.iter().map(|&share| wholes.natural(&[share, 0.0])[0]).collect()
        };
        assert_eq!(numbers(50), (1..=50).map(f64::from).collect::<Vec<_>>());
        let thirty = numbers(30);
        assert!(thirty.is_sorted_by(|a, b| a < b) && thirty.len() < 30, "{thirty:?}");
        assert_eq!((thirty[0], thirty[thirty.len() - 1]), (1.0, 50.0));
        assert_eq!(wholes.lattice(1, 3), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn the_two_sides_of_a_spread_differ_everywhere() {
        let wholes = [parameter(1.0, 9.0, false, true), parameter(1.0, 1000.0, true, true)];
        for parameter in wholes {
            let space = Space { parameters: vec![parameter] };
            for at in (0..=200).map(|i| f64::from(i) / 200.0) {
                for way in [1.0, -1.0] {
                    let [plus, minus] = space.spread(&[at], 0.001, &[way]);
                    let gap = space.natural(&plus)[0] - space.natural(&minus)[0];
                    assert!(gap * way >= 1.0, "{at} {way}: {plus:?} {minus:?}");
                }
            }
        }
        let space = Space { parameters: vec![parameter(0.0, 1.0, false, false); 2] };
        let [plus, minus] = space.spread(&[1.0, 0.5], 0.1, &[1.0, -1.0]);
        assert_eq!((plus, minus), (vec![1.0, 0.4], vec![0.9, 0.6]));
    }
}
