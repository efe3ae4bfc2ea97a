//! Statistics of replications: that intervals cover, and that selection selects, as often as promised.
//!
//! Seeds are fixed, so a test passes or fails for good. Under a fresh seed a right procedure would
//! fail a check with probability [`FALSE_ALARM`] at most. Oracles are known means and closed forms
//! written here, never the code under test.

use balancelab::stats::batch::{BATCHES, BatchMeans};
use balancelab::stats::best::with_best;
use balancelab::stats::multiple::{Adjust, Verdict};
use balancelab::stats::paired::Paired;
use balancelab::stats::selection::{FIRST_STAGE, Selection};
use balancelab::stats::stopping::{Condition, Rule, Target};
use balancelab::stats::warmup::{BATCH, mser};
use balancelab::stats::{Good, Interval, Moments};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg32;
use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, Normal, StudentsT};

/// Chance that a right procedure fails one check.
const FALSE_ALARM: f64 = 1e-4;

fn stream(seed: u64) -> Pcg32 {
    Pcg32::seed_from_u64(seed)
}

fn normal(rng: &mut Pcg32) -> f64 {
    StandardNormal.sample(rng)
}

/// Returns how far a share of `trials` strays from its probability, on either side, at FALSE_ALARM.
fn noise(probability: f64, trials: u32) -> f64 {
    let z = Normal::new(0.0, 1.0).unwrap().inverse_cdf(1.0 - FALSE_ALARM / 2.0);
    z * (probability * (1.0 - probability) / f64::from(trials)).sqrt()
}

fn share(trials: u32, mut trial: impl FnMut() -> bool) -> f64 {
    f64::from((0..trials).filter(|_| trial()).count() as u32) / f64::from(trials)
}

fn holds(interval: Interval, value: f64) -> bool {
    interval.low <= value && value <= interval.high
}

/// Returns k standard normals, each two correlated by `correlation`.
fn correlated(rng: &mut Pcg32, k: usize, correlation: f64) -> Vec<f64> {
    let common = correlation.sqrt() * normal(rng);
    (0..k).map(|_| common + (1.0 - correlation).sqrt() * normal(rng)).collect()
}

/// Correlation ρ of two sides of equal variance divides the variance of their difference by 1/(1 − ρ).
#[test]
fn paired_intervals_cover_and_name_what_pairing_bought() {
    const TRIALS: u32 = 20_000;
    let mut rng = stream(1);
    let mut pairs = |n: u32| -> Paired {
        (0..n).map(|_| correlated(&mut rng, 2, 0.9)).map(|x| (x[0] + 0.3, x[1])).collect()
    };
    let coverage = share(TRIALS, || holds(pairs(15).interval(0.95).unwrap(), 0.3));
    assert!((coverage - 0.95).abs() < noise(0.95, TRIALS), "{coverage}");
    // The ratio's standard deviation is below 2 % at this size.
    let reduction = pairs(20_000).variance_reduction().unwrap();
    assert!((reduction / 10.0 - 1.0).abs() < 0.08, "{reduction}");
}

/// Five policies against one baseline, of which two differ from it: the comparisons depend on each
/// other as they do on common random numbers.
fn family(rng: &mut Pcg32) -> (Vec<Paired>, [f64; 5]) {
    let truth = [0.0, 1.2, 0.0, -0.9, 0.0];
    let mut family = vec![Paired::default(); truth.len()];
    for _ in 0..20 {
        let x = correlated(rng, truth.len() + 1, 0.3);
        for (i, (paired, truth)) in family.iter_mut().zip(truth).enumerate() {
            paired.push(x[i + 1] + truth, x[0]);
        }
    }
    (family, truth)
}

#[test]
fn bonferroni_intervals_cover_together() {
    const TRIALS: u32 = 4_000;
    let mut rng = stream(2);
    let coverage = share(TRIALS, || {
        let (family, truth) = family(&mut rng);
        let p: Vec<_> = family.iter().map(Paired::p_value).collect();
        let levels = Adjust::Bonferroni.confidences(&p, 0.95);
        let cover = |i: usize| holds(family[i].interval(levels[i]).unwrap(), truth[i]);
        (0..truth.len()).all(cover)
    });
    assert!(coverage > 0.95 - noise(0.95, TRIALS), "{coverage}");
    // Five times 95 % intervals would cover together in some 80 %; nor is it wider than need be.
    assert!(coverage < 0.985, "{coverage}");
}

