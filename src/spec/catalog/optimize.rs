//! The search for the best parameters, and its methods.

use super::super::optimize::Spsa;
use super::{Default, Field, Kind, POSITIVE, Takes};

const SPSA: Spsa = Spsa::DEFAULT;

/// Whole numbers from 1 that a count of replications, pairs or points may be.
const COUNT: Takes = Takes::Integer { min: 1, max: 1_000_000 };
/// Largest budget of a search [replications]: what fits in memory, by far.
pub const MAX_BUDGET: u64 = 100_000_000;
/// A share of the box, of its width.
const SHARE: Takes = Takes::Number { min: 0.0, max: 1.0, above: true };
/// A share of the box that fits it on both sides of its middle.
const HALF: Takes = Takes::Number { min: 0.0, max: 0.5, above: true };

/// A search.
pub const OPTIMIZE: Kind = Kind {
    name: "optimize",
    about: "a search for the values of some parameters that make the mean of a response least or \
            greatest; it is made in each scenario",
    fields: &[
        Field {
            name: "label",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "name of the search in results; the policy's label where left out",
        },
        Field {
            name: "policy",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "label of the policy whose parameters are searched",
        },
        Field {
            name: "at",
            takes: Takes::Levels,
            default: Default::Absent,
            unit: "",
            about: "values of the model's axes: the search is made in the scenarios that have them, \
                    in all where left out",
        },
        Field {
            name: "minimize",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "column of the response to make least; either this or `maximize`",
        },
        Field {
            name: "maximize",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "column of the response to make greatest",
        },
        Field {
            name: "over",
            takes: Takes::Over,
            default: Default::Required,
            unit: "",
            about: "the box: a range for each parameter, by its path in the policy, or in the \
                    model after `model.`; a swept field is searched instead",
        },
        Field {
            name: "start",
            takes: Takes::Start,
            default: Default::Absent,
            unit: "",
            about: "where the search starts, such as `{alpha: 0.01}`; the middle of the box, on \
                    its scale, where left out",
        },
        Field {
            name: "method",
            takes: Takes::Method,
            default: Default::Text("auto"),
            unit: "",
            about: "how it searches: a method's name, or `{spsa: {pairs: 4}}`",
        },
        Field {
            name: "budget",
            takes: Takes::Integer { min: 20, max: MAX_BUDGET },
            default: Default::Required,
            unit: "replications",
            about: "the most that the search may run, its confirmation not counted",
        },
        Field {
            name: "against",
            takes: Takes::Against,
            default: Default::Absent,
            unit: "",
            about: "rivals that the optimum is compared with: labels of policies, or \
                    `{policy: LABEL, at: {alpha: 0.01}}`",
        },
        Field {
            name: "confirm",
            takes: Takes::Confirm,
            default: Default::Absent,
            unit: "",
            about: "how the optimum is confirmed, as it always is, on streams that the search never \
                    saw",
        },
    ],
};

/// A searched parameter.
pub const PARAMETER: Kind = Kind {
    name: "a parameter",
    about: "a searched parameter",
    fields: &[
        Field {
            name: "log",
            takes: Takes::Range { min: 0.0, max: f64::MAX, above: true },
            default: Default::Absent,
            unit: "of the parameter",
            about: "least and greatest value, searched by ratios; either this or `linear`",
        },
        Field {
            name: "linear",
            takes: Takes::Range { min: f64::MIN, max: f64::MAX, above: false },
            default: Default::Absent,
            unit: "of the parameter",
            about: "least and greatest value, searched by distances",
        },
        Field {
            name: "integer",
            takes: Takes::Flag,
            default: Default::Flag(false),
            unit: "",
            about: "whether it takes whole numbers only",
        },
    ],
};

/// A point that the optimum is compared with.
pub const RIVAL: Kind = Kind {
    name: "a rival",
    about: "a point that the optimum is compared with, one in each scenario",
    fields: &[
        Field {
            name: "policy",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "label of the policy",
        },
        Field {
            name: "at",
            takes: Takes::Levels,
            default: Default::Absent,
            unit: "",
            about: "values of its axes, such as `{alpha: 0.01}`",
        },
    ],
};

/// The confirmation of an optimum.
pub const CONFIRM: Kind = Kind {
    name: "confirm",
    about: "the confirmation of an optimum on streams of its own",
    fields: &[
        Field {
            name: "replications",
            takes: Takes::Integer { min: 2, max: 100_000 },
            default: Default::Integer(200),
            unit: "replications",
            about: "replications of the optimum, of each rival and of each point of the grid",
        },
        Field {
            name: "grid",
            takes: Takes::Integer { min: 3, max: 1000 },
            default: Default::Absent,
            unit: "points",
            about: "points of a grid over the box whose best the optimum is compared with; of one \
                    parameter only; no grid where left out",
        },
        Field {
            name: "delta",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "of the response",
            about: "difference that counts as nothing; where left out, none does",
        },
    ],
};

