//! Closed formulas of single queues.
//!
//! λ is the arrival rate, μ the rate of one server, c the number of servers, a = λ/μ the offered load in erlangs,
//! ρ = a/c the load of a server. All queues are first come first served with infinite room, except that of Erlang B.
//!
//! * Erlang B, loss of M/G/c/c: B(0) = 1, 1/B(k) = 1 + k/(a·B(k−1)).
//! * Erlang C, waiting in M/M/c: C = c·B/(c − a(1 − B)); mean wait C/(cμ − λ).
//! * M/M/c/K: p(n) = p(n − 1)·a/min(n, c) up to n = K.
//! * M/M/1: mean number ρ/(1 − ρ), mean time in system 1/(μ − λ).
//! * M/G/1, Pollaczek–Khinchine: mean wait λE\[S²\]/(2(1 − ρ)).
//! * E_k/M/1: mean time in system 1/(μ(1 − σ)), σ the root in (0, 1) of σ = (kλ/(kλ + μ(1 − σ)))^k.
//!
//! A. K. Erlang, "Solution of some problems in the theory of probabilities of significance in automatic telephone
//! exchanges" (1917). L. Kleinrock, "Queueing Systems, Volume I: Theory" (1975): chapter 3 (M/M/1, M/M/m, M/M/m/m),
//! chapter 5 (M/G/1), chapter 6 (G/M/1, of which E_k/M/1 is the case of Erlang interarrivals).
//! F. Pollaczek (1930) and A. Ya. Khinchine (1932) found the mean wait of M/G/1.
//! That Erlang B holds for any service with a mean is due to B. A. Sevastyanov (1957).

/// Returns the load λ/capacity of a queue if it has a steady state, which it does when the load is below one.
///
/// `arrival_rate` is λ [1/time unit]; `capacity` is what all servers together complete when none is idle [1/time unit].
/// `None` also for a negative or infinite λ and for a capacity that is not positive.
///
/// ```
/// use balancelab::theory::stable_load;
/// assert_eq!(stable_load(1.0, 4.0), Some(0.25));
/// assert_eq!(stable_load(1.0, 1.0), None);
/// ```
pub fn stable_load(arrival_rate: f64, capacity: f64) -> Option<f64> {
    let load = arrival_rate / capacity;
    (arrival_rate >= 0.0 && capacity > 0.0 && load < 1.0).then_some(load)
}

/// Returns the fraction of arrivals that c `channels` without a queue refuse: B(c, a).
///
/// `offered` is a = λ·E\[S\] ≥ 0 in erlangs, finite; other values give NaN. The recursion adds and divides positive
/// numbers only, so that its relative error stays near rounding for a million channels.
///
/// ```
/// use balancelab::theory::erlang_b;
/// let near = |c, a, b: f64| assert!((erlang_b(c, a) - b).abs() < 5e-11, "B({c}, {a})");
/// near(1, 1.0, 0.5);
/// near(2, 1.0, 0.2);
/// near(10, 5.0, 0.0183845703);
/// near(20, 12.0, 0.0097956394);
/// near(6, 80.0 / 15.0, 0.2167415716);
/// near(30, 460.0 / 15.0, 0.1441991202);
/// ```
pub fn erlang_b(channels: u32, offered: f64) -> f64 {
    if !(offered >= 0.0 && offered.is_finite()) {
        return f64::NAN;
    }
    (1..=channels).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b))
}

/// Returns the probability that an arrival at M/M/c waits: C(c, a); `None` unless a < c.
///
/// `offered` is a = λ/μ ≥ 0 in erlangs.
///
/// ```
/// use balancelab::theory::erlang_c;
/// let near = |n, a, c: f64| assert!((erlang_c(n, a).unwrap() - c).abs() < 5e-11, "C({n}, {a})");
/// near(2, 1.0, 0.3333333333);
/// near(10, 5.0, 0.0361053592);
/// assert_eq!(erlang_c(2, 2.0), None);
/// ```
pub fn erlang_c(servers: u32, offered: f64) -> Option<f64> {
    let load = stable_load(offered, f64::from(servers))?;
    let b = erlang_b(servers, offered);
    // c·B/(c − a(1 − B)), divided by c: below load one both terms of the sum are positive.
    Some(b / ((1.0 - load) + load * b))
}

