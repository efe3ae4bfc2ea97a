//! The loss router with the run-limited theta policy, rule j, written the obvious way: departure
//! times in vectors that are scanned for a free channel, times drawn by `rand_distr` from one
//! stream. It shares no code with the product: a yardstick for its speed and its numbers.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use rand_pcg::Pcg32;

pub struct Setting {
    pub channels: [usize; 2],
    pub service: f64,
    pub alpha: f64,
    pub max_run: u32,
}

pub struct Counts {
    pub arrivals: u64,
    pub errors: u64,
    pub refusals: u64,
}

fn positive(poisson: &Poisson<f64>, rng: &mut Pcg32) -> f64 {
    loop {
        let value: f64 = poisson.sample(rng);
        if value >= 1.0 {
            return value;
        }
    }
}

fn free(server: &[f64], now: f64) -> Option<usize> {
    server.iter().position(|&departure| departure <= now)
}

/// Runs to 1 000 000 ticks with a mean of 15 between requests.
pub fn replicate(setting: &Setting, seed: u64) -> Counts {
    let mut rng = Pcg32::seed_from_u64(seed);
    let interarrival = Poisson::new(15.0).expect("15 is a mean");
    let service = Poisson::new(setting.service).expect("the service time is a mean");
    let mut servers = setting.channels.map(|channels| vec![0.0; channels]);
    let mut theta = 1.0 / 3.0;
    let (mut last, mut run) = (0, 0);
    let mut counts = Counts { arrivals: 0, errors: 0, refusals: 0 };
    let mut now = 0.0;
    loop {
        now += positive(&interarrival, &mut rng);
        if now > 1e6 {
            return counts;
        }
        counts.arrivals += 1;
        let departure = now + positive(&service, &mut rng);
        let mut server = if rng.random::<f64>() < theta { 0 } else { 1 };
        if run >= setting.max_run && server == last {
            server = 1 - server;
        }
        run = if server == last { run + 1 } else { 1 };
        last = server;
        let other = 1 - server;
        if let Some(channel) = free(&servers[server], now) {
            servers[server][channel] = departure;
        } else if let Some(channel) = free(&servers[other], now) {
            servers[other][channel] = departure;
            counts.errors += 1;
            theta += if other == 0 { setting.alpha } else { -setting.alpha };
            theta = f64::clamp(theta, 0.01, 0.99);
        } else {
            counts.refusals += 1;
        }
    }
}
