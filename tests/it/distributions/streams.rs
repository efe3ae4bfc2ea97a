//! Equal keys always give the same numbers, distinct keys distinct and unrelated ones.

use super::*;
use balancelab::rng::{content_hash, unit, unit_open};
use rand::Rng;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::HashSet;

const ROLES: [Role; 4] = [Role::Arrivals, Role::Service, Role::Routing, Role::Redirect];

#[test]
fn streams_and_hashes_are_stable() {
    let key = StreamKey { seed: 1, scenario: 2, replication: 3 };
    let first = ROLES.map(|role| {
        let mut rng = key.stream(role);
        [(); 4].map(|()| rng.next_u32())
    });
    assert_eq!(
        first,
        [
            [812884119, 3405251698, 2372578855, 1637865087],
            [577233003, 505846321, 2438005274, 2075701436],
            [3683822628, 3604274743, 2902305773, 3115007143],
            [3753186209, 2583886051, 1445227929, 3106943349]
        ]
    );
    assert_eq!(content_hash(b"balancelab"), 0x7f07c5932b4eacaea01f08fd44c431a1);
    assert_eq!(unit(&mut key.stream(Role::Arrivals)), 0.18926433282737776);
}

#[test]
fn a_uniform_number_is_two_outputs_the_first_on_top() {
    let mut outputs = stream(7, Role::Routing);
    let (mut closed, mut open) = (outputs.clone(), outputs.clone());
    for _ in 0..1000 {
        let (first, second) = (outputs.next_u32(), outputs.next_u32());
        let exact = f64::from(first) * 2f64.powi(-32) + f64::from(second >> 11) * 2f64.powi(-53);
        assert_eq!(unit(&mut closed), exact);
        assert_eq!(unit_open(&mut open), 1.0 - exact);
        assert!(closed == outputs && open == outputs);
    }
}

#[test]
fn streams_of_distinct_keys_are_distinct() {
    let mut starts = HashSet::new();
    let mut keys = 0;
    for seed in 0..25 {
        for scenario in 0..25 {
            for replication in 0..40 {
                for role in ROLES {
                    // Scenarios differ in the upper half of their hash too.
                    let key = StreamKey { seed, scenario: scenario << (scenario * 5), replication };
                    let mut rng = key.stream(role);
                    starts.insert([(); 4].map(|()| rng.next_u32()));
                    keys += 1;
                }
            }
        }
    }
    assert_eq!((keys, starts.len()), (100_000, 100_000));
}

/// False alarm: below 3e-8, two equal numbers of 53 bits among 10 000 in one of four roles.
#[test]
fn replications_begin_with_distinct_bits_and_distinct_uniform_numbers() {
    for role in ROLES {
        let bits: HashSet<u64> = (0..10_000).map(|r| stream(r, role).next_u64()).collect();
        let units: HashSet<u64> =
            (0..10_000).map(|r| unit(&mut stream(r, role)).to_bits()).collect();
        assert_eq!((bits.len(), units.len()), (10_000, 10_000));
    }
}

/// False alarm: 1e-4 for all pairs together, by the sum of their squared z-scores.
#[test]
fn neighbouring_streams_are_uncorrelated() {
    const PAIRS: u32 = 200;
    const LENGTH: u32 = 5_000;
    let centred = |rng: &mut Pcg32| (unit(rng) - 0.5) * 12f64.sqrt();
    let z_square = |mut a: Pcg32, mut b: Pcg32| {
        let sum: f64 = (0..LENGTH).map(|_| centred(&mut a) * centred(&mut b)).sum();
        sum * sum / f64::from(LENGTH)
    };
    let replications: f64 = (0..PAIRS)
        .map(|r| z_square(stream(r, Role::Arrivals), stream(r + 1, Role::Arrivals)))
        .sum();
    let roles: f64 =
        (0..PAIRS).map(|r| z_square(stream(r, Role::Arrivals), stream(r, Role::Service))).sum();
    let critical = ChiSquared::new(f64::from(PAIRS)).expect("valid").inverse_cdf(1.0 - 5e-5);
    assert!(replications < critical && roles < critical, "{replications} {roles} {critical}");
}
