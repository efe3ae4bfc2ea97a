//! Snapshots: replications looked at on the way, against theory and by hand.

use balancelab::engine::Case;
use balancelab::model::{Arrivals, Length, Model, Supermarket, Warmup};
use balancelab::policy::{Alternate, Policy};
use balancelab::rng::{Distribution, Draw, Role, StreamKey};
use balancelab::sim::Discipline;
use balancelab::spec::Experiment;
use balancelab::stats::Moments;
use balancelab::theory::{mean_field, transient_mean_field};
use polars::prelude::{AnyValue, DataFrame};

use crate::comparisons::{Record, csv, records};
use crate::program::Place;

fn load(text: &str) -> Result<Experiment, String> {
    let read = |path: &str| Err(format!("{path} is not there"));
    balancelab::spec::load("spec", text.to_owned(), &[], &read).map_err(|error| error.to_string())
}

fn spec(replications: &str, policies: &str, model: &str) -> String {
    format!(
        "{{name: t, seed: 5, replications: {replications}, policies: {policies}, model: {{supermarket: {{
        interarrival: {{exponential: 1}}, {model}}}}}}}"
    )
}

fn experiment(replications: u32, policies: &str, model: &str) -> Experiment {
    let text = spec(&replications.to_string(), policies, model);
    load(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the moments of all columns of a point.
fn moments(experiment: &Experiment, point: u32) -> Vec<Moments> {
    let case = Case::new(experiment, point).unwrap();
    let mut moments = vec![Moments::default(); experiment.columns.len()];
    for replication in 0..experiment.replications.checkpoints()[0] {
        let values = case.replicate(replication).unwrap();
        moments.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
    }
    moments
}

fn column(experiment: &Experiment, name: &str) -> usize {
    experiment.columns.iter().position(|column| column == name).unwrap()
}

/// A thousand servers under two choices stay within 0.01 of the mean field, over all levels, at every
/// instant, from empty and from full (0.0073 and 0.0063 at most). Their own distance is of the order
/// of 1/1000.
fn follow_the_mean_field(start: usize, replications: u32) {
    let model = format!(
        "servers: 1000, load: 0.9, service: {{exponential: 1}}, horizon: 20, snapshots: 40,
        start: {start}"
    );
    let experiment = experiment(replications, "[sq: {d: 2}]", &model);
    let moments = moments(&experiment, 0);
    let times: Vec<f64> = (1..=40).map(|k| f64::from(k) / 2.0).collect();
    let states = transient_mean_field(2, 0.9, &vec![1.0; start], 1.0, &times).unwrap();
    let mut noise = 0.0_f64;
    for (k, state) in states.iter().enumerate() {
        let (mut distance, mut errors) = (0.0, 0.0);
        for i in 1..=10 {
            let own = &moments[column(&experiment, &format!("queue_ge_{i}_at_{}", k + 1))];
            let level = state.get(i - 1).copied().unwrap_or(0.0);
            distance += (own.mean().unwrap() - level).abs();
            errors += own.se().unwrap();
        }
        assert!(distance < 0.01, "time {}: {distance}", times[k]);
        noise = noise.max(errors);
    }
    assert!(noise < 0.004, "all standard errors are {noise}");
    // Both are on their way to the same end, which full servers reach from above.
    let end = mean_field(0.9, 2).unwrap()[1];
    let second = moments[column(&experiment, "queue_ge_2_at_40")].mean().unwrap();
    assert!((second - end).abs() < 0.15, "{second} {end}");
}

#[test]
fn a_thousand_empty_servers_follow_the_mean_field() {
    follow_the_mean_field(0, 900);
}

#[test]
fn a_thousand_full_servers_follow_the_mean_field() {
    follow_the_mean_field(5, 2000);
}

/// M/M/1 at a time, by uniformisation: the shares of at least 1, 2, … jobs.
fn mm1(load: f64, start: usize, time: f64) -> Vec<f64> {
    let (rate, up) = (load + 1.0, load / (load + 1.0));
    let mut chance = vec![0.0; start + 200];
    chance[start] = 1.0;
    let mut sum = vec![0.0; chance.len()];
    let mut weight = (-rate * time).exp();
    for step in 1..150 {
        sum.iter_mut().zip(&chance).for_each(|(sum, chance)| *sum += weight * chance);
        weight *= rate * time / f64::from(step);
        let mut next = vec![0.0; chance.len()];
        for jobs in 0..chance.len() - 1 {
            next[jobs + 1] += up * chance[jobs];
            next[jobs.saturating_sub(1)] += (1.0 - up) * chance[jobs];
        }
        chance = next;
    }
    (1..=10).map(|level| sum[level..].iter().sum()).collect()
}

/// Servers that are chosen blindly are M/M/1 each, and theory knows it of all of them.
#[test]
fn a_single_queue_is_as_it_is_at_a_time_exactly() {
    for (servers, policies, load, start) in
        [(1, "[sq: {d: 1}]", 0.7, 3), (1, "[random]", 1.5, 0), (7, "[random]", 0.9, 2)]
    {
        let model = format!(
            "servers: {servers}, load: {load}, service: {{exponential: 2}}, horizon: 16,
            snapshots: 4, start: {start}"
        );
        let experiment = experiment(20_000, policies, &model);
        let theory = Case::new(&experiment, 0).unwrap().theory();
        let moments = moments(&experiment, 0);
        for k in 1..=4 {
            for (i, exact) in (1..).zip(mm1(load, start, f64::from(2 * k))) {
                let at = column(&experiment, &format!("queue_ge_{i}_at_{k}"));
                assert!((theory[at].unwrap() - exact).abs() < 1e-8, "{i} {k}");
                let (mean, se) = (moments[at].mean().unwrap(), moments[at].se().unwrap());
                // Rare ones are no normal variable.
                let z = (mean - exact) / se;
                assert!(exact < 1e-3 || z.abs() < 4.0, "{i} at {k}: {mean} {exact} {z}");
            }
        }
    }
    // Where servers are looked at, the limit is no value for a number of them.
    let model = "servers: 9, load: 0.7, service: {exponential: 1}, horizon: 9, snapshots: 1";
    let two = experiment(2, "[sq]", model);
    let theory = Case::new(&two, 0).unwrap().theory();
    assert_eq!(theory[column(&two, "queue_ge_1_at_1")], None);
}

fn row(experiment: &Experiment) -> impl Fn(&str) -> f64 + use<> {
    let values = Case::new(experiment, 0).unwrap().replicate(0).unwrap();
    let columns = experiment.columns.clone();
    move |name| values[columns.iter().position(|column| column == name).unwrap()]
}

/// Two jobs at the start, of two time units each, and one more at 1, 2, 3 and 4.
#[test]
fn starting_jobs_and_instants_by_hand() {
    for (warmup, jobs, counted) in [(0, 3.0, 4.0), (2, 3.5, 2.0)] {
        let model = format!(
            "servers: 1, service: {{deterministic: 2}}, horizon: 4, snapshots: 4, start: 2,
            warmup: {warmup}"
        );
        let text = spec("2", "[random]", &model).replace("exponential", "deterministic");
        let by_hand = row(&load(&text).unwrap());
        // Departures at 2 and 4 have happened at 2 and 4, arrivals at 1, 2, 3, 4 haven't.
        for (k, jobs) in (1..).zip([2, 2, 3, 3]) {
            for i in 1..=10 {
                let share = by_hand(&format!("queue_ge_{i}_at_{k}"));
                assert_eq!(share, f64::from(u8::from(i <= jobs)), "{i} at {k}");
            }
        }
        // They are in the queues from the start, but aren't counted as arrivals.
        assert_eq!((by_hand("arrivals"), by_hand("utilisation")), (counted, 1.0));
        assert_eq!(by_hand("jobs_per_server"), jobs);
        // Waits of 3, 4, 5 and 6, of those that are counted.
        let waiting = if warmup == 0 { 4.5 } else { 5.5 };
        assert_eq!((by_hand("waiting_time"), by_hand("sojourn_time")), (waiting, waiting + 2.0));
    }
}

/// Sizes at the start are the first of the service stream, server by server.
#[test]
fn starting_jobs_take_the_first_sizes() {
    let service = Distribution::Exponential { mean: 3.0 };
    let model = |start| {
        Model::Supermarket(Supermarket {
            speeds: vec![1.0, 2.0, 4.0],
            channels: 1,
            capacity: None,
            dispatchers: 1,
            discipline: Discipline::Fcfs,
            outages: Vec::new(),
            breakdowns: None,
            interarrival: Arrivals::Renewal(Distribution::Deterministic { value: 100.0 }),
            batch: None,
            load: None,
            service: service.clone(),
            length: Length::Time(50.0),
            start,
            snapshots: 1000,
            warmup: Warmup::Time(0.0),
            max_arrivals: 10,
        })
    };
    let (two, key) = (model(2), StreamKey { seed: 1, scenario: 2, replication: 3 });
    let policy = Policy::Alternate(Alternate { first: 0, flip_on_refusal: true });
    let row = two.compile().unwrap().replicate(&policy, &key).unwrap();
    let (mut stream, sampler) = (key.stream(Role::Service), service.sampler().unwrap());
    let leaves: Vec<[f64; 2]> = [1.0, 2.0, 4.0]
        .map(|speed| {
            let first = sampler.draw(&mut stream) / speed;
            [first, first + sampler.draw(&mut stream) / speed]
        })
        .to_vec();
    let columns = two.columns();
    for k in 1..=1000_u32 {
        let time = f64::from(k) / 20.0;
        for i in 1..=2 {
            let with = leaves.iter().filter(|jobs| jobs[2 - i] > time).count();
            let name = format!("queue_ge_{i}_at_{k}");
            let at = columns.iter().position(|column| *column == name).unwrap();
            assert_eq!(row[at], with as f64 / 3.0, "{name}");
        }
    }
    // Traffic is another with other jobs at the start, and the same however it is looked at.
    assert_ne!(two.scenario(), model(0).scenario());
    assert_ne!(two.counted(), "Time(0.0) max_arrivals=10");
}

/// What is measured doesn't depend on whether it is looked at on the way, nor fails any audit.
#[test]
fn looking_changes_nothing() {
    let policies = "[random, round_robin, sq, jsq, jiq, least_work, sq: {label: m, memory: 1}]";
    for model in [
        "servers: 40, load: 0.8, service: {exponential: 1}",
        "speeds: [1, 2, 3], servers_per_queue: 2, capacity: 4, load: 1.2, service: {uniform: {low: 0, high: 3}}",
        "servers: 30, load: 0.9, service: {lognormal: {mean: 2, cv: 3}}, start: 4",
        "servers: 5, servers_per_queue: 3, load: 1.1, service: {exponential: 1}, start: 7, capacity: 7",
    ] {
        for warmup in ["0", "20", "{arrivals: 50}", "auto"] {
            let model = format!("{model}, horizon: 90, warmup: {warmup}");
            let plain = experiment(3, policies, &model);
            let looked = experiment(3, policies, &format!("{model}, snapshots: 30"));
            assert_eq!(looked.columns.len(), plain.columns.len() + 300);
            assert!(looked.columns.starts_with(&plain.columns));
            for point in 0..plain.points() {
                let both = [&plain, &looked].map(|spec| Case::new(spec, point).unwrap());
                assert_ne!(both[0].identity(), both[1].identity());
                for replication in 0..3 {
                    let rows = both.each_ref().map(|case| case.replicate(replication).unwrap());
                    for ((a, b), name) in rows[0].iter().zip(&rows[1]).zip(&plain.columns) {
                        assert!(a == b || a.is_nan() && b.is_nan(), "{model} {name}: {a} {b}");
                    }
                    let shares = &rows[1][plain.columns.len()..];
                    for snapshot in shares.chunks(10) {
                        assert!(snapshot.is_sorted_by(|a, b| a >= b) && snapshot[0] <= 1.0);
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let base = "servers: 3, load: 0.5, service: {exponential: 1}";
    let refusal = |replications: &str, more: &str| {
        let model = format!("{base}, {more}");
        load(&spec(replications, "[sq]", &model)).map(drop).unwrap_err()
    };
    for (replications, more, message) in [
        ("2", "arrivals: 100, snapshots: 3", "`snapshots` are taken at equal parts of a `horizon`"),
        ("2", "horizon: 9, start: 4, capacity: 3", "more than its `capacity` of 3"),
        ("2", "horizon: 9, snapshots: 0", "`snapshots`"),
        ("2", "horizon: 9, snapshots: 1001", "`snapshots`"),
        ("2", "horizon: 9, snapshots: 1.5", "`snapshots`"),
        ("{batches: 9}", "horizon: 9, snapshots: 3", "batches of one run have only one of each"),
        (
            "2",
            "horizon: 9, snapshots: {values: [3, 4]}",
            "`snapshots` differ between points, 3 and 4",
        ),
    ] {
        let said = refusal(replications, more);
        assert!(said.contains(message), "{more}: {said}");
    }
    let many = spec("2", "[sq]", &format!("{base}, horizon: 9, start: 1_000_000"));
    let said = load(&many.replace("servers: 3", "servers: 1000")).map(drop).unwrap_err();
    assert!(said.contains("`start: 1000000` makes 1000000000 jobs"), "{said}");
    // Other things may differ: numbers of servers, and times.
    let swept = "load: 0.5, service: {exponential: 1}, servers: {values: [2, 3]},
        horizon: {values: [5, 10]}, start: {values: [0, 2]}, snapshots: 2";
    assert_eq!(load(&spec("2", "[sq]", swept)).unwrap().points(), 8);
}

fn numbers(frame: &DataFrame, name: &str) -> Vec<Option<f64>> {
    let column = frame.column(name).unwrap();
    (0..frame.height())
        .map(|row| match column.get(row).unwrap() {
            AnyValue::Null => None,
            value => value.extract::<f64>(),
        })
        .collect()
}

/// The table of the start has the numbers of the summary, with times, and the curve beside them.
#[test]
fn the_curves_are_a_table() {
    let place = Place::new();
    let policies = "[sq, random, jsq, sq: {label: w, load: waiting}]";
    let model = "load: 0.9, service: {exponential: 2}, servers: {values: [5, 10]}, start: 1,
        horizon: {values: [6, 12]}, snapshots: 3";
    place.write("t.yaml", &spec("4", policies, model));
    place.fine(&["t.yaml", "--quiet", "--out", "a"]);
    let frame = place.parquet("a/transients.parquet");
    let names: Vec<String> = frame.get_column_names().iter().map(|name| name.to_string()).collect();
    let columns = "point policy servers horizon time jobs n mean ci_low ci_high mean_field";
    assert_eq!(names.join(" "), columns);
    let rows = records(&frame);
    assert_eq!(rows.len(), 4 * 4 * 3 * 10);
    let summary = records(&place.parquet("a/summary.parquet"));
    let of_summary = |row: &Record| {
        let (horizon, time) = (row.number("horizon").unwrap(), row.number("time").unwrap());
        let name = format!("queue_ge_{}_at_{}", row.number("jobs").unwrap(), 3.0 * time / horizon);
        let is = |one: &&Record| {
            one.number("point") == row.number("point") && one.text("response") == name
        };
        summary.iter().position(|one| is(&one)).unwrap()
    };
    for row in &rows {
        let one = &summary[of_summary(row)];
        for name in ["n", "mean", "ci_low", "ci_high", "servers", "horizon"] {
            assert_eq!(row.number(name), one.number(name), "{name}");
        }
        let d = match row.text("policy") {
            "sq" => 2,
            "random" => 1,
            _ => {
                assert_eq!(row.number("mean_field"), None);
                continue;
            }
        };
        let time = row.number("time").unwrap();
        let state = transient_mean_field(d, 0.9, &[1.0], 2.0, &[time]).unwrap().remove(0);
        let level = state.get(row.number("jobs").unwrap() as usize - 1).copied().unwrap_or(0.0);
        assert!((row.number("mean_field").unwrap() - level).abs() < 1e-9);
        let theory = one.number("theory");
        assert_eq!(theory.is_some(), d == 1);
    }
    // The same in csv.
    let written = csv(&place.path("a/transients.csv"));
    assert_eq!(written.len(), rows.len());
    for (row, written) in rows.iter().zip(&written) {
        for name in ["point", "time", "jobs", "mean", "mean_field"] {
            assert_eq!(row.number(name), written.number(name), "{name}");
        }
    }
    assert_eq!(numbers(&frame, "mean").len(), rows.len());
    // Parts of the plan, put together, are the same file.
    place.fine(&["run", "t.yaml", "--quiet", "--shard", "1/2", "--out", "b"]);
    place.fine(&["run", "t.yaml", "--quiet", "--shard", "2/2", "--out", "b"]);
    place.fine(&["merge", "b", "--quiet"]);
    for name in ["transients.parquet", "transients.csv"] {
        assert!(place.bytes(&format!("a/{name}")) == place.bytes(&format!("b/{name}")), "{name}");
    }
    // A run without snapshots has no such table, and leaves none behind.
    place.write(
        "t.yaml",
        &spec("4", policies, &model.replace("snapshots: 3", "start: 0").replace("start: 1,", "")),
    );
    place.fine(&["t.yaml", "--quiet", "--out", "a", "--fresh"]);
    for name in ["transients.parquet", "transients.csv"] {
        assert!(!place.path(&format!("a/{name}")).exists(), "{name}");
    }
}
