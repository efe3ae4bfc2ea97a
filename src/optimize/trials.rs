//! All methods but SPSA on functions with known answers.

use std::cell::Cell;

use super::*;
use crate::design::Range;
use crate::rng::{Pcg32, Role, content_hash, unit, unit_open};
use crate::stats::Good;

/// A function with known noise and known failures.
pub(super) struct Known {
    pub(super) of: fn(&[f64]) -> f64,
    /// Standard deviation of the noise of each point by itself.
    pub(super) own: f64,
    /// Standard deviation of a slope that a replication's streams give to all points alike.
    pub(super) shared: f64,
    /// Share of the replications that fail, and whether they give NaN instead of nothing.
    pub(super) failing: f64,
    pub(super) nan: bool,
    /// Calls that are answered before the search is interrupted.
    pub(super) calls: Cell<u32>,
}

impl Known {
    pub(super) fn quiet(of: fn(&[f64]) -> f64) -> Self {
        Known { of, own: 0.0, shared: 0.0, failing: 0.0, nan: false, calls: Cell::new(u32::MAX) }
    }

    /// The box from −1 to 1.
    pub(super) fn space(dimension: usize) -> Space {
        let parameter = |_| Range { low: -1.0, high: 1.0, log: false, integer: false };
        Space { parameters: (0..dimension).map(parameter).collect() }
    }

    fn value(&self, x: &[f64], key: &StreamKey) -> Option<f64> {
        let normal = |random: &mut Pcg32| {
            let radius = (-2.0 * libm::log(unit_open(random))).sqrt();
            radius * libm::cos(2.0 * std::f64::consts::PI * unit(random))
        };
        let mut shared = key.stream(Role::Service);
        let salt = content_hash(format!("{x:?}").as_bytes());
        let mut own = StreamKey { scenario: key.scenario ^ salt, ..*key }.stream(Role::Routing);
        let fails = unit(&mut own) < self.failing;
        let slopes: f64 = x.iter().map(|x| x * normal(&mut shared)).sum();
        let noise = self.shared * slopes + self.own * normal(&mut own);
        match (fails, self.nan) {
            (true, false) => None,
            (true, true) => Some(f64::NAN),
            _ => Some((self.of)(x) + noise),
        }
    }
}

impl Evaluate for Known {
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let left = self.calls.get().checked_sub(1).ok_or(Stop::Interrupted)?;
        self.calls.set(left);
        let values = |request: &Request| {
            let Target::Point(point) = &request.target else { panic!("a rival") };
            let first = request.streams.replication;
            let value =
                |replication| self.value(point, &StreamKey { replication, ..request.streams });
            (first..first + request.replications).map(value).collect()
        };
        Ok(requests.iter().map(values).collect())
    }
}

pub(super) fn whole_numbers(low: f64, high: f64) -> Range {
    Range { low, high, log: false, integer: true }
}

/// Gives a fresh search away.
pub(super) fn start<T>(
    space: Space,
    known: &Known,
    good: Good,
    budget: u64,
    run: impl FnOnce(&mut Search) -> T,
) -> T {
    run(&mut Search::new(space, known, good, (11, 7), budget, &|_| {}))
}

/// Searches from 0 in the box from −1 to 1.
fn found(known: &Known, dimension: usize, budget: u64, method: &Method) -> Result<Vec<f64>, Stop> {
    let space = Known::space(dimension);
    start(space.clone(), known, Good::Less, budget, |of| {
        let found = search(of, method, &vec![0.0; dimension]);
        assert!(of.spent() <= budget, "{method:?}");
        for step in of.steps() {
            assert!(step.point.iter().all(|x| (-1.0..=1.0).contains(x)), "{method:?}: {step:?}");
        }
        Ok(space.natural(&found?.unit))
    })
}

/// A method, how near it comes to a quiet minimum in two dimensions with 600 replications [half the
/// box], and how near to one with noise of .1.
type Trial = (Method, f64, f64);

fn any_dimension() -> Vec<Trial> {
    let replications = None;
    vec![
        (Method::NelderMead { replications }, 1e-3, 0.15),
        (Method::ParticleSwarm { particles: 8, replications }, 0.02, 0.25),
        (Method::CmaEs { population: None, replications }, 5e-3, 0.25),
        (Method::Random { points: None }, 0.3, 0.3),
        (Method::Sobol { points: None }, 0.3, 0.3),
        (Method::Grid { points: 11, delta: None, confidence: 0.95 }, 0.11, 0.25),
        (Method::ResponseSurface { rounds: 5 }, 1e-9, 0.05),
    ]
}

