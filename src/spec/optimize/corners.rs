//! The check of a box, so that no point of it can be wrong.
//!
//! What a field takes is a range, and what two fields take together is bounded by planes, so that
//! a box is fine if its corners are; a point inside shows what no corner does. The fields of the
//! model and those of the policy bear on each other by the number of servers alone, so that each
//! side has corners of its own.

use super::super::decode;
use super::super::diagnostic::{At, Diagnostic, Faults};
use super::super::path::kind_at;
use super::super::section::{Scope, Section};
use super::{Optimize, Surroundings, Trees, has_levels};

use crate::design::Range;
use crate::model::Model;

/// Most parameters of a side whose corners are all checked.
const MAX_CORNERED: usize = 10;
/// Corners of the model that are checked in all scenarios together, before it is fewer in each.
const MAX_CHECKS: usize = 1 << 13;
/// The point inside, as a share of each range.
const INSIDE: f64 = 0.381_966;

const START: &str = "the start";

/// Decodes the model and the policy at the corners of the box, inside and at the start, in each
/// scenario; notes the first that is wrong.
pub(super) fn check(map: &Section, search: &Optimize, ats: &[At], around: &Surroundings) {
    let (Some(model), Some(policy), Some(design)) =
        (&around.parts.model, around.parts.policies.get(search.policy), around.context.design)
    else {
        return;
    };
    let corners = Corners { map, search, ats, trees: Trees::new(&model.node, &policy.node) };
    let tied = design.moves_with_model(search.policy);
    let column = &around.context.columns[search.column];
    let several = design.scenarios() > 1;
    let mut checks = 0;
    let mut servers: Vec<usize> = Vec::new();
    let starts =
        design.scenario_starts().filter(|(_, point)| has_levels(design, *point, &search.at));
    for (scenario, first) in starts {
        let point = design.point(first);
        let place = match design.scenario_levels(&point) {
            levels if several => {
                levels.iter().map(|(name, level)| format!(" {name}={level}")).collect::<String>()
            }
            _ => String::new(),
        };
        let axes = model.values(&point.model_levels);
        let decoded = |trees: &Trees, scope: Scope| -> Option<Model> {
            decode::model(Scope { axes: &axes, ..scope }, &trees.model)
        };
        let points = corners.points(true, checks > MAX_CHECKS);
        checks += points.len();
        let fine = corners.fit("model", &points, &place, &|trees, scope| {
            decoded(trees, scope);
        });
        if !fine {
            return;
        }
        let Some(model) = decoded(&corners.at(&search.start), map.scope) else { return };
        if !model.columns().contains(column) {
            let help = "search a response that all scenarios have".to_owned();
            let message = format!("`{column}` isn't measured at{place}");
            map.scope.faults.add(corners.response_at(), message, help);
            return;
        }
        if servers.contains(&model.servers()) && !tied {
            continue;
        }
        servers.push(model.servers());
        let axes = policy.values(&design.policy_levels(search.policy, scenario));
        let points = corners.points(false, false);
        let fine = corners.fit("policy", &points, &place, &|trees, scope| {
            let policy = decode::policy(Scope { axes: &axes, ..scope }, &trees.policy);
            let servers = policy.map(|policy| policy.check(model.offers()));
            if let Some(Err(message)) = servers {
                let help = "fit the policy to the servers of the model";
                scope.faults.add(kind_at(&trees.policy), message, help.to_owned());
            }
        });
        if !fine {
            return;
        }
    }
}

/// Returns the value inside a range, of four digits for messages.
fn inside(range: &Range) -> f64 {
    let value = range.value(INSIDE);
    let short = format!("{value:.3e}").parse().unwrap_or(value);
    if range.integer { value } else { short.clamp(range.low, range.high) }
}

/// A box with the trees that its values are put into.
struct Corners<'a> {
    map: &'a Section<'a>,
    search: &'a Optimize,
    /// Where each parameter's path stands.
    ats: &'a [At],
    trees: Trees,
}

/// A point of the box.
struct Tried {
    what: &'static str,
    /// Positions of the parameters that tell the point apart.
    shown: Vec<usize>,
    /// A value per parameter; those of the other side are at the start.
    values: Vec<f64>,
}