/// Returns the mean time in system of M/M/1 [time units]; `None` unless λ < μ.
///
/// ```
/// use balancelab::theory::mm1_sojourn;
/// assert_eq!(mm1_sojourn(0.5, 1.0), Some(2.0));
/// assert_eq!(mm1_sojourn(1.0, 1.0), None);
/// ```
pub fn mm1_sojourn(arrival_rate: f64, service_rate: f64) -> Option<f64> {
    stable_load(arrival_rate, service_rate)?;
    Some(1.0 / (service_rate - arrival_rate))
}

/// Returns the mean number in system of M/M/1, the one in service included; `None` unless λ < μ.
///
/// ```
/// use balancelab::theory::mm1_number;
/// assert_eq!(mm1_number(3.0, 4.0), Some(3.0));
/// ```
pub fn mm1_number(arrival_rate: f64, service_rate: f64) -> Option<f64> {
    stable_load(arrival_rate, service_rate)?;
    Some(arrival_rate / (service_rate - arrival_rate))
}

/// Returns the mean wait before service of M/M/c [time units]; `None` unless λ < cμ.
///
/// ```
/// use balancelab::theory::mmc_wait;
/// assert!((mmc_wait(1.0, 1.0, 2).unwrap() - 1.0 / 3.0).abs() < 1e-15);
/// ```
pub fn mmc_wait(arrival_rate: f64, service_rate: f64, servers: u32) -> Option<f64> {
    let capacity = f64::from(servers) * service_rate;
    stable_load(arrival_rate, capacity)?;
    Some(erlang_c(servers, arrival_rate / service_rate)? / (capacity - arrival_rate))
}

/// A queue M/M/c/K in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueFigures {
    /// Share of time with at least 1, 2, … jobs, as far as was asked for.
    pub levels: Vec<f64>,
    /// Mean number of jobs, those in service included.
    pub jobs: f64,
    /// Fraction of arrivals that find no room.
    pub refused: f64,
}

/// Returns the figures of M/M/c/K, or of M/M/c without a `capacity`; `None` where there is no steady
/// state, or more than 10 000 channels.
///
/// `offered` is a = λ/μ ≥ 0 in erlangs. The birth-and-death chain has p(n) = p(n − 1)·a/min(n, c).
///
/// ```
/// use balancelab::theory::mmck;
/// // M/M/1 at load 1/2, and with room for two.
/// let queue = mmck(0.5, 1, None, 2).unwrap();
/// assert!((queue.jobs - 1.0).abs() < 1e-14 && queue.levels == [0.5, 0.25]);
/// let queue = mmck(0.5, 1, Some(2), 3).unwrap();
/// assert!((queue.refused - 1.0 / 7.0).abs() < 1e-14 && queue.levels[2] == 0.0);
/// ```
pub fn mmck(
    offered: f64,
    channels: u32,
    capacity: Option<u32>,
    levels: usize,
) -> Option<QueueFigures> {
    const MAX_CHANNELS: u32 = 10_000;
    let stable = stable_load(offered, f64::from(channels));
    if channels == 0 || channels > MAX_CHANNELS || !offered.is_finite() || offered < 0.0 {
        return None;
    }
    let load = offered / f64::from(channels);
    let last = capacity.unwrap_or(u32::MAX).min(channels);
    // Weights up to the last channel, relative to the greatest so far, lest they overflow.
    let mut weights = vec![1.0];
    for n in 1..=last {
        let weight = weights[n as usize - 1] * offered / f64::from(n);
        weights.push(weight);
        if weight > 1e100 {
            weights.iter_mut().for_each(|w| *w *= 1e-100);
        }
    }
    let tip = weights[last as usize];
    // Beyond, each is `load` times the one before, `more` of them: their sum, and that of their
    // places beyond the last.
    let (tail, places) = match capacity {
        None => {
            stable?;
            (load / (1.0 - load), load / (1.0 - load).powi(2))
        }
        Some(capacity) => {
            let mut sums = (0.0, 0.0);
            let mut weight = 1.0;
            for place in 1..=capacity.saturating_sub(last) {
                weight *= load;
                sums.0 += weight;
                sums.1 += weight * f64::from(place);
                if weight < 1e-300 {
                    break;
                }
            }
            sums
        }
    };
    let all: f64 = weights.iter().sum::<f64>() + tip * tail;
    let inner: f64 = weights.iter().enumerate().map(|(n, w)| n as f64 * w).sum();
    let jobs = (inner + tip * (f64::from(last) * tail + places)) / all;
    let share = |n: u32| match n {
        n if n <= last => weights[n as usize] / all,
        n if capacity.is_none_or(|capacity| n <= capacity) => {
            tip * load.powi((n - last) as i32) / all
        }
        _ => 0.0,
    };
    let mut at_least = 1.0;
    let levels = (0..levels as u32).map(|below| {
        at_least -= share(below);
        if capacity.is_some_and(|capacity| below >= capacity) { 0.0 } else { at_least.max(0.0) }
    });
    let levels = levels.collect();
    Some(QueueFigures { levels, jobs, refused: capacity.map_or(0.0, share) })
}

