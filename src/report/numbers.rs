//! Numbers as people read them.

use crate::design::Level;

/// Most letters of a value of an axis that is shown as it is.
const LONG: usize = 12;
/// From here on numbers are written with an exponent.
const MANY: f64 = 1e15;

/// Returns `mean ± half`, with two digits of `half` that mean something.
pub fn plus_minus(mean: f64, half: f64) -> String {
    if mean.abs() >= MANY || half >= MANY || mean.abs().max(half) < 1e-9 && half > 0.0 {
        return format!("{mean:.3e} ± {half:.1e}");
    }
    // A number of this kind has 15 digits; what is less than the last of them is none.
    let last = 14.0 - mean.abs().log10().floor();
    if half <= 0.0 || half.log10() < -last {
        return format!("{} ± 0", short(mean + 0.0));
    }
    let decimals = (1.0 - half.log10().floor()).clamp(0.0, last.max(0.0)) as usize;
    let mean = format!("{mean:.decimals$}");
    // Not −0.
    let is_zero = mean.bytes().all(|letter| b"-0.".contains(&letter));
    let mean = if is_zero { mean.trim_start_matches('-') } else { &mean };
    format!("{mean} ± {half:.decimals$}")
}

/// Returns a number with at most six significant digits, and all of its whole part.
pub fn short(number: f64) -> String {
    written(whole(number, 6))
}

/// Returns a number with all of its digits.
pub fn written(number: f64) -> String {
    match number {
        number if number != 0.0 && !(1e-9..MANY).contains(&number.abs()) => {
            format!("{number:e}")
        }
        number => format!("{number}"),
    }
}

/// Returns a number rounded to so many significant digits, or to a whole one if that has more.
pub fn whole(number: f64, digits: usize) -> f64 {
    match number.abs() {
        size if size < MANY => rounded(number, digits.max(size.log10() as usize + 1)),
        _ => rounded(number, digits),
    }
}

/// Returns a value of an axis as it is, or, if that is long, with six significant digits: with more where
/// these would make it look rounder than it is, since 0.9999 and 1 may be worlds apart, with two at least
/// after leading nines, and with all of its whole part.
pub fn place(number: f64) -> f64 {
    if format!("{number}").len() <= LONG {
        return number;
    }
    let mantissa = |number: f64| -> String {
        let written = format!("{number:e}");
        let letters = written.chars().take_while(|&letter| letter != 'e');
        letters.filter(char::is_ascii_digit).collect()
    };
    let nines = mantissa(number).chars().take_while(|&digit| digit == '9').count();
    let is_told = |&digits: &usize| {
        let rounded = whole(number, digits);
        mantissa(rounded).len() >= digits || rounded == number
    };
    whole(number, (6.max(nines + 2)..=LONG).find(is_told).unwrap_or(6))
}

/// Returns a value of an axis as people read it.
pub fn level(level: &Level) -> String {
    match level {
        Level::Number(number) => written(place(*number)),
        Level::Text(text) => text.clone(),
    }
}

/// Returns a number rounded to so many significant digits, at least one.
pub fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

/// Returns a whole number with its digits in groups of three.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Returns a time in words.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// Returns a size in words.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => format!("{:.0} kB", (b / 1e3).ceil()),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// Returns rising whole numbers as lists of batch systems write them.
///
/// ```
/// assert_eq!(balancelab::report::ranges(&[3, 7, 8, 9]), "3,7-9");
/// ```
pub fn ranges(numbers: &[u32]) -> String {
    let rows = numbers.chunk_by(|&one, &next| next.checked_sub(1) == Some(one));
    let written = rows.map(|row| match row {
        [first, .., last] => format!("{first}-{last}"),
        alone => alone.iter().map(u32::to_string).collect(),
    });
    written.collect::<Vec<String>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(plus_minus(22.70412, 0.0432), "22.704 ± 0.043");
        assert_eq!(plus_minus(66663.4, 12.3), "66663 ± 12");
        assert_eq!(plus_minus(5.0, 0.0), "5 ± 0");
        assert_eq!(plus_minus(1e-5, 0.0), "0.00001 ± 0");
        assert_eq!(plus_minus(99.999918999919, 9.4e-11), "99.999918999919 ± 0.000000000094");
        assert_eq!(plus_minus(0.29988333333333, 1.1e-16), "0.299883 ± 0");
        assert_eq!(
            (&*plus_minus(-0.0001, 0.032), &*plus_minus(-1e-9, 2.5)),
            ("0.000 ± 0.032", "0.0 ± 2.5")
        );
        assert_eq!(plus_minus(-0.04, 0.032), "-0.040 ± 0.032");
        assert_eq!(
            (&*plus_minus(0.0, 3e-12), &*plus_minus(2e-11, 3e-12)),
            ("0.000e0 ± 3.0e-12", "2.000e-11 ± 3.0e-12")
        );
        assert_eq!(plus_minus(1.5e300, 2e298), "1.500e300 ± 2.0e298");
        assert_eq!((short(1e300), short(-2.5e-12)), ("1e300".into(), "-2.5e-12".into()));
        assert_eq!((short(0.0), short(123_456.78)), ("0".into(), "123457".into()));
        assert_eq!((short(-1_234_567.8), short(1e6)), ("-1234568".into(), "1000000".into()));
        assert_eq!(plus_minus(1_234_567.0, 0.0), "1234567 ± 0");
        assert_eq!((written(1_234_567.5), written(0.0)), ("1234567.5".into(), "0".into()));
        assert_eq!(grouped(1_234_567.0), "1 234 567");
        assert_eq!(grouped(12.0), "12");
        assert_eq!((short(0.0079432823), short(1.0)), ("0.00794328".into(), "1".into()));
        assert_eq!(duration(0.2), "less than a second");
        assert_eq!(duration(3600.0), "60 min");
        assert_eq!((size(1.0), size(2.5e9)), ("1 kB".into(), "2.5 GB".into()));
    }

    #[test]
    fn long_numbers_lose_no_digit_that_matters() {
        for whole in [0.9999997, 1_234_567.0, 123.4568, 0.01234561, 40.12345679] {
            assert_eq!(place(whole), whole);
        }
        assert_eq!((place(0.0031622776601683794), place(0.1 + 0.2)), (0.00316228, 0.3));
        assert_eq!(place(0.999_999_999_97), 0.999_999_999_97);
        assert_eq!((place(0.999_991_666_666_6), place(1.0 - 1e-16)), (0.999_991_7, 1.0));
        assert_eq!((place(4e6 / 3.0), place(123_456_789.062_5)), (1_333_333.0, 123_456_789.0));
        assert_eq!(place(1e12 + 1.0), 1e12 + 1.0);
        assert_eq!(level(&Level::Number(1e-12)), "1e-12");
    }

    #[test]
    fn neighbours_are_written_as_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[5, 6]), "5-6");
        assert_eq!(ranges(&[1, 3, 5]), "1,3,5");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10, 4_294_967_295]), "1-3,7,9-10,4294967295");
    }
}
