//! The check of a whole spec, from its text to an experiment.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::design::{Design, DesignError, Filter};
use crate::model::{Response, SYSTEMS};
use crate::rng::content_hash;

use super::axes::{Swept, axis_help};
use super::catalog::EXPERIMENT;
use super::diagnostic::{At, Faults, Source, SpecError};
use super::optimize::{self, Surroundings};
use super::overrides::Override;
use super::path::{label, label_at};
use super::published::{Context, published};
use super::section::{Scope, Section};
use super::statistics::{self, Replications};
use super::yaml::{Node, Value, parse};
use super::{Experiment, Template, points};

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
    let confidence = section.number("confidence");
    let (adjust, common) = (statistics::adjust(&section), statistics::common(&section));
    // Whatever can be checked without the rest is, so that all faults are found.
    let model = section.required("model");
    let policies = policies(&section);
    let before = faults.len();
    let model = model.map(|node| template(node, faults));
    let policies = policies.map(|list| list.iter().map(|node| template(node, faults)).collect());
    let axes_fit = faults.len() == before;
    let conditions = conditions(&section);
    let parts = Parts { model, policies: policies.unwrap_or_default() };
    let design = conditions.filter(|_| axes_fit).and_then(|list| parts.design(&list, faults));
    let whole = match &design {
        Some(design) => points::check(&parts, design, scope),
        None => points::check_first(&parts, scope),
    };
    let sound = faults.len() == before;
    let labels: Vec<String> =
        parts.policies.iter().map(|policy| label(&policy.node).to_owned()).collect();
    // Whatever is wrong with the confidence is noted; any other serves to find further faults.
    let judged_at = confidence.unwrap_or(0.5);
    let replications = statistics::replications(&section, judged_at, &whole.columns);
    let snapshots = whole.snapshots.is_some_and(|snapshots| snapshots > 0);
    if snapshots && matches!(replications, Some(Replications::Batches(_))) {
        let help = "give `replications` as a number, or leave `snapshots` out".to_owned();
        let message = "batches of one run have only one of each of the `snapshots`";
        faults.add(section.at("replications"), message, help);
    }
    let least = match &replications {
        Some(Replications::Fixed(n)) => u64::from(*n),
        // Batches are parts of one run, and tell nothing of the spread of runs.
        Some(Replications::Batches(_)) => 1,
        _ => 2,
    };
    let context = Context {
        design: design.as_ref(),
        labels: &labels,
        columns: &whole.columns,
        replications: least,
    };
    let baseline = statistics::baseline(&section, &context);
    let good = |column: usize| {
        let is = |response: &&Response| response.is_column(&whole.columns[column]);
        whole.system?.responses.iter().find(is).and_then(|response| response.good)
    };
    let select = statistics::select(&section, &context, replications.as_ref(), &good);
    let around = Surroundings {
        context: &context,
        parts: &parts,
        sound,
        replications: replications.as_ref(),
        reserved: &reserved,
    };
    let optimize = optimize::searches(&section, &around);
    let (claims, source) = match section.node("published") {
        Some(node) => published(scope, node, &context),
        None => (Vec::new(), None),
    };
    Some(Experiment {
        name: name?.to_owned(),
        about,
        seed: seed?,
        replications: replications?,
        common,
        adjust,
        baseline: baseline?,
        select,
        optimize,
        confidence: confidence?,
        labels,
        design: design?,
        system: whole.system?,
        columns: whole.columns,
        claims,
        source,
        expected_arrivals: whole.expected_arrivals,
        hash: content_hash(root.canonical().as_bytes()),
        json: root.json(),
        text,
        model: parts.model?,
        policies: parts.policies,
        files: BTreeMap::new(),
    })
}

const CONDITIONS: &str = "a condition compares axes and numbers, such as \
    `alpha <= 0.5 && horizon > 1000`; it may have + - * / ^ < <= > >= == != && || ! and parentheses";