fn all() -> Vec<Trial> {
    let replications = None;
    let one = vec![
        (Method::GoldenSection { replications }, 0.01, 0.1),
        (Method::Brent { replications }, 2e-3, 0.1),
    ];
    [one, any_dimension()].concat()
}

fn distance(found: &[f64], best: f64) -> f64 {
    found.iter().map(|x| (x - best).abs()).fold(0.0, f64::max)
}

/// A bowl, steeper from one coordinate to the next and a little turned.
fn bowl(x: &[f64], best: f64) -> f64 {
    let y: Vec<f64> = x.iter().map(|x| x - best).collect();
    let straight: f64 = y.iter().enumerate().map(|(i, y)| (1.0 + i as f64) * y * y).sum();
    straight + 0.5 * y.iter().sum::<f64>().powi(2)
}

fn inside(x: &[f64]) -> f64 {
    bowl(x, 0.3)
}

#[test]
fn every_method_finds_the_bottom_of_a_quiet_bowl() {
    for dimension in [1, 2] {
        for (method, near, _) in if dimension == 1 { all() } else { any_dimension() } {
            let found = found(&Known::quiet(inside), dimension, 600, &method).unwrap();
            assert!(distance(&found, 0.3) <= near, "{method:?}: {found:?}");
        }
    }
}

#[test]
fn every_method_finds_an_optimum_on_the_boundary_and_in_a_corner() {
    let corner = Known::quiet(|x| bowl(x, 1.5));
    let boundary = Known::quiet(|x| (x[0] - 2.0).powi(2) + (x[1] - 0.3).powi(2));
    for (method, near, _) in all() {
        let one = found(&corner, 1, 600, &method).unwrap();
        assert!(distance(&one, 1.0) <= near.max(0.02), "{method:?}: {one:?}");
    }
    for (method, near, _) in any_dimension() {
        let two = found(&corner, 2, 600, &method).unwrap();
        assert!(distance(&two, 1.0) <= near.max(0.02), "{method:?}: {two:?}");
        let side = found(&boundary, 2, 600, &method).unwrap();
        assert!((side[0] - 1.0).abs() <= near.max(0.02), "{method:?}: {side:?}");
        assert!((side[1] - 0.3).abs() <= near.max(0.02), "{method:?}: {side:?}");
    }
}

#[test]
fn noise_of_both_kinds_is_seen_through() {
    let own = Known { own: 0.1, ..Known::quiet(inside) };
    let shared = Known { own: 0.02, shared: 0.3, ..Known::quiet(inside) };
    for known in [own, shared] {
        for (method, _, near) in all() {
            let one = found(&known, 1, 1000, &method).unwrap();
            assert!(distance(&one, 0.3) <= near, "{method:?}: {one:?}");
        }
        for (method, _, near) in any_dimension() {
            let two = found(&known, 2, 1000, &method).unwrap();
            assert!(distance(&two, 0.3) <= near, "{method:?}: {two:?}");
        }
    }
}

#[test]
fn valleys_in_three_and_four_dimensions_are_followed() {
    let valley = |x: &[f64]| -> f64 {
        let step = |x: &[f64]| 10.0 * (x[1] - x[0] * x[0]).powi(2) + (0.8 - x[0]).powi(2);
        x.windows(2).map(step).sum()
    };
    let known = Known { own: 0.01, ..Known::quiet(valley) };
    let replications = None;
    for dimension in [3, 4] {
        let before = valley(&vec![0.0; dimension]);
        for method in [
            Method::NelderMead { replications },
            Method::ParticleSwarm { particles: 10, replications },
            Method::CmaEs { population: None, replications },
            Method::ResponseSurface { rounds: 10 },
        ] {
            let found = found(&known, dimension, 3000, &method).unwrap();
            assert!(valley(&found) < 0.25 * before, "{method:?}: {found:?}");
        }
    }
}

