//! What is done.
