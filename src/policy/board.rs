//! A board of the loads of all servers, as they were when it was brought up to date.
//!
//! Any policy that goes by [`Loads`] can go by a board instead. What it asks for stays the same up to
//! the next update, so the servers that answer are kept, and a request costs no look at all of them.

use super::loads::{Load, Loads, Rank, Tie};
use crate::rng::{Pcg32, below};

/// What is written of each server; speeds are known anyway.
#[derive(Clone, Debug, Default)]
pub struct Board {
    servers: Vec<Entry>,
    /// The last question about all servers since the update, and who answers it equally well.
    asked: Option<Question>,
    answer: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    in_system: f64,
    waiting: f64,
    work: f64,
    full: bool,
    speed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Best(Rank),
    Fewer(u32),
}

impl Board {
    /// Returns the board of a system of which it is known that it is empty.
    pub fn empty<S: Loads + ?Sized>(system: &S) -> Board {
        let (in_system, waiting, work, full) = (0.0, 0.0, 0.0, false);
        let entry = |server| Entry { in_system, waiting, work, full, speed: system.speed(server) };
        let servers = (0..system.servers()).map(entry).collect();
        Board { servers, ..Board::default() }
    }

    /// Returns whether nothing has been written.
    pub fn is_blank(&self) -> bool {
        self.servers.is_empty()
    }

    /// Brings it up to date.
    pub fn update<S: Loads + ?Sized>(&mut self, system: &mut S) {
        self.asked = None;
        for (server, entry) in self.servers.iter_mut().enumerate() {
            entry.in_system = system.load(server, Load::InSystem);
            entry.waiting = system.load(server, Load::Waiting);
            entry.work = system.load(server, Load::Work);
            entry.full = system.is_full(server);
        }
    }

    /// Finds out who answers a question, unless that is known.
    fn ask(&mut self, question: Question) {
        if self.asked.replace(question) == Some(question) {
            return;
        }
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        match question {
            Question::Fewer(jobs) => {
                let fewer = |server: &usize| self.servers[*server].in_system < f64::from(jobs);
                answer.extend((0..self.servers.len()).filter(fewer).map(|server| server as u32));
            }
            Question::Best(rank) => self.best_among_all(rank, &mut answer),
        }
        self.answer = answer;
    }

    /// Lists the best of all servers: all equal ones, or the one that a tie goes to.
    fn best_among_all(&mut self, rank: Rank, best: &mut Vec<u32>) {
        let mut least = (true, f64::INFINITY);
        for server in 0..self.servers.len() {
            let key = (!rank.full && self.servers[server].full, self.load(server, rank.load));
            if best.is_empty() || key < least {
                best.clear();
                least = key;
            }
            if key == least {
                best.push(server as u32);
            }
        }
        let speed = |server: u32| self.servers[server as usize].speed;
        match rank.tie {
            Tie::Random => return,
            Tie::First => {}
            // The sort is stable, so of the fastest the first comes first.
            Tie::Fastest => best.sort_by(|&a, &b| speed(b).total_cmp(&speed(a))),
        }
        best.truncate(1);
    }

    /// Draws one of those who answer; one alone needs no draw.
    fn draw(&self, routing: &mut Pcg32) -> Option<usize> {
        match self.answer[..] {
            [] => None,
            [one] => Some(one as usize),
            ref all => Some(all[below(routing, all.len() as u32) as usize] as usize),
        }
    }
}

impl Loads for Board {
    fn servers(&self) -> usize {
        self.servers.len()
    }

    #[inline]
    fn load(&mut self, server: usize, load: Load) -> f64 {
        let entry = &self.servers[server];
        match load {
            Load::InSystem => entry.in_system,
            Load::Waiting => entry.waiting,
            Load::Work => entry.work,
            Load::Delay => (entry.in_system + 1.0) / entry.speed,
        }
    }

    fn is_full(&mut self, server: usize) -> bool {
        self.servers[server].full
    }

    fn speed(&self, server: usize) -> f64 {
        self.servers[server].speed
    }

    fn best_of_all(&mut self, rank: Rank, routing: &mut Pcg32) -> usize {
        self.ask(Question::Best(rank));
        self.draw(routing).unwrap_or(0)
    }

    fn fewer(&mut self, jobs: u32, routing: &mut Pcg32) -> Option<usize> {
        self.ask(Question::Fewer(jobs));
        self.draw(routing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixed::{Fixed, near};

    /// What a board answers has the probabilities of the system's own answers.
    #[test]
    fn a_board_answers_as_the_system_did() {
        let loads = [9.0, 2.0, 1.0, 1.0, 2.0];
        let mut system = Fixed(loads.to_vec());
        let mut board = Board::empty(&system);
        let mut random = Pcg32::new(5, 8);
        let mut shares = |ask: &mut dyn FnMut(&mut Pcg32) -> Option<usize>| {
            let mut counts = [0.0; 5];
            for _ in 0..200_000 {
                counts[ask(&mut random).unwrap()] += 1.0 / 200_000.0;
            }
            counts
        };
        let rank = Rank { load: Load::InSystem, tie: Tie::Random, full: true };
        near(&shares(&mut |random| Some(board.best_of_all(rank, random))), &[0.2; 5]);
        board.update(&mut system);
        system.0 = vec![0.0; 5];
        let two = [0.0, 0.0, 0.5, 0.5, 0.0];
        near(&shares(&mut |random| Some(board.best_of_all(rank, random))), &two);
        near(&shares(&mut |random| board.fewer(2, random)), &two);
        let four = [0.0, 0.25, 0.25, 0.25, 0.25];
        near(&shares(&mut |random| board.fewer(3, random)), &four);
        let mut chosen = |rank| board.best_of_all(rank, &mut random);
        assert_eq!(chosen(Rank { tie: Tie::First, ..rank }), 2);
        assert_eq!(chosen(Rank { tie: Tie::Fastest, ..rank }), 3);
        // Delays are 3/1, 2/2, 2/3 and 3/4.
        assert_eq!(chosen(Rank { load: Load::Delay, ..rank }), 3);
        assert_eq!(board.fewer(1, &mut random), None);
    }

    #[test]
    fn full_servers_are_behind_all_others() {
        let mut system = Fixed(vec![9.0, 10.0]);
        let mut board = Board::empty(&system);
        board.update(&mut system);
        let rank = Rank { load: Load::InSystem, tie: Tie::First, full: false };
        assert_eq!(board.best_of_all(rank, &mut Pcg32::new(5, 8)), 0, "all are full");
        board.servers[1].full = false;
        assert_eq!(board.best_of_all(Rank { full: true, ..rank }, &mut Pcg32::new(5, 8)), 0);
        assert_eq!(board.best_of_all(rank, &mut Pcg32::new(5, 8)), 1);
    }
}
