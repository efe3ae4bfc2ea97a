//! Policies.

use super::{ANY, Default, Field, Kind, NOT_NEGATIVE, POSITIVE, PROBABILITY, Takes};

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

const TIE: Field = Field {
    name: "tie",
    takes: Takes::Choice(&["random", "first", "fastest"]),
    default: Default::Text("random"),
    unit: "",
    about: "who gets the job where loads are equal: each equally likely, the first of them, or the \
            fastest",
};
const FULL: Field = Field {
    name: "full",
    takes: Takes::Choice(&["candidate", "skip"]),
    default: Default::Text("candidate"),
    unit: "",
    about: "whether a server without room may get the job where others looked at have room",
};
const LOAD: Field = Field {
    name: "load",
    takes: Takes::Choice(&["in_system", "waiting", "work", "delay"]),
    default: Default::Text("in_system"),
    unit: "",
    about: "what is compared: jobs in the server; jobs that wait; work left; or the delay to be \
            expected, jobs and one more over the speed",
};
const CHOICES: Field = Field {
    name: "d",
    takes: Takes::Integer { min: 1, max: 1_000_000 },
    default: Default::Integer(2),
    unit: "servers",
    about: "servers drawn",
};
const REPLACE: Field = Field {
    name: "replace",
    takes: Takes::Flag,
    default: Default::Flag(false),
    unit: "",
    about: "whether a server may be drawn twice",
};
const BETA: Field = Field {
    name: "beta",
    takes: PROBABILITY,
    default: Default::Number(1.0),
    unit: "probability",
    about: "probability that a job gets d choices; else it gets one",
};
const OLD: Field = Field {
    name: "information",
    takes: Takes::Information,
    default: Default::Absent,
    unit: "",
    about: "a board with the loads of all servers, which all dispatchers read instead of asking, and \
            how it is updated; it says at first that the system is empty, and loads are true and \
            current where it is left out",
};
const WEIGHTS: Field = Field {
    name: "weights",
    takes: Takes::Integers { min_len: 1, min: 1, max: 1_000_000 },
    default: Default::Required,
    unit: "",
    about: "weight of each server, in proportion to which it gets jobs",
};

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
                takes: Takes::Range { min: 0.0, max: 1.0, above: false },
                default: Default::Range(0.01, 0.99),
                unit: "probability",
                about: "least and greatest θ",
            },
            Field {
                name: "max_run",
                takes: Takes::Pair { min: 1, max: u32::MAX as u64 - 1 },
                default: Default::Absent,
                unit: "requests",
                about: "after so many attempts in a row at one server the next goes to the other; \
                        one limit for both or a list of each server's; no limit where left out",
            },
            LABEL,
        ],
    },
    Kind {
        name: "ledger",
        about: "to the server with the most channels free by its own books (the first on a tie), \
                in which a request occupies the server that took it for a fixed time",
        fields: &[
            Field {
                name: "memory",
                takes: NOT_NEGATIVE,
                default: Default::Required,
                unit: "time",
                about: "how long a request stands in the books",
            },
            Field {
                name: "compare",
                takes: Takes::Choice(&["free", "free_share"]),
                default: Default::Text("free"),
                unit: "",
                about: "whether the number of free channels decides or their share; more may stand \
                        in the books than there are channels, and then it is below 0",
            },
            Field {
                name: "capacities",
                takes: Takes::Choice(&["known", "learned"]),
                default: Default::Text("known"),
                unit: "",
                about: "whether it knows the servers' channels or learns from I and J how many \
                        requests stand in the books of a server when it is full",
            },
            LABEL,
        ],
    },
    Kind { name: "random", about: "any server, each equally likely", fields: &[LABEL] },
    Kind {
        name: "weighted_random",
        about: "any server, in proportion to weights",
        fields: &[WEIGHTS, LABEL],
    },
    Kind {
        name: "round_robin",
        about: "each job to the server after that of the job before, cyclically",
        fields: &[FIRST, LABEL],
    },
    Kind {
        name: "weighted_round_robin",
        about: "servers in turn, in proportion to weights",
        fields: &[
            WEIGHTS,
            Field {
                name: "style",
                takes: Takes::Choice(&["smooth", "interleaved"]),
                default: Default::Text("smooth"),
                unit: "",
                about: "order of the turns: spread as evenly as can be (as nginx), or in rounds at \
                        falling thresholds of the weight (as LVS)",
            },
            LABEL,
        ],
    },
    Kind {
        name: "sq",
        about: "the least loaded of d servers drawn at random: the power of d choices",
        fields: &[
            CHOICES,
            REPLACE,
            Field {
                name: "memory",
                takes: Takes::Integer { min: 0, max: 1000 },
                default: Default::Integer(0),
                unit: "servers",
                about: "servers looked at besides: the least loaded of those looked at before",
            },
            BETA,
            LOAD,
            TIE,
            FULL,
            OLD,
            LABEL,
        ],
    },
    Kind {
        name: "jsq",
        about: "the least loaded of all servers: join the shortest queue",
        fields: &[LOAD, TIE, FULL, OLD, LABEL],
    },
    Kind {
        name: "least_work",
        about: "the server with the least work left, of all",
        fields: &[TIE, FULL, OLD, LABEL],
    },
    Kind {
        name: "shortest_expected_delay",
        about: "the server where jobs and one more, over the speed, are least, of all",
        fields: &[TIE, FULL, OLD, LABEL],
    },
    Kind {
        name: "jiq",
        about: "join idle queue: an idle server, each equally likely; any server where none is",
        fields: &[
            Field {
                name: "report",
                takes: Takes::Choice(&["pool", "random", "sq"]),
                default: Default::Text("pool"),
                unit: "",
                about: "to whom a server reports that it is idle: to a pool of all dispatchers, to a \
                        random dispatcher, or to that of two with the shorter I-queue; from its \
                        I-queue a dispatcher takes the first",
            },
            LABEL,
        ],
    },
    Kind {
        name: "idle_first",
        about: "an idle server, each equally likely; the least loaded of d where none is",
        fields: &[CHOICES, REPLACE, BETA, LOAD, TIE, FULL, OLD, LABEL],
    },
    Kind {
        name: "below_threshold",
        about: "join below threshold: a server with fewer jobs, each equally likely; any server \
                where none is; 1 is join idle queue",
        fields: &[
            Field {
                name: "threshold",
                takes: Takes::Integer { min: 1, max: 1_000_000_000 },
                default: Default::Required,
                unit: "jobs",
                about: "number of jobs that a server must have fewer of",
            },
            OLD,
            LABEL,
        ],
    },
    Kind {
        name: "sita",
        about: "size interval task assignment: to the first server whose cutoff is at least the size \
                of the job, else to the last",
        fields: &[
            Field {
                name: "cutoffs",
                takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: true },
                default: Default::Required,
                unit: "time",
                about: "greatest size of each server but the last, rising",
            },
            LABEL,
        ],
    },
];

/// Information that is old: `information: {update: periodic, age: 2}`.
pub const INFORMATION: Kind = Kind {
    name: "information",
    about: "a board of the loads of all servers",
    fields: &[
        Field {
            name: "update",
            takes: Takes::Choice(&["none", "periodic", "exponential"]),
            default: Default::Text("none"),
            unit: "",
            about: "when the board is brought up to date: there is none; at multiples of the age; or \
                    after exponential times with that mean",
        },
        Field {
            name: "age",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "time",
            about: "time between updates, in the mean; only with a board, and then it must be given",
        },
    ],
};

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
            name: "smoothing",
            takes: PROBABILITY,
            default: Default::Number(0.0),
            unit: "share",
            about: "share s of the smoothed form in the j term, which is \
                    (1 − s)·(J0 − J1) + s·(J0·θ − J1·(1 − θ)); j-smoothed has 1",
        },
    ],
};
