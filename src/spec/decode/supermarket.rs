//! The supermarket: its servers, and how jobs come.

use super::super::catalog::{FAILURES, MMPP, OUTAGE};
use super::super::section::Section;
use super::{UNREAD, distribution, warmup};
use crate::model::{Arrivals, Length, Supermarket, Trace, is_count};
use crate::rng::Distribution;
use crate::sim::{Breakdowns, Discipline, Outage};

/// Decodes the supermarket; nothing if it has faults, which are noted.
pub(super) fn decode(section: &Section) -> Option<Supermarket> {
    section.one_of("servers", "speeds", "give `servers`, a number, or the list of their `speeds`");
    if section.node("trace").is_none() || section.node("horizon").is_some() {
        let help = "give the `horizon` of a replication or its `arrivals`";
        section.one_of("horizon", "arrivals", help);
    }
    let servers = section.integer("servers").map(|servers| vec![1.0; servers as usize]);
    let speeds = section.numbers("speeds").or(servers);
    let channels = section.integer("servers_per_queue");
    let capacity = section.integer("capacity").map(|capacity| capacity as u32);
    let dispatchers = section.integer("dispatchers");
    let discipline = match section.choice("discipline") {
        "ps" => Discipline::Ps,
        "lifo" => Discipline::Lifo,
        _ => Discipline::Fcfs,
    };
    let (outages, breakdowns) = (outages(section), breakdowns(section));
    let traffic = traffic(section);
    let batch = batch(section);
    let load = section.number("load");
    let horizon = section.number("horizon").map(Length::Time);
    let length = section.integer("arrivals").map(Length::Arrivals).or(horizon);
    let warmup = warmup(section);
    let (start, snapshots) = (section.integer("start"), section.integer("snapshots"));
    let max_arrivals = section.integer("max_arrivals");
    let (interarrival, service) = traffic?;
    let length = match &interarrival {
        Arrivals::Trace(trace) => length.or(Some(Length::Arrivals(trace.times.len() as u64))),
        _ => length,
    };
    Some(Supermarket {
        speeds: speeds?,
        channels: channels? as u32,
        capacity,
        dispatchers: dispatchers? as u32,
        discipline,
        outages: outages?,
        breakdowns: breakdowns?,
        interarrival,
        batch: batch?,
        load,
        service,
        length: length?,
        start: start? as u32,
        snapshots: snapshots.unwrap_or(0) as u32,
        warmup: warmup?,
        max_arrivals: max_arrivals?,
    })
}

/// Most changes of state for each job of a modulated stream.
const MOST_CHANGES: f64 = 10_000.0;

/// Decodes how jobs come, and their sizes.
fn traffic(section: &Section) -> Option<(Arrivals, Distribution)> {
    let names = ["interarrival", "mmpp", "trace"];
    let given: Vec<&str> = names.into_iter().filter(|name| section.node(name).is_some()).collect();
    let help = "give one of `interarrival`, `mmpp` and `trace`";
    match given[..] {
        ["trace"] => {
            let trace = trace(section)?;
            section.unwanted("service", "a `trace` has the sizes of its jobs");
            let service = Distribution::Empirical { values: trace.sizes.clone().into() };
            Some((Arrivals::Trace(trace.into()), service))
        }
        ["mmpp"] => {
            let (arrivals, service) = (modulated(section), service(section));
            Some((arrivals?, service?))
        }
        [_, second, ..] => {
            let message = format!("the jobs come by {}, not both", given.join(" or by "));
            section.scope.faults.add(section.at(second), message, help.to_owned());
            None
        }
        [] => {
            section.missing("interarrival", help);
            service(section);
            None
        }
        _ => {
            let arrivals = distribution(section, "interarrival").map(Arrivals::Renewal);
            let service = service(section);
            Some((arrivals?, service?))
        }
    }
}

fn service(section: &Section) -> Option<Distribution> {
    if section.node("service").is_none() {
        section.missing("service", "give a distribution: the size of a job");
        return None;
    }
    distribution(section, "service")
}

fn modulated(section: &Section) -> Option<Arrivals> {
    let map = section.map("mmpp", &MMPP)?;
    let (rates, durations) = (map.numbers("rates"), map.numbers("durations"));
    let (rates, durations) = (rates?, durations?);
    if rates.len() != durations.len() {
        let (rates, durations) = (rates.len(), durations.len());
        map.refuse("durations", format!("there are {durations} durations for {rates} rates"));
        return None;
    }
    if rates.iter().all(|&rate| rate == 0.0) {
        map.refuse("rates", "all `rates` are 0: no job ever comes".to_owned());
        return None;
    }
    let jobs: f64 = rates.iter().zip(&durations).map(|(rate, time)| rate * time).sum();
    let changes = rates.len() as f64 / jobs;
    if changes > MOST_CHANGES {
        let message = format!(
            "the states change {changes:.0} times for each job, more than the {MOST_CHANGES} that a \
             simulation gets over with"
        );
        map.refuse("rates", message);
        return None;
    }
    Some(Arrivals::Modulated { rates, durations })
}

