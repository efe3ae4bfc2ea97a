//! The loss router's theory against known answers, and against a simulation that shares nothing with it.

use balancelab::theory::{
    ChainError, LossFigures, LossNetwork, LossPolicy, LossRedirect, Unsolved, erlang_b,
};

const REDIRECTS: [LossRedirect; 3] =
    [LossRedirect::Next, LossRedirect::Random, LossRedirect::MostFree];

/// Every policy for `servers` servers, the coin an uneven one.
fn policies(servers: usize) -> [LossPolicy; 4] {
    let total = (servers * (servers + 1) / 2) as f64;
    [
        LossPolicy::Coin((1..=servers).map(|k| k as f64 / total).collect()),
        LossPolicy::Trigger,
        LossPolicy::Alternate { flip_on_refusal: true },
        LossPolicy::Alternate { flip_on_refusal: false },
    ]
}

/// A network in which all channels are alike.
fn network(
    channels: &[u32],
    interarrival: f64,
    service: f64,
    redirect: LossRedirect,
    policy: LossPolicy,
) -> LossNetwork {
    LossNetwork {
        channels: channels.to_vec(),
        arrival_rate: 1.0 / interarrival,
        service_rates: vec![1.0 / service; channels.len()],
        redirect,
        policy,
    }
}

/// Two M/M/1/1 with μ = (2, 1) behind a coin.
fn two_unequal(arrival_rate: f64, theta: f64, redirect: LossRedirect) -> LossFigures {
    let policy = LossPolicy::Coin(vec![theta, 1.0 - theta]);
    let (channels, service_rates) = (vec![1, 1], vec![2.0, 1.0]);
    LossNetwork { channels, arrival_rate, service_rates, redirect, policy }.solve().unwrap()
}

#[track_caller]
fn assert_near(value: f64, truth: f64, tolerance: f64) {
    assert!((value - truth).abs() <= tolerance, "{value} is not {truth} ± {tolerance}");
}

mod loss_network {
    use super::*;

    #[test]
    fn refusals_are_erlang_b_of_all_channels_for_every_policy_and_redirection() {
        for (channels, service) in
            [(vec![2, 4], 80.0), (vec![10, 20], 460.0), (vec![1, 2, 3], 80.0)]
        {
            let truth = erlang_b(channels.iter().sum(), service / 15.0);
            for policy in policies(channels.len()) {
                for redirect in REDIRECTS {
                    let solved =
                        network(&channels, 15.0, service, redirect, policy.clone()).solve();
                    assert_near(solved.unwrap().refusals, truth, 1e-14);
                }
            }
        }
    }

    #[test]
    fn figures_are_conserved() {
        for redirect in REDIRECTS.into_iter().chain([LossRedirect::None]) {
            for policy in policies(3) {
                let uneven = LossNetwork {
                    channels: vec![1, 3, 2],
                    arrival_rate: 2.0,
                    service_rates: vec![0.5, 0.25, 1.0],
                    redirect,
                    policy,
                };
                let solved = uneven.solve().unwrap();
                assert_near(solved.accepted + solved.refusals, 1.0, 1e-14);
                assert_near(solved.server_share.iter().sum(), solved.accepted, 1e-14);
                assert!(solved.errors <= solved.accepted);
                assert_eq!(solved.errors == 0.0, redirect == LossRedirect::None);
                for k in 0..3 {
                    // Little: what a server takes is what it completes.
                    let capacity = f64::from(uneven.channels[k]) * uneven.service_rates[k];
                    assert_near(
                        2.0 * solved.server_share[k],
                        capacity * solved.utilisation[k],
                        1e-14,
                    );
                }
            }
        }
    }

    #[test]
    fn equal_servers_share_equally() {
        let fair = [
            LossPolicy::Coin(vec![0.5; 2]),
            LossPolicy::Trigger,
            LossPolicy::Alternate { flip_on_refusal: true },
            LossPolicy::Alternate { flip_on_refusal: false },
        ];
        for policy in fair {
            for redirect in REDIRECTS {
                let solved =
                    network(&[3, 3], 15.0, 80.0, redirect, policy.clone()).solve().unwrap();
                assert_near(solved.server_share[0], solved.server_share[1], 1e-14);
                assert_near(solved.utilisation[0], solved.utilisation[1], 1e-14);
            }
        }
    }

    #[test]
    fn the_split_without_redirection_loses_the_known_fraction() {
        let solved = two_unequal(1.0, 0.6, LossRedirect::None);
        assert_near(solved.refusals, 0.252747, 5e-7);
        // Two Erlang B of one channel: θ·θλ/(θλ + μ₁) + (1 − θ)·(1 − θ)λ/((1 − θ)λ + μ₂) = 0.36/2.6 + 0.16/1.4.
        assert_near(solved.refusals, 0.36 / 2.6 + 0.16 / 1.4, 1e-15);
    }

