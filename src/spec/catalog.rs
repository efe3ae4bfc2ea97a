//! The vocabulary of a spec: every model, policy and distribution with its fields.
//!
//! One table serves the checker, `balancelab models` and `balancelab schema`, and it is the only
//! place where a default is written.

/// Something that a spec names, with the fields that its map may have.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
}

/// A field of a map.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub takes: Takes,
    pub default: Default,
    pub unit: &'static str,
    pub about: &'static str,
}

/// What a field takes. All numbers must be finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// A number from `min` to `max`, `min` itself excluded if `above`.
    Number {
        min: f64,
        max: f64,
        above: bool,
    },
    /// A whole number from `min` to `max`.
    Integer {
        min: u64,
        max: u64,
    },
    Flag,
    Text,
    Choice(&'static [&'static str]),
    Distribution,
    /// A list of `min_len` or more whole numbers, each from `min`.
    Integers {
        min_len: usize,
        min: u64,
        max: u64,
    },
    /// A list of `min_len` or more numbers in the range.
    Numbers {
        min_len: usize,
        min: f64,
        max: f64,
        above: bool,
    },
    /// Two numbers in the range, the first below the second.
    Range {
        min: f64,
        max: f64,
    },
    /// A rule of the theta policy: a name, or a map with the fields of [`CUSTOM_RULE`].
    Rule,
    Model,
    Policies,
    /// One condition or a list of them.
    Conditions,
    /// A map with the fields of [`PUBLISHED`].
    Published,
    /// A list of maps with the fields of [`CLAIM`].
    Claims,
    /// A map from axis names to values.
    Levels,
}

/// What stands in for a field that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Nothing does: the field must be given.
    Required,
    /// The field has no value then; `about` says what that means.
    Absent,
    Number(f64),
    Integer(u64),
    Flag(bool),
    Text(&'static str),
    Range(f64, f64),
}

/// Greatest whole number that a field takes: integers are exact in `f64` up to here.
const MAX_WHOLE: u64 = 1 << 53;

const POSITIVE: Takes = Takes::Number { min: 0.0, max: f64::MAX, above: true };
const NOT_NEGATIVE: Takes = Takes::Number { min: 0.0, max: f64::MAX, above: false };
const ANY: Takes = Takes::Number { min: f64::MIN, max: f64::MAX, above: false };
const PROBABILITY: Takes = Takes::Number { min: 0.0, max: 1.0, above: false };
const FIRST: Field = Field {
    name: "first",
    takes: Takes::Integer { min: 0, max: u32::MAX as u64 },
    default: Default::Integer(0),
    unit: "server",
    about: "the server of the first request, counted from 0",
};
const LABEL: Field = Field {
    name: "label",
    takes: Takes::Text,
    default: Default::Absent,
    unit: "",
    about: "name of the entry in results; the policy's own name where left out",
};

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

/// The systems that can be simulated.
pub const MODELS: &[Kind] = &[Kind {
    name: "loss_router",
    about: "servers of parallel channels without a queue behind a router that sees only whether \
            its last request was taken (I), redirected (J) or refused",
    fields: &[
        Field {
            name: "channels",
            takes: Takes::Integers { min_len: 2, min: 1, max: 1_000_000 },
            default: Default::Required,
            unit: "channels",
            about: "channels of each server, two or more servers",
        },
        Field {
            name: "interarrival",
            takes: Takes::Distribution,
            default: Default::Required,
            unit: "time",
            about: "time between two requests; time is in whole ticks if this and `service` are",
        },
        Field {
            name: "service",
            takes: Takes::Distribution,
            default: Default::Required,
            unit: "time",
            about: "service time of a request, the same on every server",
        },
        Field {
            name: "horizon",
            takes: POSITIVE,
            default: Default::Required,
            unit: "time",
            about: "end of a replication, which starts empty at 0; an arrival at the horizon counts",
        },
        Field {
            name: "redirect",
            takes: Takes::Choice(&["next", "random", "most_free"]),
            default: Default::Text("next"),
            unit: "",
            about: "which other server gets a request whose server is full: the next one with a \
                    free channel (cyclically), a random one with, or the one with the most",
        },
        Field {
            name: "departure_first",
            takes: Takes::Flag,
            default: Default::Flag(true),
            unit: "",
            about: "whether a departure frees its channel for an arrival at the same time",
        },
        Field {
            name: "max_arrivals",
            takes: Takes::Integer { min: 1, max: MAX_WHOLE },
            default: Default::Integer(1_000_000_000),
            unit: "requests",
            about: "a replication with more requests is given up as failed",
        },
    ],
}];

