//! The terminal sink.