    #[test]
    fn the_split_loses_least_at_two_thirds_at_any_load() {
        for arrival_rate in [0.01, 0.3, 1.0, 5.0, 100.0] {
            let loss = |theta| two_unequal(arrival_rate, theta, LossRedirect::None).refusals;
            let best = loss(2.0 / 3.0);
            for i in 0..=300 {
                let theta = f64::from(i) / 300.0;
                assert!(i == 200 || loss(theta) > best, "λ = {arrival_rate}, θ = {theta}");
            }
        }
    }

    #[test]
    fn the_split_with_redirection_is_the_chain_of_four_states_solved_by_hand() {
        // Unnormalised, with p₁₁ = 1 and s = p₁₀ + p₀₁ = (μ₁ + μ₂)/λ from the balance of state 11:
        //   p₁₀(λ + μ₁) = λθ·p₀₀ + μ₂,  p₀₁(λ + μ₂) = λ(1 − θ)·p₀₀ + μ₁.
        // (1 − θ) times the first less θ times the second leaves p₁₀; the balance of 00 gives p₀₀.
        for (arrival, theta) in [(1.0, 0.6), (0.2, 0.1), (7.0, 0.9)] {
            let s = 3.0 / arrival;
            let p10: f64 = (theta * s * (arrival + 1.0) + (1.0 - theta) - theta * 2.0)
                / ((1.0 - theta) * (arrival + 2.0) + theta * (arrival + 1.0));
            let p01 = s - p10;
            let p00 = (2.0 * p10 + p01) / arrival;
            let total = p00 + s + 1.0;
            for redirect in REDIRECTS {
                let solved = two_unequal(arrival, theta, redirect);
                assert_near(solved.refusals, 1.0 / total, 1e-14);
                assert_near(solved.errors, (theta * p10 + (1.0 - theta) * p01) / total, 1e-14);
                assert_near(solved.utilisation[0], (p10 + 1.0) / total, 1e-14);
                assert_near(solved.switches, 2.0 * theta * (1.0 - theta), 1e-14);
            }
        }
        let solved = two_unequal(1.0, 0.6, LossRedirect::Next);
        assert_near(solved.refusals, 6.0 / 49.0, 1e-15);
        assert_near(solved.errors, 43.0 / 245.0, 1e-15);
    }

    #[test]
    fn a_policy_switches_when_its_rule_says_so() {
        for redirect in REDIRECTS {
            let solve = |policy| network(&[1, 2, 2], 15.0, 60.0, redirect, policy).solve().unwrap();
            let trigger = solve(LossPolicy::Trigger);
            assert_near(trigger.switches, trigger.errors, 1e-15);
            let flips = solve(LossPolicy::Alternate { flip_on_refusal: true });
            assert_near(flips.switches, 1.0, 1e-14);
            let stays = solve(LossPolicy::Alternate { flip_on_refusal: false });
            assert_near(stays.switches, 1.0 - stays.refusals, 1e-14);
        }
    }

    #[test]
    fn errors_are_those_of_the_chain_solved_in_rational_numbers() {
        // Channels 2/4, λ = 1/15; the balance equations solved apart from this crate in exact fractions.
        let [trigger, flips, stays] = [
            LossPolicy::Trigger,
            LossPolicy::Alternate { flip_on_refusal: true },
            LossPolicy::Alternate { flip_on_refusal: false },
        ];
        let errors = |second: f64, policy: &LossPolicy| {
            let mut uneven = network(&[2, 4], 15.0, 80.0, LossRedirect::Next, policy.clone());
            uneven.service_rates[1] = 1.0 / second;
            uneven.solve().unwrap().errors
        };
        assert_near(errors(80.0, &trigger), 0.20716684338885097, 1e-15);
        assert_near(errors(20.0, &trigger), 0.043067421467189684, 1e-15);
        assert_near(errors(20.0, &flips), 0.2228444828065366, 1e-15);
        assert_near(errors(20.0, &stays), 0.2228328026364378, 1e-15);
        // With equal rates it is either server's turn equally often when all are full, so flipping there changes nothing.
        assert_near(errors(80.0, &flips), 0.17000258074183724, 1e-15);
        assert_near(errors(80.0, &stays), 0.17000258074183724, 1e-15);
    }

