//! The data-reduction core: zero blocks, fingerprints, LZ4 sizes, space accounting.
