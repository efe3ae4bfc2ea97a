//! From sections of the tree to the plain parameters that models and policies take.

mod supermarket;

use crate::model::{LossRouter, Model, Redirect, Warmup};
use crate::rng::Distribution;

use super::catalog::{DISTRIBUTIONS, MODELS, WARMUP};
use super::section::{Scope, Section};
use super::yaml::{Node, Value};

mod policies;

pub use policies::policy;

/// Decodes the model; nothing if it has faults, which are noted.
pub fn model(scope: Scope, node: &Node) -> Option<Model> {
    let faults = scope.faults.len();
    let (kind, value, at) = scope.kind(node, MODELS, "model")?;
    let section = Section::open(scope, kind, value, at);
    let model = match kind.name {
        "loss_router" => loss_router(&section).map(Model::LossRouter),
        _ => supermarket::decode(&section).map(Model::Supermarket),
    };
    let model = model.filter(|_| scope.faults.len() == faults)?;
    if let Err(sentence) = model.check() {
        // What is wrong; what to do.
        let (message, help) = sentence.split_once("; ").unwrap_or((&sentence, "change the model"));
        scope.faults.add(at, message, help.to_owned());
        return None;
    }
    Some(model)
}

// All fields of a section are read before any is missed, so that all their faults are found.

fn loss_router(section: &Section) -> Option<LossRouter> {
    let channels = section.integers("channels");
    let interarrival = distribution(section, "interarrival");
    let service = distribution(section, "service");
    let speeds = section.numbers("speeds");
    let horizon = section.number("horizon");
    let warmup = warmup(section);
    let redirect = match section.choice("redirect") {
        "random" => Redirect::Random,
        "most_free" => Redirect::MostFree,
        "none" => Redirect::None,
        _ => Redirect::Next,
    };
    let departure_first = section.flag("departure_first");
    let max_arrivals = section.integer("max_arrivals");
    Some(LossRouter {
        channels: channels?.iter().map(|&channels| channels as u32).collect(),
        interarrival: interarrival?,
        service: service?,
        speeds: speeds.unwrap_or_default(),
        horizon: horizon?,
        warmup: warmup?,
        redirect,
        departure_first,
        max_arrivals: max_arrivals?,
    })
}

fn warmup(section: &Section) -> Option<Warmup> {
    match section.node("warmup").map(|node| (&node.value, node)) {
        Some((Value::Text(text), _)) if text == "auto" => Some(Warmup::Auto),
        Some((Value::Map(_), node)) => {
            let map = Section::open(section.scope, &WARMUP, Some(node), node.at);
            map.integer("arrivals").map(Warmup::Arrivals)
        }
        _ => section.number("warmup").map(Warmup::Time),
    }
}

/// Whether a text has no line breaks or other control characters.
pub fn printable(text: &str) -> bool {
    !text.contains(char::is_control)
}

/// Decodes the distribution in a field of a section.
fn distribution(section: &Section, field: &str) -> Option<Distribution> {
    let scope = section.scope;
    let node = section.required(field)?;
    let (kind, value, at) = scope.kind(node, DISTRIBUTIONS, "distribution")?;
    let fields = Section::open(scope, kind, value, at);
    let distribution = match kind.name {
        "deterministic" => Distribution::Deterministic { value: fields.number("value")? },
        "exponential" => Distribution::Exponential { mean: exponential_mean(&fields)? },
        "poisson" => Distribution::Poisson { mean: fields.number("mean")? },
        "geometric" => Distribution::Geometric { mean: fields.number("mean")? },
        "erlang" => {
            let (mean, shape) = (fields.number("mean"), fields.integer("shape"));
            Distribution::Erlang { shape: shape? as u32, mean: mean? }
        }
        "hyperexponential" => {
            let (probabilities, means) = (fields.numbers("probabilities"), fields.numbers("means"));
            Distribution::Hyperexponential { probabilities: probabilities?, means: means? }
        }
        "lognormal" => {
            let (mean, cv) = (fields.number("mean"), fields.number("cv"));
            Distribution::Lognormal { mean: mean?, cv: cv? }
        }
        "uniform" => {
            let (low, high) = (fields.number("low"), fields.number("high"));
            Distribution::Uniform { low: low?, high: high? }
        }
        "weibull" => {
            let (shape, scale) = (fields.number("shape"), fields.number("scale"));
            Distribution::Weibull { shape: shape?, scale: scale? }
        }
        "bounded_pareto" => {
            let (shape, low) = (fields.number("shape"), fields.number("low"));
            let high = fields.number("high");
            Distribution::BoundedPareto { shape: shape?, low: low?, high: high? }
        }
        "gamma" => {
            let (mean, shape) = (fields.number("mean"), fields.number("shape"));
            Distribution::Gamma { shape: shape?, mean: mean? }
        }
        _ => Distribution::Empirical { values: empirical(&fields)?.into() },
    };
    match distribution.check() {
        Ok(()) => Some(distribution),
        Err(invalid) => {
            let message = format!("`{}` of `{}`: {}", invalid.field, kind.name, invalid.message);
            fields.refuse(invalid.field, message);
            None
        }
    }
}

