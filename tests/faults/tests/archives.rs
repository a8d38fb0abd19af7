//! Archives: a history goes out and comes back whole, or not at all.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog::answer::Reply;
use everlog::archive::{self, Archive, ArchiveError, Imported};
use everlog::command::{Reopen, Start};
use everlog::fleet::Function;
use everlog::id::{CommandId, Namespace, WorkflowId};
use everlog::journal::JournalError;
use everlog::query::list::{self, ListQuery};
use everlog::store::{self, Address};
use everlog_local::transport::Handler;
use everlog_testing::cuts::{Cut, cutting};
use everlog_testing::plans;
use everlog_testing::world::{EPOCH, command};
use everlog_testing::{Rng, Step, World};
use serde_json::{Value, json};

/// A driven workflow of two runs with labels, a timer that fires, an attempt,
/// and a failed end.
async fn driven(world: &World) {
    let act = json!([{ "node": "act", "type": "work", "input": "aGk=" }]);
    let labels = json!({ "type": "poller", "display_name": "Ada's", "attributes": { "n": 1 } });
    let timer = json!([{ "timer": "t", "fire_at": EPOCH.0 + 60_000 }]);
    let mut head = None;
    for (id, verb, mut content) in [
        ("c-1", "start", labels),
        ("c-2", "append", json!({ "prepare": act, "timers": timer })),
        ("c-3", "append", json!({ "continue_as_new": {} })),
        ("c-4", "append", json!({ "close": { "ending": "failed" } })),
    ] {
        if let Some(head) = head {
            content["expected_seq"] = json!(head);
        }
        let body = command(id, "w", verb, content).to_string();
        let answer = world.observer.direct(Function::Append, &body).await.expect("an answer");
        assert_eq!(answer.reply, Reply::Committed, "{id}");
        head = answer.head;
    }
}

/// A planned workflow whose plan is too large for its start, carried to its end.
async fn planned(world: &World) {
    let layers = plans::layers(&[1, 400, 1], 0.0).to_string();
    let spec = everlog_local::plan_file::parse("layers.json", &layers).expect("a plan");
    let start = everlog_testing::scenes::start_of(world, &spec).await;
    assert!(start.get("stored_plan").is_some(), "it is stored in chunks");
    let steps =
        [Step::Command(Function::Append, command("c-1", "w", "start", start)), Step::Closed("w")];
    let cutter = everlog_testing::cuts::Cutter::new(None);
    world.play(&cutter, &steps, 3_600).await;
}

async fn exported(world: &World) -> String {
    let (key, loaded) = world.load("w").await;
    let mut out = Vec::new();
    let written = archive::export(world.observer.journal(), &key, &loaded, &mut out).await;
    written.expect("an archive");
    String::from_utf8(out).expect("text")
}

fn read(text: &str) -> Result<Archive, ArchiveError> {
    archive::read(text.as_bytes())
}

async fn import(world: &World, text: &str) -> Result<Imported, ArchiveError> {
    archive::import(world.observer.journal(), &read(text)?).await
}

/// The lines that do not name the life.
fn body(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[1..lines.len() - 1].to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_history_that_was_exported_and_imported_is_the_same_byte_for_byte() {
    let (one, two) = (World::new().await, World::new().await);
    driven(&one).await;
    planned(&two).await;
    for world in [one, two] {
        let text = exported(&world).await;
        let other = World::new().await;
        let imported = import(&other, &text).await.expect("imported");
        assert!(!imported.unchanged);
        let again = exported(&other).await;
        assert_eq!(body(&text), body(&again));
        let (_, loaded) = other.load("w").await;
        let (_, original) = world.load("w").await;
        assert_eq!(loaded.state.head, original.state.head);
        assert_eq!(loaded.state.ending(), original.state.ending());
        let listed = async |world: &World| {
            let page = list::list(world.observer.journal(), &ListQuery::default()).await;
            page.expect("a list").value.items
        };
        assert_eq!(listed(&other).await, listed(&world).await, "the list shows it alike");
        let same = import(&other, &text).await.expect("the repeat");
        assert_eq!(same, Imported { unchanged: true, ..imported });
        let alarm = other.card("w").await.expect("a card").1.alarm_at;
        assert_eq!(alarm, None, "what has ended needs no look");
    }
}

#[tokio::test(start_paused = true)]
async fn an_imported_run_can_be_reopened_and_goes_on() {
    let (world, other) = (World::new().await, World::new().await);
    driven(&world).await;
    import(&other, &exported(&world).await).await.expect("imported");
    let (_, recorder) = store::open(other.instance(other.direct()).await);
    let of = Address::new(Namespace::default(), WorkflowId::new("w").expect("an id"));
    let id = CommandId::new("r").expect("an id");
    recorder.reopen(id, &of, Reopen::default()).await.expect("reopened");
    let act = json!({ "expected_seq": 7, "prepare": [{ "node": "act", "type": "work" }] });
    let id = CommandId::new("p").expect("an id");
    let act = serde_json::from_value(act).expect("an append");
    recorder.append(id, &of, act).await.expect("it takes work");
}

#[tokio::test(start_paused = true)]
async fn an_archive_that_is_cut_changed_or_mixed_is_refused_with_the_line() {
    let world = World::new().await;
    driven(&world).await;
    let text = exported(&world).await;
    let lines: Vec<&str> = text.lines().collect();
    let line_of = |text: &str| match read(text) {
        Err(ArchiveError::Invalid { line, .. }) => line,
        other => panic!("{other:?}"),
    };
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for cut in 0..lines.len() {
        assert_eq!(line_of(&joined(&lines[..cut])), cut + 1, "cut before line {cut}");
    }
    for left_out in 1..lines.len() - 1 {
        let rest = [&lines[..left_out], &lines[left_out + 1..]].concat();
        let line = line_of(&joined(&rest));
        assert!(line == left_out + 1 || line == rest.len(), "{left_out} left out: {line}");
    }
    for at in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[at] ^= 1;
        match archive::read(&changed[..]) {
            Err(ArchiveError::Invalid { .. }) => {}
            Ok(same) => assert_eq!(same, read(&text).expect("an archive"), "byte {at}"),
            Err(other) => panic!("byte {at}: {other:?}"),
        }
    }
    assert_eq!(line_of(&format!("{text}{{}}\n")), lines.len() + 1, "more after its end");
    let newer = text.replacen("{\"export\":1", "{\"export\":2", 1);
    assert_eq!(line_of(&newer), 1);
    for garbage in ["", "garbage", "[]", "{}\n", "\u{0}\n\u{0}"] {
        assert_eq!(line_of(garbage), 1, "{garbage:?}");
    }
    let (_, card) = world.card("w").await.expect("a card");
    let import = import(&World::new().await, &joined(&lines[..2])).await;
    assert!(matches!(import, Err(ArchiveError::Invalid { line: 3, .. })), "{import:?} {card:?}");
}

