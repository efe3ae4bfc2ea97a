//! From sections of the tree to the plain parameters that models and policies take.

use crate::model::{Length, LossRouter, Model, Redirect, Supermarket, Warmup};
use crate::policy::{
    Alternate, Capacities, Coin, Compare, Jiq, Least, Ledger, Load, Policy, Random, Rank, Rule, Sq,
    Style, Theta, Tie, Trigger, WeightedRoundRobin, gcd,
};
use crate::rng::Distribution;

use super::catalog::{CUSTOM_RULE, DISTRIBUTIONS, MODELS, POLICIES, RULES, WARMUP};
use super::diagnostic::near_or_all;
use super::section::{Scope, Section};
use super::yaml::{Node, Value};

/// Decodes the model; nothing if it has faults, which are noted.
pub fn model(scope: Scope, node: &Node) -> Option<Model> {
    let faults = scope.faults.len();
    let (kind, value, at) = scope.kind(node, MODELS, "model")?;
    let section = Section::open(scope, kind, value, at);
    let model = match kind.name {
        "loss_router" => loss_router(&section).map(Model::LossRouter),
        _ => supermarket(&section).map(Model::Supermarket),
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

fn supermarket(section: &Section) -> Option<Supermarket> {
    section.one_of("servers", "speeds", "give `servers`, a number, or the list of their `speeds`");
    section.one_of("horizon", "arrivals", "give the `horizon` of a replication or its `arrivals`");
    let servers = section.integer("servers").map(|servers| vec![1.0; servers as usize]);
    let speeds = section.numbers("speeds").or(servers);
    let channels = section.integer("servers_per_queue");
    let capacity = section.integer("capacity").map(|capacity| capacity as u32);
    let interarrival = distribution(section, "interarrival");
    let load = section.number("load");
    let service = distribution(section, "service");
    let horizon = section.number("horizon").map(Length::Time);
    let length = section.integer("arrivals").map(Length::Arrivals).or(horizon);
    let warmup = warmup(section);
    let (start, snapshots) = (section.integer("start"), section.integer("snapshots"));
    let max_arrivals = section.integer("max_arrivals");
    Some(Supermarket {
        speeds: speeds?,
        channels: channels? as u32,
        capacity,
        interarrival: interarrival?,
        load,
        service: service?,
        length: length?,
        start: start? as u32,
        snapshots: snapshots.unwrap_or(0) as u32,
        warmup: warmup?,
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

/// Decodes a policy; nothing if it has faults, which are noted.
pub fn policy(scope: Scope, node: &Node) -> Option<Policy> {
    let faults = scope.faults.len();
    let (kind, value, at) = scope.kind(node, POLICIES, "policy")?;
    let section = Section::open(scope, kind, value, at);
    if section.text("label").is_some_and(|label| label.trim().is_empty() || !printable(label)) {
        section.refuse("label", "`label` must have characters, and only those that print".into());
    }
    let first = || section.integer("first").unwrap_or_default() as usize;
    let policy = match kind.name {
        "coin" => coin(&section),
        "trigger" => Some(Policy::Trigger(Trigger { first: first() })),
        "alternate" => Some(Policy::Alternate(Alternate {
            first: first(),
            flip_on_refusal: section.flag("flip_on_refusal"),
        })),
        "ledger" => ledger(&section),
        "random" => Some(Policy::Random(Random)),
        "weighted_random" => weighted_random(&section),
        "round_robin" => {
            Some(Policy::Alternate(Alternate { first: first(), flip_on_refusal: true }))
        }
        "weighted_round_robin" => weighted_round_robin(&section),
        "sq" => sq(&section),
        "jsq" => Some(least(&section, load(&section))),
        "least_work" => Some(least(&section, Load::Work)),
        "shortest_expected_delay" => Some(least(&section, Load::Delay)),
        "jiq" => Some(Policy::Jiq(Jiq)),
        _ => theta(&section),
    };
    policy.filter(|_| scope.faults.len() == faults)
}

/// Whether a text has no line breaks or other control characters.
pub fn printable(text: &str) -> bool {
    !text.contains(char::is_control)
}

fn coin(section: &Section) -> Option<Policy> {
    let theta = section.number("theta");
    let probabilities = section.numbers("probabilities");
    let help = "give `theta`, the probability of server 0 of two, or all `probabilities`";
    section.one_of("theta", "probabilities", help);
    if let Some(theta) = theta {
        return Some(Policy::Coin(Coin::two(theta)));
    }
    let probabilities = probabilities?;
    let sum: f64 = probabilities.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        // Twelve digits show every refused sum, and none of the rounding noise behind them.
        let sum = (sum * 1e12).round() / 1e12;
        section.refuse("probabilities", format!("`probabilities` sum to `{sum}`, not 1"));
        return None;
    }
    Some(Policy::Coin(Coin { probabilities }))
}

fn weighted_random(section: &Section) -> Option<Policy> {
    let weights = section.integers("weights")?;
    let sum: u64 = weights.iter().sum();
    let probabilities = weights.iter().map(|&weight| weight as f64 / sum as f64).collect();
    Some(Policy::Coin(Coin { probabilities }))
}

fn weighted_round_robin(section: &Section) -> Option<Policy> {
    let style = match section.choice("style") {
        "interleaved" => Style::Interleaved,
        _ => Style::Smooth,
    };
    let weights: Vec<u32> = section.integers("weights")?.iter().map(|&w| w as u32).collect();
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    let cycle: u64 = weights.iter().map(|weight| u64::from(weight / divisor)).sum();
    if cycle > WeightedRoundRobin::MAX_CYCLE {
        let most = WeightedRoundRobin::MAX_CYCLE;
        let message = format!("`weights` make a cycle of {cycle} turns, of at most {most}");
        section.refuse("weights", message);
        return None;
    }
    Some(Policy::WeightedRoundRobin(WeightedRoundRobin { weights, style }))
}

fn load(section: &Section) -> Load {
    match section.choice("load") {
        "waiting" => Load::Waiting,
        "work" => Load::Work,
        "delay" => Load::Delay,
        _ => Load::InSystem,
    }
}

fn rank(section: &Section, load: Load) -> Rank {
    let tie = match section.choice("tie") {
        "first" => Tie::First,
        "fastest" => Tie::Fastest,
        _ => Tie::Random,
    };
    Rank { load, tie, full: section.choice("full") != "skip" }
}

fn least(section: &Section, load: Load) -> Policy {
    Policy::Least(Least { rank: rank(section, load) })
}

fn sq(section: &Section) -> Option<Policy> {
    let (d, memory) = (section.integer("d"), section.integer("memory"));
    let (beta, replace) = (section.number("beta"), section.flag("replace"));
    let rank = rank(section, load(section));
    let (d, memory) = (d? as u32, memory? as u32);
    Some(Policy::Sq(Sq { d, replace, memory, beta: beta?, rank }))
}

fn ledger(section: &Section) -> Option<Policy> {
    let memory = section.number("memory");
    let compare = match section.choice("compare") {
        "free_share" => Compare::FreeShare,
        _ => Compare::Free,
    };
    let capacities = match section.choice("capacities") {
        "learned" => Capacities::Learned,
        _ => Capacities::Known,
    };
    Some(Policy::Ledger(Ledger { memory: memory?, compare, capacities }))
}

fn theta(section: &Section) -> Option<Policy> {
    let rule = rule(section);
    let alpha = section.number("alpha");
    let start = section.number("start");
    let clamp = section.range("clamp");
    let max_run = section.pair("max_run").map(|limits| limits.map(|limit| limit as u32));
    let (rule, alpha, start, clamp) = (rule?, alpha?, start?, clamp?);
    if !(clamp[0]..=clamp[1]).contains(&start) {
        let given = if section.node("start").is_some() { "start" } else { "clamp" };
        section.scope.faults.add(
            section.at(given),
            format!("`start: {start}` is outside `clamp: [{}, {}]`", clamp[0], clamp[1]),
            "θ starts within its limits: move `start` or widen `clamp`".to_owned(),
        );
        return None;
    }
    Some(Policy::Theta(Theta { rule, alpha, start, clamp, max_run }))
}

fn rule(section: &Section) -> Option<Rule> {
    let scope = section.scope;
    let node = section.required("rule")?;
    let name = match &node.value {
        Value::Text(name) => name.as_str(),
        Value::Map(entries) if entries.len() == 1 && entries[0].key == "custom" => {
            let custom = Some(scope.resolve(&entries[0].node));
            let custom = Section::open(scope, &CUSTOM_RULE, custom, entries[0].key_at);
            let (j, i) = (custom.number("j"), custom.number("i"));
            let smoothing = custom.number("smoothing");
            return Some(Rule { j: j?, i: i?, smoothing: smoothing? });
        }
        _ => "",
    };
    let rules = [Rule::J, Rule::I, Rule::J_MINUS_I, Rule::J_PLUS_I, Rule::J_SMOOTHED];
    let rule = RULES.iter().position(|&known| known == name).map(|position| rules[position]);
    if rule.is_none() {
        scope.faults.add(
            node.at,
            format!("`rule` can't be `{}`", node.shown()),
            near_or_all(name, RULES.iter().copied(), "it takes `custom: {j: .., i: ..}` or one of"),
        );
    }
    rule
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

fn empirical(fields: &Section) -> Option<Vec<f64>> {
    let scope = fields.scope;
    fields.one_of("values", "file", "write `empirical: [3, 5, 5]` or `empirical: times.txt`");
    // A bare text stands for a file, not for values.
    let (path, at) = match fields.node("values") {
        Some(Node { value: Value::Text(path), at }) => (path.as_str(), *at),
        Some(_) => return fields.numbers("values"),
        None => (fields.text("file")?, fields.at("file")),
    };
    let fault = |message: String| {
        let help = "the file holds one number a line, each 0 or more; `#` starts a comment";
        scope.faults.add(at, message, help.to_owned());
        None
    };
    let text = match (scope.read)(path) {
        Ok(text) => text,
        Err(error) => return fault(format!("can't read `{path}`: {error}")),
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
    use super::super::catalog::{Default, Field, Kind, Takes};
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
            let either = match kind.name {
                "supermarket" => ", servers: 3, arrivals: 9}",
                _ => "}",
            };
            let text = required(kind);
            decoded(&text.replace("}}", &format!("}}{either}")).replace("}}}", "}}"), model);
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