fn exponential_mean(fields: &Section) -> Option<f64> {
    fields.one_of("mean", "rate", "write `exponential: 15` for a mean of 15");
    match (fields.number("mean"), fields.number("rate")) {
        (Some(mean), None) => Some(mean),
        (None, Some(rate)) => Some(1.0 / rate),
        _ => None,
    }
}

/// What helps against a file that can't be read, or isn't what it was.
const UNREAD: &str = "its path begins at the folder of the spec; what a run began with is needed until \
                      its results are in place: put it back, or run the spec again where both are now";

fn empirical(fields: &Section) -> Option<Vec<f64>> {
    let scope = fields.scope;
    fields.one_of("values", "file", "write `empirical: [3, 5, 5]` or `empirical: times.txt`");
    // A bare text stands for a file, not for values.
    let (path, at) = match fields.node("values") {
        Some(Node { value: Value::Text(path), at }) => (path.as_str(), *at),
        Some(_) => return fields.numbers("values"),
        None => (fields.text("file")?, fields.at("file")),
    };
    let helped = |message: String, help: &str| {
        scope.faults.add(at, message, help.to_owned());
        None
    };
    let fault = |message: String| {
        helped(message, "the file holds one number a line, each 0 or more; `#` starts a comment")
    };
    let text = match (scope.read)(path) {
        Ok(text) => text,
        Err(error) => return helped(format!("can't read `{path}`: {error}"), UNREAD),
    };
    let mut values = Vec::new();
    for (line, content) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = content.split('#').next().unwrap_or_default().trim();
        match content.parse::<f64>() {
            _ if content.is_empty() => {}
            Ok(value) if value.is_finite() && value >= 0.0 => values.push(value),
            _ => return fault(format!("{path}:{}: `{content}` is no such number", line + 1)),
        }
    }
    if values.is_empty() {
        return fault(format!("`{path}` holds no number"));
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::super::catalog::{Default, Field, Kind, POLICIES, Takes};
    use super::super::diagnostic::{At, Faults};
    use super::super::yaml::parse;
    use super::*;

    /// Returns the required fields of a kind with values that fit.
    fn required(kind: &Kind) -> String {
        let value = |field: &Field| match field.takes {
            Takes::Distribution => "{deterministic: 2}",
            Takes::Integers { .. } => "[2, 3]",
            Takes::Numbers { .. } if field.name == "probabilities" => "[0.25, 0.75]",
            Takes::Numbers { .. } => "[1, 3]",
            Takes::Rule => "{custom: {}}",
            _ if field.name == "low" => "1",
            _ => "2",
        };
        let required = kind.fields.iter().filter(|field| field.default == Default::Required);
        let fields: Vec<String> =
            required.map(|field| format!("{}: {}", field.name, value(field))).collect();
        format!("{}: {{{}}}", kind.name, fields.join(", "))
    }

    fn decoded<T>(text: &str, decode: impl Fn(Scope, &Node) -> Option<T>) {
        let node = parse(text, 0).unwrap();
        let faults = Faults::default();
        let read = |path: &str| Err(format!("{path} is not there"));
        let value = decode(Scope { axes: &[], faults: &faults, read: &read }, &node);
        let faults = faults.into_sorted();
        assert!(faults.is_empty() && value.is_some(), "{text}: {faults:?}");
    }

    #[test]
    fn every_kind_of_the_catalog_is_decoded() {
        for kind in MODELS {
            let text = match kind.name {
                "supermarket" => "supermarket: {servers: 3, arrivals: 9, \
                    interarrival: {poisson: 3}, service: {poisson: 3}}"
                    .to_owned(),
                _ => required(kind),
            };
            decoded(&text, model);
        }
        for kind in POLICIES {
            let text = match kind.name {
                "coin" => "coin: {probabilities: [0.25, 0.75]}".to_owned(),
                _ => required(kind),
            };
            decoded(&text, policy);
        }
        for kind in DISTRIBUTIONS {
            let text = match kind.name {
                "exponential" => "exponential: {rate: 2}".to_owned(),
                "empirical" => "empirical: {values: [0, 2]}".to_owned(),
                _ => required(kind),
            };
            decoded(&format!("service: {{{text}}}"), |scope, node| {
                let section = Section::open(scope, &MODELS[0], Some(node), At::default());
                distribution(&section, "service")
            });
        }
    }
}
