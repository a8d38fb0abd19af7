//! FIFO queues: order, locks and turns of groups.

use crate::setup::*;
use everlog_sqs::{Config, Engine, ErrorKind, OutgoingMessage};

#[tokio::test(start_paused = true)]
async fn group_is_received_in_order() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for body in ["1", "2", "3"] {
        send_in(&engine, &url, "g", body).await;
    }
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn sequence_numbers_grow_in_the_order_of_sends() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let mut last = String::new();
    for number in 0..20 {
        let message = OutgoingMessage::new("x").in_group("g", number.to_string());
        let sequence = engine.send(&url, message).await.unwrap().sequence_number.unwrap();
        assert_eq!(sequence.len(), 20);
        assert!(sequence > last);
        last = sequence;
    }
}

#[tokio::test(start_paused = true)]
async fn group_is_locked_while_a_message_is_in_flight() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "1").await;
    send_in(&engine, &url, "g", "2").await;
    let first = poll_for(&engine, &url, 1, 30).await.remove(0);
    assert!(poll(&engine, &url, 30).await.is_empty());
    engine.delete(&url, &first.receipt_handle).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn message_sent_to_a_locked_group_waits() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "g", "1").await;
    let first = poll_one(&engine, &url, 30).await;
    send_in(&engine, &url, "g", "2").await;
    assert!(poll(&engine, &url, 30).await.is_empty());
    engine.delete(&url, &first.receipt_handle).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn group_stays_locked_until_its_last_message_is_out_of_flight() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for body in ["1", "2", "3"] {
        send_in(&engine, &url, "g", body).await;
    }
    let pair = poll_for(&engine, &url, 2, 30).await;
    engine.delete(&url, &pair[0].receipt_handle).await.unwrap();
    assert!(poll(&engine, &url, 30).await.is_empty());
    engine.delete(&url, &pair[1].receipt_handle).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["3"]);
}

#[tokio::test(start_paused = true)]
async fn timed_out_group_is_received_again_in_order() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for body in ["1", "2", "3"] {
        send_in(&engine, &url, "g", body).await;
    }
    poll_for(&engine, &url, 2, 30).await;
    advance_s(30).await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn released_head_waits_for_the_rest_of_its_batch() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for body in ["1", "2"] {
        send_in(&engine, &url, "g", body).await;
    }
    let pair = poll(&engine, &url, 30).await;
    engine.change_visibility(&url, &pair[0].receipt_handle, 0).await.unwrap();
    assert!(poll(&engine, &url, 30).await.is_empty());
    engine.change_visibility(&url, &pair[1].receipt_handle, 0).await.unwrap();
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn extended_message_keeps_its_group_locked() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for body in ["1", "2"] {
        send_in(&engine, &url, "g", body).await;
    }
    let first = poll_for(&engine, &url, 1, 10).await.remove(0);
    engine.change_visibility(&url, &first.receipt_handle, 100).await.unwrap();
    advance_s(99).await;
    assert!(poll(&engine, &url, 30).await.is_empty());
    advance_s(1).await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn locked_group_does_not_hold_up_another() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "a", "a1").await;
    send_in(&engine, &url, "a", "a2").await;
    send_in(&engine, &url, "b", "b1").await;
    poll_for(&engine, &url, 1, 30).await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["b1"]);
}

#[tokio::test(start_paused = true)]
async fn receive_fills_up_from_one_group_and_then_the_next() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for number in 0..3 {
        send_in(&engine, &url, "a", &format!("a{number}")).await;
        send_in(&engine, &url, "b", &format!("b{number}")).await;
    }
    let received = poll_for(&engine, &url, 5, 30).await;
    assert_eq!(bodies(&received), ["a0", "a1", "a2", "b0", "b1"]);
}

#[tokio::test(start_paused = true)]
async fn groups_take_turns() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    for number in 0..50 {
        send_in(&engine, &url, "loud", &format!("l{number}")).await;
    }
    send_in(&engine, &url, "quiet", "q").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let message = poll_for(&engine, &url, 1, 30).await.remove(0);
        engine.delete(&url, &message.receipt_handle).await.unwrap();
        seen.push(message.body.to_string());
    }
    assert_eq!(seen, ["l0", "q", "l1"]);
}

