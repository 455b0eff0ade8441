//! Two probes and the link between them: the one that answers, and the one that measures.

pub mod link;