impl Corners<'_> {
    /// Returns the positions of the parameters of one side.
    fn side(&self, in_model: bool) -> Vec<usize> {
        let over = &self.search.over;
        (0..over.len()).filter(|&position| over[position].in_model == in_model).collect()
    }

    /// Returns the points to try of one side: the corners (if they are many, the middle, for each
    /// parameter its ends with the others in the middle, and the lowest and the highest corner),
    /// one inside, and the start, which is all there is to try of a side without parameters.
    fn points(&self, in_model: bool, few: bool) -> Vec<Tried> {
        let (side, over) = (self.side(in_model), &self.search.over);
        let start = || {
            let values = self.search.start.clone();
            Tried { what: START, shown: side.clone(), values }
        };
        if side.is_empty() {
            return vec![start()];
        }
        let mut points = Vec::new();
        let mut add = |what, shown: &[usize], value: &dyn Fn(usize, usize) -> f64| {
            let mut values = self.search.start.clone();
            for (digit, &position) in side.iter().enumerate() {
                values[position] = value(digit, position);
            }
            points.push(Tried { what, shown: shown.to_vec(), values });
        };
        let end = |position: usize, high: bool| {
            let one = &over[position];
            if high { one.range.high } else { one.range.low }
        };
        if side.len() <= MAX_CORNERED && !few {
            for corner in 0..1_u32 << side.len() {
                let high = |digit: usize| corner >> digit & 1 == 1;
                add("the corner", &side, &|digit, position| end(position, high(digit)));
            }
        } else {
            add("the middle", &[], &|_, position| over[position].range.middle());
            for (&own, high) in side.iter().flat_map(|own| [(own, false), (own, true)]) {
                add("the middle with", &[own], &|_, position| match position == own {
                    true => end(position, high),
                    false => over[position].range.middle(),
                });
            }
            for high in [false, true] {
                add("the corner", &side, &|_, position| end(position, high));
            }
        }
        add("the point", &side, &|_, position| inside(&over[position].range));
        points.push(start());
        points
    }

    /// Returns the trees at a point of the box.
    fn at(&self, values: &[f64]) -> Trees {
        let mut trees = self.trees.clone();
        for ((parameter, &value), &at) in self.search.over.iter().zip(values).zip(self.ats) {
            // That each has a place was checked before.
            let _ = trees.put(parameter, value, at);
        }
        trees
    }

    /// Returns whether all points can be decoded; notes the first that can't.
    fn fit(
        &self,
        what: &str,
        points: &[Tried],
        scenario: &str,
        decode: &dyn Fn(&Trees, Scope),
    ) -> bool {
        for point in points {
            let faults = Faults::default();
            decode(&self.at(&point.values), Scope { faults: &faults, ..self.map.scope });
            let Some(Diagnostic { at, message, help }) = faults.into_sorted().into_iter().next()
            else {
                continue;
            };
            let over = &self.search.over;
            let named =
                |&position: &usize| format!(" {}={}", over[position].name, point.values[position]);
            let values: String = point.shown.iter().map(named).collect();
            let own = self.ats.iter().find(|own| **own == at);
            let at = match (own, &point.shown[..]) {
                (Some(at), _) => *at,
                (None, [only]) => self.ats[*only],
                _ => self.map.at("over"),
            };
            let scenario = match scenario {
                "" => String::new(),
                levels => format!(" at{levels}"),
            };
            let message = format!("{}{values} is no {what}{scenario}: {message}", point.what);
            let help = match help {
                // Without parameters on this side there is nothing to narrow.
                Some(help) if point.what == START && point.shown.is_empty() => help,
                Some(help) => format!("{help}; or narrow the box"),
                None => "narrow the box".to_owned(),
            };
            self.map.scope.faults.add(at, message, help);
            return false;
        }
        true
    }

    /// Returns where the response stands.
    fn response_at(&self) -> At {
        let given = ["minimize", "maximize"].into_iter().find(|&f| self.map.node(f).is_some());
        self.map.at(given.unwrap_or_default())
    }
}
