//! Methods of a search, with their options.

use super::super::catalog::{MAX_BUDGET, METHODS};
use super::super::diagnostic::At;
use super::super::section::Section;
use super::super::yaml::Node;

use super::Parameter;
use super::over::Written;
use crate::stats::selection::MAX_SYSTEMS;

/// How a search goes about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Picked by the number of parameters and the budget.
    Auto,
    Spsa(Spsa),
    /// Of one parameter.
    GoldenSection {
        /// Replications of each evaluation; from the budget where absent, here and below.
        replications: Option<u32>,
    },
    /// Of one parameter.
    Brent {
        replications: Option<u32>,
    },
    NelderMead {
        replications: Option<u32>,
    },
    ParticleSwarm {
        /// At least 2.
        particles: u32,
        replications: Option<u32>,
    },
    /// Of two or more parameters.
    CmaEs {
        /// Points of a generation; 4 + 3 ln(parameters) where absent.
        population: Option<u32>,
        replications: Option<u32>,
    },
    Random {
        /// From the budget where absent.
        points: Option<u32>,
    },
    Sobol {
        /// From the budget where absent.
        points: Option<u32>,
    },
    /// Of one or two parameters.
    Grid {
        /// Points along each parameter, at least 2.
        points: u32,
        /// Smallest difference that matters, in the response's unit.
        delta: Option<f64>,
        /// Probability of keeping the best.
        confidence: f64,
    },
    ResponseSurface {
        /// Fits that share the budget, at least 1.
        rounds: u32,
    },
}

/// Options of simultaneous perturbation stochastic approximation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spsa {
    pub form: Form,
    /// Differences that an iteration's gradient is the mean of.
    pub pairs: u32,
    /// Replications of each side.
    pub replications: u32,
    /// Mean length of the first step [share of the box].
    pub first_step: f64,
    /// Gain c [share of the box]; from the measured noise where absent.
    pub perturbation: Option<f64>,
    /// Least c that is taken from the measured noise [share of the box].
    pub least_perturbation: f64,
    /// The constant A [share of the iterations].
    pub stability: f64,
    /// Longest step [share of the box].
    pub clip: f64,
    /// Whether a step to a value that is clearly worse is not taken.
    pub blocking: bool,
    /// Whether the Hessian is estimated too (2SPSA).
    pub second_order: bool,
}

impl Spsa {
    /// The options where a spec leaves them out.
    pub const DEFAULT: Spsa = Spsa {
        form: Form::TwoSided,
        pairs: 1,
        replications: 1,
        first_step: 0.1,
        perturbation: None,
        least_perturbation: 0.05,
        stability: 0.1,
        clip: 0.2,
        blocking: false,
        second_order: false,
    };
}

impl Default for Spsa {
    fn default() -> Self {
        Spsa::DEFAULT
    }
}

/// What an SPSA makes a difference of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An evaluation on either side, on the same streams.
    TwoSided,
    /// One evaluation alone (Granichin, Polyak).
    OneMeasurement,
}

impl Method {
    /// Returns the name that a spec has for it.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Spsa(_) => "spsa",
            Method::GoldenSection { .. } => "golden_section",
            Method::Brent { .. } => "brent",
            Method::NelderMead { .. } => "nelder_mead",
            Method::ParticleSwarm { .. } => "particle_swarm",
            Method::CmaEs { .. } => "cma_es",
            Method::Random { .. } => "random",
            Method::Sobol { .. } => "sobol",
            Method::Grid { .. } => "grid",
            Method::ResponseSurface { .. } => "response_surface",
        }
    }
}

/// Decodes the method; nothing if it has faults, which are noted.
pub(super) fn method(map: &Section) -> Option<Method> {
    let Some(node) = map.node("method") else { return Some(Method::Auto) };
    decode(map, node)
}

