//! Theoretical values on their way to the columns of a model.

use super::{Shape, System};

/// Values by the names of responses and the positions of their columns.
pub(super) struct Values {
    system: &'static System,
    shape: Shape,
    list: Vec<(&'static str, usize, f64)>,
}

impl Values {
    /// Starts with none, for a model of that shape.
    pub(super) fn new(system: &'static System, shape: Shape) -> Values {
        Values { system, shape, list: Vec::new() }
    }

    /// Sets the value of the `column`th column of a response, from 0; the last one set counts.
    pub(super) fn set(&mut self, name: &'static str, column: usize, value: f64) {
        self.list.retain(|&(other, k, _)| (other, k) != (name, column));
        self.list.push((name, column, value));
    }

    /// Takes all values of a response back.
    pub(super) fn unset(&mut self, name: &str) {
        self.list.retain(|&(other, ..)| other != name);
    }

    /// Returns a value per column of the model, nothing where there is none.
    pub(super) fn columns(&self) -> Vec<Option<f64>> {
        let find =
            |key| self.list.iter().find(|&&(n, k, _)| (n, k) == key).map(|&(.., value)| value);
        let of = |response: &'static super::Response| {
            let count = response.columns(self.shape).count();
            (0..count).map(|k| (response.name, k))
        };
        self.system.responses.iter().flat_map(of).map(find).collect()
    }
}
