//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // On Windows wdev also starts itself to press Ctrl-C at another console.
    if let Some(done) = wdev::process::press_ctrl_c() {
        return if done {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    wdev::cli::main().into()
}
