//! What has a fixed form: blocks, half-blocks, keys and signatures, and the sizes that were published.

mod block;
mod crypto;
mod half_block;
mod published_sizes;
