//! Stations against queues, and by hand.

use super::*;
use crate::rng::{Pcg32, below};
use crate::sim::{Outage, Queues};

fn stations(discipline: Discipline, channels: u32, outages: &[Outage]) -> Stations {
    let outages = Outages::new(2, outages, None);
    Stations::new([1.0, 2.0].into_iter(), discipline, channels, 9, outages)
}

/// Jobs of servers that are told when they come: (time, server, size).
fn run(mut all: Stations, jobs: &[(f64, usize, f64)], end: f64) -> Vec<(f64, f64)> {
    let mut times = Vec::new();
    for &(time, server, size) in jobs {
        all.advance(time, &mut |wait, sojourn| times.push((wait, sojourn)));
        assert!(all.accept(server, size));
    }
    all.advance(end, &mut |wait, sojourn| times.push((wait, sojourn)));
    all.occupancy().unwrap();
    times
}

/// First come, first served, without outages: the two ways to simulate that are one.
#[test]
fn stations_agree_with_queues() {
    for channels in 1..4_u32 {
        let mut random = Pcg32::new(channels.into(), 3);
        let mut queues = Queues::new([1.0, 2.0].into_iter(), channels, 9);
        let mut all = stations(Discipline::Fcfs, channels, &[]).ordered();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for step in 0..4_000_u32 {
            let now = f64::from(step / 2);
            queues.advance(now);
            all.advance(now, &mut |wait, sojourn| ours.push((wait, sojourn)));
            for server in 0..2 {
                assert_eq!(all.jobs(server), queues.jobs(server));
                let jobs = all.jobs(server);
                assert_eq!(all.wait_of(jobs), queues.wait_of(jobs));
                assert_eq!(all.work(server), queues.work(server));
            }
            let least = all.jobs(0).min(all.jobs(1));
            let shortest = all.shortest(false).unwrap().concat();
            assert!(shortest.iter().all(|&server| all.jobs(server as usize) == least));
            let server = below(&mut random, 2) as usize;
            let size = f64::from(below(&mut random, 4 * channels)) * [0.5, 1.0][server];
            let service = queues.accept(server, size);
            assert_eq!(all.accept(server, size), service.is_some());
            theirs.extend(service.map(|service| (service.start - now, service.end - now)));
            if step == 1_000 {
                queues.restart(now);
                all.restart();
            }
        }
        let (start, end) = (500.0, 1999.0);
        queues.advance(end);
        all.advance(end, &mut |wait, sojourn| ours.push((wait, sojourn)));
        let counted = all.occupancy().unwrap();
        let expected = queues.occupancy(start, end).unwrap();
        assert_eq!(counted.accepted, expected.accepted);
        assert_eq!(counted.utilisation, expected.utilisation);
        let most = expected.levels.len();
        assert_eq!(counted.levels[..most.min(10)], expected.levels[..most.min(10)]);
        // All but those that are still there, which leave in another order than they came.
        all.advance(1e6, &mut |wait, sojourn| ours.push((wait, sojourn)));
        let sorted = |mut times: Vec<(f64, f64)>| {
            times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            times
        };
        assert_eq!(sorted(ours), sorted(theirs));
    }
}

/// Jobs of 3, 1 and 2 units that come at 0, 1 and 2.
#[test]
fn disciplines_serve_as_their_names_say() {
    let jobs = [(0.0, 0, 3.0), (1.0, 0, 1.0), (2.0, 0, 2.0)];
    let served = |discipline| run(stations(discipline, 1, &[]), &jobs, 10.0);
    assert_eq!(served(Discipline::Fcfs), [(0.0, 3.0), (2.0, 3.0), (2.0, 4.0)]);
    assert_eq!(served(Discipline::Lifo), [(0.0, 3.0), (1.0, 3.0), (4.0, 5.0)]);
    // Left at 1: 2 and 1; at 2: 1.5, .5 and 2; at 3.5: 1, 0 and 1.5; at 5.5: 0 and .5; 6.
    assert_eq!(served(Discipline::Ps), [(0.0, 2.5), (0.0, 5.5), (0.0, 4.0)]);
    // Two channels: a job has one at the most, and three share two.
    let two = run(stations(Discipline::Ps, 2, &[]), &jobs, 10.0);
    let expected = [(0.0, 1.0), (0.0, 3.0), (0.0, 2.0)];
    assert_eq!(two, expected);
    // The other server is twice as fast.
    let fast = jobs.map(|(time, _, size)| (time, 1, size));
    let served = run(stations(Discipline::Lifo, 1, &[]), &fast, 10.0);
    assert_eq!(served, [(0.0, 1.5), (0.5, 1.0), (0.0, 1.0)]);
}

