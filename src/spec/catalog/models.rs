//! Models.

use super::{Default, Field, Kind, MAX_WHOLE, NOT_NEGATIVE, POSITIVE, Takes};

/// The systems that can be simulated.
pub const MODELS: &[Kind] = &[LOSS_ROUTER, SUPERMARKET];

const LOSS_ROUTER: Kind = Kind {
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
            about: "size of a request: its service time on a server of speed 1",
        },
        Field {
            name: "speeds",
            takes: Takes::Numbers { min_len: 2, min: 0.0, max: f64::MAX, above: true },
            default: Default::Absent,
            unit: "size/time",
            about: "speed of each server; 1 for all where left out",
        },
        Field {
            name: "horizon",
            takes: POSITIVE,
            default: Default::Required,
            unit: "time",
            about: "end of a replication, which starts empty at 0; an arrival at the horizon counts",
        },
        Field {
            name: "warmup",
            takes: Takes::Warmup,
            default: Default::Number(0.0),
            unit: "time",
            about: "what isn't counted at the start: up to a time, up to an arrival \
                    ({arrivals: 1000}), or up to where MSER-5 finds that the number of busy channels \
                    has settled (auto)",
        },
        Field {
            name: "redirect",
            takes: Takes::Choice(&["next", "random", "most_free", "none"]),
            default: Default::Text("next"),
            unit: "",
            about: "which other server gets a request whose server is full: the next one with a \
                    free channel (cyclically), a random one with, the one with the most, or none: \
                    then it is refused",
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
};

const SUPERMARKET: Kind = Kind {
    name: "supermarket",
    about: "parallel queues behind one or more dispatchers",
    fields: &[
        Field {
            name: "servers",
            takes: Takes::Integer { min: 1, max: 1_000_000 },
            default: Default::Absent,
            unit: "servers",
            about: "number of equal servers of speed 1; either this or `speeds`",
        },
        Field {
            name: "speeds",
            takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: true },
            default: Default::Absent,
            unit: "size/time",
            about: "speed of each server's channels, by which the sizes of its jobs are divided",
        },
        Field {
            name: "servers_per_queue",
            takes: Takes::Integer { min: 1, max: 1_000_000 },
            default: Default::Integer(1),
            unit: "channels",
            about: "channels of each server, which serve its queue together",
        },
        Field {
            name: "capacity",
            takes: Takes::Integer { min: 1, max: 1_000_000_000 },
            default: Default::Absent,
            unit: "jobs",
            about: "most jobs in each server, those in service included; a job sent to a full one is \
                    lost; any number where left out",
        },
        Field {
            name: "discipline",
            takes: Takes::Choice(&["fcfs", "ps", "lifo"]),
            default: Default::Text("fcfs"),
            unit: "",
            about: "who is served: first come, first served; all at once by equal parts of the \
                    channels (processor sharing); or last come, first served, where none is \
                    interrupted. Except under fcfs without outages, the times of jobs are those of \
                    the jobs that leave while it is counted, not of those that come",
        },
        Field {
            name: "outages",
            takes: Takes::Maps(&OUTAGE),
            default: Default::Absent,
            unit: "",
            about: "when servers are down: they keep their jobs and go on with them when they are \
                    up again; a job sent to one that is down is sent again, as the policy has it, \
                    until it finds one that is up, or to the next one that is if the policy would \
                    never find one; where all are down it makes no difference",
        },
        Field {
            name: "failures",
            takes: Takes::Map(&FAILURES),
            default: Default::Absent,
            unit: "",
            about: "outages by chance",
        },
        Field {
            name: "dispatchers",
            takes: Takes::Integer { min: 1, max: 10_000 },
            default: Default::Integer(1),
            unit: "dispatchers",
            about: "each job comes to one of them, each equally likely, which has its own state of \
                    the policy: its own turns, memory, θ, I-queue",
        },
        Field {
            name: "interarrival",
            takes: Takes::Distribution,
            default: Default::Absent,
            unit: "time",
            about: "time between two arrivals, at whatever dispatcher; either this, `mmpp` or `trace`",
        },
        Field {
            name: "mmpp",
            takes: Takes::Map(&MMPP),
            default: Default::Absent,
            unit: "",
            about: "Poisson arrivals whose rate changes by chance (Markov-modulated)",
        },
        Field {
            name: "trace",
            takes: Takes::Text,
            default: Default::Absent,
            unit: "",
            about: "a csv or parquet file with the columns `time`, never falling, and `size`: the jobs of \
                    every replication, all of them unless `horizon` or `arrivals` end it before",
        },
        Field {
            name: "batch",
            takes: Takes::Distribution,
            default: Default::Absent,
            unit: "jobs",
            about: "number of jobs that come together, each routed by itself, one after another: a \
                    distribution of whole numbers of at least 1 (deterministic, geometric, \
                    empirical); one where left out",
        },
        Field {
            name: "load",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "share",
            about: "work that arrives over what all servers can do while they are up: the times \
                    between arrivals are stretched to it; they stay as they are where left out",
        },
        Field {
            name: "service",
            takes: Takes::Distribution,
            default: Default::Absent,
            unit: "time",
            about: "size of a job: its service time at speed 1; needed unless a `trace` has it",
        },
        Field {
            name: "horizon",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "time",
            about: "end of a replication, which starts at 0; either this or `arrivals`",
        },
        Field {
            name: "arrivals",
            takes: Takes::Integer { min: 1, max: MAX_WHOLE },
            default: Default::Absent,
            unit: "jobs",
            about: "number of arrivals in a replication, those of the warm-up included",
        },
        Field {
            name: "warmup",
            takes: Takes::Warmup,
            default: Default::Number(0.0),
            unit: "time",
            about: "what isn't counted at the start: up to a time, up to an arrival \
                    ({arrivals: 1000}), or up to where MSER-5 finds that the number of jobs has \
                    settled (auto)",
        },
        Field {
            name: "start",
            takes: Takes::Integer { min: 0, max: 1_000_000 },
            default: Default::Integer(0),
            unit: "jobs",
            about: "jobs in each server at time 0, of sizes drawn before those of all arrivals; they \
                    are in the queues, but neither among the arrivals nor in the times of jobs",
        },
        Field {
            name: "snapshots",
            takes: Takes::Integer { min: 1, max: 1000 },
            default: Default::Absent,
            unit: "instants",
            about: "n instants k·horizon/n, k = 1, …, n, at which the share of servers with at least \
                    so many jobs is measured, whatever the warm-up is: departures at that very time \
                    have happened, arrivals haven't; none where left out",
        },
        Field {
            name: "max_arrivals",
            takes: Takes::Integer { min: 1, max: MAX_WHOLE },
            default: Default::Integer(1_000_000_000),
            unit: "jobs",
            about: "a replication with more arrivals is given up as failed",
        },
    ],
};

