//! Conditions of `where:` on the values of axes, such as `alpha <= 0.5 && max_run > 1`.

use exmex::{Express, FlatExVal, Val};

use super::Level;

/// One condition. It applies to the points that have every axis it names; others it keeps.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    expression: FlatExVal<i32, f64>,
    /// Names in the order in which the expression wants their values.
    names: Vec<String>,
}

impl Filter {
    /// Parses a condition over axis names, numbers, `+ - * / ^`, `< <= > >= == !=`, `&&`, `||`
    /// and parentheses; a name with a dot in it stands in braces: `{service.poisson}`.
    ///
    /// # Errors
    /// What the parser says.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let expression = exmex::parse_val::<i32, f64>(text).map_err(|error| error.to_string())?;
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
                Some(Level::Number(number)) => values.push(Val::Float(number)),
                Some(Level::Text(text)) => {
                    return Err(format!("axis `{name}` has the value `{text}`, not a number"));
                }
                None => return Ok(true),
            }
        }
        match self.expression.eval(&values) {
            Ok(Val::Bool(keeps)) => Ok(keeps),
            Ok(other) => Err(format!("gives {other:?}, not true or false")),
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
        assert_eq!(keeps("alpha != 3 || alpha * 2 >= 6", 3.0), Ok(true));
        assert_eq!(keeps("alpha < 3", 3.0), Ok(false));
        assert_eq!(keeps("beta < 3 && alpha < 0", 3.0), Ok(true), "no axis `beta` here");
        assert!(keeps("alpha + 1", 3.0).is_err());
        assert!(keeps("alpha <", 3.0).is_err());
    }
}