#[test]
fn verdicts_fit_intervals_and_are_seldom_wrong() {
    const TRIALS: u32 = 4_000;
    const CONFIDENCE: f64 = 0.95;
    for adjust in [Adjust::None, Adjust::Bonferroni, Adjust::Holm] {
        let mut rng = stream(3);
        let mut decided = 0;
        let wrong = share(TRIALS, || {
            let (family, truth) = family(&mut rng);
            let p: Vec<_> = family.iter().map(Paired::p_value).collect();
            let (adjusted, levels) = (adjust.p_values(&p), adjust.confidences(&p, CONFIDENCE));
            let mut wrong = false;
            for (i, paired) in family.iter().enumerate() {
                let difference = paired.difference().mean().unwrap();
                let verdict = Verdict::new(difference, adjusted[i], CONFIDENCE, Good::More);
                let interval = paired.interval(levels[i]).unwrap();
                let (better, worse) = (interval.low > 0.0, interval.high < 0.0);
                assert_eq!(
                    (verdict == Verdict::Better, verdict == Verdict::Worse),
                    (better, worse)
                );
                wrong |= better && truth[i] <= 0.0 || worse && truth[i] >= 0.0;
                decided += u32::from(better || worse);
            }
            wrong
        });
        let power = f64::from(decided) / f64::from(TRIALS);
        match adjust {
            Adjust::None => assert!(wrong > 0.08, "three true nulls at 5 %: {wrong}"),
            _ => assert!(wrong < 0.05 + noise(0.05, TRIALS), "{adjust:?}: {wrong}"),
        }
        // Holm decides more than Bonferroni, here 1.75 against 1.65 of the two differences.
        let expected = match adjust {
            Adjust::None => 1.9..2.2,
            Adjust::Bonferroni => 1.60..1.68,
            Adjust::Holm => 1.69..1.80,
        };
        assert!(expected.contains(&power), "{adjust:?}: {power}");
    }
}

#[test]
fn comparisons_with_the_best_cover_together() {
    const TRIALS: u32 = 4_000;
    // Slippage, a tie of all, and spread means; less is good.
    for (means, correlation) in [
        ([1.0_f64, 1.6, 1.6, 1.6, 1.6], 0.5),
        ([1.0, 1.0, 1.0, 1.0, 1.0], 0.0),
        ([3.0, 2.0, 1.2, 1.0, 5.0], 0.8),
    ] {
        let k = means.len();
        // Of several that are tied, any one fixed beforehand.
        let best = (0..k).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap();
        let gain = |i: usize| {
            let others = (0..k).filter(|&l| l != i).map(|l| means[l]);
            others.fold(f64::INFINITY, f64::min) - means[i]
        };
        let mut rng = stream(4);
        let coverage = share(TRIALS, || {
            let mut samples = vec![Vec::new(); k];
            for _ in 0..12 {
                let x = correlated(&mut rng, k, correlation);
                (0..k).for_each(|i| samples[i].push(means[i] + x[i]));
            }
            let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
            let all = with_best(&samples, Good::Less, 0.95).unwrap();
            all[best].may_be_best && (0..k).all(|i| holds(all[i].gain, gain(i)))
        });
        assert!(coverage > 0.95 - noise(0.95, TRIALS), "{means:?}: {coverage}");
    }
}

