//! A worker that polls: redelivery, death, bounds, stopping.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everlog::worker::{Output, Task};
use everlog_local::stack;
use everlog_sqs::OutgoingMessage;
use serde_json::json;
use tokio::sync::Notify;

use crate::scene::{Done, Scene, losing, outliving, pass};

/// A handler that notes the dispatch keys that it was given.
fn noting(
    keys: &Arc<Mutex<Vec<String>>>,
) -> impl Fn(Task, everlog::worker::Context) -> std::future::Ready<Done> + use<> {
    let keys = keys.clone();
    move |_, context| {
        keys.lock().expect("no panic holds it").push(context.idempotency_key().to_string());
        std::future::ready(Ok(Output::NONE))
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_between_settle_and_delete_performs_again_under_the_same_key() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let keys = Arc::default();
    let (handler, _) = losing(&scene.direct, |call| call.target.ends_with(".DeleteMessage"));
    let first = scene.worker("w-1", &handler, noting(&keys)).await;
    let serving = scene.serve(&first, &handler);
    assert_eq!(scene.ending(10).await, "completed");
    drop(serving);
    let second = scene.worker("w-2", &scene.direct, noting(&keys)).await;
    let _serving = scene.serve(&second, &scene.direct);
    pass(90).await;
    let keys = keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 2, "performed at least once");
    assert_eq!(keys[0], keys[1]);
    assert_eq!(scene.outcomes().await, ["succeeded"], "recorded once");
    assert_eq!(scene.depth().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_dispatch_that_comes_again_to_the_same_worker_runs_once() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let keys = Arc::default();
    let worker = scene.worker("w-1", &scene.direct, noting(&keys)).await;
    let message = &scene.receive().await[0];
    let url = stack::queue_url("default");
    for _ in 0..3 {
        let copy = OutgoingMessage::new(message.body.to_string());
        scene.world.backend.sqs().send(&url, copy).await.unwrap();
    }
    let _serving = scene.serve(&worker, &scene.direct);
    assert_eq!(scene.ending(10).await, "completed");
    pass(90).await;
    assert_eq!(keys.lock().unwrap().len(), 1);
    assert_eq!(scene.depth().await, 1, "the first copy is still hidden by whoever took it");
}

#[tokio::test(start_paused = true)]
async fn a_message_stays_hidden_for_as_long_as_its_handler_runs() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let work = move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async {
            pass(3_600).await;
            Ok(Output::NONE)
        }
    };
    let one = scene.worker("w-1", &scene.direct, work.clone()).await;
    let two = scene.worker("w-2", &scene.direct, work).await;
    let _serving = (scene.serve(&one, &scene.direct), scene.serve(&two, &scene.direct));
    assert_eq!(scene.ending(4_000).await, "completed");
    // The alarm hands it over again after 15 minutes only without a sign of life.
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(scene.depth().await, 0);
}

