//! Figures drawn as SVG.
//!
//! What a series of curves is made of is drawn into a group of its own, so that a page can hide it.
//! Plotters places everything at whole units; so that lines are smooth, a unit is a quarter of a
//! pixel.

mod curves;
mod rows;

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figure::{Body, Figure, Scale};
use super::numbers::rounded;
use crate::frame::MARK;

/// Units in a pixel.
const PIXEL: i32 = 4;
/// Width of every figure [pixels]: in a column of a journal, 3.3 inches, its text has 6 points.
const WIDTH: i32 = 520;
/// The colour of text and axes, in a page that of its text.
const INK: RGBColor = RGBColor(26, 26, 26);
const GREY: RGBColor = RGBColor(122, 122, 122);
const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/// Size of all text [pixels].
const TEXT: i32 = 13;
/// Mean width of a letter [pixels].
const LETTER: f64 = 7.6;

/// Colours that people of all kinds of colour vision can tell apart, without the yellow, which is
/// lost on white; the black is the colour of text (M. Okabe, K. Ito, "Color universal design", 2008).
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    INK,
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawing = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A figure, drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    size: (i32, i32),
    layers: Vec<Layer>,
    /// The area of the values [units]: left, top, right, bottom.
    pub frame: [i32; 4],
    /// What isn't a series and can be pointed at: where it is [units], and what it says.
    pub marks: Vec<(i32, i32, String)>,
}

#[derive(Clone, Debug)]
struct Layer {
    /// The series that it shows.
    series: Option<usize>,
    dashed: bool,
    content: String,
}

/// Returns a colour of the palette, as a page writes it.
pub fn colour(position: usize) -> String {
    match PALETTE[position % PALETTE.len()] {
        INK => "currentColor".to_owned(),
        RGBColor(r, g, b) => format!("#{r:02X}{g:02X}{b:02X}"),
    }
}

/// Draws a figure.
pub fn draw(figure: &Figure) -> Drawn {
    match &figure.body {
        Body::Curves(body) => curves::curves(body),
        Body::Heat(body) => rows::heat(body),
        Body::Forest(body) => rows::forest(body),
        Body::Bars(body) => rows::bars(body),
    }
}

impl Drawn {
    fn new(height: i32, frame: [i32; 4]) -> Drawn {
        let size = (WIDTH * PIXEL, height * PIXEL);
        Drawn { size, layers: Vec::new(), frame, marks: Vec::new() }
    }

    /// Draws a layer.
    fn layer(&mut self, series: Option<usize>, dashed: bool, draw: impl FnOnce(&Area) -> Drawing) {
        let mut content = String::new();
        {
            let size = (self.size.0 as u32, self.size.1 as u32);
            let area = SVGBackend::with_string(&mut content, size).into_drawing_area();
            // Writing to memory can't fail, and fonts aren't looked at.
            _ = draw(&area).and_then(|()| area.present());
        }
        let inner = content.split_once(">\n").map_or("", |(_, inner)| inner);
        let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);
        self.layers.push(Layer { series, dashed, content: inner.to_owned() });
    }

    /// Returns the figure as a file.
    pub fn file(&self, title: &str) -> String {
        let (width, height) = self.size;
        format!(
            "{MARK}\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" \
             viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n{}</svg>\n",
            width / PIXEL,
            height / PIXEL,
            escaped(title),
            self.groups()
        )
    }

    /// Returns the figure as a part of a page, in the colour of its text.
    pub fn inline(&self, title: &str) -> String {
        let ink = format!("\"#{:02X}{:02X}{:02X}\"", INK.0, INK.1, INK.2);
        let groups = self.groups().replace(&ink, "\"currentColor\"");
        let (width, height) = self.size;
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{groups}</svg>",
            escaped(title)
        )
    }

    fn groups(&self) -> String {
        let mut text = String::new();
        for Layer { series, dashed, content } in &self.layers {
            let dashes = if *dashed { " stroke-dasharray=\"20 16\"" } else { "" };
            text += &match series {
                Some(number) => {
                    format!(
                        "<g class=\"series\" data-series=\"{number}\"{dashes}>\n{content}</g>\n"
                    )
                }
                None => format!("<g{dashes}>\n{content}</g>\n"),
            };
        }
        text
    }
}

/// Returns text as HTML and XML have it; control characters, which XML can't have, become spaces.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            control if control.is_control() => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// Returns how wide a text is [pixels], about.
fn width(text: &str) -> f64 {
    let wide = |letter: char| match letter as u32 {
        // What isolates names has no width.
        0x2066..=0x2069 => 0.0,
        0x2E80.. => 2.0,
        _ => 1.0,
    };
    text.chars().map(wide).sum::<f64>() * LETTER
}

