//! Axes: the values that a swept field takes.
//!
//! A count and a value come from the same formula, `a + i·h`, with `i` an integer: nothing is
//! added up. Decimal fractions are not exact in binary, so 0.1 + 2·0.1 is not the 0.3 that a
//! reader of the spec expects; where the ends and the step have a short decimal form, the formula
//! is evaluated on integers scaled by a power of ten and rounded once, which gives 0.3.

/// Most values on one axis.
pub const MAX_LEVELS: u64 = 10_000_000;

/// A swept field.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The field, from the model's or the policy's own fields down: `["service", "poisson"]`.
    pub path: Vec<String>,
    /// The `axis:` name; axes that share one move together.
    pub shared: Option<String>,
    pub levels: Levels,
}

/// The values of an axis, by formula or by list.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// `n` values from `a` to `b` at equal distances, both included; `a` alone if `n` is 1.
    Linspace { a: f64, b: f64, n: usize, exact: Option<Exact> },
    /// `n` values from `a` to `b` at equal ratios, both included; `a` alone if `n` is 1.
    Logspace { a: f64, b: f64, n: usize },
    /// `n` values `a + i·h`.
    Step { a: f64, h: f64, n: usize, exact: Option<Exact> },
    /// Values as listed.
    List(Vec<Level>),
}

/// Two numbers times a common power of ten, where they have a short decimal form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    first: i128,
    second: i128,
    scale: i128,
}

/// One value of an axis, as the axis column shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    Number(f64),
    Text(String),
}

impl Level {
    /// Returns whether two values are the same, numbers up to a rounding error.
    pub fn is_about(&self, other: &Level) -> bool {
        match (self, other) {
            (Level::Number(a), Level::Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            _ => self == other,
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Level::Number(number) => write!(f, "{number}"),
            Level::Text(text) => f.write_str(text),
        }
    }
}

/// An axis that asks for more values than an axis may have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{}` values are more than the {MAX_LEVELS} that an axis may have", short(*.0))]
pub struct TooMany(pub f64);

/// Returns a count without hundreds of digits.
fn short(count: f64) -> String {
    if count < 1e15 { format!("{count}") } else { format!("{count:.2e}") }
}

impl Levels {
    /// Returns `n` values from `a` to `b` at equal distances, both included; `a` alone if `n` is 1.
    pub fn linspace(a: f64, b: f64, n: usize) -> Levels {
        Levels::Linspace { a, b, n, exact: Exact::new([a, b]) }
    }

    /// Returns `a`, `a + h`, … up to `b`, which is included when the steps reach it.
    ///
    /// ```
    /// use balancelab::design::{Level, Levels};
    /// let axis = Levels::step(0.1, 1.0, 0.1).unwrap();
    /// assert_eq!(axis.len(), 10);
    /// assert_eq!(axis.level(2), Level::Number(0.3));
    /// assert_eq!(axis.level(9), Level::Number(1.0));
    /// ```
    ///
    /// # Errors
    /// [`TooMany`] values. `h` must be finite, not 0 and lead from `a` to `b`.
    pub fn step(a: f64, b: f64, h: f64) -> Result<Levels, TooMany> {
        let steps = match scaled([a, b, h]) {
            Some(([a, b, h], _)) => ((b - a) / h) as f64,
            // Without a common decimal form the last value may miss `b` by a rounding error.
            None => ((b - a) / h * (1.0 + 4.0 * f64::EPSILON)).floor(),
        };
        if steps >= MAX_LEVELS as f64 {
            return Err(TooMany(steps + 1.0));
        }
        Ok(Levels::Step { a, h, n: steps as usize + 1, exact: Exact::new([a, h]) })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Levels::Linspace { n, .. } | Levels::Logspace { n, .. } | Levels::Step { n, .. } => *n,
            Levels::List(levels) => levels.len(),
        }
    }

    /// Returns whether the axis has no value; a checked one has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all values are numbers.
    pub fn is_numeric(&self) -> bool {
        match self {
            Levels::List(levels) => levels.iter().all(|level| matches!(level, Level::Number(_))),
            _ => true,
        }
    }

    /// Returns value `i` < [`Levels::len`], as its column shows it.
    pub fn level(&self, i: usize) -> Level {
        match self {
            Levels::List(levels) => levels[i].clone(),
            formula => Level::Number(formula.number(i)),
        }
    }

    /// Returns value `i` of an axis given by formula; NaN for a listed text.
    pub fn number(&self, i: usize) -> f64 {
        match *self {
            Levels::Linspace { a, n: 1, .. } | Levels::Logspace { a, n: 1, .. } => a,
            Levels::Linspace { a, b, n, exact } => {
                let (last, i) = (n as i128 - 1, i as i128);
                match exact {
                    Some(Exact { first, second, scale }) => {
                        ratio(first * (last - i) + second * i, scale * last)
                    }
                    None if i == last => b,
                    None => a + i as f64 * ((b - a) / last as f64),
                }
            }
            Levels::Logspace { b, n, .. } if i + 1 == n => b,
            Levels::Logspace { a, b, n } => a * libm::pow(b / a, i as f64 / (n as f64 - 1.0)),
            Levels::Step { a, h, exact, .. } => match exact {
                Some(Exact { first, second, scale }) => ratio(first + second * i as i128, scale),
                None => a + i as f64 * h,
            },
            Levels::List(ref levels) => match levels[i] {
                Level::Number(number) => number,
                Level::Text(_) => f64::NAN,
            },
        }
    }
}

