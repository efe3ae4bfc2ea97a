//! Rivals: the points of the spec that an optimum is compared with.

use super::super::catalog::RIVAL;
use super::super::published::{Context, levels, written};
use super::super::section::Section;
use super::super::yaml::{Node, Value};
use super::{Rival, named_policy};

use crate::design::Level;

/// Decodes `against:`; nothing if it has faults, which are noted.
pub(super) fn against(map: &Section, context: &Context) -> Option<Vec<Rival>> {
    let Some(node) = map.node("against") else { return Some(Vec::new()) };
    let Value::List(list) = &node.value else {
        let help = "write `[trigger, {policy: theta, at: {alpha: 0.01}}]`".to_owned();
        map.scope.faults.add(node.at, "`against` takes a list of rivals", help);
        return None;
    };
    let mut rivals: Vec<Rival> = Vec::new();
    let mut all = true;
    for node in list {
        let Some(rival) = rival(map, node, context) else {
            all = false;
            continue;
        };
        if rivals.iter().any(|other| other.name == rival.name) {
            let help = "remove one of them".to_owned();
            map.scope.faults.add(node.at, format!("`{}` is listed twice", rival.name), help);
        }
        rivals.push(rival);
    }
    all.then_some(rivals)
}

fn rival(map: &Section, node: &Node, context: &Context) -> Option<Rival> {
    let scope = map.scope;
    let (name, at, written_levels, place) = match &node.value {
        Value::Text(name) => (name.as_str(), node.at, None, node.at),
        _ => {
            let rival = Section::open(scope, &RIVAL, Some(node), node.at);
            (rival.text("policy")?, rival.at("policy"), rival.node("at"), rival.at("at"))
        }
    };
    let policy = named_policy(map, context, name, at)?;
    let design = context.design?;
    let levels = levels(scope, written_levels, design)?;
    let fault = |message: String, help: String| {
        scope.faults.add(place, message, help);
        None
    };
    let own: Vec<&str> = design.own_axes(policy).map(|(_, column)| column).collect();
    if let Some((axis, _)) = levels.iter().find(|(axis, _)| !own.contains(&axis.as_str())) {
        let help = match own[..] {
            [] => "leave `at` out".to_owned(),
            _ => format!("its axes are {}", listed(&own)),
        };
        return fault(format!("policy `{name}` has no axis `{axis}`"), help);
    }
    let meets = |column: &str, level: &Level| {
        let wanted = levels.iter().find(|(axis, _)| axis == column);
        wanted.is_none_or(|(_, wanted)| level.is_about(wanted))
    };
    match design.combinations_of(policy, &meets) {
        0 => {
            return fault(format!("no point of `{name}` has {}", written(&levels)), {
                "`at` takes values that the axes have".to_owned()
            });
        }
        1 => {}
        many => {
            let free: Vec<&str> =
                own.into_iter().filter(|own| levels.iter().all(|(axis, _)| axis != own)).collect();
            let at = free.iter().map(|axis| format!("{axis}: ..")).collect::<Vec<_>>().join(", ");
            let help = format!("pick one: `{{policy: {name}, at: {{{at}}}}}`");
            return fault(format!("`{name}` has {many} points in a scenario"), help);
        }
    }
    let scenarios = design.scenario_starts().count() as u64;
    if design.points_of(policy, &meets).1 < scenarios {
        let help = "loosen `where`, or name another rival".to_owned();
        return fault(format!("`where` drops this point of `{name}` in a scenario"), help);
    }
    let name = match levels[..] {
        [] => name.to_owned(),
        _ => format!("{name} {}", written(&levels)),
    };
    Some(Rival { name, policy, at: levels })
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