/// Returns a text of at most so many pixels; what is too long loses its middle, since the ends of names
/// tell more.
fn fitted(text: &str, pixels: f64) -> String {
    cut(text, pixels, 0.6)
}

/// Returns texts of at most so many pixels; those that would look alike keep another part of themselves.
fn fitted_apart(texts: &[&str], pixels: f64) -> Vec<String> {
    let with =
        |head: f64| -> Vec<String> { texts.iter().map(|text| cut(text, pixels, head)).collect() };
    let mut all = with(0.6);
    for others in [0.0, 1.0].map(with) {
        let is_alike = |at: usize| {
            (0..texts.len()).any(|other| all[other] == all[at] && texts[other] != texts[at])
        };
        let alike: Vec<usize> = (0..texts.len()).filter(|&at| is_alike(at)).collect();
        for at in alike {
            all[at].clone_from(&others[at]);
        }
    }
    all
}

/// Returns a text of at most so many pixels, of which the head has a share if it is too long.
fn cut(text: &str, pixels: f64, share: f64) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if width(&clean) <= pixels {
        return clean;
    }
    let letters: Vec<char> = clean.chars().collect();
    let part = |letters: &mut dyn Iterator<Item = char>, pixels: f64| {
        let mut part = String::new();
        for letter in letters {
            part.push(letter);
            if width(&part) > pixels {
                part.pop();
                break;
            }
        }
        part
    };
    let head = part(&mut letters.iter().copied(), share * (pixels - LETTER));
    let tail = part(&mut letters.iter().rev().copied(), pixels - LETTER - width(&head));
    let tail: String = tail.chars().rev().collect();
    // A name that is isolated stays so, whichever end of it is left.
    let count = |text: &str, mark: char| text.matches(mark).count();
    let [open, close] = ['\u{2068}', '\u{2069}'];
    let closing = close.to_string().repeat(count(&head, open).saturating_sub(count(&head, close)));
    let opening = open.to_string().repeat(count(&tail, close).saturating_sub(count(&tail, open)));
    head + &closing + "…" + &opening + &tail
}

/// Returns a style of text.
fn text(colour: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    // Plotters makes sizes smaller by this.
    let size = f64::from(TEXT * PIXEL) * 1.24;
    let style = TextStyle::from((FONT, size).into_font()).pos(Pos::new(h, v));
    TextStyle { color: colour.to_backend_color(), ..style }
}

fn line(colour: RGBColor, pixels: f64) -> ShapeStyle {
    colour.stroke_width((pixels * f64::from(PIXEL)).round() as u32)
}

/// Draws one or two axes into a frame: a horizontal one below, a vertical one at the left whose name
/// stands above it.
fn axes(area: &Area, frame: [i32; 4], x: Option<&Scale>, y: Option<&Scale>) -> Drawing {
    let [left, top, right, bottom] = frame;
    let faint = GREY.mix(0.25).stroke_width(PIXEL as u32);
    if let Some(y) = y {
        for (value, label) in upwards(y, (bottom - top) / PIXEL) {
            let at = bottom - (y.place(value) * f64::from(bottom - top)).round() as i32;
            area.draw(&PathElement::new([(left, at), (right, at)], faint))?;
            let style = text(INK, HPos::Right, VPos::Center);
            area.draw(&Text::new(label, (left - 8 * PIXEL, at), style))?;
        }
        let name = fitted(&y.title(), f64::from(WIDTH - 20));
        let at = (8 * PIXEL, top - 14 * PIXEL);
        area.draw(&Text::new(name, at, text(INK, HPos::Left, VPos::Bottom)))?;
    }
    if let Some(x) = x {
        let wide = f64::from((right - left) / PIXEL);
        // As many as have room for their labels.
        let mut values = labelled(ticks(x, (wide / 48.0) as i32));
        while values.len() > 2 {
            let widest = values.iter().map(|(_, label)| width(label)).fold(0.0, f64::max);
            let gap =
                values.windows(2).map(|pair| (x.place(pair[1].0) - x.place(pair[0].0)) * wide);
            if gap.fold(f64::INFINITY, f64::min) >= widest + 10.0 {
                break;
            }
            values = values.into_iter().step_by(2).collect();
        }
        for (value, label) in values {
            let at = left + (x.place(value) * f64::from(right - left)).round() as i32;
            area.draw(&PathElement::new([(at, bottom), (at, bottom + 5 * PIXEL)], line(INK, 1.0)))?;
            let style = text(INK, HPos::Center, VPos::Top);
            area.draw(&Text::new(label, (at, bottom + 8 * PIXEL), style))?;
        }
        // In the middle, as far as it has room there.
        let name = fitted(&x.title(), f64::from(WIDTH - 16));
        let half = (width(&name) / 2.0).ceil() as i32 + 8;
        let middle = ((left + right) / 2).clamp(half * PIXEL, (WIDTH - half).max(half) * PIXEL);
        let at = (middle, bottom + 26 * PIXEL);
        area.draw(&Text::new(name, at, text(INK, HPos::Center, VPos::Top)))?;
        area.draw(&PathElement::new([(left, bottom), (right, bottom)], line(INK, 1.0)))?;
    }
    Ok(())
}

