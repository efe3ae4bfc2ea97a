//! The sections around models and policies.

use super::{ANY, Default, Field, Kind, NOT_NEGATIVE, POSITIVE, Takes};
use crate::stats::selection::FIRST_STAGE;
use crate::stats::stopping::FIRST;

/// The spec itself.
pub const EXPERIMENT: Kind = Kind {
    name: "the spec",
    about: "an experiment",
    fields: &[
        Field {
            name: "name",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "name of the experiment; results go to results/NAME/",
        },
        Field {
            name: "about",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "what it is for, in a sentence",
        },
        Field {
            name: "seed",
            takes: Takes::Integer { min: 0, max: u64::MAX },
            default: Default::Integer(1),
            unit: "",
            about: "seed of all random streams",
        },
        Field {
            name: "model",
            takes: Takes::Model,
            default: Default::Required,
            unit: "",
            about: "the system under study; any of its fields may be swept in place",
        },
        Field {
            name: "policies",
            takes: Takes::Policies,
            default: Default::Required,
            unit: "",
            about: "the policies to compare on the same random traffic; any of their fields may be \
                    swept in place",
        },
        Field {
            name: "where",
            takes: Takes::Conditions,
            default: Default::Absent,
            unit: "",
            about: "conditions on axes, such as `alpha <= 0.5 && horizon > 1000`; points that \
                    fail one are dropped",
        },
        Field {
            name: "replications",
            takes: Takes::Replications,
            default: Default::Integer(100),
            unit: "",
            about: "independent runs of every point; or as many as it takes, \
                    `{min: 30, max: 1000, until: {response: errors_pct, half_width: 0.05}}`; or \
                    one long run, `{batches: 30}`",
        },
        Field {
            name: "common_random_numbers",
            takes: Takes::Choice(&["scenario", "all", "none"]),
            default: Default::Text("scenario"),
            unit: "",
            about: "what shares the random streams of a replication: the policies of a scenario, \
                    all points, or nothing",
        },
        Field {
            name: "baseline",
            takes: Takes::Baseline,
            default: Default::Absent,
            unit: "",
            about: "policy that the others of a scenario are compared with, by its label or as \
                    `{policy: LABEL, at: {alpha: 0.01}}`; the first where left out",
        },
        Field {
            name: "adjust",
            takes: Takes::Choice(&["bonferroni", "holm", "none"]),
            default: Default::Text("bonferroni"),
            unit: "",
            about: "how comparisons with the baseline are adjusted for being many in a scenario",
        },
        Field {
            name: "select",
            takes: Takes::Select,
            default: Default::Absent,
            unit: "",
            about: "search for the best point, which spares replications of the others; \
                    `replications` is the most of each",
        },
        Field {
            name: "optimize",
            takes: Takes::Optimize,
            default: Default::Absent,
            unit: "",
            about: "search for the best parameters of a policy, or several such searches",
        },
        Field {
            name: "confidence",
            takes: Takes::Number { min: 0.5, max: 0.999_999, above: false },
            default: Default::Number(0.95),
            unit: "probability",
            about: "coverage of every interval",
        },
        Field {
            name: "published",
            takes: Takes::Published,
            default: Default::Absent,
            unit: "",
            about: "published figures that the results are checked against",
        },
    ],
};

/// Replications until precise.
pub const REPLICATIONS: Kind = Kind {
    name: "replications",
    about: "as many independent runs of a point as it takes to be precise, or one run in batches",
    fields: &[
        Field {
            name: "min",
            takes: Takes::Integer { min: 2, max: u32::MAX as u64 },
            default: Default::Integer(FIRST as u64),
            unit: "replications",
            about: "the least; no point stops before 20, which is not sound, unless `max` is less",
        },
        Field {
            name: "max",
            takes: Takes::Integer { min: 2, max: u32::MAX as u64 },
            default: Default::Absent,
            unit: "replications",
            about: "the most; with `until`",
        },
        Field {
            name: "until",
            takes: Takes::Until,
            default: Default::Absent,
            unit: "",
            about: "what must be precise: a response and its half-width, or a list of them",
        },
        Field {
            name: "batches",
            takes: Takes::Integer { min: 2, max: 100_000 },
            default: Default::Absent,
            unit: "batches",
            about: "equal parts of one run's time after the warm-up, each a row; neither `max` nor \
                    `until` then",
        },
    ],
};

/// One condition of `until:`.
pub const UNTIL: Kind = Kind {
    name: "until",
    about: "a response and how precise it must be",
    fields: &[
        Field {
            name: "response",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "column of the response",
        },
        Field {
            name: "half_width",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "of the response",
            about: "largest half-width of its interval; either this or `relative`",
        },
        Field {
            name: "relative",
            takes: Takes::Number { min: 0.0, max: 0.999_999, above: true },
            default: Default::Absent,
            unit: "share",
            about: "largest half-width of its interval over its mean",
        },
    ],
};

/// What the other points are compared with.
pub const BASELINE: Kind = Kind {
    name: "baseline",
    about: "what the other points of a scenario are compared with",
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
            about: "values of its axes; its first point in a scenario where left out",
        },
    ],
};

/// The search for the best point.
pub const SELECT: Kind = Kind {
    name: "select",
    about: "the search for the best of all points",
    fields: &[
        Field {
            name: "response",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "column of the response to be best in; one that has good values",
        },
        Field {
            name: "delta",
            takes: POSITIVE,
            default: Default::Required,
            unit: "of the response",
            about: "smallest difference that matters",
        },
        Field {
            name: "confidence",
            takes: Takes::Number { min: 0.5, max: 0.999_999, above: false },
            default: Default::Number(0.95),
            unit: "probability",
            about: "probability of naming the best, where it is better by delta",
        },
        Field {
            name: "first_stage",
            takes: Takes::Integer { min: 2, max: 10_000 },
            default: Default::Integer(FIRST_STAGE as u64),
            unit: "replications",
            about: "replications of every point before any is left behind",
        },
    ],
};

/// Published figures.
pub const PUBLISHED: Kind = Kind {
    name: "published",
    about: "published figures that the results are checked against",
    fields: &[
        Field {
            name: "source",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "where the figures were published",
        },
        Field {
            name: "claims",
            takes: Takes::Claims,
            default: Default::Required,
            unit: "",
            about: "the figures",
        },
    ],
};

/// One published figure.
pub const CLAIM: Kind = Kind {
    name: "a claim",
    about: "a published figure",
    fields: &[
        Field {
            name: "policy",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "label of the policy",
        },
        Field {
            name: "response",
            takes: Takes::Text,
            default: Default::Required,
            unit: "",
            about: "column of the figure",
        },
        Field {
            name: "value",
            takes: ANY,
            default: Default::Required,
            unit: "of the response",
            about: "the figure, with as many digits as were printed",
        },
        Field {
            name: "at",
            takes: Takes::Levels,
            default: Default::Absent,
            unit: "",
            about: "values of axes that pick the point, such as `{alpha: 0.01}`",
        },
        Field {
            name: "tolerance",
            takes: NOT_NEGATIVE,
            default: Default::Absent,
            unit: "of the response",
            about: "greatest distance of the mean from the figure; where left out, three standard \
                    deviations of a single run and half a unit of the last printed digit",
        },
    ],
};
