//! The house: which module imports from which, and where each outside library may be used.
//!
//! The sources are read as text: comments and strings are blanked, and every path in what is left
//! is taken apart, nested `use` groups included. Each rule is then shown to fail on a made-up text.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path as File;

/// The floors, top first. A file imports from its own module and from the floors above its own.
const FLOORS: &[(u32, &str)] = &[
    (1, "rng"),
    (1, "stats"),
    (1, "theory"),
    (2, "sim"),
    (3, "policy"),
    (4, "model"),
    (5, "design"),
    (6, "spec"),
    (7, "engine"),
    (8, "optimize"),
    (8, "frame"),
    (9, "claims"),
    (10, "report"),
    (11, "cli"),
];

/// Paths that only some modules may use.
const FENCES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("serde_saphyr", &["spec"]),
    ("rayon", &["engine"]),
    // `report` may read a frame.
    ("polars", &["frame", "report"]),
    ("argmin", &["optimize"]),
    ("std::fs", &["cli", "engine::journal", "frame"]),
    ("tokio::fs", &[]),
    // Every random number comes from a stream of `rng`, never from the machine.
    ("rand::rng", &[]),
    ("rand::random", &[]),
];

/// Macros that only some modules may use.
const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// Modules whose results may depend on their arguments alone.
const PURE: &[&str] = &["model", "policy", "sim", "rng"];

/// What those may not look at.
const OUTSIDE: &[&str] = &["std::time", "std::env", "std::net", "std::process", "cpu_time"];

/// A path as it stands in a source, `use` groups written out.
#[derive(Debug, PartialEq)]
struct Path {
    segments: Vec<String>,
    /// Whether a `!` follows: a macro.
    is_macro: bool,
}

impl Path {
    fn starts_with(&self, prefix: &str) -> bool {
        let prefix: Vec<&str> = prefix.split("::").collect();
        self.segments.len() >= prefix.len() && self.segments.iter().zip(prefix).all(|(a, b)| a == b)
    }
}

/// Returns the source with comments, strings and characters blanked.
fn code(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let mut code = String::new();
    let mut i = 0;
    while i < text.len() {
        let start = i;
        let word = i > 0 && (at(i - 1).is_alphanumeric() || at(i - 1) == '_');
        let hashes = |from: usize| (from..).take_while(|&k| at(k) == '#').count();
        if at(i) == '/' && at(i + 1) == '/' {
            while i < text.len() && at(i) != '\n' {
                i += 1;
            }
        } else if at(i) == '/' && at(i + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(i), at(i + 1)) {
                    ('/', '*') => (depth, i) = (depth + 1, i + 2),
                    ('*', '/') => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
                if depth == 0 || i >= text.len() {
                    break;
                }
            }
        } else if at(i) == 'r' && !word && at(i + 1 + hashes(i + 1)) == '"' {
            let hashes = hashes(i + 1);
            i += hashes + 2;
            while i < text.len() && !(at(i) == '"' && (1..=hashes).all(|k| at(i + k) == '#')) {
                i += 1;
            }
            i += hashes + 1;
        } else if at(i) == '"' {
            i += 1;
            while i < text.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if at(i) == '\'' && at(i + 1) == '\\' {
            i += 3;
            while i < text.len() && at(i) != '\'' {
                i += 1;
            }
            i += 1;
        } else if at(i) == '\'' && at(i + 2) == '\'' {
            i += 3;
        } else {
            code.push(at(i));
            i += 1;
            continue;
        }
        code.push(' ');
        let lines = text[start..i.min(text.len())].iter().filter(|&&c| c == '\n').count();
        code.push_str(&"\n".repeat(lines));
    }
    code
}

/// Returns the words and signs of a code; `::` is one sign.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut glue = false;
    for c in code.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last)
                if glue && is_word && last.ends_with(|c| c == '_' || char::is_alphanumeric(c)) =>
            {
                last.push(c);
            }
            Some(last) if glue && c == ':' && last == ":" => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.to_string()),
            _ => {}
        }
        glue = !c.is_whitespace();
    }
    tokens
}

