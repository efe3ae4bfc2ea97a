use super::*;
use crate::design::Range;
use crate::optimize::{Evaluate, Failures, Request, Space, Target};
use crate::rng::{Role, StreamKey, unit};
use crate::stats::Good;

/// A function of a point and of uniform noise in [−½, ½), the same on the same streams.
struct Noise<F>(F);

impl<F: Fn(&[f64], f64) -> Option<f64>> Evaluate for Noise<F> {
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let value = |request: &Request, replication| {
            let Target::Point(point) = &request.target else { return None };
            let streams = StreamKey { replication, ..request.streams };
            (self.0)(point, unit(&mut streams.stream(Role::Service)) - 0.5)
        };
        let values = |request: &Request| {
            let first = request.streams.replication;
            (first..first + request.replications).map(|r| value(request, r)).collect()
        };
        Ok(requests.iter().map(values).collect())
    }
}

fn space(d: usize) -> Space {
    let parameter = Range { low: -10.0, high: 10.0, log: false, integer: false };
    Space { parameters: vec![parameter; d] }
}

fn found(evaluate: &dyn Evaluate, start: &[f64], budget: u64, options: Options) -> Vec<f64> {
    let space = space(start.len());
    let mut this = Search::new(space.clone(), evaluate, Good::Less, (1, 1), budget, &|_| {});
    let found = search(&mut this, &options, &space.unit(start)).unwrap();
    assert!(this.spent() <= budget);
    space.natural(&found.unit)
}

fn solver(at: &[f64], c: f64) -> Spsa {
    Spsa {
        options: Options::default(),
        gains: Gains { a: 0.1, c, stability: 0.0, iterations: 1, slope: 1.0, noise: 0.0 },
        directions: Pcg32::new(1, 1),
        at: at.to_vec(),
        iterates: Vec::new(),
        costs: (0.0, 1.0),
        hessian: DMatrix::zeros(at.len(), at.len()),
    }
}

/// f = x² at 3: the difference quotient of a parabola is its derivative, 6, at any width.
#[test]
fn the_gradient_of_a_parabola_is_exact() {
    let square = Noise(|x: &[f64], _| Some(x[0] * x[0]));
    let mut this = Search::new(space(1), &square, Good::Less, (1, 1), 10_000, &|_| {});
    let mut solver = solver(&space(1).unit(&[3.0]), 0.1);
    for k in 0..=1000 {
        let slope = solver.difference(&mut this, k).unwrap().unwrap()[0];
        // In the unit cube a slope is steeper by the box's width of 20.
        assert!((slope / 20.0 - 6.0).abs() < 1e-9, "{k}: {slope}");
    }
}

/// At a corner where both slopes point out of the box nothing moves; where one points in,
/// its coordinate does, though the other is held.
#[test]
fn at_a_corner_the_free_coordinate_moves() {
    let tilted = Noise(|x: &[f64], _| Some(x[1] - x[0]));
    let mut this = Search::new(space(2), &tilted, Good::Less, (1, 1), 10_000, &|_| {});
    let mut solver = solver(&[1.0, 1.0], 0.1);
    solver.options.clip = 0.05;
    let mut seconds = Vec::new();
    for k in 0..200 {
        solver.iterate(&mut this, k).unwrap();
        seconds.push(solver.at[1]);
    }
    assert!(solver.at[0] > 0.8 && solver.at[1] < 0.05, "{:?}", solver.at);
    let corner = found(&tilted, &[10.0, 10.0], 2000, Options::default());
    assert!(corner[0] > 9.5 && corner[1] < -9.0, "{corner:?}");
}

#[test]
fn every_form_finds_the_minimum_of_a_noisy_bowl() {
    let bowl = Noise(|x: &[f64], noise| {
        Some((x[0] - 1.0).powi(2) + 2.0 * (x[1] + 2.0).powi(2) + x[0] * x[1] / 2.0 + noise)
    });
    // From 2x − 2 + y/2 = 0 and 4y + 8 + x/2 = 0.
    let best = [48.0 / 31.0, -68.0 / 31.0];
    let plain = Options::default();
    for (budget, tolerance, options) in [
        (2000, 0.1, plain),
        (4000, 0.1, Options { pairs: 2, ..plain }),
        (4000, 0.1, Options { replications: 2, ..plain }),
        (4000, 0.1, Options { blocking: true, ..plain }),
        (4000, 0.1, Options { second_order: true, ..plain }),
        (20_000, 0.5, Options { form: Form::OneMeasurement, ..plain }),
    ] {
        let found = found(&bowl, &[-6.0, 7.0], budget, options);
        let error = (found[0] - best[0]).hypot(found[1] - best[1]);
        assert!(error < tolerance, "{options:?}: {found:?}, off by {error}");
    }
}