fn decode(map: &Section, node: &Node) -> Option<Method> {
    let scope = map.scope;
    let before = scope.faults.len();
    let (kind, value, at) = scope.kind(node, METHODS, "method")?;
    let options = Section::open(scope, kind, value, at);
    let count = |field: &str| options.integer(field).map(|count| count as u32);
    let method = match kind.name {
        "auto" => Method::Auto,
        "spsa" => Method::Spsa(spsa(&options)?),
        "golden_section" => Method::GoldenSection { replications: count("replications") },
        "brent" => Method::Brent { replications: count("replications") },
        "nelder_mead" => Method::NelderMead { replications: count("replications") },
        "particle_swarm" => {
            let (particles, replications) = (count("particles"), count("replications"));
            Method::ParticleSwarm { particles: particles?, replications }
        }
        "cma_es" => {
            let (population, replications) = (count("population"), count("replications"));
            Method::CmaEs { population, replications }
        }
        "random" => Method::Random { points: count("points") },
        "sobol" => Method::Sobol { points: count("points") },
        "grid" => {
            let (points, delta) = (count("points"), options.number("delta"));
            let confidence = options.number("confidence");
            Method::Grid { points: points?, delta, confidence: confidence? }
        }
        _ => Method::ResponseSurface { rounds: count("rounds")? },
    };
    (scope.faults.len() == before).then_some(method)
}

fn spsa(options: &Section) -> Option<Spsa> {
    let form = match options.choice("form") {
        "one_measurement" => Form::OneMeasurement,
        _ => Form::TwoSided,
    };
    let (pairs, replications) = (options.integer("pairs"), options.integer("replications"));
    let (first_step, clip) = (options.number("first_step"), options.number("clip"));
    let perturbation = options.number("perturbation");
    let least_perturbation = options.number("least_perturbation");
    let stability = options.number("stability");
    let (blocking, second_order) = (options.flag("blocking"), options.flag("second_order"));
    let fault = |field: &str, message: String, help: &str| {
        options.scope.faults.add(options.at(field), message, help.to_owned());
    };
    if second_order && form == Form::OneMeasurement {
        let help = "leave `form` out, or `second_order`";
        let message = "`second_order` needs both sides of a pair, not `form: one_measurement`";
        fault("second_order", message.to_owned(), help);
    }
    if perturbation.is_some() && options.node("least_perturbation").is_some() {
        let message = "`least_perturbation` is for a c from the measured noise, and \
                       `perturbation` gives it";
        fault("least_perturbation", message.to_owned(), "leave one of them out");
    }
    let (first_step, clip) = (first_step?, clip?);
    if first_step > clip {
        let given = if options.node("first_step").is_some() { "first_step" } else { "clip" };
        let message = format!("`first_step: {first_step}` is longer than `clip: {clip}`");
        fault(given, message, "no step is longer than `clip`: raise it, or take shorter steps");
    }
    Some(Spsa {
        form,
        pairs: pairs? as u32,
        replications: replications? as u32,
        first_step,
        perturbation,
        least_perturbation: least_perturbation?,
        stability: stability?,
        clip,
        blocking,
        second_order,
    })
}

/// Returns whether a method can search that many parameters with that budget; notes why not.
pub(super) fn fits(map: &Section, method: &Method, over: &[Written], budget: Option<u64>) -> bool {
    let parameters = over.len();
    let faults = map.scope.faults;
    let at = map.node("method").map_or(map.at("over"), kind_at);
    let wrong = match method {
        Method::GoldenSection { .. } | Method::Brent { .. } if parameters > 1 => {
            Some(("one parameter", "`spsa`, `nelder_mead` and `cma_es` search several"))
        }
        Method::CmaEs { .. } if parameters < 2 => {
            Some(("two or more parameters", "`spsa`, `golden_section` and `brent` search one"))
        }
        Method::Grid { .. } if parameters > 2 => {
            Some(("one or two parameters", "`sobol` spreads points over more"))
        }
        Method::Spsa(Spsa { second_order: true, .. }) if parameters < 2 => {
            Some(("two or more parameters with `second_order`", "leave `second_order` out"))
        }
        _ => None,
    };
    if let Some((takes, help)) = wrong {
        let message = format!("`{}` searches {takes}, and `over` has {parameters}", method.name());
        faults.add(at, message, help.to_owned());
        return false;
    }
    if let Method::Grid { points, .. } = *method
        && grid_points(points, over) > MAX_SYSTEMS as u64
    {
        let all = grid_points(points, over);
        let message = format!("a grid of {all} points is too large: the most is {MAX_SYSTEMS}");
        faults.add(at, message, "give fewer `points`, or pick another method".to_owned());
        return false;
    }
    let (least, why) = least_budget(method, over);
    let Some(budget) = budget.filter(|&budget| budget < least) else { return true };
    let message = format!("a budget of {budget} is too small for `{}`: {why}", method.name());
    let help = match least {
        ..=MAX_BUDGET => format!("give at least {least} replications, or pick another method"),
        _ => "ask for fewer replications or points, or pick another method".to_owned(),
    };
    faults.add(map.at("budget"), message, help);
    false
}