/// Whether a path may start or go on with the token; a keyword before `::x` is no part of it.
fn is_word(token: &str) -> bool {
    !["use", "as", "dyn", "impl", "for", "in", "mut", "return", "where"].contains(&token)
        && token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns all paths of a source, single words included.
fn paths(source: &str) -> Vec<Path> {
    let tokens = tokens(&code(source));
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if is_word(&tokens[i]) && (i == 0 || tokens[i - 1] != ".") {
            i = path(&tokens, i, &[], &mut found);
        } else {
            i += 1;
        }
    }
    found
}

/// Reads the path, or the group of paths, that starts at a token; returns where it ends.
fn path(tokens: &[String], mut i: usize, before: &[String], found: &mut Vec<Path>) -> usize {
    let token = |i: usize| tokens.get(i).map_or("", String::as_str);
    let mut segments = before.to_vec();
    if token(i) == "{" {
        i += 1;
        while i < tokens.len() && token(i) != "}" {
            i = if is_word(token(i)) || token(i) == "{" {
                path(tokens, i, &segments, found)
            } else {
                i + 1
            };
        }
        return i + 1;
    }
    loop {
        segments.push(token(i).to_owned());
        i += 1;
        match (token(i), token(i + 1)) {
            ("::", "{") => return path(tokens, i + 1, &segments, found),
            ("::", next) if is_word(next) => i += 1,
            _ => break,
        }
    }
    let is_macro = token(i) == "!" && token(i + 1) != "=";
    found.push(Path { segments, is_macro });
    i
}

/// Returns the module of a file below src, such as `spec::yaml`; nothing for the two roots.
fn module(file: &str) -> Vec<&str> {
    let module = file.strip_suffix(".rs").unwrap_or(file);
    if matches!(module, "lib" | "main") { Vec::new() } else { module.split('/').collect() }
}

fn floor(module: &str) -> Option<u32> {
    FLOORS.iter().find(|(_, name)| *name == module).map(|(floor, _)| *floor)
}

/// Returns the module of the top level that a path leads to, from a file of the given module.
fn target<'p>(path: &'p Path, module: &[&str]) -> Option<&'p str> {
    let segments = &path.segments;
    let supers = segments.iter().take_while(|segment| *segment == "super").count();
    let first = match segments.first().map(String::as_str) {
        Some("crate" | "balancelab") => 1,
        Some("super") if supers >= module.len() => supers,
        _ => return None,
    };
    let name = segments.get(first)?;
    // Inline modules add a `super` that this scan doesn't count, so that of them only what is
    // sure to be a floor is judged.
    (segments[0] != "super" || floor(name).is_some()).then_some(name)
}

/// Returns the faults of one file.
fn faults(file: &str, source: &str) -> Vec<String> {
    let module = module(file);
    let top = module.first().copied();
    let mut faults = BTreeSet::new();
    for path in paths(source) {
        let written = path.segments.join("::");
        if let (Some(own), Some(other)) = (top, target(&path, &module)) {
            match (floor(own), floor(other)) {
                _ if own == other => {}
                (None, _) => drop(faults.insert(format!("{file}: `{own}` has no floor"))),
                (_, None) => drop(faults.insert(format!("{file}: {written}: it has no floor"))),
                (Some(here), Some(there)) if there >= here => {
                    let fault = format!("{file}: {written}: from floor {here} to floor {there}");
                    faults.insert(fault);
                }
                _ => {}
            }
        }
        let inside = |allowed: &&str| {
            let allowed: Vec<&str> = allowed.split("::").collect();
            module.starts_with(&allowed)
        };
        for (fenced, allowed) in FENCES {
            if path.starts_with(fenced) && !allowed.iter().any(inside) {
                faults.insert(format!("{file}: {written}: only {allowed:?} may use {fenced}"));
            }
        }
        if path.is_macro
            && PRINTING.contains(&written.trim_start_matches("std::"))
            && top != Some("cli")
        {
            faults.insert(format!("{file}: {written}!: only cli prints"));
        }
        if top.is_some_and(|top| PURE.contains(&top))
            && let Some(outside) = OUTSIDE.iter().find(|outside| path.starts_with(outside))
        {
            faults.insert(format!("{file}: {written}: nothing of {outside} on this floor"));
        }
    }
    faults.into_iter().collect()
}

