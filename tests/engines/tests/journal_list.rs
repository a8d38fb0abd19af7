//! The journal's list, on every engine that is there.

fn main() -> std::process::ExitCode {
    everlog_engine_tests::journal::main()
}
