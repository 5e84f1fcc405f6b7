//! The json sink.
