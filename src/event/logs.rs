//! The logs sink.
