//! `variables.yml` to a validated [`Config`], each value with its origin.

pub mod model;

pub use self::model::Config;
