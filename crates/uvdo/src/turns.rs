//! Turns: clients take turns, and the wishes of each client take turns among themselves.

use std::collections::VecDeque;

/// The order in which wishes get their turns.
#[derive(Debug, Default)]
pub struct Turns {
    clients: VecDeque<(u64, VecDeque<u64>)>,
}

impl Turns {
    /// Puts a wish behind the others of its client.
    pub fn join(&mut self, client: u64, wish: u64) {
        match self.clients.iter_mut().find(|(known, _)| *known == client) {
            Some((_, wishes)) => wishes.push_back(wish),
            None => self.clients.push_back((client, VecDeque::from([wish]))),
        }
    }

    /// Tells if nobody waits for a turn.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Gives the next wish a turn. If `take` returns true, the wish gets another turn behind the others.
    pub fn give(&mut self, take: impl FnOnce(u64) -> bool) {
        let Some((client, mut wishes)) = self.clients.pop_front() else { return };
        if let Some(wish) = wishes.pop_front()
            && take(wish)
        {
            wishes.push_back(wish);
        }
        if !wishes.is_empty() {
            self.clients.push_back((client, wishes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_take_turns_and_of_each_client_its_wishes() {
        let mut turns = Turns::default();
        [(1, 10), (1, 11), (1, 12), (2, 20)].into_iter().for_each(|(c, w)| turns.join(c, w));
        let mut given = Vec::new();
        for round in 0..8 {
            turns.give(|wish| {
                given.push(wish);
                wish != 20 || round < 2
            });
        }
        assert_eq!(given, [10, 20, 11, 20, 12, 10, 11, 12]);
        while !turns.is_empty() {
            turns.give(|_| false);
        }
    }
}
