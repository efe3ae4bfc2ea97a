//! Policies, from sections of the tree to their plain parameters.

use crate::policy::{
    Alternate, BelowThreshold, Capacities, Coin, Compare, IdleFirst, IdleQueues, Informed, Least,
    Ledger, Load, Policy, Random, Rank, Report, Rule, Sita, Sq, Style, Theta, Tie, Trigger, Update,
    WeightedRoundRobin, gcd,
};

use super::super::catalog::{CUSTOM_RULE, INFORMATION, POLICIES, RULES};
use super::super::diagnostic::near_or_all;
use super::super::section::{Scope, Section};
use super::super::yaml::{Node, Value};
use super::printable;

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
        "jiq" => Some(match section.choice("report") {
            "random" => Policy::IdleQueues(IdleQueues { report: Report::Random }),
            "sq" => Policy::IdleQueues(IdleQueues { report: Report::Sq }),
            _ => Policy::BelowThreshold(BelowThreshold { threshold: 1 }),
        }),
        "idle_first" => {
            sample(&section, 0).map(|otherwise| Policy::IdleFirst(IdleFirst { otherwise }))
        }
        "below_threshold" => section.integer("threshold").map(|threshold| {
            Policy::BelowThreshold(BelowThreshold { threshold: threshold as u32 })
        }),
        "sita" => sita(&section),
        _ => theta(&section),
    };
    let policy = match kind.field("information") {
        Some(_) => informed(&section, policy),
        None => policy,
    };
    policy.filter(|_| scope.faults.len() == faults)
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
    let memory = section.integer("memory");
    let sq = sample(section, memory.unwrap_or_default() as u32);
    memory.and(sq).map(Policy::Sq)
}

/// Decodes how a sample is drawn and what is the best of it.
fn sample(section: &Section, memory: u32) -> Option<Sq> {
    let (d, beta) = (section.integer("d"), section.number("beta"));
    let replace = section.flag("replace");
    let rank = rank(section, load(section));
    Some(Sq { d: d? as u32, replace, memory, beta: beta?, rank })
}

fn sita(section: &Section) -> Option<Policy> {
    let cutoffs = section.numbers("cutoffs")?;
    if !cutoffs.is_sorted_by(|a, b| a < b) {
        let shown: Vec<String> = cutoffs.iter().map(f64::to_string).collect();
        section.refuse("cutoffs", format!("`cutoffs: [{}]` don't rise", shown.join(", ")));
        return None;
    }
    Some(Policy::Sita(Sita { cutoffs }))
}

/// Puts a board between the servers and a policy, if it is to have one.
fn informed(section: &Section, policy: Option<Policy>) -> Option<Policy> {
    let Some(node) = section.node("information") else { return policy };
    let map = Section::open(section.scope, &INFORMATION, Some(node), node.at);
    let age = map.number("age");
    let update = match (map.choice("update"), map.node("age")) {
        ("periodic", Some(_)) => Update::Periodic,
        ("exponential", Some(_)) => Update::Exponential,
        ("none", Some(age)) => {
            let message = "`age` says how old a board is, and with `update: none` there is none";
            let help = "leave it out, or say how a board is updated: `update: periodic` or \
                        `exponential`";
            section.scope.faults.add(age.at, message, help.to_owned());
            return None;
        }
        ("periodic" | "exponential", None) if map.misspelt("age") => return None,
        (update @ ("periodic" | "exponential"), None) => {
            let message = format!("`update: {update}` needs `age`");
            let help = "give the time between updates, a number above 0".to_owned();
            section.scope.faults.add(map.at("update"), message, help);
            return None;
        }
        _ => return policy,
    };
    Some(Policy::Informed(Informed { age: age?, update, policy: policy?.into() }))
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
