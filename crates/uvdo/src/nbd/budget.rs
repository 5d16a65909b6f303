//! A bound for the memory that requests of one client take.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that may still be taken.
pub struct Budget {
    left: Mutex<u64>,
    more: Condvar,
}

impl Budget {
    /// Creates a budget of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: Mutex::new(bytes), more: Condvar::new() }
    }

    /// Takes bytes; waits until enough are left.
    pub fn take(&self, bytes: u64) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.more.wait_while(left, |left| *left < bytes);
        *wait.unwrap_or_else(PoisonError::into_inner) -= bytes;
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: u64) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        self.more.notify_one();
    }
}
