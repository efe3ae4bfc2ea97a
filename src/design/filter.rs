//! Conditions of `where:` on the values of axes, such as `alpha <= 0.5 && max_run > 1`.

use exmex::{BinOp, Express, FlatEx, MakeOperators, Operator};

use super::Level;

/// The operators of conditions, on numbers alone: true is 1 and false 0, as in C. (exmex's own
/// value type compares whole numbers and fractions as of different kinds: 3 == 3.0 is false.)
#[derive(Clone, Debug)]
struct Operators;

impl MakeOperators<f64> for Operators {
    fn make<'a>() -> Vec<Operator<'a, f64>> {
        // None is marked commutative: exmex would then take `a - b + c` for `a - (b + c)`.
        let binary = |name, prio, apply| {
            Operator::make_bin(name, BinOp { apply, prio, is_commutative: false })
        };
        let minus = BinOp { apply: |a, b| a - b, prio: 4, is_commutative: false };
        vec![
            binary("||", 0, |a, b| f64::from(a != 0.0 || b != 0.0)),
            binary("&&", 1, |a, b| f64::from(a != 0.0 && b != 0.0)),
            binary("==", 2, |a, b| f64::from(a == b)),
            binary("!=", 2, |a, b| f64::from(a != b)),
            binary("<=", 3, |a, b| f64::from(a <= b)),
            binary(">=", 3, |a, b| f64::from(a >= b)),
            binary("<", 3, |a, b| f64::from(a < b)),
            binary(">", 3, |a, b| f64::from(a > b)),
            binary("+", 4, |a, b| a + b),
            Operator::make_bin_unary("-", minus, |a| -a),
            binary("*", 5, |a, b| a * b),
            binary("/", 6, |a, b| a / b),
            binary("^", 7, libm::pow),
            Operator::make_unary("!", |a| f64::from(a == 0.0)),
        ]
    }
}

/// One condition. It applies to the points that have every axis it names; others it keeps.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    expression: FlatEx<f64, Operators>,
    /// Names in the order in which the expression wants their values.
    names: Vec<String>,
}

impl Filter {
    /// Parses a condition over axis names, numbers, `+ - * / ^`, `< <= > >= == !=`, `&& || !` and
    /// parentheses; a name with a dot in it stands in braces: `{service.poisson}`.
    ///
    /// # Errors
    /// What the parser says.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let expression = FlatEx::parse(text).map_err(|error| error.to_string())?;
        let names = expression.var_names().to_vec();
        Ok(Filter { text: text.to_owned(), expression, names })
    }

    /// Returns the condition as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of the axes it is about.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether a point passes, of whose axes `value` tells the values.
    ///
    /// # Errors
    /// A sentence, where the condition is about a text or is no condition.
    pub fn keeps(&self, value: impl Fn(&str) -> Option<Level>) -> Result<bool, String> {
        let mut values = Vec::with_capacity(self.names.len());
        for name in &self.names {
            match value(name) {
                Some(Level::Number(number)) => values.push(number),
                Some(Level::Text(text)) => {
                    return Err(format!("axis `{name}` has the value `{text}`, not a number"));
                }
                None => return Ok(true),
            }
        }
        match self.expression.eval(&values) {
            Ok(1.0) => Ok(true),
            Ok(0.0) => Ok(false),
            Ok(other) => Err(format!("gives {other}, neither true nor false")),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(text: &str, alpha: f64) -> Result<bool, String> {
        let value = |name: &str| (name == "alpha").then_some(Level::Number(alpha));
        Filter::parse(text)?.keeps(value)
    }

    #[test]
    fn conditions_compare_integers_and_fractions() {
        assert_eq!(keeps("alpha <= 0.5 && alpha > 0", 0.5), Ok(true));
        assert_eq!(keeps("alpha == 3", 3.0), Ok(true));
        assert_eq!(keeps("alpha == 3.0 && alpha / 2 == 1.5", 3.0), Ok(true));
        assert_eq!(keeps("!(alpha < 2) && -alpha < 0", 3.0), Ok(true));
        assert_eq!(keeps("alpha-1==2||alpha-1<1", 3.0), Ok(true));
        assert_eq!(keeps("5 - 2 + 1 == 4 && 8 / 2 * 2 == 8 && alpha > 0", 3.0), Ok(true));
        assert_eq!(keeps("1 + alpha * 2 ^ 2 == 13", 3.0), Ok(true));
        assert_eq!(keeps("alpha != 3 || alpha * 2 >= 6", 3.0), Ok(true));
        assert_eq!(keeps("alpha < 3", 3.0), Ok(false));
        assert_eq!(keeps("beta < 3 && alpha < 0", 3.0), Ok(true), "no axis `beta` here");
        assert!(keeps("alpha + 1", 3.0).is_err());
        assert!(keeps("alpha <", 3.0).is_err());
    }
}
