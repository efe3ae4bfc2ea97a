//! Curves: values against a numeric axis, named at their right ends.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{
    Area, Drawing, Drawn, GREY, INK, PALETTE, PIXEL, WIDTH, axes, fitted_apart, label_width, line,
    text, width,
};
use crate::report::figure::{Curves, Look, Mark, Series};

const HEIGHT: i32 = 340;
const LEFT: i32 = 60;
const TOP: i32 = 34;
const BOTTOM: i32 = 46;
/// Height of the legend, where there is one.
const LEGEND: i32 = 24;
/// Most pixels for the names of series.
const NAMES: f64 = 136.0;
/// Least distance of two names [pixels].
const APART: i32 = 15;
/// Most marks of a series that get a dot each.
const DOTS: usize = 60;

/// Draws curves.
pub(super) fn curves(body: &Curves) -> Drawn {
    let named = || body.series.iter().filter(|series| is_named(series));
    let widest = named().map(|series| width(&series.name)).fold(0.0, f64::max);
    let right = WIDTH - 26 - widest.min(NAMES).ceil() as i32;
    let left = LEFT.max(label_width(&body.y, HEIGHT - BOTTOM - TOP).ceil() as i32 + 16);
    let frame = [left, TOP, right, HEIGHT - BOTTOM].map(|side| side * PIXEL);
    let has_legend = body.series.iter().any(|series| !is_named(series));
    let mut drawn = Drawn::new(HEIGHT + if has_legend { LEGEND } else { 0 }, frame);
    drawn.layer(None, false, |area| {
        axes(area, frame, Some(&body.x), Some(&body.y))?;
        legend(area, body, frame)
    });
    let names = names(body, frame);
    let full: Vec<&str> = names.iter().map(|name| body.series[name.series].name.as_str()).collect();
    let words = fitted_apart(&full, NAMES);
    for (number, series) in body.series.iter().enumerate() {
        let dashed = series.look == Look::Theory;
        let name = names.iter().zip(&words).find(|(name, _)| name.series == number);
        drawn.layer(Some(number), dashed, |area| {
            one(area, body, series, frame)?;
            name.map_or(Ok(()), |name| label(area, series, name, frame))
        });
    }
    drawn
}

/// Whether a series has its name at its end; the others are in the legend.
fn is_named(series: &Series) -> bool {
    matches!(series.look, Look::Line | Look::Control)
}

fn colour(series: &Series) -> RGBColor {
    match (series.look, series.colour) {
        (_, Some(position)) => PALETTE[position % PALETTE.len()],
        (Look::Control | Look::Theory, None) => GREY,
        (_, None) => INK,
    }
}

/// Where the name of a series stands [units], and where its line ends.
struct Name {
    series: usize,
    end: (i32, i32),
    at: i32,
}

/// Returns a place for each name: beside the line's end, but none over another.
fn names(body: &Curves, frame: [i32; 4]) -> Vec<Name> {
    let [_, top, _, bottom] = frame;
    let named = body.series.iter().enumerate().filter(|(_, series)| is_named(series));
    let ends = named.filter_map(|(number, series)| {
        let visible = series.marks.iter().rev().find(|mark| mark.y.is_finite())?;
        let end = place(body, *visible, frame);
        Some(Name { series: number, end, at: end.1.clamp(top, bottom) })
    });
    let mut names: Vec<Name> = ends.collect();
    names.sort_by_key(|name| name.end.1);
    let apart = APART * PIXEL;
    for at in 1..names.len() {
        names[at].at = names[at].at.max(names[at - 1].at + apart);
    }
    // What was pushed below the frame pushes back.
    let mut limit = bottom;
    for name in names.iter_mut().rev() {
        name.at = name.at.min(limit);
        limit = name.at - apart;
    }
    names
}

/// Writes the name of a series beside the figure. Dots lead to it, since a line would look like values.
fn label(
    area: &Area,
    series: &Series,
    (name, words): (&Name, &String),
    [_, _, right, _]: [i32; 4],
) -> Drawing {
    let style = line(colour(series), 1.25);
    let (from, y) = name.end;
    for x in (from + 6 * PIXEL..right).step_by(5 * PIXEL as usize) {
        area.draw(&Circle::new((x, y), 2, GREY.filled()))?;
    }
    let (bend, end) = (right + 4 * PIXEL, right + 12 * PIXEL);
    area.draw(&PathElement::new([(right, y), (bend, y), (end, name.at)], style))?;
    let style = text(INK, HPos::Left, VPos::Center);
    area.draw(&Text::new(words.as_str(), (end + 4 * PIXEL, name.at), style))
}

/// Returns where a mark is [units], within the frame.
fn place(body: &Curves, mark: Mark, [left, top, right, bottom]: [i32; 4]) -> (i32, i32) {
    let x = body.x.place(mark.x).clamp(0.0, 1.0) * f64::from(right - left);
    let y = body.y.place(mark.y).clamp(0.0, 1.0) * f64::from(bottom - top);
    (left + x.round() as i32, bottom - y.round() as i32)
}

