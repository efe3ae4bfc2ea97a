//! Distributions.

use super::{Default, Field, Kind, NOT_NEGATIVE, POSITIVE, Takes};

const MEAN: Field = Field {
    name: "mean",
    takes: POSITIVE,
    default: Default::Required,
    unit: "time",
    about: "the mean time",
};
const SHAPE: Field = Field {
    name: "shape",
    takes: POSITIVE,
    default: Default::Required,
    unit: "",
    about: "shape parameter",
};

/// The distributions of times. Those whose first field alone is required take a bare number for
/// it: `exponential: 15`.
pub const DISTRIBUTIONS: &[Kind] = &[
    Kind {
        name: "deterministic",
        about: "always the same value",
        fields: &[Field { name: "value", about: "the value", ..MEAN }],
    },
    Kind {
        name: "exponential",
        about: "memoryless; give the mean or the rate",
        fields: &[
            Field { default: Default::Absent, ..MEAN },
            Field {
                name: "rate",
                takes: POSITIVE,
                default: Default::Absent,
                unit: "1/time",
                about: "1/mean",
            },
        ],
    },
    Kind {
        name: "poisson",
        about: "Poisson-distributed whole numbers, given that they are at least 1",
        fields: &[Field {
            takes: Takes::Number { min: 0.0, max: 1e6, above: true },
            about: "the Poisson parameter; the mean itself is mean/(1 − exp(−mean))",
            ..MEAN
        }],
    },
    Kind {
        name: "geometric",
        about: "whole numbers from 1: trials up to the first success",
        fields: &[Field { takes: Takes::Number { min: 1.0, max: 1e9, above: false }, ..MEAN }],
    },
    Kind {
        name: "erlang",
        about: "sum of equal exponential phases",
        fields: &[
            Field { about: "mean of the sum", ..MEAN },
            Field {
                name: "shape",
                takes: Takes::Integer { min: 1, max: 1_000_000 },
                about: "number of phases",
                ..SHAPE
            },
        ],
    },
    Kind {
        name: "hyperexponential",
        about: "one of several exponentials, chosen at random",
        fields: &[
            Field {
                name: "probabilities",
                takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: false },
                default: Default::Required,
                unit: "probability",
                about: "probability of each branch, summing to 1",
            },
            Field {
                name: "means",
                takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: true },
                default: Default::Required,
                unit: "time",
                about: "mean of each branch",
            },
        ],
    },
    Kind {
        name: "lognormal",
        about: "logarithm is normal",
        fields: &[
            MEAN,
            Field {
                name: "cv",
                takes: POSITIVE,
                default: Default::Required,
                unit: "",
                about: "standard deviation over mean",
            },
        ],
    },
    Kind {
        name: "uniform",
        about: "every value between two ends",
        fields: &[
            Field { name: "low", takes: NOT_NEGATIVE, about: "lower end", ..MEAN },
            Field { name: "high", about: "upper end", ..MEAN },
        ],
    },
    Kind {
        name: "weibull",
        about: "power of an exponential",
        fields: &[SHAPE, Field { name: "scale", about: "scale parameter", ..MEAN }],
    },
    Kind {
        name: "bounded_pareto",
        about: "a power law between two ends",
        fields: &[
            Field { about: "tail exponent", ..SHAPE },
            Field { name: "low", about: "lower end", ..MEAN },
            Field { name: "high", about: "upper end", ..MEAN },
        ],
    },
    Kind { name: "gamma", about: "gamma", fields: &[MEAN, SHAPE] },
    Kind {
        name: "empirical",
        about: "measured values, each equally likely; give the list or a file",
        fields: &[
            Field {
                name: "values",
                takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: false },
                default: Default::Absent,
                unit: "time",
                about: "the values",
            },
            Field {
                name: "file",
                takes: Takes::Text,
                default: Default::Absent,
                unit: "",
                about: "path of a text file with a number a line, from the spec's own folder",
            },
        ],
    },
];