    #[test]
    fn without_redirection_servers_are_apart() {
        // A coin splits the stream into Poisson streams; a trigger never leaves server 0.
        let coin =
            network(&[2, 4], 15.0, 80.0, LossRedirect::None, LossPolicy::Coin(vec![0.25, 0.75]));
        let lost = 0.25 * erlang_b(2, 0.25 * 80.0 / 15.0) + 0.75 * erlang_b(4, 0.75 * 80.0 / 15.0);
        assert_near(coin.solve().unwrap().refusals, lost, 1e-14);
        let trigger = network(&[2, 4], 15.0, 80.0, LossRedirect::None, LossPolicy::Trigger);
        let solved = trigger.solve().unwrap();
        assert_near(solved.refusals, erlang_b(2, 80.0 / 15.0), 1e-14);
        assert_eq!((solved.server_share[1], solved.switches), (0.0, 0.0));
    }

    #[test]
    fn a_sure_coin_fills_one_server_and_then_the_other() {
        // Errors of a coin that always names server 0 are its Erlang B, less what all refuse.
        let sure =
            network(&[2, 4], 15.0, 80.0, LossRedirect::Next, LossPolicy::Coin(vec![1.0, 0.0]));
        let solved = sure.solve().unwrap();
        let a = 80.0 / 15.0;
        assert_near(solved.errors, erlang_b(2, a) - erlang_b(6, a), 1e-14);
        assert_eq!(solved.switches, 0.0);
    }

    #[test]
    fn a_trigger_that_hardly_ever_errs_is_solved_to_rounding() {
        // Full servers are as rare as 1e-9, so which of them is current changes hardly ever.
        let rare =
            network(&[20, 20], 1.0, 2.0, LossRedirect::Next, LossPolicy::Trigger).solve().unwrap();
        assert_near(rare.server_share[0], 0.5, 1e-13);
        assert_near(rare.refusals / erlang_b(40, 2.0), 1.0, 1e-12);
    }

    #[test]
    fn three_servers_of_many_channels_are_solved_by_sweeps() {
        // 3·21³ states, more than a band allows.
        let wide = network(&[20, 20, 20], 15.0, 900.0, LossRedirect::Random, LossPolicy::Trigger);
        let solved = wide.solve().unwrap();
        assert_near(solved.refusals, erlang_b(60, 60.0), 1e-12);
        assert_near(solved.server_share[0], solved.server_share[2], 1e-12);
    }

    #[test]
    fn what_cannot_be_solved_is_an_error_with_its_reason() {
        let good = network(&[2, 4], 15.0, 80.0, LossRedirect::Next, LossPolicy::Trigger);
        let reason = |bad: LossNetwork| bad.solve().unwrap_err().to_string();
        assert_eq!(
            LossNetwork { channels: vec![1_000, 1_000], ..good.clone() }.solve(),
            Err(Unsolved::Chain(ChainError::TooManyStates { limit: 200_000 }))
        );
        assert_eq!(
            reason(LossNetwork { channels: vec![2, 0], ..good.clone() }),
            "a loss router has at least one server, and each server at least one channel"
        );
        assert_eq!(
            reason(LossNetwork { service_rates: vec![1.0], ..good.clone() }),
            "service rates are 1, but there are 2 servers"
        );
        assert_eq!(
            reason(LossNetwork { arrival_rate: 0.0, ..good.clone() }),
            "a rate is 0; rates are finite and above 0"
        );
        assert_eq!(
            reason(LossNetwork { policy: LossPolicy::Coin(vec![0.5, 0.6]), ..good.clone() }),
            "the coin's probabilities [0.5, 0.6] are not in [0, 1] with sum 1"
        );
        assert!(
            reason(LossNetwork { policy: LossPolicy::Coin(vec![1.0]), ..good })
                .contains("are 1, but")
        );
    }
}

/// A discrete-event simulation of the loss router that shares no line with the theory or with the models.
mod simulation {
    use super::*;

    /// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators" (2014).
    struct SplitMix64(u64);

    impl SplitMix64 {
        /// Returns a number in [0, 1).
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn exponential(&mut self, rate: f64) -> f64 {
            -(1.0 - self.unit()).ln() / rate
        }
    }

    const WARM_UP: u32 = 500;
    const ARRIVALS: u32 = 8_000;

