//! Join-idle-queue with several dispatchers, in the limit of many.
//!
//! N servers and m dispatchers, each with a list of idle servers (its I-queue): r = N/m servers a
//! dispatcher. A job goes to a server of its dispatcher's list, or to any server where that is empty;
//! a server that falls idle goes on the list of a dispatcher drawn at random. Arrivals are Poisson,
//! λ a server and service time 1; service is exponential.
//!
//! With p₀ the share of lists that are empty, a busy server gets λp₀ (jobs sent at random), so queues
//! are those of M/M/1 at s = λp₀ while busy, and E\[T\] = 1/(1 − s). Idle servers are all on lists, so
//! a list's mean length is r(1 − λ). Y. Lu, Q. Xie, G. Kliot, A. Geller, J. R. Larus and A. Greenberg,
//! "Join-Idle-Queue: a novel load balancing algorithm for dynamically scalable web services" (2011),
//! take a list for an M/M/1, of load ρ_I = 1 − p₀, whence ρ_I/(1 − ρ_I) = r(1 − λ).
//!
//! That leaves out that an idle server may also be sent a job at random, and then leaves its list; so
//! the paper's p₀ is too great, and so are its times. The correction here keeps the independence of
//! lists, but has a list of k servers lose one at rate rλ + kλp₀. (M. Mitzenmacher, "Analyzing
//! distributed join-idle-queue: a fluid limit approach", 2016, drops more of the paper's assumptions,
//! by differential equations.)

/// Join-idle-queue in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JiqFigures {
    /// Share of dispatchers that know of no idle server, p₀.
    pub unknowing: f64,
    /// Mean time in system, in mean service times.
    pub sojourn: f64,
}

impl JiqFigures {
    fn new(load: f64, unknowing: f64) -> JiqFigures {
        JiqFigures { unknowing, sojourn: 1.0 / (1.0 - load * unknowing) }
    }
}

/// Most servers a dispatcher for which the corrected point is sought.
const MAX_RATIO: f64 = 1e5;

/// Returns the fixed point as Lu and others published it, for r = N/m servers a dispatcher; `None`
/// unless 0 ≤ λ < 1 and r > 0.
///
/// ```
/// use balancelab::theory::jiq_published;
/// let jiq = jiq_published(0.9, 10.0).unwrap();
/// assert!((jiq.sojourn - 1.818).abs() < 5e-4 && (jiq.unknowing - 0.5).abs() < 1e-12);
/// ```
pub fn jiq_published(load: f64, ratio: f64) -> Option<JiqFigures> {
    possible(load, ratio).then(|| JiqFigures::new(load, 1.0 / (1.0 + ratio * (1.0 - load))))
}

/// Returns the fixed point where servers that get a job at random leave their list; `None` as for
/// [`jiq_published`], and beyond 100 000 servers a dispatcher.
///
/// ```
/// use balancelab::theory::jiq_corrected;
/// assert!((jiq_corrected(0.9, 10.0).unwrap().sojourn - 1.76537).abs() < 5e-6);
/// ```
pub fn jiq_corrected(load: f64, ratio: f64) -> Option<JiqFigures> {
    if !possible(load, ratio) || ratio > MAX_RATIO {
        return None;
    }
    let surplus = |p: f64| empty(&list(load, ratio, p)) - p;
    // As p falls to 0 the chance is of the order of √p, and at p = 1 it is less than 1.
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > f64::EPSILON * high {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if surplus(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(JiqFigures::new(load, low + (high - low) / 2.0))
}

fn possible(load: f64, ratio: f64) -> bool {
    (0.0..1.0).contains(&load) && ratio > 0.0 && ratio.is_finite()
}

/// Returns the weights of 0, 1, … servers on a list, if lists are empty with probability p.
///
/// The rate at which servers come is what a list loses in the mean, rλ(1 − p) + λp·r(1 − λ), and λ
/// cancels. So the mean length is r(1 − λ) just where the weights agree with p.
fn list(load: f64, ratio: f64, p: f64) -> Vec<f64> {
    let comes = ratio * (1.0 - p) + p * ratio * (1.0 - load);
    let mut weights = vec![1.0];
    let (mut weight, mut sum) = (1.0, 1.0);
    // They rise nowhere: `comes` is below r.
    while weight > 1e-18 * sum {
        weight *= comes / (ratio + weights.len() as f64 * p);
        sum += weight;
        weights.push(weight);
    }
    weights
}

/// Returns the probability of 0.
fn empty(weights: &[f64]) -> f64 {
    // The least first.
    1.0 / weights.iter().rev().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::stationary;
    use super::*;

    #[test]
    fn the_points_have_their_values() {
        for (load, ratio, published, corrected) in
            [(0.9, 10.0, 1.8182, 1.76537), (0.5, 10.0, 1.0909, 1.07095)]
        {
            let both = [jiq_published(load, ratio), jiq_corrected(load, ratio)].map(Option::unwrap);
            assert!((both[0].sojourn - published).abs() < 5e-5, "{both:?}");
            assert!((both[1].sojourn - corrected).abs() < 5e-6, "{both:?}");
        }
    }

    /// Against the chain of a list, solved as any chain is.
    #[test]
    fn the_corrected_point_is_one_of_the_chain() {
        for (load, ratio) in [(0.5, 1.0), (0.9, 10.0), (0.5, 20.0), (0.99, 10.0), (0.7, 0.5)] {
            let p = jiq_corrected(load, ratio).unwrap().unknowing;
            let comes = load * (ratio * (1.0 - p) + p * ratio * (1.0 - load));
            let chain = stationary(0_u32, 1_000, |&length, to| {
                if length < 300 {
                    to(length + 1, comes);
                }
                if length > 0 {
                    to(length - 1, ratio * load + f64::from(length) * load * p);
                }
            });
            let chain = chain.unwrap();
            let mean = chain.expectation(|&length| f64::from(length));
            assert!((mean - ratio * (1.0 - load)).abs() < 1e-9, "{load} {ratio}: {mean}");
            let none = chain.expectation(|&length| f64::from(u8::from(length == 0)));
            assert!((none - p).abs() < 1e-9, "{load} {ratio}: {none} {p}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_right() {
        // Nobody waits where nothing comes, or dispatchers are few.
        for figures in [jiq_published, jiq_corrected] {
            assert_eq!(figures(0.0, 10.0).unwrap().sojourn, 1.0);
            assert!(figures(0.5, 1e4).unwrap().sojourn < 1.001);
            // A dispatcher a hundredth of a server knows of none: M/M/1.
            assert!((figures(0.5, 1e-6).unwrap().sojourn - 2.0).abs() < 1e-5);
            for (load, ratio) in [(1.0, 10.0), (-0.1, 10.0), (0.5, 0.0), (f64::NAN, 1.0)] {
                assert_eq!(figures(load, ratio), None);
            }
        }
        assert_eq!(jiq_corrected(0.5, 1e6), None);
        for load in [0.1, 0.5, 0.9, 0.99] {
            let (published, corrected) = (jiq_published(load, 10.0), jiq_corrected(load, 10.0));
            assert!(corrected.unwrap().unknowing < published.unwrap().unknowing);
        }
    }
}
