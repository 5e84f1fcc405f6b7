//! stub
use std::collections::BTreeMap;
use crate::error::Result;
/// s
pub fn facts() -> Result<String> { Ok(String::new()) }
/// s
pub fn swap() -> Result<String> { Ok(String::new()) }
/// s
pub fn hook(t: &str) -> Result<String> { Ok(t.to_owned()) }
/// s
pub fn hosts(e: &[(String, String)]) -> Result<String> { Ok(format!("{e:?}")) }
/// s
pub fn kernel(m: &[&str], s: &BTreeMap<String, String>) -> Result<String> { Ok(format!("{m:?}{s:?}")) }