impl Exact {
    fn new(numbers: [f64; 2]) -> Option<Exact> {
        scaled(numbers).map(|([first, second], scale)| Exact { first, second, scale })
    }
}

/// Returns the numbers times a common power of ten as integers, and that power; nothing where
/// they have no decimal form short enough for the arithmetic on them to be exact.
fn scaled<const N: usize>(numbers: [f64; N]) -> Option<([i128; N], i128)> {
    let texts = numbers.map(|number| format!("{number}"));
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let places = texts.iter().map(|text| decimals(text)).max()?;
    if places > 18 {
        return None;
    }
    let mut wholes = [0_i128; N];
    for (whole, text) in wholes.iter_mut().zip(&texts) {
        let digits: String = text.chars().filter(|&c| c != '.').collect();
        let padding = "0".repeat(places - decimals(text));
        *whole = (digits + &padding).parse().ok()?;
        if whole.unsigned_abs() >= 1 << 60 {
            return None;
        }
    }
    Some((wholes, 10_i128.pow(places as u32)))
}

/// Returns the quotient rounded once, if both are exact in binary; else rounded thrice.
fn ratio(numerator: i128, denominator: i128) -> f64 {
    const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
    if numerator.unsigned_abs() <= EXACT && denominator.unsigned_abs() <= EXACT {
        return numerator as f64 / denominator as f64;
    }
    let common = gcd(numerator.unsigned_abs(), denominator.unsigned_abs()).max(1) as i128;
    (numerator / common) as f64 / (denominator / common) as f64
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Where an axis stands: in the model (`policy` is none) or in a policy, and its position there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Owner {
    pub policy: Option<usize>,
    pub position: usize,
}

/// Returns each axis's column name: its `axis:` name, else the field's name, with its path in
/// front where two different fields would clash.
///
/// A field whose name is a column of results already has its path in front too.
pub(super) fn columns(
    model: &[Axis],
    policies: &[Vec<Axis>],
    reserved: &dyn Fn(&str) -> bool,
) -> Vec<(Owner, String)> {
    let owned = |policy: Option<usize>, axes: &[Axis]| {
        axes.iter()
            .enumerate()
            .map(|(position, axis)| (Owner { policy, position }, axis.clone()))
            .collect::<Vec<_>>()
    };
    let mut all = owned(None, model);
    for (index, axes) in policies.iter().enumerate() {
        all.extend(owned(Some(index), axes));
    }
    let short = |axis: &Axis| match &axis.shared {
        Some(name) => name.clone(),
        None => axis.path.last().cloned().unwrap_or_default(),
    };
    let field = |(owner, axis): &(Owner, Axis)| (owner.policy.is_none(), axis.path.join("."));
    all.iter()
        .map(|this| {
            let (owner, axis) = this;
            let name = short(axis);
            if axis.shared.is_some() {
                return (*owner, name);
            }
            let rivals: Vec<_> = all
                .iter()
                .filter(|other| short(&other.1) == name && field(other) != field(this))
                .collect();
            let path = axis.path.join(".");
            let side = if owner.policy.is_none() { "model" } else { "policy" };
            let column = if rivals.is_empty() && !reserved(&name) {
                name
            } else if rivals.iter().all(|other| other.1.path != axis.path)
                && path != name
                && !reserved(&path)
            {
                path
            } else {
                format!("{side}.{path}")
            };
            (*owner, column)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(levels: &Levels) -> Vec<f64> {
        (0..levels.len()).map(|i| levels.number(i)).collect()
    }

    #[test]
    fn decimal_steps_give_the_decimals_a_reader_expects() {
        let tenths = Levels::step(0.1, 1.0, 0.1).unwrap();
        assert_eq!(numbers(&tenths), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        let down = Levels::step(1.0, 0.0, -0.25).unwrap();
        assert_eq!(numbers(&down), [1.0, 0.75, 0.5, 0.25, 0.0]);
        let hundredths = Levels::linspace(0.0, 1.0, 101);
        for (i, got) in numbers(&hundredths).into_iter().enumerate() {
            assert_eq!(got, format!("{}e-2", i).parse::<f64>().unwrap());
        }
    }

    #[test]
    fn ends_are_exact_and_ratios_equal() {
        let levels = numbers(&Levels::Logspace { a: 0.001, b: 1.0, n: 31 });
        assert_eq!((levels[0], levels[30]), (0.001, 1.0));
        assert!((levels[10] - 0.01).abs() < 1e-15 && (levels[20] - 0.1).abs() < 1e-14);
        let odd = numbers(&Levels::linspace(1.0 / 3.0, 1e-300, 7));
        assert_eq!((odd[0], odd[6]), (1.0 / 3.0, 1e-300));
    }

    #[test]
    fn too_many_steps_are_counted_and_not_made() {
        assert_eq!(Levels::step(0.0, 1.0, 1e-12), Err(TooMany(1e12 + 1.0)));
        assert!(TooMany(1e300).to_string().starts_with("`1.00e300` values"));
    }
}
