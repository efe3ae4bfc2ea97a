//! `report`: figures and a page of stored results.

use serde_json::{Value, json};

use super::args::{Figures, Report as Arguments};
use super::run::SCHEMA;
use super::{End, print};
use crate::frame::{Found, Layout, PAGE, StoreError, Work};
use crate::report::{Fonts, Report};
use crate::spec::{self, Override};

pub(super) fn report(args: &Arguments) -> anyhow::Result<End> {
    // What isn't there isn't made.
    let made = read(&args.folder).and_then(|_| {
        let work = Work::open(&args.folder)?;
        let made = put_as(&work, args.figures);
        let left = work.leave();
        let (_, report) = made?;
        left.map(|()| report)
    });
    let report = made.map_err(StoreError::of_report)?;
    let page = args.folder.join(PAGE).display().to_string();
    if args.json {
        let verdict: Vec<&str> = report.verdict.iter().map(|one| one.text.as_str()).collect();
        let figures: Vec<String> =
            report.figures.iter().map(|(name, _)| format!("figures/{name}.svg")).collect();
        let said = json!({"page": page, "verdict": verdict, "figures": figures});
        return print(&format!("{said:#}\n"));
    }
    if !args.quiet {
        for sentence in &report.verdict {
            print(&format!("{}\n", sentence.text))?;
        }
        let count = report.figures.len();
        print(&format!("{count} figures, and a page to be looked at: {page}\n"))?;
    }
    Ok(End::Fine)
}

/// Makes the report of the results in a folder, and puts it beside them.
pub(super) fn put(work: &Work) -> Result<(Found, Report), StoreError> {
    put_as(work, Figures::Svg)
}

fn put_as(work: &Work, form: Figures) -> Result<(Found, Report), StoreError> {
    let found = read(work.results())?;
    let report = Report::new(&found);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, figure) in &report.figures {
        files.push((format!("{name}.svg"), figure.clone().into_bytes()));
    }
    if form == Figures::Pdf {
        let no_fonts = "no font is installed, and a PDF holds the letters that it shows; install \
                        one, such as Debian's fonts-dejavu-core";
        let fonts = Fonts::of_system()
            .ok_or_else(|| StoreError::said("write", work.results(), no_fonts))?;
        for (name, figure) in &report.figures {
            let pdf = fonts.pdf(figure).map_err(|error| StoreError::new(work.results(), error))?;
            files.push((format!("{name}.pdf"), pdf));
        }
    }
    work.put_report(&report.page, &files)?;
    Ok((found, report))
}

fn read(folder: &std::path::Path) -> Result<Found, StoreError> {
    Found::read(folder, SCHEMA, older)
}

/// Makes the layout of results whose manifest has none: from their spec, which it has.
fn older(manifest: &Value) -> Result<Layout, String> {
    let text = manifest["spec"].as_str().unwrap_or_default().to_owned();
    let flags = manifest["overrides"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let overrides = flags.map(|flag| match flag.split_once(' ') {
        Some(("--set", change)) => Override::parse(change),
        Some((flag, value)) => Ok(Override::top(flag.trim_start_matches("--"), value)),
        None => Err(format!("what is `{flag}`?")),
    });
    let overrides = overrides.collect::<Result<Vec<_>, _>>()?;
    let read = |path: &str| Err(format!("{path} isn't stored with the results"));
    let experiment = spec::load("its spec", text, &overrides, &read);
    experiment.map(|experiment| Layout::new(&experiment)).map_err(|error| error.to_string())
}