/// Returns the values of a vertical axis of so many pixels with their labels.
fn upwards(y: &Scale, pixels: i32) -> Vec<(f64, String)> {
    labelled(ticks(y, pixels / 36))
}

/// Returns the width of the widest of these labels [pixels].
fn label_width(y: &Scale, pixels: i32) -> f64 {
    upwards(y, pixels).iter().map(|(_, label)| width(label)).fold(0.0, f64::max)
}

/// Returns round values of an axis with their labels: short however small or great they are, but with
/// as many digits as tell them apart.
fn labelled(values: Vec<f64>) -> Vec<(f64, String)> {
    let label = |value: f64, digits: usize| match (rounded(value, digits), value.abs()) {
        (rounded, 0.0 | 1e-4..1e6) => format!("{rounded}"),
        (rounded, _) => format!("{rounded:e}"),
    };
    let labels = |digits: usize| -> Vec<String> {
        values.iter().map(|&value| label(value, digits)).collect()
    };
    let apart = |digits: &usize| labels(*digits).windows(2).all(|pair| pair[0] != pair[1]);
    let digits = (6..=15).find(apart).unwrap_or(6);
    let labels = labels(digits);
    values.into_iter().zip(labels).collect()
}

/// Returns about so many round values of a scale.
fn ticks(scale: &Scale, about: i32) -> Vec<f64> {
    let about = about.max(2) as usize;
    if !scale.log {
        let range = RangedCoordf64::from(scale.from..scale.to);
        // What is as good as zero is zero.
        let zero = 1e-9 * (scale.to - scale.from);
        let round = |value: f64| if value.abs() < zero { 0.0 } else { value };
        return range.key_points(about).into_iter().map(round).collect();
    }
    let decades = (scale.to / scale.from).log10();
    let (first, last) = (scale.from.log10().floor() as i32, scale.to.log10().ceil() as i32);
    let parts: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let step = if decades < 2.5 { 1 } else { (decades / about as f64).ceil().max(1.0) as usize };
    let powers = (first..=last).step_by(step).flat_map(|power| {
        let unit: f64 = format!("1e{power}").parse().unwrap_or(f64::NAN);
        parts.iter().map(move |part| part * unit)
    });
    powers.filter(|value| (scale.from..=scale.to).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_short() {
        let scale =
            |log, from, to| Scale { name: String::new(), unit: String::new(), log, from, to };
        let labels = |values: Vec<f64>| -> Vec<String> {
            labelled(values).into_iter().map(|(_, label)| label).collect()
        };
        let shown = labels(ticks(&scale(false, 0.0, 1.04), 6));
        assert_eq!(shown, ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(ticks(&scale(true, 9e-5, 0.11), 6), [1e-4, 1e-3, 1e-2, 1e-1]);
        assert_eq!(ticks(&scale(true, 0.9, 30.0), 6), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert!(ticks(&scale(true, 1e-300, 1e300), 6).len() <= 8);
        let shown = labels(vec![0.0, 1e-7, 1e-4, 0.3, 1200.0, 2e6]);
        assert_eq!(shown, ["0", "1e-7", "0.0001", "0.3", "1200", "2e6"]);
        let shown = labels(vec![79.9999993, 79.9999995, 79.9999997]);
        assert_eq!(shown, ["79.9999993", "79.9999995", "79.9999997"]);
    }

    #[test]
    fn names_are_cut_to_their_room_and_escaped() {
        assert_eq!(fitted("short", 100.0), "short");
        let cut = fitted(&"x".repeat(200), 100.0);
        assert!(cut.contains("x…x") && width(&cut) <= 100.0, "{cut}");
        let cut = fitted("流量流量流量流量流量", 100.0);
        assert!(cut.chars().count() > 5 && width(&cut) <= 100.0, "{cut}");
        assert_eq!(fitted("a\tb", 100.0), "a b");
        let names = ["theta channels 2 redirect next", "theta channels 1 redirect next", "j"];
        let apart = fitted_apart(&names, 136.0);
        assert_eq!(apart, ["… 2 redirect next", "… 1 redirect next", "j"]);
        let names =
            ["x at 0.12345678 and 3", "x at 0.12345678 and 3", "x"].map(|name| name.repeat(3));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(fitted_apart(&names, 100.0)[0], fitted(names[0], 100.0));
        assert_eq!(escaped("<a b='\"&\u{0}'>"), "&lt;a b=&#39;&quot;&amp; &#39;&gt;");
    }
}