/// Newton's step suits every coordinate, where one step can't: curvatures of 1 and 400.
#[test]
fn the_second_order_is_ahead_in_a_narrow_valley() {
    let valley = Noise(|x: &[f64], noise| Some(x[0].powi(2) + 400.0 * x[1].powi(2) + noise));
    let error = |second_order| {
        let options = Options { second_order, ..Options::default() };
        found(&valley, &[8.0, 8.0], 4000, options)[0].abs()
    };
    let (second, first) = (error(true), error(false));
    assert!(second < first / 20.0, "{second} and {first}");
}

#[test]
fn the_greatest_value_is_found_as_well() {
    let hill = Noise(|x: &[f64], noise| Some(noise - (x[0] - 4.0).powi(2)));
    let mut this = Search::new(space(1), &hill, Good::More, (1, 1), 1000, &|_| {});
    let found = search(&mut this, &Options::default(), &[0.2]).unwrap();
    let at = space(1).natural(&found.unit)[0];
    assert!((at - 4.0).abs() < 0.1, "{at}");
}

#[test]
fn failed_pairs_cost_a_retry_and_then_themselves() {
    // Fails for a tenth of the streams; the retry has others.
    let holes = Noise(|x: &[f64], noise| (noise < 0.4).then_some(x[0] * x[0] + noise));
    let mut this = Search::new(space(1), &holes, Good::Less, (1, 1), 2000, &|_| {});
    let found = search(&mut this, &Options::default(), &[0.9]).unwrap();
    let Failures { replications, retried, skipped } = this.failures();
    // Of some 900 pairs a tenth fails, and a hundredth twice.
    assert!((60..140).contains(&retried) && (1..30).contains(&skipped), "{retried} {skipped}");
    assert!(replications >= u64::from(2 * (retried + skipped)));
    let at = space(1).natural(&found.unit)[0];
    assert!(at.abs() < 0.2 && this.spent() <= 2000, "{at}");

    let nothing = Noise(|_: &[f64], _| Some(f64::NAN));
    let mut this = Search::new(space(1), &nothing, Good::Less, (1, 1), 2000, &|_| {});
    let end = search(&mut this, &Options::default(), &[0.9]).unwrap_err();
    assert!(end.to_string().contains("no replication near the start"), "{end}");
}

/// A whole parameter: x⁺ − x⁻ is never 0, and the answer is next to the best whole number.
#[test]
fn whole_parameters_are_evaluated_at_whole_numbers() {
    let step = Noise(|x: &[f64], noise| {
        assert_eq!(x[0].fract(), 0.0);
        Some((x[0] - 3.0).powi(2) + noise)
    });
    let mut space = space(1);
    space.parameters[0].integer = true;
    let mut this = Search::new(space.clone(), &step, Good::Less, (1, 1), 1000, &|_| {});
    let found = search(&mut this, &Options::default(), &[0.1]).unwrap();
    assert_eq!(space.natural(&found.unit), [3.0]);
}

/// The worst corner holds a search of one measurement no longer than any other.
#[test]
fn one_measurement_leaves_the_worst_corner() {
    let bowl = Noise(|x: &[f64], noise| {
        Some((x[0] - 5.0).powi(2) / 10.0 + (x[1] - 5.0).powi(2) / 10.0 + noise)
    });
    let options = Options { form: Form::OneMeasurement, ..Options::default() };
    let found = found(&bowl, &[-10.0, -10.0], 4000, options);
    assert!((found[0] - 5.0).hypot(found[1] - 5.0) < 3.0, "{found:?}");
}

#[test]
fn what_leans_on_a_side_or_does_not_move_has_no_standard_error() {
    assert!(standard_error(&[0.3; 20]).unwrap().is_nan());
    let mut leaning = [0.9, 0.95].repeat(20);
    assert!(standard_error(&leaning).unwrap() > 0.0);
    leaning[3] = 1.0;
    leaning[7] = 1.0;
    leaning[11] = 1.0;
    assert!(standard_error(&leaning).unwrap().is_nan());
    assert_eq!(standard_error(&[0.1, 0.2]), None);
}

/// The mean of an autoregression with ρ = .9 and innovations of variance 1/12 has variance
/// 1/12/(1 − ρ)²/n, in the limit.
#[test]
fn the_standard_error_sees_the_correlation_of_iterates() {
    let mut random = Pcg32::new(5, 5);
    let mut at = 0.0;
    let series: Vec<f64> = (0..20_000)
        .map(|_| {
            at = 0.9 * at + unit(&mut random) - 0.5;
            at
        })
        .collect();
    let expected = (1.0_f64 / 12.0 / 0.01 / 20_000.0).sqrt();
    let ratio = standard_error(&series).unwrap() / expected;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}
