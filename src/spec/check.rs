//! The check of a whole spec, from its text to an experiment.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::design::{Design, DesignError, Filter};
use crate::rng::content_hash;

use super::axes::Swept;
use super::catalog::EXPERIMENT;
use super::diagnostic::{At, Faults, Source, SpecError};
use super::overrides::{Override, label};
use super::published::{Claim, Context, published};
use super::section::{Scope, Section};
use super::yaml::{Node, Value, parse};
use super::{Experiment, Template, decode};

type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

pub(super) fn load(
    name: &str,
    text: String,
    overrides: &[Override],
    read: Read,
) -> Result<Experiment, SpecError> {
    let mut sources = vec![Source { name: name.to_owned(), text: text.clone() }];
    sources.extend(overrides.iter().map(Override::source));
    let faults = Faults::default();
    let root = tree(&text, overrides, &faults);
    // Files are read once, however many points name them, and kept for the run.
    let files = RefCell::new(BTreeMap::new());
    let cached = |path: &str| {
        let mut files = files.borrow_mut();
        files.entry(path.to_owned()).or_insert_with(|| read(path)).clone()
    };
    let experiment = root.and_then(|root| check(root, text, &faults, &cached));
    match experiment {
        Some(experiment) if faults.len() == 0 => {
            Ok(Experiment { files: files.into_inner(), ..experiment })
        }
        _ => Err(SpecError { sources, faults: faults.into_sorted() }),
    }
}

fn tree(text: &str, overrides: &[Override], faults: &Faults) -> Option<Node> {
    let mut root = match parse(text, 0) {
        Ok(root) => root,
        Err(fault) => {
            faults.add(fault.at, fault.message, fault.help);
            return None;
        }
    };
    if !matches!(root.value, Value::Map(_)) {
        let help = "start with `name:`, `model:` and `policies:`; see experiments/quickstart.yaml";
        let message = format!("a spec is a map, this is {}", root.kind());
        faults.add(root.at, message, help.to_owned());
        return None;
    }
    for (position, change) in overrides.iter().enumerate() {
        if let Err(fault) = change.apply(&mut root, position + 1) {
            faults.add(fault.at, fault.message, fault.help);
        }
    }
    Some(root)
}

fn check(root: Node, text: String, faults: &Faults, read: Read) -> Option<Experiment> {
    let scope = Scope { axes: &[], faults, read };
    let section = Section::open(scope, &EXPERIMENT, Some(&root), At { end: 0, ..root.at });
    let name = section.text("name").filter(|name| name_fits(name, section.at("name"), faults));
    let about = section.text("about").map(str::to_owned);
    let seed = section.integer("seed");
    let replications = section.integer("replications");
    let confidence = section.number("confidence");
    let model = section.required("model").map(|node| template(node.clone(), faults));
    let policies = policies(&section);
    let filters = filters(&section);
    let (model, policies) = (model?, policies?);
    let design = design(&model, &policies, &filters?, section.at("where"), faults)?;
    let labels: Vec<String> = policies.iter().map(|policy| label(&policy.node)).collect();
    let mut experiment = Experiment {
        name: name.unwrap_or_default().to_owned(),
        about,
        seed: seed.unwrap_or_default(),
        replications: replications.unwrap_or_default() as u32,
        confidence: confidence.unwrap_or_default(),
        labels,
        design,
        responses: &[],
        columns: Vec::new(),
        claims: Vec::new(),
        source: None,
        expected_arrivals: 0.0,
        hash: content_hash(root.canonical().as_bytes()),
        text,
        model,
        policies,
        files: BTreeMap::new(),
    };
    check_points(&mut experiment, scope);
    let unchecked = experiment.columns.is_empty();
    if let Some(node) = section.node("published").filter(|_| !unchecked) {
        (experiment.claims, experiment.source) = claims(scope, node, &experiment);
    }
    Some(experiment)
}

fn claims(scope: Scope, node: &Node, experiment: &Experiment) -> (Vec<Claim>, Option<String>) {
    let context = Context {
        design: &experiment.design,
        labels: &experiment.labels,
        columns: &experiment.columns,
        replications: experiment.replications,
    };
    published(scope, node, &context)
}

/// Whether a name can be a folder's.
fn name_fits(name: &str, at: At, faults: &Faults) -> bool {
    let fits = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\');
    if !fits {
        let help = "results go to a folder of that name: use letters, digits, `-` and `_`";
        faults.add(at, format!("`name` can't be `{}`", name.escape_debug()), help.to_owned());
    }
    fits
}

