//! Rings, buffers, workers, recording and targets of the load.
