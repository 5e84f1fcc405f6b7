//! YAML and JSON texts of the user's, changed in one place and left as they are everywhere else.

pub mod edit;
pub(crate) mod text;
pub mod tree;
