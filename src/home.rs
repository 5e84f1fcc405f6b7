//! Where things are on disk.
