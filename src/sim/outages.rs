//! When servers fail and are repaired.

use crate::rng::{Draw, Exponential, Pcg32};

/// A time that a server is down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    pub server: u32,
    /// When it fails [time units].
    pub from: f64,
    /// When it is repaired.
    pub to: f64,
}

/// Failures by chance: up and down in turns, for exponential times.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdowns {
    /// Mean time from a repair to the next failure [time units].
    pub mtbf: f64,
    /// Mean time from a failure to the repair.
    pub mttr: f64,
    /// The servers that fail, rising; none is all.
    pub servers: Option<Vec<u32>>,
}

/// The failures and repairs of all servers, as they come.
///
/// Times by chance are drawn when the one before has come, so in order of time whatever jobs do.
#[derive(Clone, Debug)]
pub struct Outages {
    /// For each server the times of failures and repairs in turns, the last one first.
    listed: Vec<Vec<f64>>,
    breakdowns: Option<(Breakdowns, Pcg32)>,
}

impl Outages {
    /// Returns the outages of so many servers; nothing if there are none. Those listed must not
    /// overlap in a server, and one of no length is none.
    pub fn new(
        servers: usize,
        listed: &[Outage],
        random: Option<(Breakdowns, Pcg32)>,
    ) -> Option<Outages> {
        let mut rising: Vec<Outage> =
            listed.iter().copied().filter(|outage| outage.to > outage.from).collect();
        if rising.is_empty() && random.is_none() {
            return None;
        }
        rising.sort_by(|a, b| a.from.total_cmp(&b.from));
        let mut listed = vec![Vec::new(); servers];
        for outage in rising.iter().rev() {
            if let Some(times) = listed.get_mut(outage.server as usize) {
                times.extend([outage.to, outage.from]);
            }
        }
        Some(Outages { listed, breakdowns: random })
    }

    /// Returns when a server fails that is up now, or is repaired that is down, if it does.
    pub(super) fn next(&mut self, server: usize, is_up: bool, now: f64) -> Option<f64> {
        if let Some(time) = self.listed.get_mut(server).and_then(Vec::pop) {
            return Some(time);
        }
        let (breakdowns, stream) = self.breakdowns.as_mut()?;
        let fails = |servers: &Vec<u32>| servers.binary_search(&(server as u32)).is_ok();
        if !breakdowns.servers.as_ref().is_none_or(fails) {
            return None;
        }
        let mean = if is_up { breakdowns.mtbf } else { breakdowns.mttr };
        Some(now + Exponential { mean }.draw(stream))
    }
}
