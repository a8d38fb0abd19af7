//! The `everlog` command.

fn main() -> std::process::ExitCode {
    everlog_local::cli::main()
}
