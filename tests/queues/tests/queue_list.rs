//! The list, on every SQS that is there.

fn main() -> std::process::ExitCode {
    everlog_queue_tests::main()
}
