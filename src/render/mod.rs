//! Everything that wdev writes in another language: the Vagrantfile, shell scripts, configuration.
//!
//! Every template is embedded in the binary. No value reaches a target language except through that
//! language's quoting filter ([`quote`]); `docs/quoting.md` says how that is held.

mod engine;
mod file;
pub mod kubernetes;
pub mod linux;
pub mod linux_cluster;
pub mod quote;
mod templates;
pub mod vagrantfile;
pub mod windows;

pub use engine::render;
pub use file::{Eol, RenderedFile, write_all};
pub use templates::TEMPLATES;
pub use vagrantfile::{MachineModel, StepModel, VagrantfileModel, vagrantfile};