#[tokio::test(start_paused = true)]
async fn no_more_handlers_run_than_allowed_and_none_stands_idle() {
    let scene = Scene::new().await;
    let tasks: Vec<_> = (0..40).map(|n| json!({ "id": format!("t{n}") })).collect();
    scene.start(json!(tasks)).await;
    let (live, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (live.clone(), most.clone());
    let work = move |_, _| {
        let (live, most) = (counted.clone(), highest.clone());
        async move {
            most.fetch_max(live.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pass(10).await;
            live.fetch_sub(1, Ordering::SeqCst);
            Ok(Output::NONE)
        }
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let begun = tokio::time::Instant::now();
    let _serving = scene.serve(&worker, &scene.direct);
    assert_eq!(scene.ending(300).await, "completed");
    assert_eq!(most.load(Ordering::SeqCst), 4);
    assert!(begun.elapsed() < Duration::from_secs(110), "{:?} for 100 s of work", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stop_settles_what_ends_in_time_gives_back_what_does_not_and_ends_what_has_a_receipt() {
    let scene = Scene::new().await;
    scene
        .start(json!([
            { "id": "short", "input": 8 },
            { "id": "long", "input": 3_600 },
            { "id": "watched", "input": 3_600, "timeouts": { "start_to_close_ms": 7_200_000 } },
        ]))
        .await;
    let work = async |task: Task, _| {
        pass(task.input()?).await;
        Ok(Output::NONE)
    };
    let worker = scene.worker("w-1", &scene.direct, work).await;
    let stop = Arc::new(Notify::new());
    let (stopped, queue) = (stop.clone(), scene.queue(&scene.direct));
    let served = tokio::spawn(async move {
        worker
            .serve(&queue, 4, async move { stopped.notified().await }, Duration::from_secs(10))
            .await;
    });
    pass(2).await;
    stop.notify_one();
    let begun = tokio::time::Instant::now();
    served.await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(14), "{:?}", begun.elapsed());
    let given_back = scene.receive().await;
    assert_eq!(given_back.len(), 1, "visible at once");
    assert_eq!(Scene::dispatch(&given_back[0]).node.as_str(), "long");
    pass(5).await;
    let mut outcomes = scene.outcomes().await;
    outcomes.sort();
    assert_eq!(outcomes, ["failed: out-of-time", "succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_gives_back_what_the_receive_under_way_still_brings() {
    for (grace_s, visible) in [(30, 1), (1, 0)] {
        let scene = Scene::new().await;
        let keys = Arc::default();
        let worker = scene.worker("w-1", &scene.direct, noting(&keys)).await;
        let stop = Arc::new(Notify::new());
        let (stopped, queue) = (stop.clone(), scene.queue(&outliving(&scene.direct)));
        let served = tokio::spawn(async move {
            let stop = async move { stopped.notified().await };
            worker.serve(&queue, 4, stop, Duration::from_secs(grace_s)).await;
        });
        pass(1).await;
        stop.notify_one();
        pass(2).await;
        scene.start(json!([{ "id": "a" }])).await;
        served.await.unwrap();
        pass(1).await;
        assert_eq!(scene.receive().await.len(), visible, "with a grace of {grace_s} s");
        assert!(keys.lock().unwrap().is_empty(), "nothing begins after a stop");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_ends_with_the_wait_of_its_queue() {
    let scene = Scene::new().await;
    for (wait_s, most_s) in [(20, 20), (2, 2)] {
        let worker = scene.worker("w-1", &scene.direct, noting(&Arc::default())).await;
        let queue = scene.queue(&scene.direct).with_wait_s(wait_s);
        let begun = tokio::time::Instant::now();
        worker.serve(&queue, 40, pass(1), Duration::from_secs(60)).await;
        let took = begun.elapsed();
        assert!(took <= Duration::from_secs(most_s + 1), "{took:?} with a wait of {wait_s} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_no_dispatch_goes_to_the_dead_letters_with_the_reason() {
    let scene = Scene::new().await;
    let url = stack::queue_url("default");
    scene.world.backend.sqs().send(&url, OutgoingMessage::new("not a dispatch")).await.unwrap();
    let worker = scene.worker("w-1", &scene.direct, noting(&Arc::default())).await;
    let _serving = scene.serve(&worker, &scene.direct);
    pass(5).await;
    assert_eq!(scene.depth().await, 0);
    assert_eq!(scene.world.depth(&stack::queue_url("dead-letter")).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_does_not_answer_is_asked_again() {
    let scene = Scene::new().await;
    scene.start(json!([{ "id": "a" }])).await;
    let clock = scene.world.backend.clock().clone();
    let until = clock.now().plus_ms(300_000);
    let out = move |call: &everlog_local::transport::Call| {
        call.target.ends_with(".ReceiveMessage") && clock.now() < until
    };
    let (handler, lost) = losing(&scene.direct, out);
    let worker = scene.worker("w-1", &handler, noting(&Arc::default())).await;
    let _serving = scene.serve(&worker, &handler);
    assert_eq!(scene.ending(330).await, "completed");
    let tries = lost.load(Ordering::SeqCst);
    assert!((10..100).contains(&tries), "{tries} tries in five minutes");
}
