//! Figures without a numeric axis to each side: heat maps, forest plots, bars.

use plotters::prelude::*;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::text_anchor::{HPos, VPos};

use super::{
    Area, Drawing, Drawn, GREY, INK, PALETTE, PIXEL, WIDTH, axes, fitted, fitted_apart, line, text,
    width,
};
use crate::report::figure::{Bars, Forest, Heat, Scale, titled};
use crate::report::numbers::{place, plus_minus, rounded, short, written};

const TOP: i32 = 34;
/// Most pixels for the names of rows.
const NAMES: f64 = 190.0;

/// Returns a value of an axis.
fn axis(value: f64) -> String {
    written(place(value))
}

/// Draws a heat map, with a bar that tells its colours.
pub(super) fn heat(body: &Heat) -> Drawn {
    let height = 340;
    let widest = body.y.1.iter().map(|value| width(&axis(*value))).fold(0.0, f64::max);
    let left = 20 + widest.ceil() as i32;
    let values = || body.cells.iter().flatten().flatten().copied();
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    let scale = [low, (low + high) / 2.0, high].map(|value| format!("{}", rounded(value, 4)));
    let beside = scale.iter().map(|label| width(label)).fold(0.0, f64::max);
    let frame = [left, TOP, WIDTH - 56 - beside.ceil() as i32, height - 52];
    let frame = frame.map(|side| side * PIXEL);
    let [left, top, right, bottom] = frame;
    let mut drawn = Drawn::new(height, frame);
    let (columns, rows) = (body.x.1.len() as i32, body.y.1.len() as i32);
    let column = |at: i32| left + (right - left) * at / columns.max(1);
    let row = |at: i32| bottom - (bottom - top) * at / rows.max(1);
    let share = |value: f64| if high > low { ((value - low) / (high - low)) as f32 } else { 0.5 };
    let title = titled(&body.value.0, &body.value.1);
    drawn.layer(None, false, |area| {
        for (y, cells) in body.cells.iter().enumerate() {
            for (x, cell) in cells.iter().enumerate() {
                let (x, y) = (x as i32, y as i32);
                let corners = [(column(x), row(y + 1)), (column(x + 1), row(y))];
                if let Some(value) = cell {
                    let shade = ViridisRGB.get_color(share(*value));
                    area.draw(&Rectangle::new(corners, shade.filled()))?;
                }
            }
        }
        // As many names of values as have room.
        let every = |count: i32, room: i32, needs: i32| {
            (1..=count.max(1)).find(|step| room * step / count.max(1) >= needs).unwrap_or(1)
        };
        let widest = body.x.1.iter().map(|value| width(&axis(*value))).fold(0.0, f64::max);
        let step = every(columns, right - left, (widest as i32 + 10) * PIXEL) as usize;
        for (at, value) in body.x.1.iter().enumerate().step_by(step) {
            let middle = (column(at as i32) + column(at as i32 + 1)) / 2;
            let style = text(INK, HPos::Center, VPos::Top);
            area.draw(&Text::new(axis(*value), (middle, bottom + 6 * PIXEL), style))?;
        }
        let step = every(rows, bottom - top, 15 * PIXEL) as usize;
        for (at, value) in body.y.1.iter().enumerate().step_by(step) {
            let middle = (row(at as i32) + row(at as i32 + 1)) / 2;
            let style = text(INK, HPos::Right, VPos::Center);
            area.draw(&Text::new(axis(*value), (left - 6 * PIXEL, middle), style))?;
        }
        let name = fitted(&body.x.0, f64::from((right - left) / PIXEL));
        let at = ((left + right) / 2, bottom + 26 * PIXEL);
        area.draw(&Text::new(name, at, text(INK, HPos::Center, VPos::Top)))?;
        let words = format!("{title}; upwards {}", body.y.0);
        let words = fitted(&words, f64::from(WIDTH - 20));
        area.draw(&Text::new(
            words,
            (8 * PIXEL, top - 14 * PIXEL),
            text(INK, HPos::Left, VPos::Bottom),
        ))?;
        shades(area, frame, &scale)
    });
    for (y, cells) in body.cells.iter().enumerate() {
        for (x, cell) in cells.iter().enumerate() {
            let Some(value) = cell else { continue };
            let middle = (
                (column(x as i32) + column(x as i32 + 1)) / 2,
                (row(y as i32) + row(y as i32 + 1)) / 2,
            );
            let words = format!(
                "{} = {}, {} = {}: {} {}",
                body.x.0,
                axis(body.x.1[x]),
                body.y.0,
                axis(body.y.1[y]),
                body.value.0,
                short(*value)
            );
            drawn.marks.push((middle.0, middle.1, words));
        }
    }
    drawn
}

