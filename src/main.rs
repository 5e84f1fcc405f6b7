//! Arguments in, exit code out.

fn main() -> std::process::ExitCode {
    wdev::cli::main().into()
}
