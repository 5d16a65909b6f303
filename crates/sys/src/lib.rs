//! Safe wrappers over the kernel, the clock, and the interrupt.
