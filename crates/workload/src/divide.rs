//! Division that is fast for powers of two, which most divisors are.

/// Returns quotient and remainder of `n` by `by`. A 64-bit division takes up to 18 cycles, and finding where a block lies needs several in sequence;
/// sizes of blocks are usually powers of two, for which a shift is enough.
#[inline]
pub fn divided(n: u64, by: u64) -> (u64, u64) {
    if by.is_power_of_two() { (n >> by.trailing_zeros(), n & (by - 1)) } else { (n / by, n % by) }
}

#[cfg(test)]
mod tests {
    use super::divided;

    #[test]
    fn it_is_the_quotient_and_the_rest() {
        for by in [1, 2, 3, 7, 512, 4096, 20_480, 1 << 63, u64::MAX] {
            for n in [0, 1, 2, 4095, 4096, 4097, 1 << 40, (1 << 40) + 4095, u64::MAX] {
                assert_eq!(divided(n, by), (n / by, n % by), "{n} by {by}");
            }
        }
    }
}