/// Returns the share of experiments whose interval covers the mean, and the mean number of
/// replications, with the half-width that a known `sd` would reach at `needed` replications.
fn sequential(
    trials: u32,
    needed: u32,
    (mean, sd): (f64, f64),
    rng: &mut Pcg32,
    value: fn(&mut Pcg32) -> f64,
) -> (f64, f64) {
    let t = StudentsT::new(0.0, 1.0, f64::from(needed - 1)).unwrap().inverse_cdf(0.975);
    let target = Target::HalfWidth(t * sd / f64::from(needed).sqrt());
    let rule = Rule::new(2, 100_000, vec![Condition { response: 0, target }], 0.95).unwrap();
    let mut taken = 0;
    let coverage = share(trials, || {
        let mut sample = Moments::default();
        for k in rule.checkpoints() {
            while sample.n() < u64::from(k) {
                sample.push(value(rng));
            }
            if rule.satisfied(&[sample]) {
                break;
            }
        }
        taken += sample.n();
        holds(sample.interval(0.95).unwrap(), mean)
    });
    (coverage, taken as f64 / f64::from(trials))
}

/// Stopping from 10 replications on would cover 93.5 % at 20 needed, and fail.
#[test]
fn intervals_of_stopped_runs_keep_their_coverage() {
    for (needed, trials) in [(10, 20_000), (20, 100_000), (40, 40_000), (100, 20_000), (400, 5_000)]
    {
        let mut rng = stream(5);
        let (coverage, taken) = sequential(trials, needed, (0.0, 1.0), &mut rng, normal);
        assert!(coverage > 0.94 - noise(0.94, trials), "{needed}: {coverage}");
        assert!(coverage < 0.95 + noise(0.95, trials), "{needed}: {coverage}");
        let least = f64::from(needed).max(20.0);
        assert!(taken < 1.15 * least, "{needed}: {taken}");
    }
}