/// Draws the bar of a heat map's colours.
fn shades(area: &Area, [_, top, right, bottom]: [i32; 4], scale: &[String; 3]) -> Drawing {
    const STEPS: i32 = 64;
    let (from, to) = (right + 24 * PIXEL, right + 40 * PIXEL);
    for step in 0..STEPS {
        let y = |step: i32| bottom - (bottom - top) * step / STEPS;
        let shade = ViridisRGB.get_color((step as f32 + 0.5) / STEPS as f32);
        // Over the next, so that no seam shows.
        let corners =
            [(from, y(step + 1) - if step + 1 < STEPS { PIXEL } else { 0 }), (to, y(step))];
        area.draw(&Rectangle::new(corners, shade.filled()))?;
    }
    for (step, label) in scale.iter().enumerate() {
        let y = bottom - (bottom - top) * step as i32 / 2;
        let style = text(INK, HPos::Left, VPos::Center);
        area.draw(&Text::new(label.clone(), (to + 6 * PIXEL, y), style))?;
    }
    Ok(())
}

/// Draws differences with their intervals, a row each.
pub(super) fn forest(body: &Forest) -> Drawn {
    // With its scenario below its name.
    let is_tall = body.rows.iter().any(|row| !row.place.is_empty());
    let row_height = if is_tall { 36 } else { 24 };
    let height = TOP + row_height * body.rows.len() as i32 + 56;
    let amount = |row: &crate::report::figure::Difference| match row.ends {
        Some((low, high)) => plus_minus(row.difference, (high - low) / 2.0),
        None => short(row.difference),
    };
    let names = body.rows.iter().flat_map(|row| [width(&row.name), width(&row.place)]);
    let names = names.fold(0.0, f64::max).min(NAMES);
    let amounts = body.rows.iter().map(|row| width(&amount(row))).fold(0.0, f64::max).min(150.0);
    let left = 20 + names.ceil() as i32;
    let frame = [left, TOP, WIDTH - 24 - amounts.ceil() as i32, height - 50];
    let frame = frame.map(|side| side * PIXEL);
    let [left, top, right, _] = frame;
    let ends = body.rows.iter().flat_map(|row| {
        let (low, high) = row.ends.unwrap_or((row.difference, row.difference));
        [low, high, 0.0]
    });
    let mut x = Scale::over(&body.difference, "", false, ends);
    if x.from == 0.0 {
        x.from = -0.02 * x.to;
    }
    let at = |value: f64| left + (x.place(value) * f64::from(right - left)).round() as i32;
    let both: Vec<&str> =
        body.rows.iter().flat_map(|row| [row.name.as_str(), row.place.as_str()]).collect();
    let both = fitted_apart(&both, NAMES);
    let middle = |row: usize| top + (row_height * row as i32 + row_height / 2) * PIXEL;
    let mut drawn = Drawn::new(height, frame);
    drawn.layer(None, false, |area| {
        axes(area, frame, Some(&x), None)?;
        let zero = [(at(0.0), top - 6 * PIXEL), (at(0.0), frame[3])];
        area.draw(&PathElement::new(zero, line(GREY, 1.0)))?;
        for (number, row) in body.rows.iter().enumerate() {
            let y = middle(number);
            let shade = match row.better {
                Some(true) => PALETTE[0],
                Some(false) => PALETTE[1],
                None => GREY,
            };
            let lines = match row.place.is_empty() {
                true => vec![(&both[2 * number], y, INK)],
                false => vec![
                    (&both[2 * number], y - 7 * PIXEL, INK),
                    (&both[2 * number + 1], y + 8 * PIXEL, GREY),
                ],
            };
            for (words, y, shade) in lines {
                let style = text(shade, HPos::Right, VPos::Center);
                area.draw(&Text::new(words.as_str(), (left - 8 * PIXEL, y), style))?;
            }
            if let Some((low, high)) = row.ends {
                area.draw(&PathElement::new([(at(low), y), (at(high), y)], line(shade, 2.0)))?;
                for end in [low, high] {
                    let cap = [(at(end), y - 4 * PIXEL), (at(end), y + 4 * PIXEL)];
                    area.draw(&PathElement::new(cap, line(shade, 1.5)))?;
                }
            }
            area.draw(&Circle::new((at(row.difference), y), 14, shade.filled()))?;
            let style = text(INK, HPos::Left, VPos::Center);
            area.draw(&Text::new(amount(row), (right + 10 * PIXEL, y), style))?;
        }
        Ok(())
    });
    for (number, row) in body.rows.iter().enumerate() {
        let y = middle(number);
        let verdict = match row.better {
            Some(true) => "better",
            Some(false) => "worse",
            None => "undecided",
        };
        let place = if row.place.is_empty() { "" } else { " at " };
        let words = format!("{}{place}{}: {}, {verdict}", row.name, row.place, amount(row));
        drawn.marks.push((at(row.difference), y, words));
    }
    drawn
}

