//! Templates, and the quoting filter of every target language.
pub mod linux;
