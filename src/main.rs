//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // On Windows wdev also runs as its own helper, beside the command line that people use.
    if let Some(done) = wdev::process::helper() {
        return if done {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    wdev::cli::main().into()
}