/// Returns the root of a rising function on (low, high).
fn root(mut low: f64, mut high: f64, rising: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        *(if rising(middle) < 0.0 { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Returns h² of the equal allocation (hσ/δ)² for a known σ: ∫ Φ(z + h)^(k−1) φ(z) dz = 1 − α.
///
/// R. E. Bechhofer, "A single-sample multiple decision procedure for ranking means of normal
/// populations with known variances", Ann. Math. Statist. 25 (1954).
fn bechhofer(k: i32, confidence: f64) -> f64 {
    let unit = Normal::new(0.0, 1.0).unwrap();
    let correct = |h: f64| {
        let z = (-800..=800).map(|i| f64::from(i) / 100.0);
        z.map(|z| unit.cdf(z + h).powi(k - 1) * unit.pdf(z)).sum::<f64>() / 100.0
    };
    root(0.0, 10.0, |h| correct(h) - confidence).powi(2)
}

/// Returns h² of the two-stage allocation (hS/δ)² for an unknown σ, with ν = n0 − 1 and X, Y χ²_ν:
/// E_Y [E_X Φ(h / √(ν (1/X + 1/Y)))]^(k−1) = 1 − α.
///
/// Y. Rinott, "On two-stage selection procedures and related probability-inequalities", Comm.
/// Statist. A7 (1978).
fn rinott(k: i32, first_stage: u32, confidence: f64) -> f64 {
    let nu = f64::from(first_stage - 1);
    let (unit, chi) = (Normal::new(0.0, 1.0).unwrap(), ChiSquared::new(nu).unwrap());
    let step = nu / 50.0;
    let grid: Vec<(f64, f64)> =
        (1..=200).map(|i| f64::from(i) * step).map(|x| (x, chi.pdf(x) * step)).collect();
    let correct = |h: f64| {
        let one = |y: f64| -> f64 {
            grid.iter()
                .map(|(x, mass)| mass * unit.cdf(h / (nu * (1.0 / x + 1.0 / y)).sqrt()))
                .sum()
        };
        grid.iter().map(|&(y, mass)| mass * one(y).powi(k - 1)).sum::<f64>()
    };
    root(0.0, 10.0, |h| correct(h) - confidence).powi(2)
}

/// The hardest configuration: one best, all others δ behind. Each share of 500 repetitions would fail
/// below 95 % less its noise; σ = 5δ. Tables give h = 3.418 for Bechhofer at k = 10.
#[test]
#[allow(clippy::print_stdout)]
fn selection_keeps_its_promise_and_saves_replications() {
    const REPETITIONS: u32 = 500;
    const SIGMA: f64 = 5.0;
    assert!((bechhofer(10, 0.95).sqrt() - 3.418).abs() < 1e-3);
    for k in [5, 10] {
        let known = bechhofer(k as i32, 0.95) * SIGMA * SIGMA;
        let unknown = rinott(k as i32, FIRST_STAGE, 0.95) * SIGMA * SIGMA;
        for correlation in [0.0, 0.6] {
            let mut rng = stream(7);
            let mut taken = 0;
            let mut best = 0;
            let correct = share(REPETITIONS, || {
                best = (best + 1) % k;
                let mut selection = Selection::new(k, FIRST_STAGE, 1.0, 0.95, Good::Less).unwrap();
                while selection.best().is_none() {
                    let x = correlated(&mut rng, k, correlation);
                    let value = |&i: &usize| (i, SIGMA * x[i] - if i == best { 1.0 } else { 0.0 });
                    let values: Vec<_> = selection.alive().iter().map(value).collect();
                    taken += values.len();
                    selection.push(&values).unwrap();
                }
                selection.best() == Some(best)
            });
            let each = taken as f64 / f64::from(REPETITIONS) / k as f64;
            println!(
                "k = {k}, correlation {correlation}: {correct} correct, {each:.0} replications a system, \
                 {:.2} of Rinott's {unknown:.0}, {:.2} of Bechhofer's {known:.0}",
                each / unknown,
                each / known
            );
            assert!(correct > 0.95 - noise(0.95, REPETITIONS), "{k}, {correlation}: {correct}");
            assert!(each < known && each < unknown, "{k}, {correlation}: {each}");
        }
    }
}

/// Returns n values of x ← φ x + ε from `start`, whose mean in steady state is 0.
fn autoregression(rng: &mut Pcg32, n: usize, phi: f64, start: f64) -> Vec<f64> {
    let mut x = start;
    let mut next = || {
        x = phi * x + normal(rng);
        x
    };
    (0..n).map(|_| next()).collect()
}

/// With φ = 0.8 a batch of 400 is 44 integrated autocorrelation times long.
#[test]
fn batch_means_cover_and_tell_when_they_are_too_short() {
    const TRIALS: u32 = 3_000;
    let mut rng = stream(8);
    let mut alarms = 0;
    let coverage = share(TRIALS, || {
        // The last of a first run starts the second in its steady state.
        let start = autoregression(&mut rng, 50, 0.8, 0.0)[49];
        let run = autoregression(&mut rng, 400 * BATCHES + 7, 0.8, start);
        let batches = BatchMeans::new(&run, BATCHES).unwrap();
        alarms += u32::from(batches.p_uncorrelated().unwrap() < 0.05);
        holds(batches.interval(0.95).unwrap(), 0.0)
    });
    assert!((coverage - 0.95).abs() < noise(0.95, TRIALS) + 0.003, "{coverage}");
    let alarms = f64::from(alarms) / f64::from(TRIALS);
    // A little correlation is left: 6 % here.
    assert!((alarms - 0.05).abs() < noise(0.05, TRIALS) + 0.015, "{alarms}");

    let short = share(300, || {
        let run = autoregression(&mut rng, 10 * BATCHES, 0.95, 0.0);
        BatchMeans::new(&run, BATCHES).unwrap().p_uncorrelated().unwrap() < 0.05
    });
    assert!(short > 0.9, "{short}");
}

/// A start at 60 leaves a bias of 60 φ/(1 − φ)/n = 0.57 in the mean of 2 000 values.
#[test]
fn a_cut_of_mser_5_removes_the_bias_of_the_start() {
    const RUNS: u32 = 200;
    let mut rng = stream(9);
    let (mut all, mut rest) = (Moments::default(), Moments::default());
    for _ in 0..RUNS {
        let run = autoregression(&mut rng, 2_000, 0.95, 60.0);
        let cut = mser(&run, BATCH).unwrap();
        assert!(cut.dropped >= 25 && !cut.at_limit, "{cut:?}");
        all.push(run.iter().copied().collect::<Moments>().mean().unwrap());
        rest.push(run[cut.dropped..].iter().copied().collect::<Moments>().mean().unwrap());
    }
    assert!(all.mean().unwrap() > 0.45, "{all:?}");
    assert!(rest.mean().unwrap().abs() < 0.15, "{rest:?}");
}