/// Draws bars for each server, those of one policy in one colour.
pub(super) fn bars(body: &Bars) -> Drawn {
    const LEFT: i32 = 60;
    const BOTTOM: i32 = 250;
    const IN_ROW: usize = 3;
    let legend = body.groups.len().div_ceil(IN_ROW) as i32;
    let height = BOTTOM + 46 + 20 * legend;
    let frame = [LEFT, TOP, WIDTH - 20, BOTTOM].map(|side| side * PIXEL);
    let [left, _, right, bottom] = frame;
    let marks = || body.groups.iter().flat_map(|(_, marks)| marks);
    let tops = marks().flat_map(|mark| [mark.ends.map_or(mark.y, |ends| ends.1), mark.y]);
    let mut y = Scale::over(&body.value, "", false, tops.chain([0.0]));
    y.from = y.from.min(0.0);
    let servers = body.groups.iter().map(|(_, marks)| marks.len()).max().unwrap_or_default();
    let (count, groups) = (servers.max(1) as i32, body.groups.len().max(1) as i32);
    let slot = (right - left) / count;
    let bar = (slot * 4 / 5) / groups;
    let start = |server: i32, group: i32| left + slot * server + slot / 10 + bar * group;
    let level = |value: f64| {
        bottom - (y.place(value).clamp(0.0, 1.0) * f64::from(bottom - frame[1])).round() as i32
    };
    let mut drawn = Drawn::new(height, frame);
    drawn.layer(None, false, |area| {
        axes(area, frame, None, Some(&y))?;
        let step = (servers / 20 + 1).max(1);
        for server in (0..servers).step_by(step) {
            let middle = left + slot * server as i32 + slot / 2;
            let style = text(INK, HPos::Center, VPos::Top);
            area.draw(&Text::new(format!("{server}"), (middle, bottom + 8 * PIXEL), style))?;
        }
        let at = ((left + right) / 2, bottom + 24 * PIXEL);
        area.draw(&Text::new("server", at, text(INK, HPos::Center, VPos::Top)))?;
        area.draw(&PathElement::new([(left, bottom), (right, bottom)], line(INK, 1.0)))?;
        let room = (WIDTH - LEFT - 20) / IN_ROW as i32;
        for (number, (name, _)) in body.groups.iter().enumerate() {
            let x = left + (number % IN_ROW) as i32 * room * PIXEL;
            let y = (BOTTOM + 56 + 20 * (number / IN_ROW) as i32) * PIXEL;
            let square = [(x, y - 5 * PIXEL), (x + 10 * PIXEL, y + 5 * PIXEL)];
            area.draw(&Rectangle::new(square, PALETTE[number % PALETTE.len()].filled()))?;
            let words = fitted(name, f64::from(room - 25));
            let style = text(INK, HPos::Left, VPos::Center);
            area.draw(&Text::new(words, (x + 15 * PIXEL, y), style))?;
        }
        Ok(())
    });
    for (number, (name, marks)) in body.groups.iter().enumerate() {
        let shade = PALETTE[number % PALETTE.len()];
        drawn.layer(None, false, |area| {
            for (server, mark) in marks.iter().enumerate() {
                let from = start(server as i32, number as i32);
                let corners = [(from, level(mark.y)), (from + (bar - PIXEL).max(1), bottom)];
                area.draw(&Rectangle::new(corners, shade.filled()))?;
                if let Some((low, high)) = mark.ends {
                    let middle = from + bar / 2;
                    let ends = [(middle, level(low)), (middle, level(high))];
                    area.draw(&PathElement::new(ends, line(INK, 1.0)))?;
                }
            }
            Ok(())
        });
        for (server, mark) in marks.iter().enumerate() {
            let at = (start(server as i32, number as i32) + bar / 2, level(mark.y));
            drawn.marks.push((at.0, at.1, format!("{name}, server {server}: {}", short(mark.y))));
        }
    }
    drawn
}
