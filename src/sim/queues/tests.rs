//! Queues against jobs followed one by one.

use super::*;
use crate::rng::{Pcg32, below};

/// Against the obvious way: jobs one by one, channels by the time from which they are free.
#[test]
fn queues_agree_with_jobs_followed_one_by_one() {
    for channels in [1, 2, 3, 8_u32] {
        let mut random = Pcg32::new(channels.into(), 7);
        let mut queues = Queues::new([1.0, 2.0].into_iter(), channels, 9);
        let mut ordered = queues.clone().ordered();
        let mut jobs: [Vec<(f64, f64)>; 2] = Default::default();
        let mut free = [(); 2].map(|()| vec![0.0_f64; channels as usize]);
        let mut taken = [0; 2];
        for step in 0..3_000_u32 {
            // At times many come at once, and then many leave at once.
            let now = f64::from(if step % 64 < 16 { step - step % 64 } else { step } / 2);
            queues.advance(now);
            ordered.advance(now);
            let lengths = [0, 1].map(|k| queues.jobs(k));
            let least = lengths.into_iter().min().unwrap();
            let shortest = |waiting: bool| {
                let lists = ordered.shortest(waiting).unwrap();
                let mut all: Vec<u32> = lists.concat();
                all.sort_unstable();
                all
            };
            let equal = |most: u32| -> Vec<u32> {
                (0..2).filter(|&k| lengths[k as usize] <= most).collect()
            };
            assert_eq!(shortest(false), equal(least));
            assert_eq!(shortest(true), equal(least.max(channels)));
            for jobs in [1, 2, 50] {
                let fewer = ordered.fewer(jobs).unwrap().concat();
                assert_eq!(fewer.len(), equal(jobs - 1).len(), "{jobs}");
            }
            let k = below(&mut random, 2) as usize;
            let size = f64::from(below(&mut random, 4 * channels)) * [0.5, 1.0][k];
            let present = jobs[k].iter().filter(|job| job.1 > now).count() as u32;
            assert_eq!(queues.jobs(k), present);
            let left: f64 = free[k].iter().map(|&from| (from - now).max(0.0)).sum();
            assert_eq!(queues.work(k), left);
            let service = queues.accept(k, size);
            assert_eq!(service.is_some(), present < 9);
            assert_eq!(ordered.accept(k, size), service);
            if let Some(Service { start, end }) = service {
                let first = free[k].iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
                assert_eq!(start, first.max(now));
                assert_eq!(end, start + size / [1.0, 2.0][k]);
                *first = end;
                jobs[k].push((now, end));
                taken[k] += 1;
            }
            if step == 1_000 {
                queues.restart(now);
                ordered.restart(now);
                taken = [0; 2];
            }
        }
        let (start, end) = (500.0, 1499.0);
        let counted = queues.occupancy(start, end).unwrap();
        assert_eq!(counted.accepted, taken);
        assert_eq!(ordered.occupancy(start, end).unwrap(), counted);
        // Moment by moment: every time is a multiple of a quarter.
        let mut expected = [0.0; 10];
        for jobs in &jobs {
            for moment in (2000..4 * 1499_u32).map(|quarter| f64::from(quarter) / 4.0) {
                let present = jobs.iter().filter(|job| job.0 <= moment && job.1 > moment);
                expected[present.count()] += 0.25 / (2.0 * (end - start));
            }
        }
        for (level, share) in expected.iter().enumerate() {
            let counted = counted.levels.get(level).copied().unwrap_or(0.0);
            assert!((counted - share).abs() < 1e-9, "{level}");
        }
    }
}

/// Queue 0 has its first departure before that of queue 1, and its last after it.
#[test]
fn queues_that_become_empty_are_told_in_order_of_time() {
    let mut queues = Queues::new([1.0; 4].into_iter(), 1, 9).reporting();
    queues.advance(1.0);
    for (queue, size) in [(0, 1.0), (0, 3.0), (1, 2.0), (2, 1.5), (3, 9.0)] {
        queues.accept(queue, size);
    }
    queues.advance(6.0);
    assert_eq!(queues.emptied().collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(queues.emptied().count(), 0);
    let mut silent = Queues::new([1.0].into_iter(), 1, 9).ordered();
    silent.accept(0, 1.0);
    silent.advance(6.0);
    assert_eq!(silent.emptied().count(), 0);
}

#[test]
fn a_job_lost_from_the_ring_fails_the_audit() {
    let mut queues = Queues::new([1.0].into_iter(), 1, 5);
    queues.advance(1.0);
    queues.accept(0, 4.0);
    assert!(queues.clone().occupancy(0.0, 10.0).is_ok());
    queues.queues[0].latest[0] = 4.0;
    let failure = queues.occupancy(0.0, 10.0).unwrap_err().to_string();
    assert!(failure.contains("jobs were in"), "{failure}");
}
