//! Packages: whole with their route or not at all, whatever is lost or dies.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use everlog::fleet::Function;
use everlog::id::{PackageHash, WorkflowType};
use everlog::journal::{Journal, JournalError, PACKAGE_BYTES_MAX, PackageError};
use everlog::limits::CHUNK_BYTES_MAX;
use everlog::message::Dispatch;
use everlog_local::stack;
use everlog_local::transport::Handler;
use everlog_sqs::Receive;
use everlog_testing::cuts::{Cut, cutting};
use everlog_testing::world::command;
use everlog_testing::{Rng, World};
use serde_json::json;

fn order() -> WorkflowType {
    WorkflowType::new("order").expect("an id")
}

/// Bytes that no other seed has.
fn archive(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.number().to_be_bytes()[0]).collect()
}

async fn journal(world: &World, handler: Handler) -> Journal {
    world.instance(handler).await.journal().clone()
}

#[tokio::test(start_paused = true)]
async fn an_archive_of_any_size_up_to_50_mb_is_stored_with_its_route_and_read_back() {
    let world = World::new().await;
    let journal = world.observer.journal();
    assert_eq!(journal.route(&order()).await.expect("a read"), None);
    for (seed, len) in [1, CHUNK_BYTES_MAX, CHUNK_BYTES_MAX + 1, 3_000_000].into_iter().enumerate()
    {
        let bytes = archive(seed as u64, len);
        let package = journal.put_package(&order(), &bytes).await.expect("stored");
        assert_eq!((package.bytes, package.hash), (len as u64, PackageHash::of(&bytes)));
        assert_eq!(journal.route(&order()).await.expect("a read"), Some(package.hash));
        assert_eq!(journal.package(&order(), package.hash).await.expect("a read"), bytes);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let listed = journal.packages().await.expect("a list");
    let sizes: Vec<u64> = listed.iter().map(|package| package.bytes).collect();
    let sizes_max = CHUNK_BYTES_MAX as u64;
    assert_eq!(sizes, [3_000_000, sizes_max + 1, sizes_max, 1], "the last deployed first");
    let routed: Vec<bool> = listed.iter().map(|package| package.routed).collect();
    assert_eq!(routed, [true, false, false, false]);
    let largest = vec![7; PACKAGE_BYTES_MAX];
    let package = journal.put_package(&order(), &largest).await.expect("stored");
    assert_eq!(journal.package(&order(), package.hash).await.expect("a read"), largest);
    for wrong in [0, PACKAGE_BYTES_MAX + 1] {
        let refused = journal.put_package(&order(), &vec![7; wrong]).await;
        assert_eq!(refused, Err(PackageError::Size(wrong)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_archive_that_is_put_again_replaces_and_leaves_no_chunk_behind() {
    let world = World::new().await;
    let journal = world.observer.journal();
    let (one, two) = (archive(1, 1_000_000), archive(2, 10));
    let first = journal.put_package(&order(), &one).await.expect("stored");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let other = journal.put_package(&order(), &two).await.expect("stored");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let again = journal.put_package(&order(), &one).await.expect("stored");
    assert!(again.deployed_at > first.deployed_at);
    let listed = journal.packages().await.expect("a list");
    let hashes: Vec<PackageHash> = listed.iter().map(|package| package.hash).collect();
    assert_eq!(hashes, [first.hash, other.hash]);
    assert_eq!(journal.package(&order(), first.hash).await.expect("a read"), one);
    tokio::time::sleep(Duration::from_secs(2 * 86_400)).await;
    let left = journal.tidy_packages(&order(), first.hash).await.expect("tidied");
    assert_eq!(left, 0, "the replaced upload was removed at once");
}

#[tokio::test(start_paused = true)]
async fn a_delete_is_exact_idempotent_and_leaves_routes() {
    let world = World::new().await;
    let journal = world.observer.journal();
    let one = journal.put_package(&order(), b"one").await.expect("stored");
    let two = journal.put_package(&order(), b"two").await.expect("stored");
    assert!(journal.delete_package(&order(), two.hash).await.expect("deleted"));
    assert!(!journal.delete_package(&order(), two.hash).await.expect("no harm"));
    assert_eq!(journal.route(&order()).await.expect("a read"), Some(two.hash));
    let gone = journal.package(&order(), two.hash).await;
    assert_eq!(gone, Err(PackageError::NotFound));
    assert_eq!(journal.package(&order(), one.hash).await.expect("a read"), b"one");
    let gone = journal.set_route(&order(), two.hash).await;
    assert_eq!(gone, Err(PackageError::NotFound));
    journal.set_route(&order(), one.hash).await.expect("a roll-back");
    assert_eq!(journal.route(&order()).await.expect("a read"), Some(one.hash));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_comes_late_does_not_take_the_route_back() {
    let world = World::new().await;
    let inner = world.direct();
    let slow: Handler = Arc::new(move |call| {
        let inner = inner.clone();
        Box::pin(async move {
            if call.target.ends_with("UpdateItem") {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            inner(call).await
        })
    });
    let slow = journal(&world, slow).await;
    let (kind, quick) = (order(), world.observer.journal());
    let (late, newer) = tokio::join!(slow.put_package(&kind, b"old"), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        quick.put_package(&kind, b"new").await
    });
    let newer = newer.expect("stored");
    assert_eq!(late, Err(PackageError::Superseded(newer.deployed_at)));
    assert_eq!(quick.route(&kind).await.expect("a read"), Some(newer.hash));
    let old = PackageHash::of(b"old");
    assert_eq!(quick.package(&kind, old).await.expect("it is stored"), b"old");
}

#[tokio::test(start_paused = true)]
async fn a_put_that_is_cut_at_any_write_leaves_the_old_or_the_new_and_its_repeat_the_new() {
    let (old, new) = (archive(1, 10), archive(2, 2 * CHUNK_BYTES_MAX + 1));
    let (old_hash, new_hash) = (PackageHash::of(&old), PackageHash::of(&new));
    for at in 0..4 {
        for cut in Cut::ALL {
            let world = World::new().await;
            let whole = world.observer.journal();
            whole.put_package(&order(), &old).await.expect("stored");
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (handler, count) = cutting(world.direct(), at, cut);
            let put = journal(&world, handler).await.put_package(&order(), &new).await;
            assert!(count.load(Ordering::SeqCst) > at, "write {at} is there to be cut");
            assert_eq!(put.is_ok(), !cut.kills(), "write {at}, {cut:?}: {put:?}");
            let route = whole.route(&order()).await.expect("a read").expect("a route");
            assert!([old_hash, new_hash].contains(&route), "write {at}, {cut:?}");
            let routed = whole.package(&order(), route).await.expect("what is routed is whole");
            assert_eq!(PackageHash::of(&routed), route);
            assert_eq!(whole.package(&order(), old_hash).await.expect("the old stays"), old);
            tokio::time::sleep(Duration::from_secs(1)).await;
            whole.put_package(&order(), &new).await.expect("the repeat");
            assert_eq!(whole.route(&order()).await.expect("a read"), Some(new_hash));
            assert_eq!(whole.package(&order(), new_hash).await.expect("a read"), new);
            let tidied = whole.tidy_packages(&order(), new_hash).await.expect("tidied");
            assert_eq!(tidied, 0, "an upload of today may be under way");
            tokio::time::sleep(Duration::from_secs(2 * 86_400)).await;
            whole.tidy_packages(&order(), new_hash).await.expect("tidied");
            assert_eq!(whole.package(&order(), new_hash).await.expect("a read"), new);
            let tidied = whole.tidy_packages(&order(), new_hash).await.expect("tidied");
            assert_eq!(tidied, 0, "nothing is left to tidy");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_is_cut_at_any_write_removes_the_version_or_leaves_it_whole() {
    let bytes = archive(3, 2 * CHUNK_BYTES_MAX + 1);
    let hash = PackageHash::of(&bytes);
    for at in 0..4 {
        for cut in Cut::ALL {
            let world = World::new().await;
            let whole = world.observer.journal();
            whole.put_package(&order(), &bytes).await.expect("stored");
            let (handler, _) = cutting(world.direct(), at, cut);
            let _ = journal(&world, handler).await.delete_package(&order(), hash).await;
            match whole.package(&order(), hash).await {
                Ok(found) => assert_eq!(found, bytes, "write {at}, {cut:?}"),
                Err(error) => assert_eq!(error, PackageError::NotFound, "write {at}, {cut:?}"),
            }
            whole.delete_package(&order(), hash).await.expect("the repeat");
            assert_eq!(whole.package(&order(), hash).await, Err(PackageError::NotFound));
            tokio::time::sleep(Duration::from_secs(2 * 86_400)).await;
            whole.tidy_packages(&order(), hash).await.expect("tidied");
            let left = whole.tidy_packages(&order(), hash).await.expect("tidied");
            assert_eq!(left, 0, "write {at}, {cut:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_put_one_archive_at_once_leave_one_version_that_is_whole() {
    for round in 0..20 {
        let world = World::new().await;
        let bytes = archive(round, CHUNK_BYTES_MAX + 1);
        let (one, two) =
            (journal(&world, world.direct()).await, journal(&world, world.direct()).await);
        let (kind, hash) = (order(), PackageHash::of(&bytes));
        let (a, b) = tokio::join!(one.put_package(&kind, &bytes), two.put_package(&kind, &bytes));
        for ended in [a, b] {
            assert!(
                matches!(&ended, Ok(_) | Err(PackageError::Superseded(_))),
                "round {round}: {ended:?}"
            );
        }
        assert_eq!(one.package(&kind, hash).await.expect("a read"), bytes);
        assert_eq!(one.packages().await.expect("a list").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_chunk_that_is_gone_is_damage_and_never_a_shorter_archive() {
    let world = World::new().await;
    let bytes = archive(4, 2 * CHUNK_BYTES_MAX);
    let journal = world.observer.journal();
    let hash = journal.put_package(&order(), &bytes).await.expect("stored").hash;
    let inner = world.direct();
    let hiding: Handler = Arc::new(move |call| {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        let second = call.target.ends_with("GetItem") && body.contains("#0001");
        let inner = inner.clone();
        Box::pin(async move {
            let mut answer = inner(call).await?;
            if second {
                answer.body = b"{}".to_vec();
            }
            Ok(answer)
        })
    });
    let hiding = world.instance(hiding).await.journal().clone();
    let damaged = hiding.package(&order(), hash).await;
    assert!(matches!(damaged, Err(PackageError::Journal(JournalError::Damaged(_)))), "{damaged:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dispatch_says_the_package_of_its_run() {
    let world = World::new().await;
    let package = world.observer.journal().put_package(&order(), b"code").await.expect("stored");
    let act = json!([{ "node": "act", "type": "work" }]);
    for (id, verb, content) in [
        ("c-1", "start", json!({ "type": "order", "package": package.hash })),
        ("c-2", "append", json!({ "expected_seq": 1, "prepare": act })),
    ] {
        let body = command(id, "w", verb, content).to_string();
        world.observer.direct(Function::Append, &body).await.expect("an answer");
    }
    let receive = Receive { max_messages: 10, wait_s: Some(0), visibility_s: Some(60) };
    let url = stack::queue_url("default");
    let messages = world.backend.sqs().receive(&url, receive).await.expect("a queue");
    let dispatch: Dispatch = serde_json::from_str(&messages[0].body).expect("a dispatch");
    assert_eq!(dispatch.package, Some(package.hash));
}