/// The policies that can be compared.
pub const POLICIES: &[Kind] = &[
    Kind {
        name: "coin",
        about: "an independent draw for every request",
        fields: &[
            Field {
                name: "theta",
                takes: PROBABILITY,
                default: Default::Absent,
                unit: "probability",
                about: "probability of server 0, of two; either this or `probabilities`",
            },
            Field {
                name: "probabilities",
                takes: Takes::Numbers { min_len: 2, min: 0.0, max: f64::MAX, above: false },
                default: Default::Absent,
                unit: "probability",
                about: "probability of each server, summing to 1",
            },
            LABEL,
        ],
    },
    Kind {
        name: "trigger",
        about: "stays with one server until an error, then with the one that took the request",
        fields: &[FIRST, LABEL],
    },
    Kind {
        name: "alternate",
        about: "each request to the server after the one attempted before, cyclically",
        fields: &[
            FIRST,
            Field {
                name: "flip_on_refusal",
                takes: Takes::Flag,
                default: Default::Flag(true),
                unit: "",
                about: "whether it moves on after a refusal too",
            },
            LABEL,
        ],
    },
    Kind {
        name: "theta",
        about: "a coin between two servers whose probability θ of server 0 follows the indicators",
        fields: &[
            Field {
                name: "rule",
                takes: Takes::Rule,
                default: Default::Required,
                unit: "",
                about: "the update of θ, times alpha: j: J0 − J1; i: I0 − I1; j-i and j+i: their \
                        difference and sum; j-smoothed: J0·θ − J1·(1 − θ); or custom weights",
            },
            Field {
                name: "alpha",
                takes: NOT_NEGATIVE,
                default: Default::Required,
                unit: "probability",
                about: "step of the update; 0 is the coin",
            },
            Field {
                name: "start",
                takes: PROBABILITY,
                default: Default::Number(1.0 / 3.0),
                unit: "probability",
                about: "the first θ",
            },
            Field {
                name: "clamp",
                takes: Takes::Range { min: 0.0, max: 1.0 },
                default: Default::Range(0.01, 0.99),
                unit: "probability",
                about: "least and greatest θ",
            },
            Field {
                name: "max_run",
                takes: Takes::Integer { min: 1, max: u32::MAX as u64 - 1 },
                default: Default::Absent,
                unit: "requests",
                about: "after so many attempts in a row at one server the next goes to the other; \
                        no limit where left out",
            },
            LABEL,
        ],
    },
];

/// Names of the published rules of the theta policy.
pub const RULES: &[&str] = &["j", "i", "j-i", "j+i", "j-smoothed"];

/// The rule of one's own: `rule: {custom: {j: 1, i: -0.5}}`.
pub const CUSTOM_RULE: Kind = Kind {
    name: "custom",
    about: "weights of the indicator differences in the update of θ",
    fields: &[
        Field {
            name: "j",
            takes: ANY,
            default: Default::Number(0.0),
            unit: "",
            about: "weight of J0 − J1",
        },
        Field {
            name: "i",
            takes: ANY,
            default: Default::Number(0.0),
            unit: "",
            about: "weight of I0 − I1",
        },
        Field {
            name: "smoothed",
            takes: Takes::Flag,
            default: Default::Flag(false),
            unit: "",
            about: "whether the j term is J0·θ − J1·(1 − θ)",
        },
    ],
};

const MEAN: Field = Field {
    name: "mean",
    takes: POSITIVE,
    default: Default::Required,
    unit: "time",
    about: "mean",
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

impl Kind {
    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field that a bare value after the name stands for, where it is unambiguous:
    /// the first, if no other is required.
    pub fn bare(&self) -> Option<&'static Field> {
        let (first, others) = self.fields.split_first()?;
        others.iter().all(|field| field.default != Default::Required).then_some(first)
    }
}

impl Takes {
    /// Returns what the field takes, for messages and listings.
    pub fn words(&self) -> String {
        let range = |min: f64, max: f64, above: bool| match (min > f64::MIN, max < f64::MAX) {
            (true, true) => format!("from {min} to {max}"),
            (true, false) if above => format!("above {min}"),
            (true, false) => format!("of at least {min}"),
            _ => "that is finite".to_owned(),
        };
        match *self {
            Takes::Number { min, max, above } => format!("a number {}", range(min, max, above)),
            Takes::Integer { min, max } if max >= u64::from(u32::MAX) - 1 => {
                format!("a whole number of at least {min}")
            }
            Takes::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Takes::Flag => "true or false".to_owned(),
            Takes::Text => "a text".to_owned(),
            Takes::Choice(names) => format!("one of {}", names.join(", ")),
            Takes::Distribution => "a distribution".to_owned(),
            Takes::Integers { min_len, min, .. } => {
                format!("a list of {min_len} or more whole numbers of at least {min}")
            }
            Takes::Numbers { min_len, min, max, above } => {
                format!("a list of {min_len} or more numbers {}", range(min, max, above))
            }
            Takes::Range { min, max } => {
                format!("two rising numbers from {min} to {max}")
            }
            Takes::Rule => format!("one of {}, or {{custom: {{j: .., i: ..}}}}", RULES.join(", ")),
            Takes::Model => "a model with its fields".to_owned(),
            Takes::Policies => "a list of policies".to_owned(),
            Takes::Conditions => "a condition or a list of conditions".to_owned(),
            Takes::Published => "a map with `source` and `claims`".to_owned(),
            Takes::Claims => "a list of claims".to_owned(),
            Takes::Levels => "a map from axes to values".to_owned(),
        }
    }
}

impl std::fmt::Display for Default {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Default::Required => f.write_str("required"),
            Default::Absent => f.write_str("none"),
            Default::Number(number) => write!(f, "{number}"),
            Default::Integer(integer) => write!(f, "{integer}"),
            Default::Flag(flag) => write!(f, "{flag}"),
            Default::Text(text) => f.write_str(text),
            Default::Range(low, high) => write!(f, "[{low}, {high}]"),
        }
    }
}