/// The same archive with another hash at its end, as somebody would write it who
/// knows how.
fn sealed(lines: &[String]) -> String {
    use sha2::{Digest, Sha256};
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{text}{{\"end\":\"{hash}\"}}\n")
}

#[tokio::test(start_paused = true)]
async fn a_history_that_is_whole_as_a_file_but_does_not_fold_is_refused_before_any_write() {
    let world = World::new().await;
    driven(&world).await;
    let text = exported(&world).await;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let other = World::new().await;
    let edited = |edit: &dyn Fn(usize, &mut Value)| {
        let mut lines = lines[..lines.len() - 1].to_vec();
        for (at, line) in lines.iter_mut().enumerate() {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            edit(at, &mut value);
            *line = value.to_string();
        }
        sealed(&lines)
    };
    let frame_of =
        |at: usize| serde_json::from_str::<Value>(&lines[at]).expect("JSON")["frame"].clone();
    let twice = edited(&|at, value| {
        if at == 2 {
            value["frame"] = frame_of(1);
        }
    });
    let other_head = edited(&|at, value| {
        if at == 0 {
            value["head"] = json!(99);
        }
    });
    let too_large = edited(&|at, value| {
        if at == 2 {
            value["frame"] = json!("AAAA".repeat(200_000));
        }
    });
    for wrong in [&twice, &other_head, &too_large] {
        let refused = import(&other, wrong).await;
        let folds = matches!(&refused, Err(ArchiveError::DoesNotFold(JournalError::Damaged(_))));
        assert!(folds, "{refused:?}");
    }
    assert!(other.card("w").await.is_none(), "nothing was written");
    let same = edited(&|_, _| {});
    import(&other, &same).await.expect("and what folds is taken");
}

#[tokio::test(start_paused = true)]
async fn what_is_open_or_stands_there_already_is_not_imported() {
    let world = World::new().await;
    let start = command("c-1", "w", "start", json!({})).to_string();
    world.observer.direct(Function::Append, &start).await.expect("an answer");
    let open = exported(&world).await;
    let other = World::new().await;
    let refused = import(&other, &open).await;
    assert!(matches!(refused, Err(ArchiveError::NotEnded("running"))), "{refused:?}");
    assert!(other.card("w").await.is_none());
    driven(&other).await;
    let ended = exported(&other).await;
    let refused = import(&world, &ended).await;
    assert!(matches!(refused, Err(ArchiveError::Exists { .. })), "{refused:?}");
    let (_, loaded) = world.load("w").await;
    assert_eq!(loaded.state.head, 1, "what stood there is as it was");
}

#[tokio::test(start_paused = true)]
async fn an_import_that_is_cut_at_any_write_leaves_nothing_or_all_and_its_repeat_all() {
    let world = World::new().await;
    driven(&world).await;
    let text = exported(&world).await;
    let archive = read(&text).expect("an archive");
    let whole = World::new().await;
    let (handler, writes) = cutting(whole.direct(), usize::MAX, Cut::DiesBefore);
    let journal = whole.instance(handler).await.journal().clone();
    writes.store(0, Ordering::SeqCst);
    archive::import(&journal, &archive).await.expect("imported");
    let writes = writes.load(Ordering::SeqCst);
    assert!(writes > archive.commits(), "each commit and the card: {writes}");
    for at in 0..writes {
        for cut in Cut::ALL {
            let world = World::new().await;
            let (handler, _) = cutting(world.direct(), at, cut);
            let journal = world.instance(handler).await.journal().clone();
            let ended = archive::import(&journal, &archive).await;
            let stands = world.card("w").await.is_some();
            if ended.is_ok() || !cut.kills() {
                assert!(ended.is_ok() && stands, "write {at}, {cut:?}: {ended:?}");
            }
            if stands {
                assert_eq!(body(&exported(&world).await), body(&text), "write {at}, {cut:?}");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            let again = import(&world, &text).await.expect("the repeat");
            assert_eq!(again.unchanged, stands, "write {at}, {cut:?}");
            assert_eq!(body(&exported(&world).await), body(&text), "write {at}, {cut:?}");
        }
    }
}

/// A way to the engines that takes up to 10 ms.
fn slow(world: &World, seed: u64) -> Handler {
    let (inner, rng) = (world.direct(), Mutex::new(Rng::new(seed)));
    Arc::new(move |call| {
        let wait_ms = rng.lock().map_or(0, |mut rng| rng.number() % 10);
        let answer = inner(call);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            answer.await
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_start_against_an_import_leaves_one_of_them_whole() {
    let world = World::new().await;
    driven(&world).await;
    let text = exported(&world).await;
    let archive = read(&text).expect("an archive");
    let (mut imported, mut started) = (0, 0);
    for round in 0..200_u64 {
        let world = World::new().await;
        let journal = world.instance(slow(&world, round)).await.journal().clone();
        let (_, recorder) = store::open(world.instance(slow(&world, !round)).await);
        let of = Address::new(Namespace::default(), WorkflowId::new("w").expect("an id"));
        let late = Duration::from_millis(round % 60);
        let (a, b) = tokio::join!(archive::import(&journal, &archive), async {
            tokio::time::sleep(late).await;
            recorder.start(CommandId::new("s").expect("an id"), &of, Start::default()).await
        });
        match (a, b) {
            (Ok(_), Err(_)) => {
                imported += 1;
                assert_eq!(body(&exported(&world).await), body(&text), "round {round}");
            }
            (Err(ArchiveError::Exists { .. }), Ok(_)) => {
                started += 1;
                assert_eq!(world.load("w").await.1.state.head, 1, "round {round}");
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert!(imported > 0 && started > 0, "{imported} imported, {started} started");
}

#[tokio::test(start_paused = true)]
async fn two_imports_at_once_leave_one_whole_history() {
    let world = World::new().await;
    driven(&world).await;
    let text = exported(&world).await;
    let archive = read(&text).expect("an archive");
    for round in 0..200 {
        let world = World::new().await;
        let one = world.instance(slow(&world, round)).await;
        let two = world.instance(slow(&world, !round)).await;
        let (a, b) = tokio::join!(
            archive::import(one.journal(), &archive),
            archive::import(two.journal(), &archive),
        );
        let done = [&a, &b].iter().filter(|ended| ended.is_ok()).count();
        assert!(done >= 1, "round {round}: {a:?} {b:?}");
        for ended in [a, b] {
            assert!(matches!(ended, Ok(_) | Err(ArchiveError::Exists { .. })), "{ended:?}");
        }
        assert_eq!(body(&exported(&world).await), body(&text), "round {round}");
        assert!(import(&world, &text).await.expect("the repeat").unchanged);
    }
}

#[tokio::test(start_paused = true)]
async fn two_archives_of_which_one_goes_on_where_the_other_ends_never_mix() {
    let world = World::new().await;
    driven(&world).await;
    let short = exported(&world).await;
    let (_, recorder) = store::open(world.instance(world.direct()).await);
    let of = Address::new(Namespace::default(), WorkflowId::new("w").expect("an id"));
    let id = CommandId::new("r").expect("an id");
    recorder.reopen(id, &of, Reopen::default()).await.expect("reopened");
    let cancel = command("c-9", "w", "cancel", json!({})).to_string();
    world.observer.direct(Function::Append, &cancel).await.expect("an answer");
    let long = exported(&world).await;
    let archives = (read(&short).expect("an archive"), read(&long).expect("an archive"));
    assert!(archives.1.commits() > archives.0.commits());
    for round in 0..200_u64 {
        let world = World::new().await;
        let dies = usize::try_from(round).unwrap_or(0) % (archives.1.commits() + 4);
        let (handler, _) = cutting(slow(&world, round), dies, Cut::DiesAfter);
        let one = world.instance(slow(&world, !round)).await;
        let two = world.instance(handler).await;
        let (a, b) = tokio::join!(
            archive::import(one.journal(), &archives.0),
            archive::import(two.journal(), &archives.1),
        );
        let stands = exported(&world).await;
        let wanted = if body(&stands) == body(&short) { a } else { b };
        assert!(body(&stands) == body(&short) || body(&stands) == body(&long), "round {round}");
        let died = matches!(wanted, Err(ArchiveError::Journal(_)));
        assert!(wanted.is_ok() || died, "round {round}: {wanted:?}");
    }
}