fn kind_at(node: &Node) -> At {
    node.entries().first().map_or(node.at, |entry| entry.key_at)
}

/// Returns the number of points of a grid with so many along each parameter.
fn grid_points(points: u32, over: &[Written]) -> u64 {
    // Of whole numbers there are no more than the range has.
    let along = |one: &Parameter| match one.range.integer {
        true => u64::from(points).min((one.range.high - one.range.low) as u64 + 1),
        false => u64::from(points),
    };
    let along = over.iter().map(|one| along(&one.parameter));
    along.fold(1, u64::saturating_mul)
}

/// Replications of the shortest pilot of an SPSA.
const PILOT: u64 = 8;

/// Returns the replications below which a method can't be said to search, and why.
fn least_budget(method: &Method, over: &[Written]) -> (u64, String) {
    let times = |evaluations: u64, replications: Option<u32>| {
        evaluations.saturating_mul(u64::from(replications.unwrap_or(1)))
    };
    let d = over.len() as u64;
    match *method {
        Method::Auto => (0, String::new()),
        Method::Spsa(Spsa { form, pairs, replications, second_order, blocking, .. }) => {
            let sides = match form {
                Form::OneMeasurement => 1,
                // 2SPSA takes two more for the Hessian.
                Form::TwoSided if second_order => 4,
                Form::TwoSided => 2,
            };
            let comparison = if blocking { 2 } else { 0 };
            let cost = times(sides * u64::from(pairs) + comparison, Some(replications));
            let why = format!("it makes ten iterations of {cost} replications, after a pilot");
            (cost.saturating_mul(10).saturating_add(PILOT), why)
        }
        Method::GoldenSection { replications } | Method::Brent { replications } => {
            (times(5, replications), "it makes five evaluations or more".to_owned())
        }
        Method::NelderMead { replications } => {
            let corners = d + 1;
            (times(2 * corners, replications), format!("its simplex has {corners} corners"))
        }
        Method::ParticleSwarm { particles, replications } => {
            let evaluations = 2 * u64::from(particles);
            (times(evaluations, replications), format!("it moves {particles} particles"))
        }
        Method::CmaEs { population, replications } => {
            let usual = 4 + (3.0 * libm::log(d as f64)) as u64;
            let population = population.map_or(usual, u64::from);
            let why = format!("it makes two generations of {population} points");
            (times(2 * population, replications), why)
        }
        Method::Random { points } | Method::Sobol { points } => {
            let points = u64::from(points.unwrap_or(2)).max(2);
            let left = std::iter::successors(Some(points), |n| Some(n.div_ceil(2)));
            let all = left.take_while(|&n| n > 1).sum();
            (
                all,
                format!(
                    "it evaluates {points} points, and the better half again until one is left"
                ),
            )
        }
        Method::Grid { points, .. } => {
            let points = grid_points(points, over);
            (points.saturating_mul(2), format!("it runs each of {points} points twice"))
        }
        Method::ResponseSurface { .. } => {
            let points = 1 + 4 * d + 2 * d * (d - 1);
            (2 * points, format!("it runs each of {points} points twice"))
        }
    }
}
