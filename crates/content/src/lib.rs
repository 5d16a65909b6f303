//! What written bytes are: content ids, duplicates, compressible textures.
#![forbid(unsafe_code)]
