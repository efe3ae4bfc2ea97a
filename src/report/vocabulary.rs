//! The listing of `balancelab models`: what a spec may name, from the catalog.

use crate::model::{Columns, Response, SYSTEMS};
use crate::spec::catalog::{
    CONFIRM, CUSTOM_RULE, DISTRIBUTIONS, Default, INFORMATION, Kind, METHODS, MODELS, OPTIMIZE,
    PARAMETER, POLICIES, RIVAL,
};

/// Returns models with their responses, policies, distributions and methods of searches, with all
/// their fields.
pub fn vocabulary() -> String {
    let mut text = String::from("MODELS\n");
    for model in MODELS {
        kind(&mut text, model);
        for system in SYSTEMS.iter().filter(|system| system.name == model.name) {
            responses(&mut text, system.responses);
            text += "\n    theory covers\n";
            wrapped(&mut text, system.theory, 6);
        }
    }
    text += "\nPOLICIES\n";
    for policy in POLICIES {
        kind(&mut text, policy);
    }
    text += "\nRULE OF ONE'S OWN, for theta\n";
    kind(&mut text, &CUSTOM_RULE);
    text += "\nOLD INFORMATION, for policies that look at loads\n";
    kind(&mut text, &INFORMATION);
    text += "\nDISTRIBUTIONS\n";
    for distribution in DISTRIBUTIONS {
        kind(&mut text, distribution);
    }
    text += "\nSEARCH, `optimize:`\n";
    for part in [&OPTIMIZE, &PARAMETER, &RIVAL, &CONFIRM] {
        kind(&mut text, part);
    }
    text += "\nMETHODS of a search\n";
    for method in METHODS {
        kind(&mut text, method);
    }
    text += "\nAny value of a model or a policy may be swept in place: {values: [..]},\n\
             {linspace: [from, to, count]}, {logspace: [from, to, count]},\n\
             {step: [from, to, step]}; `axis: NAME` in several makes them move together.\n";
    text
}

fn kind(text: &mut String, kind: &Kind) {
    *text += &format!("\n  {}\n", kind.name);
    wrapped(text, kind.about, 4);
    for field in kind.fields {
        let default = match field.default {
            Default::Required => "required".to_owned(),
            Default::Absent => "optional".to_owned(),
            default => format!("default {default}"),
        };
        let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
        *text += &format!("    {}: {}{unit} ({default})\n", field.name, field.takes.words());
        wrapped(text, field.about, 8);
    }
}

fn responses(text: &mut String, responses: &[Response]) {
    *text += "\n    measures\n";
    for response in responses {
        let columns = match response.columns {
            Columns::One => String::new(),
            Columns::PerServer(usize::MAX) => "_0, _1, …".to_owned(),
            Columns::PerServer(most) => format!("_0, _1, … (up to {most} servers)"),
            Columns::Levels(most) => format!("_1, …, _{most}"),
            Columns::Snapshots(_) => String::new(),
        };
        let name = match response.columns {
            Columns::Snapshots(most) => {
                let stem = response.name.trim_end_matches("_at");
                format!("{stem}_1_at_1, …, {stem}_{most}_at_N")
            }
            _ => format!("{}{columns}", response.name),
        };
        *text += &format!("      {name} [{}]\n", response.unit);
        wrapped(text, response.about, 10);
    }
}

/// Adds a paragraph of at most 80 columns, indented.
fn wrapped(text: &mut String, paragraph: &str, indent: usize) {
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let width = word.chars().count() + 1;
        if column == 0 || column + width > 80 {
            if column > 0 {
                text.push('\n');
            }
            *text += &" ".repeat(indent);
            column = indent;
        } else {
            text.push(' ');
        }
        *text += word;
        column += width;
    }
    text.push('\n');
}
