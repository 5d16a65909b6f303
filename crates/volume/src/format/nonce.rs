//! The mark of one volume.

/// 16 random bytes, drawn when a volume is made: bytes of another or an earlier volume are never taken for its own.
pub type Nonce = [u8; 16];
