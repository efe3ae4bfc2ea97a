//! The sections around models and policies.

use super::{ANY, Default, Field, Kind, NOT_NEGATIVE, Takes};

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
            takes: Takes::Integer { min: 1, max: u32::MAX as u64 },
            default: Default::Integer(100),
            unit: "",
            about: "independent runs of every point",
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