/// Returns the faults of lib.rs's list against the modules that there are.
fn list_faults(lib: &str, modules: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens(&code(lib));
    let listed: Vec<&str> = tokens
        .windows(3)
        .filter(|window| window[0] == "mod" && window[2] == ";")
        .map(|window| window[1].as_str())
        .collect();
    let mut faults = Vec::new();
    for module in modules.iter().filter(|module| !listed.contains(&module.as_str())) {
        faults.push(format!("lib.rs doesn't list `{module}`"));
    }
    for module in listed.iter().filter(|module| floor(module).is_none()) {
        faults.push(format!("lib.rs: `{module}` has no floor"));
    }
    for pair in listed.windows(2).filter(|pair| floor(pair[0]) > floor(pair[1])) {
        faults.push(format!("lib.rs: `{}` stands before `{}`", pair[0], pair[1]));
    }
    faults
}

/// Returns all Rust files below a folder, as paths relative to it.
fn sources(folder: &File) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn src() -> Vec<(String, String)> {
    sources(&File::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn every_file_keeps_to_its_floor_and_its_fences() {
    let mut report = String::new();
    let files = src();
    for (file, source) in &files {
        for fault in faults(file, source) {
            writeln!(report, "  {fault}").unwrap();
        }
    }
    assert!(files.len() > 20, "the scan found only {} files", files.len());
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn the_library_lists_its_modules_in_the_order_of_floors() {
    let files = src();
    let top = |file: &str| module(file).first().map(|top| (*top).to_owned());
    let modules = files.iter().filter_map(|(file, _)| top(file)).collect();
    let lib = &files.iter().find(|(file, _)| file == "lib.rs").unwrap().1;
    let faults = list_faults(lib, &modules);
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}

#[test]
fn the_scan_sees_imports_in_every_form() {
    let cyclic = [
        "use crate::cli::args;",
        "use crate::{rng::{Role, unit}, cli};",
        "use crate::cli as shell;",
        "pub use crate::{\n    rng, // floor 1\n    cli::*,\n};",
        "fn f() -> crate::cli::End { todo!() }",
        "fn f() { let x: Vec<crate::cli::End> = crate::rng::g::<u8>(); }",
        "use super::super::cli;",
        "use balancelab::cli;",
        "fn f<'a>(x: &'a str) { crate::cli::main('\\'', b'\"', x) }",
    ];
    for source in cyclic {
        assert_eq!(faults("spec/yaml.rs", source).len(), 1, "{source}");
        assert_eq!(faults("cli/run.rs", &source.replace("rng", "cli")).len(), 0, "{source}");
    }
    let harmless = [
        "// use crate::cli;",
        "/* use crate::cli; /* nested */ crate::cli */",
        "/// [`crate::cli`]",
        "const A: &str = \"crate::cli \\\" crate::cli\";",
        "const A: &str = r#\"\" crate::cli\"#;",
        "use crate::rng::cli;",
        "use super::cli;",
        "use crate::spec::cli;",
        "fn f() { self.clap.rayon() }",
    ];
    for source in harmless {
        assert_eq!(faults("spec/yaml.rs", source), [""; 0], "{source}");
    }
}

#[test]
fn the_scan_refuses_siblings_and_modules_without_a_floor() {
    assert_eq!(
        faults("stats.rs", "use crate::rng::unit;"),
        ["stats.rs: crate::rng::unit: from floor 1 to floor 1"]
    );
    assert_eq!(
        faults("frame/table.rs", "use crate::optimize::Trace;"),
        ["frame/table.rs: crate::optimize::Trace: from floor 8 to floor 8"]
    );
    assert_eq!(faults("attic.rs", "use crate::rng;"), ["attic.rs: `attic` has no floor"]);
    assert_eq!(faults("cli.rs", "use crate::attic;"), ["cli.rs: crate::attic: it has no floor"]);
    assert_eq!(faults("stats/t.rs", "use crate::stats::Moments;"), [""; 0]);
    assert_eq!(faults("main.rs", "fn main() { balancelab::cli::main() }"), [""; 0]);
}

#[test]
fn the_scan_refuses_libraries_outside_their_fences() {
    let cases = [
        ("clap", "use clap::Parser;", "report.rs", "cli/args.rs"),
        ("indicatif", "fn f(bar: indicatif::ProgressBar) {}", "engine.rs", "cli/progress.rs"),
        ("serde_saphyr", "use serde_saphyr;", "cli.rs", "spec/yaml.rs"),
        ("rayon", "use rayon::prelude::*;", "optimize.rs", "engine.rs"),
        ("polars", "use ::polars::prelude::*;", "engine.rs", "frame/results.rs"),
        ("argmin", "#[derive(argmin::X)] struct A;", "engine.rs", "optimize/spsa.rs"),
        ("std::fs", "use std::{io, fs::File};", "engine.rs", "engine/journal.rs"),
        ("std::fs", "fn f() { std::fs::read(\"x\") }", "spec.rs", "frame/staging.rs"),
    ];
    for (fenced, source, outside, inside) in cases {
        let found = faults(outside, source);
        assert!(found.len() == 1 && found[0].contains(&format!("may use {fenced}")), "{found:?}");
        assert_eq!(faults(inside, source), [""; 0], "{source}");
    }
    assert_eq!(faults("rng.rs", "let x = rand::rng().random();").len(), 1);
}

#[test]
fn the_scan_refuses_printing_outside_cli() {
    for name in PRINTING {
        let source = format!("fn f() {{ {name}!(\"x\") }}");
        assert_eq!(faults("engine.rs", &source), [format!("engine.rs: {name}!: only cli prints")]);
        assert_eq!(faults("cli/run.rs", &source), [""; 0]);
    }
    assert_eq!(faults("engine.rs", "fn f() { std::println!() }").len(), 1);
    assert_eq!(faults("engine.rs", "fn f() { if print != x { print(x) } }"), [""; 0]);
}

#[test]
fn the_scan_refuses_clock_and_environment_where_results_are_made() {
    for source in
        ["use std::time::Instant;", "fn f() { std::env::var(\"X\") }", "use std::{env, io};"]
    {
        for file in ["model/loss_router.rs", "policy.rs", "sim/channels.rs", "rng.rs"] {
            assert_eq!(faults(file, source).len(), 1, "{file}: {source}");
        }
        assert_eq!(faults("cli/run.rs", source), [""; 0]);
    }
    assert_eq!(faults("rng.rs", "const V: &str = env!(\"CARGO_PKG_VERSION\");"), [""; 0]);
}

#[test]
fn the_scan_refuses_a_list_that_is_short_or_out_of_order() {
    let modules = ["rng", "spec", "cli"].map(String::from).into();
    let list = |lib: &str| list_faults(lib, &modules);
    assert_eq!(list("pub mod rng;\n\n// the shell\nmod spec;\npub mod cli;"), [""; 0]);
    assert_eq!(list("pub mod rng; pub mod cli;"), ["lib.rs doesn't list `spec`"]);
    assert_eq!(list("mod rng; mod cli; mod spec;"), ["lib.rs: `cli` stands before `spec`"]);
    assert_eq!(
        list("mod rng; mod spec; mod cli; mod x;"),
        ["lib.rs: `x` has no floor", "lib.rs: `cli` stands before `x`"]
    );
}