/// The swept parts of a spec, each as far as it is there.
pub(super) struct Parts {
    pub model: Option<Template>,
    pub policies: Vec<Template>,
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

fn template(node: &Node, faults: &Faults) -> Template {
    let mut node = node.clone();
    // Below `- theta:` the paths of axes start at the policy's own fields.
    let swept = match &mut node.value {
        Value::Map(entries) if entries.len() == 1 => Swept::take(&mut entries[0], faults),
        _ => Swept::default(),
    };
    Template { node, swept }
}

/// Returns the policies, whose labels are checked.
fn policies<'a>(section: &Section<'a>) -> Option<&'a [Node]> {
    let faults = section.scope.faults;
    let node = section.required("policies")?;
    if node.items().is_empty() {
        let help = "write a list: `- trigger`, `- coin: {theta: 0.333}`".to_owned();
        faults.add(node.at, "`policies` takes a list of one or more policies", help);
        return None;
    }
    let mut labels: Vec<&str> = Vec::new();
    for node in node.items() {
        let label = label(node);
        // What has no label is no policy, which is noted when it is decoded.
        if labels.contains(&label) && !label.is_empty() {
            let help = "give one of them a `label:` of its own".to_owned();
            faults.add(label_at(node), format!("two policies are called `{label}`"), help);
        }
        labels.push(label);
    }
    Some(node.items())
}

/// A condition of `where:` and its place.
struct Condition {
    filter: Filter,
    at: At,
}

/// Returns the conditions; nothing if one is none.
fn conditions(section: &Section) -> Option<Vec<Condition>> {
    let faults = section.scope.faults;
    let Some(node) = section.node("where") else { return Some(Vec::new()) };
    let list = match &node.value {
        Value::List(list) => list,
        _ => std::slice::from_ref(node),
    };
    let conditions: Vec<Option<Condition>> = list
        .iter()
        .map(|node| {
            let filter = match &node.value {
                Value::Text(text) => Filter::parse(text).ok(),
                _ => None,
            };
            if filter.is_none() && node.value != Value::Null {
                let message = format!("`{}` is no condition", node.shown());
                faults.add(node.at, message, CONDITIONS.to_owned());
            }
            Some(Condition { filter: filter?, at: node.at })
        })
        .collect();
    conditions.into_iter().collect()
}

/// Whether a name is a column of some file of results, other than an axis's.
fn reserved(name: &str) -> bool {
    const COLUMNS: [&str; 24] = [
        "point",
        "policy",
        "replication",
        "response",
        "n",
        "mean",
        "sd",
        "se",
        "ci_low",
        "ci_high",
        "theory",
        "z",
        "difference",
        "p",
        "variance_reduction",
        "verdict",
        "gain",
        "gain_low",
        "gain_high",
        "may_be_best",
        "failure",
        "time",
        "jobs",
        "mean_field",
    ];
    let mut responses = SYSTEMS.iter().flat_map(|system| system.responses);
    COLUMNS.contains(&name) || responses.any(|response| response.is_column(name))
}

impl Parts {
    fn design(&self, conditions: &[Condition], faults: &Faults) -> Option<Design> {
        let model = self.model.as_ref()?;
        if self.policies.is_empty() {
            return None;
        }
        let axes = self.policies.iter().map(|policy| policy.swept.axes.clone()).collect();
        let filters: Vec<Filter> = conditions.iter().map(|this| this.filter.clone()).collect();
        let error = match Design::new(model.swept.axes.clone(), axes, &filters, &reserved) {
            Ok(design) => return Some(design),
            Err(error) => error,
        };
        let condition = |position: usize| {
            conditions.get(position).map_or(model.node.at, |condition| condition.at)
        };
        let (at, help) = match &error {
            DesignError::Reserved { policy, axis, .. } => {
                let owner = policy.map_or(model, |policy| &self.policies[policy]);
                (owner.swept.at[*axis], "give it another `axis:` name".to_owned())
            }
            DesignError::Uneven { policy, axis, .. } => {
                let owner = policy.map_or(model, |policy| &self.policies[policy]);
                let help = "axes that share a name move together, so give them equal lengths";
                (owner.swept.at[*axis], help.to_owned())
            }
            DesignError::TooManyPoints(_) => {
                (self.longest_axis(model), "sweep fewer values".to_owned())
            }
            DesignError::Nothing => (condition(0), "loosen a condition".to_owned()),
            DesignError::UnknownAxis { filter, name, columns, .. } => {
                (condition(*filter), axis_help(name, columns.iter().map(String::as_str)))
            }
            DesignError::Filter { filter, .. } => (condition(*filter), CONDITIONS.to_owned()),
        };
        faults.add(at, error.to_string(), help);
        None
    }

    fn longest_axis(&self, model: &Template) -> At {
        let sides = std::iter::once(model).chain(&self.policies).map(|side| &side.swept);
        let axes = sides.flat_map(|swept| swept.axes.iter().zip(&swept.at));
        axes.max_by_key(|(axis, _)| axis.levels.len()).map_or(model.node.at, |(_, &at)| at)
    }
}
