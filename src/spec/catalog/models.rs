//! Models.

use super::{Default, Field, Kind, MAX_WHOLE, POSITIVE, Takes};

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
    about: "parallel queues, each served first come, first served, behind a dispatcher",
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
            name: "interarrival",
            takes: Takes::Distribution,
            default: Default::Required,
            unit: "time",
            about: "time between two arrivals at the dispatcher",
        },
        Field {
            name: "load",
            takes: POSITIVE,
            default: Default::Absent,
            unit: "share",
            about: "work that arrives over what all servers can do: the times between arrivals are \
                    stretched to it; they stay as they are where left out",
        },
        Field {
            name: "service",
            takes: Takes::Distribution,
            default: Default::Required,
            unit: "time",
            about: "size of a job: its service time at speed 1",
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
