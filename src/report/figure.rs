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

    /// Makes room for the ends of intervals, but not for those that would make what matters small.
    pub fn stretch(&mut self, ends: impl Iterator<Item = f64>) {
        let of = |value: f64| if self.log { value.log10() } else { value };
        let back = |value: f64| if self.log { 10f64.powf(value) } else { value };
        let (from, to) = (of(self.from), of(self.to));
        let most = 0.5 * (to - from);
        let fits = |end: &f64| (from - most..=to + most).contains(end);
        let (low, high) = ends
            .map(of)
            .filter(fits)
            .fold((from, to), |(low, high), end| (low.min(end), high.max(end)));
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