fn one(area: &Area, body: &Curves, series: &Series, frame: [i32; 4]) -> Drawing {
    let colour = colour(series);
    let at = |mark: &Mark| place(body, *mark, frame);
    let end = |mark: &Mark, y: f64| place(body, Mark { y, ..*mark }, frame);
    match series.look {
        Look::Line | Look::Control | Look::Theory => {
            for run in series.marks.split(|mark| !mark.y.is_finite()).filter(|run| !run.is_empty())
            {
                let ends: Vec<(&Mark, (f64, f64))> =
                    run.iter().filter_map(|mark| Some((mark, mark.ends?))).collect();
                if ends.len() > 1 {
                    let high = ends.iter().map(|(mark, ends)| end(mark, ends.1));
                    let low = ends.iter().rev().map(|(mark, ends)| end(mark, ends.0));
                    let band: Vec<(i32, i32)> = high.chain(low).collect();
                    area.draw(&Polygon::new(band, colour.mix(0.2)))?;
                }
                let pixels = if series.look == Look::Control { 1.25 } else { 1.75 };
                for path in within(body, run, frame) {
                    area.draw(&PathElement::new(path, line(colour, pixels)))?;
                }
            }
            if series.look == Look::Line && series.marks.len() <= DOTS {
                let seen = series.marks.iter().filter(|mark| mark.y.is_finite());
                for mark in seen {
                    area.draw(&Circle::new(at(mark), 9, colour.filled()))?;
                }
            }
            Ok(())
        }
        Look::Published | Look::Found | Look::Tried => {
            for mark in series.marks.iter().filter(|mark| mark.y.is_finite()) {
                if let Some((low, high)) = mark.ends {
                    let ends = [end(mark, low), end(mark, high)];
                    area.draw(&PathElement::new(ends, line(colour, 1.25)))?;
                }
                symbol(area, at(mark), series.look, colour)?;
            }
            Ok(())
        }
    }
}

/// Returns the parts of a line that are within the frame [units].
fn within(
    body: &Curves,
    run: &[Mark],
    [left, top, right, bottom]: [i32; 4],
) -> Vec<Vec<(i32, i32)>> {
    let at = |(x, y): (f64, f64)| {
        let x = x.clamp(0.0, 1.0) * f64::from(right - left);
        (left + x.round() as i32, bottom - (y * f64::from(bottom - top)).round() as i32)
    };
    let place = |mark: &Mark| (body.x.place(mark.x), body.y.place(mark.y));
    let is_in = |y: f64| (0.0..=1.0).contains(&y);
    let mut paths: Vec<Vec<(i32, i32)>> = Vec::new();
    let mut path: Vec<(i32, i32)> = Vec::new();
    for (number, mark) in run.iter().enumerate() {
        let (x, y) = place(mark);
        // Where the way from the mark before crosses the edges.
        if let Some(before) = number.checked_sub(1) {
            let (from_x, from_y) = place(&run[before]);
            let crossing = |edge: f64| {
                let share = (edge - from_y) / (y - from_y);
                (share > 0.0 && share < 1.0)
                    .then(|| (share, at((from_x + share * (x - from_x), edge))))
            };
            let mut crossings: Vec<_> = [0.0, 1.0].into_iter().filter_map(crossing).collect();
            crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ways: Vec<(i32, i32)> = crossings.into_iter().map(|(_, at)| at).collect();
            path.extend(&ways);
            if !is_in(y) || (!is_in(from_y) && ways.len() == 2) {
                paths.push(std::mem::take(&mut path));
            }
        }
        if is_in(y) {
            path.push(at((x, y)));
        }
    }
    paths.push(path);
    paths.retain(|path| path.len() > 1);
    paths
}

/// Draws the symbol of a mark: an open diamond is published, a full one found, a dot tried.
fn symbol(area: &Area, (x, y): (i32, i32), look: Look, colour: RGBColor) -> Drawing {
    let reach = 5 * PIXEL;
    let corners = [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y), (x, y - reach)];
    match look {
        Look::Tried => area.draw(&Circle::new((x, y), 6, colour.mix(0.5).filled())),
        Look::Found => area.draw(&Polygon::new(corners, colour.filled())),
        _ => area.draw(&PathElement::new(corners, line(colour, 1.5))),
    }
}