/// Returns the mean wait before service of M/G/1 [time units]; `None` unless λE\[S\] < 1.
///
/// `mean` is E\[S\] > 0 [time units], `second_moment` is E\[S²\] ≥ E\[S\]² [time units²]; a second moment below that belongs to no
/// service time and gives `None`. An infinite one gives an infinite wait.
///
/// ```
/// use balancelab::theory::mg1_wait;
/// // Exponential service of mean 1 has E[S²] = 2: the wait of M/M/1.
/// assert_eq!(mg1_wait(0.5, 1.0, 2.0), Some(1.0));
/// ```
pub fn mg1_wait(arrival_rate: f64, mean: f64, second_moment: f64) -> Option<f64> {
    let load = stable_load(arrival_rate * mean, 1.0)?;
    // A caller's own rounding may put E[S²] of a deterministic service a few units below E[S]².
    let possible = mean > 0.0 && second_moment >= mean * mean * (1.0 - 1e-12);
    possible.then(|| arrival_rate * second_moment / (2.0 * (1.0 - load)))
}

/// Returns the mean wait before service of M/D/1 [time units], each service taking `service_time`; `None` unless
/// λ·`service_time` < 1.
///
/// ```
/// use balancelab::theory::md1_wait;
/// assert_eq!(md1_wait(0.5, 1.0), Some(0.5));
/// ```
pub fn md1_wait(arrival_rate: f64, service_time: f64) -> Option<f64> {
    mg1_wait(arrival_rate, service_time, service_time * service_time)
}

/// Returns the mean time in system of M/G/1 whose server is shared equally by all jobs, or given to
/// the latest one preemptively (its work resumed later) [time units]; `None` unless λ·`mean` < 1.
///
/// E\[S\]/(1 − ρ) whatever the distribution of the service time is: both disciplines are symmetric, and
/// their queue lengths those of M/M/1 (L. Kleinrock, "Queueing Systems, Volume II", 1976, ch. 4;
/// F. P. Kelly, "Reversibility and Stochastic Networks", 1979, ch. 3).
///
/// ```
/// use balancelab::theory::mg1_ps_sojourn;
/// assert_eq!(mg1_ps_sojourn(0.25, 2.0), Some(4.0));
/// assert_eq!(mg1_ps_sojourn(0.5, 2.0), None);
/// ```
pub fn mg1_ps_sojourn(arrival_rate: f64, mean: f64) -> Option<f64> {
    let load = stable_load(arrival_rate * mean, 1.0)?;
    (mean > 0.0).then(|| mean / (1.0 - load))
}