const REPLICATIONS: Field = Field {
    name: "replications",
    takes: COUNT,
    default: Default::Absent,
    unit: "replications",
    about: "replications of each evaluation; from the budget where left out",
};
const POINTS: Field = Field {
    name: "points",
    takes: Takes::Integer { min: 2, max: 1_000_000 },
    default: Default::Absent,
    unit: "points",
    about: "points that share the budget; from the budget where left out",
};

/// The methods of a search.
pub const METHODS: &[Kind] = &[
    Kind { name: "auto", about: "picks one by parameters and budget, and says why", fields: &[] },
    Kind {
        name: "spsa",
        about: "simultaneous perturbation stochastic approximation: a gradient step from two \
                evaluations, whatever the number of parameters",
        fields: &[
            Field {
                name: "form",
                takes: Takes::Choice(&["two_sided", "one_measurement"]),
                default: Default::Text("two_sided"),
                unit: "",
                about: "evaluations of a difference: one on either side on the same streams, or \
                        one alone",
            },
            Field {
                name: "pairs",
                takes: COUNT,
                default: Default::Integer(SPSA.pairs as u64),
                unit: "",
                about: "differences that an iteration's gradient is the mean of",
            },
            Field {
                default: Default::Integer(SPSA.replications as u64),
                about: "replications of each side",
                ..REPLICATIONS
            },
            Field {
                name: "first_step",
                takes: SHARE,
                default: Default::Number(SPSA.first_step),
                unit: "share of the box",
                about: "mean length of the first step, which sets the gain a",
            },
            Field {
                name: "perturbation",
                takes: HALF,
                default: Default::Absent,
                unit: "share of the box",
                about: "the gain c: distance of the first sides from their middle; from the measured \
                        noise where left out",
            },
            Field {
                name: "least_perturbation",
                takes: HALF,
                default: Default::Number(SPSA.least_perturbation),
                unit: "share of the box",
                about: "least c that is taken from the measured noise",
            },
            Field {
                name: "stability",
                takes: Takes::Number { min: 0.0, max: 10.0, above: false },
                default: Default::Number(SPSA.stability),
                unit: "share of the iterations",
                about: "the constant A that dampens the first steps",
            },
            Field {
                name: "clip",
                takes: SHARE,
                default: Default::Number(SPSA.clip),
                unit: "share of the box",
                about: "longest step",
            },
            Field {
                name: "blocking",
                takes: Takes::Flag,
                default: Default::Flag(false),
                unit: "",
                about: "whether a step to a value that is clearly worse is not taken",
            },
            Field {
                name: "second_order",
                takes: Takes::Flag,
                default: Default::Flag(false),
                unit: "",
                about: "whether the Hessian is estimated too (2SPSA); for two or more parameters",
            },
        ],
    },
    Kind {
        name: "golden_section",
        about: "narrows an interval by the golden ratio; one parameter",
        fields: &[REPLICATIONS],
    },
    Kind {
        name: "brent",
        about: "golden section with parabolic steps; one parameter",
        fields: &[REPLICATIONS],
    },
    Kind { name: "nelder_mead", about: "a simplex that moves downhill", fields: &[REPLICATIONS] },
    Kind {
        name: "particle_swarm",
        about: "particles drawn to their own and to the common best",
        fields: &[
            Field {
                name: "particles",
                takes: Takes::Integer { min: 2, max: 10_000 },
                default: Default::Integer(10),
                unit: "particles",
                about: "particles of the swarm",
            },
            REPLICATIONS,
        ],
    },
    Kind {
        name: "cma_es",
        about: "evolution with a covariance that adapts; two or more parameters",
        fields: &[
            Field {
                name: "population",
                takes: Takes::Integer { min: 4, max: 10_000 },
                default: Default::Absent,
                unit: "points",
                about: "points of a generation; 4 + 3 ln(parameters) where left out",
            },
            REPLICATIONS,
        ],
    },
    Kind { name: "random", about: "the best of random points", fields: &[POINTS] },
    Kind { name: "sobol", about: "the best of a low-discrepancy sequence", fields: &[POINTS] },
    Kind {
        name: "grid",
        about: "the best of a grid, by selection that spares clearly worse points; one or two \
                parameters",
        fields: &[
            Field {
                takes: Takes::Integer { min: 2, max: 100_000 },
                default: Default::Integer(21),
                about: "points along each parameter",
                ..POINTS
            },
            Field {
                name: "delta",
                takes: POSITIVE,
                default: Default::Absent,
                unit: "of the response",
                about: "smallest difference that matters; from the measured noise where left out",
            },
            Field {
                name: "confidence",
                takes: Takes::Number { min: 0.5, max: 0.999_999, above: false },
                default: Default::Number(0.95),
                unit: "probability",
                about: "probability of keeping the best",
            },
        ],
    },
    Kind {
        name: "response_surface",
        about: "a quadratic fitted to noisy values around the best guess, again and again",
        fields: &[Field {
            name: "rounds",
            takes: Takes::Integer { min: 1, max: 10_000 },
            default: Default::Integer(5),
            unit: "rounds",
            about: "fits that share the budget",
        }],
    },
];