/// A warm-up by arrivals.
pub const WARMUP: Kind = Kind {
    name: "warmup",
    about: "what isn't counted at the start of a replication",
    fields: &[Field {
        name: "arrivals",
        takes: Takes::Integer { min: 0, max: MAX_WHOLE },
        default: Default::Required,
        unit: "requests",
        about: "requests before the count",
    }],
};

/// An outage of a server.
pub const OUTAGE: Kind = Kind {
    name: "outage",
    about: "a time that a server is down",
    fields: &[
        Field {
            name: "server",
            takes: Takes::Integer { min: 0, max: 999_999 },
            default: Default::Required,
            unit: "",
            about: "its number, from 0",
        },
        Field {
            name: "from",
            takes: NOT_NEGATIVE,
            default: Default::Required,
            unit: "time",
            about: "when it fails",
        },
        Field {
            name: "to",
            takes: NOT_NEGATIVE,
            default: Default::Required,
            unit: "time",
            about: "when it is up again",
        },
    ],
};

/// Outages by chance.
pub const FAILURES: Kind = Kind {
    name: "failures",
    about: "servers that fail and are repaired after exponential times, each by itself",
    fields: &[
        Field {
            name: "mtbf",
            takes: POSITIVE,
            default: Default::Required,
            unit: "time",
            about: "mean time from a repair, or from the start, to the next failure",
        },
        Field {
            name: "mttr",
            takes: POSITIVE,
            default: Default::Required,
            unit: "time",
            about: "mean time from a failure to the repair",
        },
        Field {
            name: "servers",
            takes: Takes::Integers { min_len: 1, min: 0, max: 999_999 },
            default: Default::Absent,
            unit: "",
            about: "numbers of the servers that fail, from 0; all where left out",
        },
    ],
};

/// A Poisson stream whose rate changes.
pub const MMPP: Kind = Kind {
    name: "mmpp",
    about: "Poisson arrivals whose rate changes from state to state, in turns and round again, after \
            exponential times; a replication starts in a state as it is in the long run",
    fields: &[
        Field {
            name: "rates",
            takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: false },
            default: Default::Required,
            unit: "1/time",
            about: "rate of arrivals in each state",
        },
        Field {
            name: "durations",
            takes: Takes::Numbers { min_len: 1, min: 0.0, max: f64::MAX, above: true },
            default: Default::Required,
            unit: "time",
            about: "mean time in each state",
        },
    ],
};
