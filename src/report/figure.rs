//! Figures as data: what is to be drawn, and nothing of how.

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of its file, without the ending.
    pub name: String,
    pub title: String,
    /// What there is to know to read it.
    pub note: String,
    /// The response that it shows, if it is one.
    pub response: Option<String>,
    pub body: Body,
}

/// What a figure shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Curves(Curves),
    Heat(Heat),
    Forest(Forest),
    Bars(Bars),
}

/// A scale: a column's values along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub name: String,
    pub unit: String,
    pub log: bool,
    pub from: f64,
    pub to: f64,
}

/// Values against a numeric axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    pub x: Scale,
    pub y: Scale,
    pub series: Vec<Series>,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// Position of its policy among the layout's.
    pub policy: Option<usize>,
    pub look: Look,
    /// Position in the palette; nothing for what is drawn in the colour of text.
    pub colour: Option<usize>,
    /// With rising x.
    pub marks: Vec<Mark>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line through its marks, with a band for their intervals.
    Line,
    /// A horizontal line through the figure: what doesn't depend on the axis.
    Control,
    /// A dashed line.
    Theory,
    /// Published figures: marks alone.
    Published,
    /// What a search found, as it was confirmed.
    Found,
    /// Small dots: values along the way.
    Tried,
}

/// A value at a place, maybe with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub x: f64,
    pub y: f64,
    pub ends: Option<(f64, f64)>,
}

/// Values over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    pub x: (String, Vec<f64>),
    pub y: (String, Vec<f64>),
    /// Name and unit of the value.
    pub value: (String, String),
    /// A row for each value of y, rising, with a cell for each of x.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// Differences with their intervals, one below the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    /// What is on the axis, with its unit.
    pub difference: String,
    pub rows: Vec<Difference>,
}

/// A row of a [`Forest`].
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub name: String,
    /// Its scenario, where there are several.
    pub place: String,
    pub difference: f64,
    pub ends: Option<(f64, f64)>,
    /// Better, worse, or not known.
    pub better: Option<bool>,
}

/// Values of each server, policy by policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Name of the value, with its unit.
    pub value: String,
    /// For each policy its name and a value for each server.
    pub groups: Vec<(String, Vec<Mark>)>,
}

impl Series {
    /// Leaves out what can't be told apart: of many marks in one of `columns` equal parts of the scale
    /// only the highest and the lowest stay.
    pub fn thin(&mut self, x: &Scale, columns: f64) {
        let column = |mark: &Mark| (x.place(mark.x) * columns).floor() as i64;
        let mut seen = Vec::new();
        for part in self.marks.chunk_by(|a, b| column(a) == column(b)) {
            if part.len() <= 2 {
                seen.extend_from_slice(part);
                continue;
            }
            let by_y = |&a: &usize, &b: &usize| part[a].y.total_cmp(&part[b].y);
            let low = (0..part.len()).min_by(by_y).unwrap_or_default();
            let high = (0..part.len()).max_by(by_y).unwrap_or_default();
            seen.extend([low.min(high), low.max(high)].map(|position| part[position]));
        }
        self.marks = seen;
    }
}

impl Scale {
    /// Returns a scale over some values, with a little room at both ends.
    pub fn over(name: &str, unit: &str, log: bool, values: impl Iterator<Item = f64>) -> Scale {
        let usable = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let ends = usable.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(from, to)| (from.min(value), to.max(value))))
        });
        let (from, to) = ends.unwrap_or(if log { (0.1, 1.0) } else { (0.0, 1.0) });
        let (from, to) = match log {
            true if to / from < 1.01 => (from / 2.0, to * 2.0),
            true => {
                let room = (to / from).powf(0.03);
                (from / room, to * room)
            }
            false if to - from <= 1e-9 * to.abs().max(from.abs()) => {
                let room = if to == 0.0 { 1.0 } else { 0.1 * to.abs() };
                (from - room, to + room)
            }
            false => {
                let room = 0.04 * (to - from);
                // No room below zero for what can't be there.
                let low = if from >= 0.0 { (from - room).max(0.0) } else { from - room };
                (low, to + room)
            }
        };
        Scale { name: name.to_owned(), unit: unit.to_owned(), log, from, to }
    }

    /// Makes room for intervals: for all of the usual ones, but not for those that would make what
    /// matters small.
    pub fn stretch(&mut self, intervals: impl Iterator<Item = (f64, f64)>) {
        let of = |value: f64| if self.log { value.log10() } else { value };
        let back = |value: f64| if self.log { 10f64.powf(value) } else { value };
        let intervals: Vec<(f64, f64)> = intervals.map(|(low, high)| (of(low), of(high))).collect();
        let widths = intervals.iter().map(|(low, high)| high - low);
        let mut widths: Vec<f64> = widths.filter(|width| width.is_finite()).collect();
        widths.sort_by(f64::total_cmp);
        let usual = widths.get(widths.len() / 2).copied().unwrap_or_default();
        let (from, to) = (of(self.from), of(self.to));
        let most = f64::max(0.5 * (to - from), 0.75 * usual);
        let (least, most) = (from - most, to + most);
        let ends = || intervals.iter().flat_map(|(low, high)| [*low, *high]);
        let (low, high) =
            ends().filter(|end| end.is_finite()).fold((from, to), |(low, high), end| {
                (low.min(end).max(least), high.max(end).min(most))
            });
        (self.from, self.to) = (back(low), back(high));
    }

    /// Returns where a value lies between the ends, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let (from, to) = (of(self.from), of(self.to));
        (of(value) - from) / (to - from)
    }

    /// Returns name and unit for people.
    pub fn title(&self) -> String {
        titled(&self.name, &self.unit)
    }
}

