//! What an engine leaves behind when it is killed in the middle of commits.
//!
//! These tests start a server of their own, kill it by signal 9 and start
//! another one on its port, and on its files where it has files. For the
//! embedded engine `localstack/tests/process` does the same.

use std::net::TcpListener;

use everlog::commit::Commit;
use everlog::journal::{JournalError, Loaded, Put};
use everlog::time::Clock;
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use super::{Bench, SCRIPTS, key, next};
use crate::fact::{Engine, Except, Fact, Seen};
use crate::place::Endpoint;
use crate::script::Server;

/// What a killed engine leaves.
pub(crate) static LEFT: Fact = Fact {
    what: "a log whose engine was killed by signal 9 in the middle of commits and started again",
    aws: "whole",
    except: &[Except { engine: Engine::LocalStack, value: "gone with its table" }],
    note: "DynamoDB Local was started on files again. LocalStack without a token keeps everything in memory; the journal finds no table then and answers *unavailable*, and nobody takes that for an empty log. For the embedded engine `localstack/tests/process` kills the whole process; ministack is not killed.",
};

/// The tests, if servers may be started.
pub(super) fn trials() -> Vec<Trial> {
    let trials = SCRIPTS.into_iter().map(|(place, engine, script)| {
        let name = format!("{place}::a_commit_that_met_a_killed_engine_is_settled_by_the_next");
        Trial::test(name, move || {
            let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
            let seen = Seen::on(engine);
            runtime.block_on(kill_and_settle(engine, script, &seen))?;
            seen.check(&[&LEFT]).map_err(Failed::from)
        })
    });
    if cfg!(feature = "engines") { trials.collect() } else { Vec::new() }
}

async fn start(script: &'static str, port: u16, files: Option<&TempDir>) -> Result<Server, String> {
    let (port, files) = (port.to_string(), files.map(|f| f.path().display().to_string()));
    let started = tokio::task::spawn_blocking(move || {
        let mut arguments = vec!["--port", &port];
        arguments.extend(files.iter().flat_map(|files| ["--data", files.as_str()]));
        Server::start(script, &arguments)
    });
    started.await.map_err(|e| e.to_string())?
}

/// Commits until the engine is killed under it; what was acknowledged, and the
/// commit that met the kill.
async fn commit_until_killed(bench: &Bench, server: &Server) -> (Loaded, Commit, JournalError) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    loop {
        if loaded.state.commit == 100 {
            server.kill();
        }
        let commit = next(&loaded, &[3; 300]);
        let number = loaded.state.commit + 1;
        match journal.put(&key, &loaded, number, &commit).await {
            Ok((Put::Landed, bytes)) => {
                journal.fold(&key, &mut loaded, number, &commit, bytes).await.expect("it folds");
            }
            Ok((Put::Lost(_), _)) => panic!("there is one committer"),
            Err(error) => return (loaded, commit, error),
        }
    }
}

async fn kill_and_settle(engine: Engine, script: &'static str, seen: &Seen) -> Result<(), String> {
    let files = match engine {
        Engine::DynamoDbLocal => Some(TempDir::new().map_err(|e| e.to_string())?),
        _ => None,
    };
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let port = port.map_err(|e| e.to_string())?.port();
    let server = start(script, port, files.as_ref()).await?;
    let endpoint = Endpoint::Url(server.url().to_owned());
    let bench = Bench::new(endpoint, Clock::System, "killed", seen.clone()).await?;
    let (loaded, commit, error) = commit_until_killed(&bench, &server).await;
    assert!(matches!(error, JournalError::OutcomeUnknown(_)), "{error}");
    drop(server);

    let _server = start(script, port, files.as_ref()).await?;
    let (journal, key) = (bench.journal(), key("w"));
    let number = loaded.state.commit + 1;
    match journal.put(&key, &loaded, number, &commit).await {
        Ok((Put::Landed, _)) => {
            let all = journal.commits_from(&key, 1, |_, _| false).await.expect("a log");
            let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (1..=number).collect::<Vec<u64>>(), "all that was acknowledged");
            assert_eq!(all.last().map(|(_, last)| last), Some(&commit));
            seen.fact(&LEFT, "whole");
        }
        Err(JournalError::Unavailable(why)) if why.contains("ResourceNotFoundException") => {
            seen.fact(&LEFT, "gone with its table");
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}