/// Returns the mean time in system of E_k/M/1 [time units]; `None` unless λ < μ and k ≥ 1.
///
/// An interarrival time is the sum of k = `phases` exponentials of rate kλ, so that `arrival_rate` is λ. Round robin
/// sends every k-th request of a Poisson stream of rate kλ to each of k servers, so each is an E_k/M/1. The relative
/// error is about 1e-16/(1 − λ/μ).
///
/// ```
/// use balancelab::theory::{ekm1_sojourn, mm1_sojourn};
/// // Two servers in round robin at load 1/2: the golden ratio.
/// assert!((ekm1_sojourn(2, 0.5, 1.0).unwrap() - 1.618034).abs() < 5e-7);
/// // One phase is M/M/1.
/// assert!((ekm1_sojourn(1, 0.5, 1.0).unwrap() - 2.0).abs() < 1e-14);
/// ```
pub fn ekm1_sojourn(phases: u32, arrival_rate: f64, service_rate: f64) -> Option<f64> {
    let k = f64::from(phases);
    let load = stable_load(arrival_rate, service_rate)?;
    if phases == 0 {
        return None;
    }
    if load == 0.0 {
        return Some(1.0 / service_rate);
    }
    // With δ = 1 − σ the root is that of h(δ) = (1 + δ/(kρ))^(−k) − 1 + δ in (0, 1]. h is convex, h(0) = 0, h'(0) < 0
    // and h(1) > 0, so Newton's steps from 1 fall monotonically to the root, and stop falling there by rounding.
    let mut delta = 1.0;
    loop {
        let log = libm::log1p(delta / (k * load));
        let h = libm::expm1(-k * log) + delta;
        let slope = 1.0 - libm::exp(-(k + 1.0) * log) / load;
        let next = delta - h / slope;
        if !(next > 0.0 && next < delta) {
            return Some(1.0 / (service_rate * delta));
        }
        delta = next;
    }
}

#[cfg(test)]
mod tests {
    use super::super::stationary;
    use super::*;

    #[track_caller]
    fn assert_near(value: f64, truth: f64, tolerance: f64) {
        assert!((value - truth).abs() <= tolerance, "{value} is not {truth} ± {tolerance}");
    }

    #[test]
    fn erlang_b_is_stable_for_a_million_channels() {
        // At a = c the loss tends to sqrt(2/(πc)), and 1/B to sqrt(πc/2) + 2/3: Jagerman (1974).
        let c = 1_000_000;
        let exact = 1.0 / ((std::f64::consts::PI * f64::from(c) / 2.0).sqrt() + 2.0 / 3.0);
        assert_near(erlang_b(c, f64::from(c)) / exact, 1.0, 1e-7);
        // Twice the load: half of it is lost, and a little more.
        assert_near(erlang_b(c, 2e6), 0.5 + 0.5 / 1e6, 1e-9);
    }

    #[test]
    fn erlang_b_is_total_at_the_edges() {
        assert_eq!(erlang_b(0, 3.0), 1.0);
        assert_eq!(erlang_b(3, 0.0), 0.0);
        assert!(erlang_b(3, -1.0).is_nan() && erlang_b(3, f64::INFINITY).is_nan());
    }

    #[test]
    fn a_queue_with_load_of_one_or_more_has_no_values() {
        for arrival_rate in [1.0, 1.5, f64::INFINITY, f64::NAN] {
            assert_eq!(stable_load(arrival_rate, 1.0), None);
            assert_eq!(erlang_c(1, arrival_rate), None);
            assert_eq!(mm1_sojourn(arrival_rate, 1.0), None);
            assert_eq!(mm1_number(arrival_rate, 1.0), None);
            assert_eq!(mmc_wait(arrival_rate, 0.5, 2), None);
            assert_eq!(mg1_wait(arrival_rate, 1.0, 2.0), None);
            assert_eq!(md1_wait(arrival_rate, 1.0), None);
            assert_eq!(mg1_ps_sojourn(arrival_rate, 1.0), None);
            assert_eq!(ekm1_sojourn(2, arrival_rate, 1.0), None);
        }
    }