#[test]
fn a_server_that_was_down_goes_on_where_it_was() {
    let jobs = [(0.0, 0, 3.0), (1.0, 0, 1.0), (4.0, 1, 2.0)];
    let down = |server, from, to| Outage { server, from, to };
    let outages = [down(0, 6.0, 7.0), down(0, 2.0, 4.0), down(1, 3.0, 5.0)];
    for discipline in [Discipline::Fcfs, Discipline::Lifo] {
        // 5 in all, and up from 5 on for 1: from 5 to 6.
        let served = run(stations(discipline, 1, &outages), &jobs, 10.0);
        assert_eq!(served, [(0.0, 5.0), (4.0, 5.0), (1.0, 2.0)]);
    }
    // Up to 1 one has 2 left, the other 1; up to 2, 1.5 and .5; at 5 the second is done.
    let served = run(stations(Discipline::Ps, 1, &outages), &jobs, 10.0);
    assert_eq!(served, [(0.0, 4.0), (0.0, 6.0), (1.0, 2.0)]);
    // An outage of no length is none, and so is one that is over before it matters.
    let nothing = [down(0, 1.5, 1.5), down(1, 0.5, 0.5)];
    for discipline in [Discipline::Fcfs, Discipline::Lifo, Discipline::Ps] {
        let without = run(stations(discipline, 1, &[]), &jobs, 10.0);
        assert_eq!(run(stations(discipline, 1, &nothing), &jobs, 10.0), without);
    }
}

/// At equal times: departures, failures and repairs, arrivals.
#[test]
fn events_at_the_same_time_have_an_order() {
    let mut all = stations(Discipline::Fcfs, 1, &[Outage { server: 0, from: 3.0, to: 5.0 }]);
    all.capacity = 1;
    assert!(all.accept(0, 3.0));
    let mut left = Vec::new();
    all.advance(3.0, &mut |_, sojourn| left.push(sojourn));
    // It left before the server failed, and before the next comes, which finds room.
    assert_eq!(left, [3.0]);
    assert!(all.is_down(0));
    assert!(all.accept(0, 1.0) && !all.accept(0, 1.0));
    all.advance(5.0, &mut |_, _| {});
    assert!(!all.is_down(0));
    all.advance(6.0, &mut |_, sojourn| left.push(sojourn));
    assert_eq!(left, [3.0, 3.0]);
}

#[test]
fn a_job_lost_fails_the_audit() {
    let mut all = stations(Discipline::Ps, 1, &[]);
    assert!(all.accept(0, 3.0));
    all.advance(1.0, &mut |_, _| {});
    assert!(all.clone().occupancy().is_ok());
    all.stations[0].jobs.clear();
    let failure = all.occupancy().unwrap_err().to_string();
    assert!(failure.contains("server 0 had 0 jobs, took 1 in"), "{failure}");
}

#[test]
fn servers_that_become_idle_report_and_so_do_those_that_are_repaired() {
    let outages =
        [Outage { server: 0, from: 1.0, to: 2.0 }, Outage { server: 1, from: 3.0, to: 5.0 }];
    let mut all = stations(Discipline::Fcfs, 1, &outages).reporting();
    assert!(all.accept(1, 8.0));
    all.advance(1.5, &mut |_, _| {});
    assert_eq!(all.emptied().count(), 0);
    // The one is idle and up again, the other is done after 4 and was down for 2 of them.
    all.advance(5.5, &mut |_, _| {});
    assert_eq!(all.emptied().collect::<Vec<_>>(), [0]);
    all.advance(6.0, &mut |_, _| {});
    assert_eq!(all.emptied().collect::<Vec<_>>(), [1]);
}

/// Of those that came while the server was down the last is the first.
#[test]
fn last_come_is_first_served_after_an_outage_too() {
    let jobs = [(1.0, 0, 1.0), (2.0, 0, 3.0), (3.0, 0, 2.0)];
    let outages = [Outage { server: 0, from: 0.5, to: 5.0 }];
    // From 5 to 7, 7 to 10 and 10 to 11.
    let served = run(stations(Discipline::Lifo, 1, &outages), &jobs, 20.0);
    assert_eq!(served, [(2.0, 4.0), (5.0, 8.0), (9.0, 10.0)]);
    // One that was interrupted goes on: from 0 to .5 and 5 to 5.5.
    let interrupted = [(0.0, 0, 1.0), (1.0, 0, 1.0), (2.0, 0, 3.0)];
    let served = run(stations(Discipline::Lifo, 1, &outages), &interrupted, 20.0);
    assert_eq!(served, [(0.0, 5.5), (3.5, 6.5), (7.5, 8.5)]);
}