/// Returns a name and its unit for people.
pub fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() || unit == name { name.to_owned() } else { format!("{name}, {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_room_for_what_they_show() {
        let over = |log, values: &[f64]| Scale::over("y", "", log, values.iter().copied());
        let scale = over(false, &[2.0, 4.0]);
        assert!(scale.from < 2.0 && scale.from > 1.8 && scale.to > 4.0 && scale.to < 4.2);
        // Nothing is below zero that can't be.
        assert_eq!(over(false, &[0.0, 4.0]).from, 0.0);
        assert!(over(false, &[-1.0, 4.0]).from < -1.0);
        // A single value, none, and what has no logarithm.
        assert!(over(false, &[3.0]).from < 3.0 && over(false, &[3.0]).to > 3.0);
        assert!(over(false, &[0.0]).from < over(false, &[0.0]).to);
        assert_eq!((over(false, &[]).from, over(false, &[f64::NAN]).to), (0.0, 1.04));
        assert!(over(true, &[0.0, 1e-3, 1.0]).from > 5e-4);
        assert!(over(true, &[7.0]).from < 7.0 && over(true, &[7.0]).to > 7.0);
        let scale = Scale { from: 0.01, to: 100.0, ..over(true, &[]) };
        assert!((scale.place(1.0) - 0.5).abs() < 1e-12);
        assert!(scale.place(0.0) < 0.0);
    }

    #[test]
    fn intervals_widen_a_scale_but_not_much() {
        let scale = |log, from, to| Scale { from, to, ..Scale::over("y", "", log, [].into_iter()) };
        let mut few = scale(false, 0.0, 10.0);
        few.stretch([(-2.0, 3.0), (7.0, 14.0)].into_iter());
        assert_eq!((few.from, few.to), (-2.0, 14.0));
        // One that is much wider than the others is cut.
        let mut one = scale(false, 0.0, 10.0);
        one.stretch([(1.0, 2.0), (4.0, 99.0), (3.0, 4.0)].into_iter());
        assert_eq!((one.from, one.to), (0.0, 15.0));
        // Where all are wide, their values differ by chance alone, which is to be seen.
        let mut wide = scale(false, 8.0, 8.1);
        wide.stretch([(7.8, 8.3), (7.7, 8.2), (7.8, 8.4)].into_iter());
        assert_eq!((wide.from, wide.to), (7.7, 8.4));
        let mut log = scale(true, 1.0, 100.0);
        log.stretch([(0.5, 2.0), (0.0, 5.0), (-1.0, 3.0), (2.0, 4.0)].into_iter());
        assert!((log.from - 0.5).abs() < 1e-9 && (log.to - 100.0).abs() < 1e-9, "{log:?}");
    }

    #[test]
    fn what_cannot_be_told_apart_is_left_out() {
        let mark = |x: f64, y: f64| Mark { x, y, ends: None };
        let marks: Vec<Mark> = (0..1000).map(|x| mark(f64::from(x), f64::from(x % 7))).collect();
        let (name, policy, look, colour) = (String::new(), None, Look::Line, None);
        let mut series = Series { name, policy, look, colour, marks };
        let x = Scale { from: 0.0, to: 1000.0, ..Scale::over("x", "", false, [].into_iter()) };
        series.thin(&x, 1e6);
        assert_eq!(series.marks.len(), 1000);
        series.thin(&x, 10.0);
        // Of each hundred the first lowest and the last highest, in order.
        assert_eq!(series.marks.len(), 20);
        assert!(series.marks.windows(2).all(|pair| pair[0].x < pair[1].x));
        assert!(series.marks.iter().all(|mark| mark.y == 0.0 || mark.y == 6.0));
    }
}