    #[test]
    fn arguments_that_mean_nothing_have_no_values() {
        for bad in [-1.0, 0.0, f64::NAN] {
            assert_eq!(stable_load(0.5, bad), None);
            assert_eq!(mm1_sojourn(0.5, bad), None);
            assert_eq!(mg1_wait(0.5, bad, 2.0), None);
            assert_eq!(mg1_ps_sojourn(0.5, bad), None);
        }
        assert_eq!(stable_load(-0.5, 1.0), None);
        assert_eq!(erlang_c(0, 0.0), None);
        assert_eq!(ekm1_sojourn(0, 0.5, 1.0), None);
        assert_eq!(mg1_wait(0.5, 1.0, 0.5), None);
    }

    #[test]
    fn erlang_c_follows_from_the_chain_of_mmc() {
        // Cut at 200 in system: at load 0.5 the tail beyond is below 1e-57.
        let queue = stationary(0u32, 1_000, |&n, to| {
            if n < 200 {
                to(n + 1, 5.0);
            }
            if n > 0 {
                to(n - 1, f64::from(n.min(10)));
            }
        })
        .unwrap();
        let waits = queue.expectation(|&n| f64::from(u8::from(n >= 10)));
        assert_near(erlang_c(10, 5.0).unwrap(), waits, 1e-15);
        let queued = queue.expectation(|&n| f64::from(n.saturating_sub(10)));
        assert_near(mmc_wait(5.0, 1.0, 10).unwrap(), queued / 5.0, 1e-15);
    }

    #[test]
    fn one_server_is_a_case_of_several() {
        for load in [0.1, 0.5, 0.9, 0.999] {
            let wait = mm1_sojourn(load, 1.0).unwrap() - 1.0;
            assert_near(mmc_wait(load, 1.0, 1).unwrap() / wait, 1.0, 1e-12);
            assert_near(mg1_wait(load, 1.0, 2.0).unwrap() / wait, 1.0, 1e-12);
            assert_near(md1_wait(load, 1.0).unwrap() / wait, 0.5, 1e-12);
            assert_eq!(mg1_ps_sojourn(load, 1.0), mm1_sojourn(load, 1.0));
            assert_near(mm1_number(load, 1.0).unwrap() / load, wait + 1.0, 1e-12 * (wait + 1.0));
        }
    }

    #[test]
    fn erlang_arrivals_follow_from_the_chain_of_phases() {
        // State: number in system and phase of the next arrival; cut where the tail is below 1e-30.
        for (phases, load) in [(1u32, 0.5), (2, 0.5), (3, 0.8), (7, 0.9)] {
            let queue = stationary((0u32, 0u32), 20_000, |&(n, phase), to| {
                let rate = f64::from(phases) * load;
                if phase + 1 < phases {
                    to((n, phase + 1), rate);
                } else if n < 700 {
                    to((n + 1, 0), rate);
                } else {
                    to((n, 0), rate);
                }
                if n > 0 {
                    to((n - 1, phase), 1.0);
                }
            })
            .unwrap();
            let number = queue.expectation(|&(n, _)| f64::from(n));
            let sojourn = ekm1_sojourn(phases, load, 1.0).unwrap();
            assert_near(sojourn, number / load, 1e-12 * sojourn);
        }
    }

    #[test]
    fn the_erlang_queue_keeps_its_digits_at_every_load() {
        // Light traffic: nobody waits. Heavy traffic: the wait is (1 + 1/k)/2 of that of M/M/1.
        assert_near(ekm1_sojourn(4, 1e-9, 2.0).unwrap(), 0.5, 1e-15);
        assert_eq!(ekm1_sojourn(4, 0.0, 2.0), Some(0.5));
        for gap in [1e-7, 1e-9] {
            let load = 1.0 - gap;
            let scaled = ekm1_sojourn(4, load, 1.0).unwrap() * (1.0 - load);
            assert_near(scaled, 0.625, 1e-6);
        }
        // Many phases: D/M/1, whose σ = e^{−(1 − σ)/ρ} is 0.2031878700 at ρ = 1/2.
        assert_near(1.0 - 1.0 / ekm1_sojourn(u32::MAX, 0.5, 1.0).unwrap(), 0.2031878700, 1e-9);
    }
}