#[test]
fn whole_and_logarithmic_parameters_are_maximised() {
    let hill = |x: &[f64]| {
        let low = libm::log(x[0] / 3.0);
        10.0 - low * low - if x.len() > 1 { (x[1] - 17.0).powi(2) / 100.0 } else { 0.0 }
    };
    let known = Known { own: 0.01, ..Known::quiet(hill) };
    let log = Range { low: 0.01, high: 100.0, log: true, integer: false };
    for (method, ..) in any_dimension() {
        let space = Space { parameters: vec![log, whole_numbers(1.0, 40.0)] };
        let found = start(space.clone(), &known, Good::More, 1000, |of| {
            space.natural(&search(of, &method, &[1.0, 5.0]).unwrap().unit)
        });
        assert!(hill(&found) > 9.0 && found[1].fract() == 0.0, "{method:?}: {found:?}");
    }
    // Whole numbers alone, on the scale of their ratios.
    for (method, ..) in all() {
        let space = Space { parameters: vec![Range { log: true, ..whole_numbers(1.0, 50.0) }] };
        let found = start(space.clone(), &known, Good::More, 1000, |of| {
            space.natural(&search(of, &method, &[40.0]).unwrap().unit)[0]
        });
        assert!((2.0..=4.0).contains(&found) && found.fract() == 0.0, "{method:?}: {found}");
    }
}

#[test]
fn one_replication_in_twenty_may_fail_or_be_nan() {
    for nan in [false, true] {
        let known = Known { failing: 0.05, nan, own: 0.02, ..Known::quiet(inside) };
        for (method, _, near) in all() {
            let one = found(&known, 1, 1000, &method).unwrap();
            assert!(distance(&one, 0.3) <= near, "{method:?}: {one:?}");
        }
        for (method, _, near) in any_dimension() {
            let two = found(&known, 2, 1000, &method).unwrap();
            assert!(distance(&two, 0.3) <= near, "{method:?}: {two:?}");
        }
    }
}

#[test]
fn a_failing_half_of_the_box_is_kept_out_of() {
    let known = Known::quiet(|x| if x[0] > 0.5 { f64::NAN } else { inside(x) });
    for (method, near, _) in all() {
        let one = found(&known, 1, 600, &method).unwrap();
        assert!(distance(&one, 0.3) <= near.max(0.02), "{method:?}: {one:?}");
    }
}

#[test]
fn where_nothing_has_a_value_the_search_says_so() {
    let known = Known { failing: 1.0, ..Known::quiet(inside) };
    let nothing = Stop::Failed("no replication of any point gave a value".to_owned());
    for (method, ..) in all() {
        assert_eq!(found(&known, 1, 600, &method), Err(nothing.clone()), "{method:?}");
    }
}

#[test]
fn a_small_budget_is_kept_or_the_need_is_named() {
    let known = Known { own: 0.1, ..Known::quiet(inside) };
    for (method, ..) in [all(), vec![(Method::Auto, 0.0, 0.0)]].concat() {
        for budget in (0..40).chain([100, 333]) {
            match found(&known, 1, budget, &method) {
                Ok(found) => assert!(found[0].is_finite()),
                Err(Stop::Failed(what)) => {
                    assert!(what.contains("need") || matches!(method, Method::Auto), "{what}");
                    assert!(budget < 40, "{method:?} with {budget}: {what}");
                }
                Err(stop) => panic!("{method:?} with {budget}: {stop}"),
            }
        }
    }
}

#[test]
fn iterations_go_on_while_there_is_budget() {
    let known = Known { own: 0.1, ..Known::quiet(inside) };
    for (method, ..) in any_dimension() {
        if matches!(method, Method::Grid { .. }) {
            continue;
        }
        let spent = start(Known::space(2), &known, Good::Less, 1000, |of| {
            search(of, &method, &[0.0, 0.0]).unwrap();
            of.spent()
        });
        assert!(spent >= 900, "{method:?}: {spent}");
    }
}

#[test]
fn the_same_seed_takes_the_same_steps() {
    let known = Known { own: 0.1, failing: 0.05, ..Known::quiet(inside) };
    for (method, ..) in any_dimension() {
        let run = |seed| {
            let space = Known::space(2);
            let mut of = Search::new(space, &known, Good::Less, (seed, 7), 500, &|_| {});
            let found = search(&mut of, &method, &[0.0, 0.0]).unwrap();
            (found, of.steps().to_vec())
        };
        assert_eq!(run(1), run(1), "{method:?}");
        assert_ne!(run(1).1, run(2).1, "{method:?}");
    }
}

#[test]
fn an_interruption_ends_every_method() {
    for (method, ..) in all() {
        let known = Known { calls: Cell::new(1), own: 1.0, ..Known::quiet(inside) };
        assert_eq!(found(&known, 1, 600, &method), Err(Stop::Interrupted), "{method:?}");
    }
}

#[test]
fn methods_for_one_parameter_refuse_more() {
    let refused = found(&Known::quiet(inside), 2, 600, &Method::Brent { replications: None });
    let what = "brent searches one parameter; there are 2".to_owned();
    assert_eq!(refused, Err(Stop::Failed(what)));
}