#[tokio::test(start_paused = true)]
async fn group_whose_head_fails_again_and_again_takes_its_turn() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "poison", "p").await;
    send_in(&engine, &url, "good", "g").await;
    let poison = poll_for(&engine, &url, 1, 30).await.remove(0);
    engine.change_visibility(&url, &poison.receipt_handle, 0).await.unwrap();
    assert_eq!(bodies(&poll_for(&engine, &url, 1, 30).await), ["g"]);
}

#[tokio::test(start_paused = true)]
async fn group_that_gets_more_messages_keeps_its_turn() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    send_in(&engine, &url, "a", "a1").await;
    send_in(&engine, &url, "b", "b1").await;
    send_in(&engine, &url, "a", "a2").await;
    assert_eq!(bodies(&poll_for(&engine, &url, 1, 30).await), ["a1"]);
}

#[tokio::test(start_paused = true)]
async fn send_without_a_group_is_refused() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let message =
        OutgoingMessage { deduplication_id: Some("1".into()), ..OutgoingMessage::new("a") };
    assert_eq!(kind(engine.send(&url, message).await), ErrorKind::MissingParameter);
}

#[tokio::test(start_paused = true)]
async fn group_and_deduplication_ids_have_128_graphic_characters_at_most() {
    let engine = engine();
    let url = fifo(&engine, &[]).await;
    let longest = "g".repeat(128);
    engine.send(&url, OutgoingMessage::new("a").in_group(&longest, &longest)).await.unwrap();
    for wrong in ["", "a b", "ä", &"g".repeat(129)] {
        for message in [
            OutgoingMessage::new("a").in_group(wrong, "1"),
            OutgoingMessage::new("a").in_group("g", wrong),
        ] {
            let refused = engine.send(&url, message).await;
            assert_eq!(kind(refused), ErrorKind::InvalidParameterValue, "{wrong}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn group_on_a_standard_queue_is_a_label() {
    let engine = engine();
    let url = standard(&engine, &[]).await;
    for body in ["1", "2"] {
        let message = OutgoingMessage { group_id: Some("g".into()), ..OutgoingMessage::new(body) };
        engine.send(&url, message).await.unwrap();
    }
    let first = poll_for(&engine, &url, 1, 30).await.remove(0);
    assert_eq!(first.group_id.as_deref(), Some("g"));
    assert_eq!(poll(&engine, &url, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn group_behind_the_window_waits_until_the_backlog_before_it_shrinks() {
    let config = Config { fifo_window: 5, ..Config::new(EPOCH_MS, BASE_URL) };
    let engine = Engine::new(config);
    let url = fifo(&engine, &[]).await;
    for number in 0..6 {
        send_in(&engine, &url, "backlog", &format!("b{number}")).await;
    }
    send_in(&engine, &url, "free", "f").await;
    let head = poll_for(&engine, &url, 1, 600).await.remove(0);
    assert!(poll(&engine, &url, 30).await.is_empty(), "the free group is behind the window");
    engine.delete(&url, &head.receipt_handle).await.unwrap();
    let head = poll_for(&engine, &url, 1, 600).await.remove(0);
    assert!(poll(&engine, &url, 30).await.is_empty(), "and still one behind it");
    engine.delete(&url, &head.receipt_handle).await.unwrap();
    let head = poll_for(&engine, &url, 1, 600).await.remove(0);
    assert_eq!(&*head.body, "b2");
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["f"]);
}

#[tokio::test(start_paused = true)]
async fn purged_fifo_queue_starts_afresh() {
    let config = Config { fifo_window: 2, ..Config::new(EPOCH_MS, BASE_URL) };
    let engine = Engine::new(config);
    let url = fifo(&engine, &[]).await;
    for number in 0..6 {
        send_in(&engine, &url, "g", &number.to_string()).await;
    }
    poll_for(&engine, &url, 1, 600).await;
    engine.purge(&url).await.unwrap();
    assert!(poll(&engine, &url, 30).await.is_empty());
    send_in(&engine, &url, "g", "new").await;
    assert_eq!(bodies(&poll(&engine, &url, 30).await), ["new"]);
}