fn template(mut node: Node, faults: &Faults) -> Template {
    // Below `- theta:` the paths of axes start at the policy's own fields.
    let swept = match &mut node.value {
        Value::Map(entries) if entries.len() == 1 => Swept::take(&mut entries[0], faults),
        _ => Swept::default(),
    };
    Template { node, swept }
}

fn policies(section: &Section) -> Option<Vec<Template>> {
    let faults = section.scope.faults;
    let node = section.required("policies")?;
    let list = match &node.value {
        Value::List(list) if !list.is_empty() => list,
        _ => {
            let help = "write a list: `- trigger`, `- coin: {theta: 0.333}`".to_owned();
            faults.add(node.at, "`policies` takes a list of one or more policies", help);
            return None;
        }
    };
    let mut labels: Vec<String> = Vec::new();
    for node in list {
        let label = label(node);
        if labels.contains(&label) && !label.is_empty() {
            let help = "give one of them a `label:` of its own".to_owned();
            faults.add(node.at, format!("two policies are called `{label}`"), help);
        }
        labels.push(label);
    }
    Some(list.iter().map(|node| template(node.clone(), faults)).collect())
}

fn filters(section: &Section) -> Option<Vec<Filter>> {
    let faults = section.scope.faults;
    let Some(node) = section.node("where") else { return Some(Vec::new()) };
    let one = std::slice::from_ref(node);
    let list = if let Value::List(list) = &node.value { list } else { one };
    list.iter()
        .map(|node| {
            let usage = "a condition compares axes and numbers: `alpha <= 0.5 && horizon > 1000`";
            let Value::Text(text) = &node.value else {
                faults.add(node.at, format!("`{}` is no condition", node.flow()), usage.to_owned());
                return None;
            };
            Filter::parse(text)
                .map_err(|error| {
                    let message = format!("`{text}` is no condition: {error}");
                    faults.add(node.at, message, usage.to_owned());
                })
                .ok()
        })
        .collect()
}

fn design(
    model: &Template,
    policies: &[Template],
    filters: &[Filter],
    filters_at: At,
    faults: &Faults,
) -> Option<Design> {
    let axes = policies.iter().map(|policy| policy.swept.axes.clone()).collect();
    let error = match Design::new(model.swept.axes.clone(), axes, filters) {
        Ok(design) => return Some(design),
        Err(error) => error,
    };
    let (at, help) = match &error {
        DesignError::Uneven { policy, axis, .. } => {
            let owner = policy.map_or(model, |policy| &policies[policy]);
            let help = "axes that share a name move together, so give them equal lengths";
            (owner.swept.at[*axis], help.to_owned())
        }
        DesignError::TooManyPoints(_) => (model.node.at, "sweep fewer values".to_owned()),
        DesignError::Nothing => (filters_at, "loosen the condition".to_owned()),
        DesignError::Filter { .. } => (filters_at, "conditions are about axes".to_owned()),
    };
    faults.add(at, error.to_string(), help);
    None
}

/// Decodes every point once, so that no point of a checked experiment can be wrong.
fn check_points(experiment: &mut Experiment, scope: Scope) {
    let faults = scope.faults;
    let mut model = None;
    let mut bad_policies = vec![false; experiment.policies.len()];
    let mut servers = 0;
    for index in 0..experiment.points() {
        let point = experiment.design.point(index);
        if model.as_ref().is_none_or(|&(scenario, _)| scenario != point.scenario) {
            let axes = experiment.model.values(&point.model_levels);
            let decoded = decode::model(Scope { axes: &axes, ..scope }, &experiment.model.node);
            model = Some((point.scenario, decoded));
        }
        if !bad_policies[point.policy] {
            let template = &experiment.policies[point.policy];
            let axes = template.values(&point.policy_levels);
            let before = faults.len();
            let policy = decode::policy(Scope { axes: &axes, ..scope }, &template.node);
            if let (Some(policy), Some((_, Some(model)))) = (policy, &model)
                && let Err(message) = policy.check_servers(model.servers())
            {
                faults.add(template.node.at, message, None);
            }
            bad_policies[point.policy] = faults.len() > before;
        }
        if let Some((_, Some(model))) = &model {
            experiment.expected_arrivals += model.expected_arrivals();
            if model.servers() > servers {
                servers = model.servers();
                experiment.responses = model.responses();
                experiment.columns = model.columns();
            }
        }
        if faults.enough() {
            break;
        }
    }
}