/// Decodes the batch, which may be none.
fn batch(section: &Section) -> Option<Option<Distribution>> {
    if section.node("batch").is_none() {
        return Some(None);
    }
    let batch = distribution(section, "batch")?;
    if section.node("trace").is_some() {
        section.unwanted("batch", "a `trace` has its batches in itself: jobs with the same time");
        return None;
    }
    if !is_count(&batch) {
        let message = "`batch` must be a whole number of jobs, 1 or more, whatever is drawn";
        section.refuse("batch", message.to_owned());
        return None;
    }
    Some(Some(batch))
}

fn outages(section: &Section) -> Option<Vec<Outage>> {
    let Some(maps) = section.maps("outages", &OUTAGE) else { return Some(Vec::new()) };
    let outage = |map: &Section| {
        let (server, from, to) = (map.integer("server"), map.number("from"), map.number("to"));
        let (server, from, to) = (server? as u32, from?, to?);
        if to < from {
            map.refuse("to", format!("a server that fails at {from} isn't up again at {to}"));
            return None;
        }
        Some(Outage { server, from, to })
    };
    let outages: Vec<Option<Outage>> = maps.iter().map(outage).collect();
    outages.into_iter().collect()
}

/// Decodes outages by chance, of which there may be none.
fn breakdowns(section: &Section) -> Option<Option<Breakdowns>> {
    if section.node("failures").is_none() {
        return Some(None);
    }
    let map = section.map("failures", &FAILURES)?;
    let (mtbf, mttr) = (map.number("mtbf"), map.number("mttr"));
    let servers = map.integers("servers").map(|servers| {
        let mut servers: Vec<u32> = servers.iter().map(|&server| server as u32).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    });
    Some(Some(Breakdowns { mtbf: mtbf?, mttr: mttr?, servers }))
}

/// Reads recorded jobs.
fn trace(section: &Section) -> Option<Trace> {
    let path = section.text("trace")?;
    let helped = |message: String, help: &str| {
        section.scope.faults.add(section.at("trace"), message, help.to_owned());
        None
    };
    let fault = |message: String| {
        helped(
            message,
            "the file has a line with the names of its columns, `time` and `size` among them, and then \
             a line for each job with numbers of at least 0, separated by commas; times never fall",
        )
    };
    let text = match (section.scope.read)(path) {
        Ok(text) => text,
        // One that is there, but no parquet, isn't to be put back.
        Err(error) if error.starts_with("parquet: ") => {
            return fault(format!("can't read `{path}`: {error}"));
        }
        Err(error) => return helped(format!("can't read `{path}`: {error}"), UNREAD),
    };
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let names = lines.next().map_or("", |(_, names)| names);
    let column = |wanted: &str| {
        let mut names = names.split(',').map(|name| name.trim().trim_matches('"'));
        names.position(|name| name == wanted)
    };
    let (Some(time), Some(size)) = (column("time"), column("size")) else {
        return fault(format!("`{path}` has no columns `time` and `size` in its first line"));
    };
    let mut trace = Trace { times: Vec::new(), sizes: Vec::new() };
    for (line, content) in lines.filter(|(_, content)| !content.trim().is_empty()) {
        let number = |column: usize| {
            let word = content.split(',').nth(column)?.trim();
            word.parse().ok().filter(|&number: &f64| number.is_finite() && number >= 0.0)
        };
        let (Some(time), Some(size)) = (number(time), number(size)) else {
            return fault(format!("{path}:{}: `{content}` has no such time and size", line + 1));
        };
        if trace.times.last().is_some_and(|&before| before > time) {
            return fault(format!("{path}:{}: the time {time} is before that above it", line + 1));
        }
        trace.times.push(time);
        trace.sizes.push(size);
    }
    match trace.times.last() {
        Some(_) if trace.sizes.iter().all(|&size| size == 0.0) => {
            fault(format!("all jobs of `{path}` are of size 0"))
        }
        Some(&last) if last > 0.0 => Some(trace),
        Some(_) => fault(format!("all jobs of `{path}` come at 0")),
        None => fault(format!("`{path}` has no job")),
    }
}