/// Says below the figure what the marks without a name are.
fn legend(area: &Area, body: &Curves, frame: [i32; 4]) -> Drawing {
    // Theory that is off the scale isn't there.
    let is_there = |series: &&Series| {
        series.look != Look::Theory || !within(body, &series.marks, frame).is_empty()
    };
    let words = |look: Look| match look {
        Look::Theory if body.series.iter().any(|one| one.name.ends_with("mean field")) => {
            Some("mean field")
        }
        Look::Theory => Some("theory"),
        Look::Published => Some("published"),
        Look::Found => Some("found by the search, confirmed"),
        Look::Tried => Some("tried"),
        Look::Line | Look::Control => None,
    };
    let y = (HEIGHT + LEGEND - 14) * PIXEL;
    let mut x = LEFT * PIXEL;
    for look in [Look::Theory, Look::Published, Look::Found, Look::Tried] {
        let mut series = body.series.iter().filter(|series| series.look == look);
        let series = series.find(is_there);
        let (Some(series), Some(words)) = (series, words(look)) else { continue };
        let shown = if look == Look::Theory { INK } else { colour(series) };
        if look == Look::Theory {
            for dash in 0..3 {
                let from = x + dash * 9 * PIXEL;
                let style = line(shown, 1.75);
                area.draw(&PathElement::new([(from, y), (from + 5 * PIXEL, y)], style))?;
            }
        } else {
            symbol(area, (x + 12 * PIXEL, y), look, shown)?;
        }
        let style = text(INK, HPos::Left, VPos::Center);
        area.draw(&Text::new(words, (x + 30 * PIXEL, y), style))?;
        x += (30 + width(words).ceil() as i32 + 22) * PIXEL;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::Scale;

    /// What is off the scale is cut at the edge, and not drawn along it.
    #[test]
    fn lines_end_at_the_frame() {
        let scale = Scale { from: 0.0, to: 1.0, ..Scale::over("", "", false, [].into_iter()) };
        let body = Curves { x: scale.clone(), y: scale, series: Vec::new() };
        let path = |ys: &[f64]| {
            let last = (ys.len() - 1) as f64;
            let mark = |(at, &y): (usize, &f64)| Mark { x: at as f64 / last, y, ends: None };
            let marks: Vec<Mark> = ys.iter().enumerate().map(mark).collect();
            within(&body, &marks, [0, 0, 100, 100])
        };
        assert_eq!(path(&[0.0, 1.0]), [[(0, 100), (100, 0)]]);
        assert_eq!(path(&[0.5, 1.5]), [[(0, 50), (50, 0)]]);
        assert_eq!(path(&[2.0, 0.0]), [[(50, 0), (100, 100)]]);
        assert_eq!(path(&[-1.0, 2.0]), [[(33, 100), (67, 0)]]);
        assert_eq!(path(&[0.5, 1.5, 0.5]), [[(0, 50), (25, 0)], [(75, 0), (100, 50)]]);
        assert!(path(&[2.0, 3.0, 2.0]).is_empty());
    }

    /// A name is led to by dots: no line is where there are no values.
    #[test]
    fn lines_have_values() {
        let scale = |name: &str| Scale::over(name, "", false, [0.0, 10.0].into_iter());
        let mark = |x: f64| Mark { x, y: 5.0, ends: None };
        let series = Series {
            name: "short".to_owned(),
            policy: None,
            look: Look::Line,
            colour: Some(0),
            marks: vec![mark(0.0), mark(3.0)],
        };
        let body = Curves { x: scale("x"), y: scale("y"), series: vec![series] };
        let drawn = curves(&body);
        let file = drawn.file("");
        let (_, own) = file.split_once("class=\"series\"").unwrap();
        let end = place(&body, mark(3.0), drawn.frame).0;
        let lines = own.lines().filter(|line| line.contains("<polyline"));
        let mut count = 0;
        for line in lines {
            let (_, points) = line.split_once("points=\"").unwrap();
            let xs = points.split(&[' ', '"'][..]).filter_map(|point| point.split_once(','));
            let xs: Vec<i32> = xs.map(|(x, _)| x.parse().unwrap()).collect();
            let is_beside = xs.iter().all(|&x| x >= drawn.frame[2]);
            assert!(is_beside || xs.iter().all(|&x| x <= end), "{line}");
            count += 1;
        }
        assert_eq!(count, 2);
        assert!(own.matches("<circle").count() > 10);
    }

    /// Names of lines that end together stand one below the other, in the order of their ends, within
    /// the frame.
    #[test]
    fn names_do_not_stand_over_each_other() {
        let scale = |name: &str| Scale::over(name, "", false, [0.0, 1.0].into_iter());
        let frame = [0, 0, 400, 1600];
        for ends in [vec![0.5; 9], vec![0.0; 9], vec![1.0; 9], vec![0.9, 0.1, 0.11, 0.1, 0.5]] {
            let series = |&y: &f64| Series {
                name: String::new(),
                policy: None,
                look: Look::Line,
                colour: None,
                marks: vec![Mark { x: 1.0, y, ends: None }],
            };
            let series = ends.iter().map(series).collect();
            let names = names(&Curves { x: scale("x"), y: scale("y"), series }, frame);
            assert_eq!(names.len(), ends.len());
            for pair in names.windows(2) {
                assert!(pair[1].at - pair[0].at >= APART * PIXEL, "{ends:?}");
                assert!(pair[1].end.1 >= pair[0].end.1);
            }
            assert!(names.iter().all(|name| (0..=1600).contains(&name.at)), "{ends:?}");
        }
    }
}
