//! How a plan is carried out.
