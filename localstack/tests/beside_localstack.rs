//! A fleet beside LocalStack, as `localstack.sh run` makes it: DynamoDB and SQS
//! by LocalStack, the functions in a process of their own.
//!
//! It starts the script as a user does. What is missing on this machine is said
//! by the script, and fails the test.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

const PLAN: &str = "name: order
tasks:
- id: reserve
  command: echo 7
- id: cool-off
  after: [reserve]
  sleep_ms: 1500
- id: ship
  after: [reserve, cool-off]
  outputs_of: [reserve]
  command: cat
";

#[test]
fn a_fleet_beside_localstack_carries_a_workflow_to_its_end_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("order.yaml");
    std::fs::write(&plan, PLAN).expect("a plan");
    let everlog = env!("CARGO_BIN_EXE_everlog");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("localstack.sh");
    let ended = Command::new(&script)
        .args(["run", "--", everlog, "run"])
        .arg(&plan)
        .env("EVERLOG_COMMAND", everlog)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("the script starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{}\n{said}", ended.status);
    assert!(said.contains("completed: 3 tasks, 2 attempts"), "{said}");
    let url = said.lines().find_map(|line| line.strip_prefix("export AWS_ENDPOINT_URL=http://"));
    let address = url.expect("the script says where it is");
    assert!(TcpStream::connect(address).is_err(), "something still listens on {address}");
}