    /// Runs one replication; returns fractions in the order of [`responses`], without the utilisations.
    fn run(network: &LossNetwork, random: &mut SplitMix64) -> Vec<f64> {
        let n = network.channels.len();
        let mut departures: Vec<Vec<f64>> = vec![Vec::new(); n];
        let (mut now, mut current, mut previous) = (0.0, 0, None);
        let (mut errors, mut refusals, mut switches) = (0, 0, 0);
        let mut taken = vec![0; n];
        for arrival in 0..WARM_UP + ARRIVALS {
            now += random.exponential(network.arrival_rate);
            departures.iter_mut().for_each(|server| server.retain(|&time| time > now));
            let room: Vec<usize> =
                (0..n).map(|k| network.channels[k] as usize - departures[k].len()).collect();
            if let LossPolicy::Coin(p) = &network.policy {
                let mut u = random.unit();
                current = 0;
                while current + 1 < n && u >= p[current] {
                    u -= p[current];
                    current += 1;
                }
            }
            let attempted = current;
            let open: Vec<usize> = (0..n).filter(|&k| k != attempted && room[k] > 0).collect();
            let taker = if room[attempted] > 0 {
                Some(attempted)
            } else if open.is_empty() {
                None
            } else {
                match network.redirect {
                    LossRedirect::None => None,
                    LossRedirect::Next => {
                        Some(*open.iter().find(|&&k| k > attempted).unwrap_or(&open[0]))
                    }
                    LossRedirect::Random => {
                        Some(open[(random.unit() * open.len() as f64) as usize])
                    }
                    LossRedirect::MostFree => {
                        let most = open.iter().map(|&k| room[k]).max().unwrap();
                        open.iter().copied().find(|&k| room[k] == most)
                    }
                }
            };
            if let Some(k) = taker {
                departures[k].push(now + random.exponential(network.service_rates[k]));
            }
            if arrival >= WARM_UP {
                errors += u32::from(taker.is_some_and(|k| k != attempted));
                refusals += u32::from(taker.is_none());
                switches += u32::from(previous != Some(attempted));
                if let Some(k) = taker {
                    taken[k] += 1;
                }
            }
            previous = Some(attempted);
            match network.policy {
                LossPolicy::Coin(_) => {}
                LossPolicy::Trigger => current = taker.unwrap_or(attempted),
                LossPolicy::Alternate { flip_on_refusal } => {
                    if flip_on_refusal || taker.is_some() {
                        current = if attempted == n - 1 { 0 } else { attempted + 1 };
                    }
                }
            }
        }
        let counts = [errors, refusals, switches].into_iter().chain(taken);
        counts.map(|count| f64::from(count) / f64::from(ARRIVALS)).collect()
    }

    /// Returns the figures of theory in the order of [`run`].
    fn responses(figures: &LossFigures) -> Vec<f64> {
        let mut all = vec![figures.errors, figures.refusals, figures.switches];
        all.extend(&figures.server_share);
        all
    }

    /// Asserts |z| < 4 for each figure: with 60 replications a false alarm has probability 2e-4 a figure.
    fn agrees(network: &LossNetwork, seed: u64) {
        const RUNS: usize = 60;
        let mut random = SplitMix64(seed);
        let runs: Vec<Vec<f64>> = (0..RUNS).map(|_| run(network, &mut random)).collect();
        for (i, truth) in responses(&network.solve().unwrap()).into_iter().enumerate() {
            let mean = runs.iter().map(|run| run[i]).sum::<f64>() / RUNS as f64;
            let squares: f64 = runs.iter().map(|run| (run[i] - mean).powi(2)).sum();
            let se = (squares / (RUNS * (RUNS - 1)) as f64).sqrt();
            // A figure that doesn't vary, such as the switches of an alternation, is known exactly.
            let off = (mean - truth).abs();
            assert!(
                off <= 4.0 * se + 1e-12,
                "{network:?}: figure {i} is {mean} ± {se}, not {truth}"
            );
        }
    }

    #[test]
    fn two_servers_agree_under_every_policy() {
        let policies = [
            LossPolicy::Coin(vec![1.0 / 3.0, 2.0 / 3.0]),
            LossPolicy::Trigger,
            LossPolicy::Alternate { flip_on_refusal: true },
            LossPolicy::Alternate { flip_on_refusal: false },
        ];
        for (seed, policy) in policies.into_iter().enumerate() {
            agrees(&network(&[2, 4], 15.0, 80.0, LossRedirect::Next, policy), seed as u64);
        }
    }

    #[test]
    fn three_servers_agree_under_every_policy_and_redirection() {
        let mut seed = 100;
        for redirect in REDIRECTS.into_iter().chain([LossRedirect::None]) {
            for policy in policies(3) {
                let uneven = LossNetwork {
                    channels: vec![2, 1, 3],
                    arrival_rate: 1.0 / 15.0,
                    service_rates: vec![1.0 / 60.0, 1.0 / 20.0, 1.0 / 80.0],
                    redirect,
                    policy,
                };
                agrees(&uneven, seed);
                seed += 1;
            }
        }
    }
}
