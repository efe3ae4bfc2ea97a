//! Random sweeps against a plain evaluation of what they declare, and random damage to a spec.

use std::collections::{BTreeMap, HashSet};

use balancelab::model::Model;
use balancelab::policy::Policy;
use balancelab::rng::Distribution;
use balancelab::spec::{Experiment, Parameter};
use proptest::prelude::*;

use super::{loaded, rows, spec, try_load};

/// Hundredths from 0.10 to 0.90, which every swept field here may take.
const RANGE: std::ops::RangeInclusive<i64> = 10..=90;

#[derive(Clone, Copy, Debug)]
enum Form {
    Values,
    Linspace,
    Logspace,
    Step,
}

/// A swept field as the spec declares it; its numbers are hundredths.
#[derive(Clone, Debug)]
struct Declared {
    form: Form,
    from: i64,
    to: i64,
    /// What is left of a `step:` range after the last step, in parts of a step.
    rest: f64,
    count: usize,
    shared: Option<usize>,
}

impl Declared {
    /// The distance of two values of `values:` and `step:`, in hundredths.
    fn step(&self) -> i64 {
        let room = if self.from <= 50 { 90 - self.from } else { 10 - self.from };
        room / self.count as i64
    }

    fn yaml(&self) -> String {
        let hundredth = |k: i64| format!("{}", k as f64 / 100.0);
        let (a, b, n) = (hundredth(self.from), hundredth(self.to), self.count);
        let axis = self.shared.map_or(String::new(), |name| format!(", axis: g{name}"));
        match self.form {
            Form::Linspace => format!("{{linspace: [{a}, {b}, {n}]{axis}}}"),
            Form::Logspace => format!("{{logspace: [{a}, {b}, {n}]{axis}}}"),
            Form::Step => {
                let steps = self.step() * (n as i64 - 1);
                let rest = (self.rest * self.step() as f64) as i64;
                let end = hundredth(self.from + steps + rest);
                format!("{{step: [{a}, {end}, {}]{axis}}}", hundredth(self.step()))
            }
            Form::Values => {
                let values = (0..n).map(|i| hundredth(self.from + i as i64 * self.step()));
                format!("{{values: [{}]{axis}}}", values.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn value(&self, i: usize) -> f64 {
        let (a, b) = (self.from as f64 / 100.0, self.to as f64 / 100.0);
        let part = if self.count == 1 { 0.0 } else { i as f64 / (self.count - 1) as f64 };
        match self.form {
            Form::Linspace => a + (b - a) * part,
            Form::Logspace => (a.ln() + (b.ln() - a.ln()) * part).exp(),
            Form::Step | Form::Values => (self.from + i as i64 * self.step()) as f64 / 100.0,
        }
    }
}

/// Fields of the model, of `theta` and of `coin`, in the order of the spec.
const FIELDS: [&[&str]; 3] =
    [&["interarrival", "service", "horizon"], &["alpha", "start"], &["theta"]];

type Sides = [BTreeMap<usize, Declared>; 3];

fn declared(counts: [usize; 2]) -> impl Strategy<Value = Declared> {
    let form = prop_oneof![
        Just(Form::Values),
        Just(Form::Linspace),
        Just(Form::Logspace),
        Just(Form::Step)
    ];
    let shared = prop_oneof![2 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(1))];
    (form, RANGE, RANGE, 0.0..0.99, 1..=3_usize, shared)
        .prop_filter("two ends", |(_, from, to, ..)| from != to)
        .prop_map(move |(form, from, to, rest, count, shared)| {
            let count = shared.map_or(count, |name: usize| counts[name]);
            Declared { form, from, to, rest, count, shared }
        })
}

fn sides() -> impl Strategy<Value = Sides> {
    [1..=3_usize, 1..=3_usize].prop_flat_map(|counts| {
        FIELDS.map(|fields| {
            prop::collection::btree_map(0..fields.len(), declared(counts), 0..=fields.len())
        })
    })
}

fn text(sides: &Sides) -> String {
    let field = |side: usize, position: usize, default: &str| match sides[side].get(&position) {
        Some(axis) => axis.yaml(),
        None => default.to_owned(),
    };
    let model = format!(
        "channels: [2, 4]\ninterarrival: {{poisson: {}}}\nservice: {{poisson: {}}}\nhorizon: {}\n",
        field(0, 0, "0.05"),
        field(0, 1, "0.05"),
        field(0, 2, "0.05"),
    );
    let theta = format!(
        "theta: {{rule: j, alpha: {}, start: {}}}",
        field(1, 0, "0.05"),
        field(1, 1, "0.05"),
    );
    spec(&model, &["trigger", &theta, &format!("coin: {{theta: {}}}", field(2, 0, "0.05"))], "")
}

/// What moves on its own: a field, or all fields of a shared axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Field(usize, usize),
    Shared(usize),
}

fn keys(sides: &Sides, side: usize) -> Vec<(Key, usize)> {
    let mut keys: Vec<(Key, usize)> = Vec::new();
    for (&position, axis) in &sides[side] {
        let key = axis.shared.map_or(Key::Field(side, position), Key::Shared);
        if !keys.iter().any(|(other, _)| *other == key) {
            keys.push((key, axis.count));
        }
    }
    keys
}

/// Returns all combinations of positions, the last key fastest.
fn combinations(keys: &[(Key, usize)]) -> Vec<Vec<(Key, usize)>> {
    keys.iter().fold(vec![Vec::new()], |combinations, &(key, count)| {
        let longer = combinations.iter().flat_map(|combination| {
            (0..count).map(|i| [combination.as_slice(), &[(key, i)]].concat())
        });
        longer.collect()
    })
}

/// Returns the fields' values at every point, from the declarations alone.
fn expected(sides: &Sides) -> Vec<Vec<f64>> {
    let model = keys(sides, 0);
    let mut points = Vec::new();
    for scenario in combinations(&model) {
        for side in [None, Some(1), Some(2)] {
            let own = side.map_or(Vec::new(), |side| keys(sides, side));
            let own: Vec<_> =
                own.into_iter().filter(|(key, _)| !model.iter().any(|(k, _)| k == key)).collect();
            for combination in combinations(&own) {
                let position = |key: Key| {
                    let mut all = scenario.iter().chain(&combination);
                    all.find(|(other, _)| *other == key).map(|(_, i)| *i).unwrap()
                };
                let values = |side: usize| {
                    (0..FIELDS[side].len()).map(move |field| match sides[side].get(&field) {
                        Some(axis) => axis.value(position(
                            axis.shared.map_or(Key::Field(side, field), Key::Shared),
                        )),
                        None => 0.05,
                    })
                };
                points.push(values(0).chain(side.into_iter().flat_map(values)).collect());
            }
        }
    }
    points
}

/// Returns the same fields' values as models and policies get them.
fn got(experiment: &Experiment) -> Vec<Vec<f64>> {
    let poisson = |distribution: &Distribution| match distribution {
        Distribution::Poisson { mean } => *mean,
        other => panic!("{other:?}"),
    };
    let point = |index| {
        let point = experiment.design.point(index);
        let Model::LossRouter(model) = experiment.model(&point).unwrap() else {
            panic!("another model")
        };
        let mut values = vec![poisson(&model.interarrival), poisson(&model.service), model.horizon];
        match experiment.policy(&point).unwrap() {
            Policy::Theta(theta) => values.extend([theta.alpha, theta.start]),
            Policy::Coin(coin) => values.push(coin.probabilities[0]),
            _ => {}
        }
        values
    };
    (0..experiment.points()).map(point).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_points_are_the_product_that_the_axes_declare(sides in sides()) {
        let text = text(&sides);
        let experiment = loaded(&text);
        let product = |keys: &[(Key, usize)]| keys.iter().map(|(_, count)| count).product::<usize>();
        let model = keys(&sides, 0);
        let own = |side| {
            let mut own = keys(&sides, side);
            own.retain(|(key, _)| !model.iter().any(|(other, _)| other == key));
            product(&own)
        };
        let declared = product(&model) * (1 + own(1) + own(2));
        prop_assert_eq!(experiment.points() as usize, declared, "{}", text);
        let (got, expected) = (got(&experiment), expected(&sides));
        prop_assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(expected) {
                prop_assert!((got - expected).abs() < 1e-12, "{} for {}\n{}", got, expected, text);
            }
        }
        let distinct: HashSet<String> = rows(&experiment).iter().map(|row| format!("{row:?}")).collect();
        prop_assert_eq!(distinct.len(), declared, "a point is there twice: {}", text);
    }

    #[test]
    fn a_damaged_spec_is_refused_or_runs_but_never_panics(
        damage in prop::collection::vec(damage(), 1..6),
        share in 0.0..=1.0,
    ) {
        let mut text = INTACT.to_owned();
        damage.iter().for_each(|damage| damage.apply(&mut text));
        match try_load(&text, &[]) {
            Ok(experiment) => {
                let point = experiment.design.point(experiment.points() - 1);
                prop_assert!(experiment.model(&point).is_some(), "{}", text);
                prop_assert!(experiment.policy(&point).is_some(), "{}", text);
                for search in &experiment.optimize {
                    let values: Vec<f64> = search.over.iter().map(|one| within(one, share)).collect();
                    prop_assert!(experiment.searched(search, &point, &values).is_some(), "{}", text);
                }
            }
            Err(error) => {
                prop_assert!(!error.faults.is_empty());
                prop_assert!(error.to_string().contains("error: "));
            }
        }
    }

    #[test]
    fn an_odd_override_is_refused_or_holds_but_never_panics(
        path in "(model|policies|published|where|seed|optimize)(\\.(loss_router|[0-4]|theta|coin|trigger|j2|claims|service|\
                 interarrival|poisson|alpha|rule|custom|values|linspace|channels|at|over|start|method|log|runs|x)){0,4}",
        value in "1|-1|\\[1, 2\\]|\\{values: \\[1, 2\\]\\}|\\{poisson: 3\\}|trigger|\\{axis: a\\}|\\[\\[\\]\\]|''",
    ) {
        if let Err(error) = try_load(INTACT, &[&format!("{path}={value}")]) {
            prop_assert!(error.to_string().contains("error: "));
        }
    }
}

#[test]
fn the_intact_spec_is_fine() {
    assert_eq!(loaded(INTACT).optimize.len(), 2);
}

/// Returns a value of a searched parameter.
fn within(parameter: &Parameter, share: f64) -> f64 {
    let value = parameter.range.low + share * (parameter.range.high - parameter.range.low);
    if parameter.range.integer { value.round() } else { value }
}

const INTACT: &str = "\
name: intact
about: 'Every kind of thing: a θ, a list, a claim'
seed: 18_446_744_073_709_551_615
model:
  loss_router:
    channels: {values: [[2, 4], [10, 20]], axis: size}
    interarrival: {hyperexponential: {probabilities: [0.25, 0.75], means: [1, 5]}}
    service: {values: [{poisson: 80}, {empirical: [3, 5.5]}, {lognormal: {mean: 9, cv: 2}}]}
    horizon: {step: [100, 150, 25]}
    redirect: most_free
policies:
  - coin: {linspace: [0, 1, 3]}
  - trigger
  - alternate: {first: 1, flip_on_refusal: false}
  - theta: {rule: j-i, alpha: {logspace: [0.001, 1, 4]}, clamp: [0, 1]}
  - theta:
      label: j2
      rule: {custom: {j: 1, i: &w -0.5, smoothing: 0.25}}
      alpha: {values: [0.1, 0.2], axis: size}
      max_run: [2, 3]
  - ledger: {memory: 80, compare: free_share, capacities: learned}
where: [alpha < 0.5 || horizon > 120, '!(coin == 0.5)']
replications: 2
confidence: 0.9
optimize:
  - policy: theta
    maximize: accepted_pct
    over:
      alpha: {log: [0.001, 1]}
      clamp.0: {linear: [0, 0.3]}
      model.interarrival.hyperexponential.means.0: {linear: [0.5, 2]}
    start: {alpha: 0.1}
    method: {spsa: {pairs: 2}}
    budget: 100
    against: [trigger, {policy: j2}]
  - {policy: j2, label: runs, minimize: errors_pct, over: {max_run: {linear: [1, 9], integer: true}}, method: grid, budget: 50, confirm: {grid: 5, delta: 0.1}}
published:
  source: somewhere
  claims:
    - {policy: j2, response: errors_pct, value: 22.70, at: {size: [2, 4], horizon: 100, service: '{poisson: 80}'}}
";

/// One change to a text.
#[derive(Clone, Debug)]
enum Damage {
    DropLine(usize),
    RepeatLine(usize),
    DropCharacter(usize),
    Insert(usize, char),
    Cut(usize),
    /// Puts one word of the text in the place of another.
    Word(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0..10_000_usize;
    let odd =
        prop::sample::select("[]{}:,-'\"&*!|>#%@ \t\n0.9eθ\u{0}~<?".chars().collect::<Vec<_>>());
    prop_oneof![
        at.clone().prop_map(Damage::DropLine),
        at.clone().prop_map(Damage::RepeatLine),
        at.clone().prop_map(Damage::DropCharacter),
        (at.clone(), odd).prop_map(|(at, odd)| Damage::Insert(at, odd)),
        at.clone().prop_map(Damage::Cut),
        (at.clone(), at).prop_map(|(a, b)| Damage::Word(a, b)),
    ]
}

impl Damage {
    fn apply(&self, text: &mut String) {
        let mut lines: Vec<&str> = text.lines().collect();
        let mut characters: Vec<char> = text.chars().collect();
        if lines.is_empty() {
            return;
        }
        let (line, character) = (|at: usize| at % lines.len(), |at: usize| at % characters.len());
        *text = match *self {
            Damage::DropLine(at) => {
                lines.remove(line(at));
                lines.join("\n")
            }
            Damage::RepeatLine(at) => {
                lines.insert(line(at), lines[line(at)]);
                lines.join("\n")
            }
            Damage::DropCharacter(at) => {
                characters.remove(character(at));
                characters.into_iter().collect()
            }
            Damage::Insert(at, odd) => {
                characters.insert(character(at), odd);
                characters.into_iter().collect()
            }
            Damage::Cut(at) => characters[..character(at)].iter().collect(),
            Damage::Word(a, b) => {
                let words: Vec<&str> =
                    text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
                match words.is_empty() {
                    true => String::new(),
                    false => text.replacen(words[a % words.len()], words[b % words.len()], 1),
                }
            }
        };
    }
}
