//! The plain sink.
