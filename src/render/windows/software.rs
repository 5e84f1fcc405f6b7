//! The bodies of the steps that install the container runtime and Kubernetes on Windows nodes.
//!
//! They find the file of each artifact in [`CACHE`] under the artifact's name, and are given its SHA-256 as
//! the secret `sha256_NAME`, with underscores for hyphens: it is not always known when they are rendered.

use serde::Serialize;

use super::body;
use crate::error::Result;

/// Where the files of artifacts lie on a Windows node, each under its name.
pub const CACHE: &str = r"C:\ProgramData\wdev\cache";

/// What several scripts know of files and programs.
const PROGRAMS: &str = include_str!("../../../powershell/parts/programs.ps1");

/// Fetches the artifacts of these names on the node. The address of each is given to the script as the
/// secret `url_NAME`, with underscores for hyphens. Its probe needs no addresses, and tells which of them
/// are there as the fact `there`: their names, with spaces between them.
///
/// # Errors
/// `Bug` when the data has no JSON form.
pub fn fetch(names: &[&str]) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        cache: &'static str,
        names: &'a [&'a str],
    }
    let script = include_str!("../../../powershell/fetch.ps1");
    body(
        script,
        &[PROGRAMS],
        &Data {
            cache: CACHE,
            names,
        },
    )
}
