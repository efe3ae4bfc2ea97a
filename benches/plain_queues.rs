//! The supermarket under the power of two choices, written the obvious way: a heap of departures,
//! queues of arrival times, times drawn by `rand_distr` from one stream. It shares no code with the
//! product: a yardstick for its speed and its numbers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg32;

/// A time that sorts.
#[derive(PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Runs to so many departures; returns the mean sojourn time.
pub fn replicate(servers: usize, load: f64, jobs: u64, seed: u64) -> f64 {
    let mut rng = Pcg32::seed_from_u64(seed);
    let mut queues: Vec<VecDeque<f64>> = vec![VecDeque::new(); servers];
    let mut departures: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
    let rate = load * servers as f64;
    let draw = |rng: &mut Pcg32| -> f64 { Exp1.sample(rng) };
    let mut arrival = draw(&mut rng) / rate;
    let (mut left, mut sum, mut squares) = (0, 0.0, 0.0);
    while left < jobs {
        let next = departures.peek().map_or(f64::INFINITY, |Reverse((time, _))| time.0);
        if arrival < next {
            let one = rng.random_range(0..servers);
            let mut other = rng.random_range(0..servers - 1);
            if other >= one {
                other += 1;
            }
            let chosen = match queues[one].len().cmp(&queues[other].len()) {
                std::cmp::Ordering::Less => one,
                std::cmp::Ordering::Greater => other,
                std::cmp::Ordering::Equal if rng.random() => one,
                std::cmp::Ordering::Equal => other,
            };
            queues[chosen].push_back(arrival);
            if queues[chosen].len() == 1 {
                departures.push(Reverse((Time(arrival + draw(&mut rng)), chosen)));
            }
            arrival += draw(&mut rng) / rate;
        } else if let Some(Reverse((Time(now), server))) = departures.pop() {
            if let Some(came) = queues[server].pop_front() {
                left += 1;
                sum += now - came;
                squares += (now - came).powi(2);
            }
            if !queues[server].is_empty() {
                departures.push(Reverse((Time(now + draw(&mut rng)), server)));
            }
        }
    }
    assert!(squares >= sum);
    sum / jobs as f64
}
