//! A range of values, and the unit interval that stands for it.

/// The values that a searched parameter may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Least value, in the parameter's own unit; above 0 if `log`.
    pub low: f64,
    /// Greatest value, above `low`.
    pub high: f64,
    /// Whether equal steps are equal ratios, else equal distances.
    pub log: bool,
    /// Whether it takes whole numbers only; its bounds are whole then.
    pub integer: bool,
}

impl Range {
    /// Returns the value at a share of the range on its scale; a share outside [0, 1] is taken for
    /// the nearest.
    pub fn value(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let value = if self.log {
            self.low * libm::pow(self.high / self.low, share)
        } else {
            self.low + share * (self.high - self.low)
        };
        let value = if self.integer { value.round() } else { value };
        value.clamp(self.low, self.high)
    }

    /// Returns the share of the range at which a value stands, in [0, 1].
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.log {
            libm::log(value / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }

    /// Returns the middle of the range on its scale.
    pub fn middle(&self) -> f64 {
        let middle = match self.log {
            true => self.low.sqrt() * self.high.sqrt(),
            false => self.low + 0.5 * (self.high - self.low),
        };
        let middle = if self.integer { middle.round() } else { middle };
        middle.clamp(self.low, self.high)
    }
}
