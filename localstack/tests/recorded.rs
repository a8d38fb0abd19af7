//! The recorded workflows through the real command: to the end, and with
//! `kill -9` at random moments. Needs the recordings (feature `recorded`).

mod process;

use everlog_testing::plans::{RECORDINGS, recorded};
use process::{killed, proven, run};

#[tokio::test]
async fn every_recorded_workflow_runs_to_its_end_without_a_spare_attempt() {
    for name in RECORDINGS {
        let file = recorded(name);
        let folder = tempfile::tempdir().expect("a folder");
        let db = folder.path().join("everlog.db");
        let status = run(&db, &file, 0.0).status().expect("it runs");
        assert!(status.success(), "{name}");
        assert_eq!(proven(&db, &file).await, 0, "{name}");
    }
}

#[tokio::test]
async fn montage_survives_20_kills() {
    killed(&recorded("montage-chameleon-2mass-05d-001.json"), 20, 1).await;
}

#[tokio::test]
async fn bwa_survives_20_kills() {
    killed(&recorded("bwa-chameleon-large-002.json"), 20, 2).await;
}

#[tokio::test]
async fn each_of_the_others_survives_3_kills() {
    for name in &RECORDINGS[..6] {
        killed(&recorded(name), 3, 3).await;
    }
}
