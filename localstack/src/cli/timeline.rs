//! `everlog show` for people: what it is, what is under way, and when each
//! task ran.

use std::collections::BTreeMap;

use everlog::commit::Commit;
use everlog::event::{Event, Outcome, Target, TimerKey};
use everlog::query::WorkflowView;
use everlog::state::State;
use everlog::time::Timestamp;

/// Columns of a bar.
const WIDTH: usize = 50;
/// Tasks that are shown unless all are asked for.
const TASKS_MAX: usize = 40;

/// One try of a task: from, to, and the letter that fills its bar.
type Span = (Timestamp, Timestamp, char);

/// An instant as people read it, in UTC.
pub(super) fn instant(at: Timestamp) -> String {
    let seconds = i64::try_from(at.0 / 1_000).unwrap_or(0);
    let date = aws_smithy_types::DateTime::from_secs(seconds);
    let text = date.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap_or_default();
    text.trim_end_matches('Z').replace('T', " ")
}

fn labels(view: &WorkflowView) {
    if view.legal_hold {
        println!("legal hold   not to be deleted");
    }
    if let Some(at) = view.expires_at {
        println!("expires      {}", instant(at));
    }
    if let Some(name) = &view.display_name {
        println!("name         {name}");
    }
    if let Some(parent) = &view.parent {
        println!("parent       {parent}");
    }
    for (name, value) in &view.attributes {
        println!("attribute    {name} = {value}");
    }
}

/// Prints a workflow.
pub(super) fn print(
    view: &WorkflowView,
    state: &State,
    commits: &[(u64, Commit)],
    now: Timestamp,
    all: bool,
) {
    println!("workflow     {}", view.workflow);
    println!("status       {}", view.status);
    if let Some(kind) = &view.workflow_type {
        println!("type         {kind}");
    }
    labels(view);
    println!("incarnation  {}", view.incarnation);
    if let Some(started) = view.started_at {
        let until = view.closed_at.unwrap_or(now);
        println!(
            "started      {}  ({:.1} s)",
            instant(started),
            until.since(started) as f64 / 1_000.0
        );
    }
    println!(
        "history      {} events in {} commits, {} attempts",
        view.head, view.commit, view.attempts_ever
    );
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &view.nodes {
        *phases.entry(node.phase).or_default() += 1;
    }
    if !phases.is_empty() {
        let parts: Vec<String> = phases.iter().map(|(phase, n)| format!("{n} {phase}")).collect();
        println!("tasks        {}", parts.join(", "));
    }
    for attempt in &view.attempts {
        let worker = attempt.worker.as_deref().unwrap_or("-");
        println!("attempt      {} #{} {} {worker}", attempt.node, attempt.attempt, attempt.stage);
    }
    let spans = spans(state, commits, view.closed_at.unwrap_or(now));
    bars(&spans, view.started_at.unwrap_or_default(), view.closed_at.unwrap_or(now), all);
}

/// When each task ran, by name.
fn spans(state: &State, commits: &[(u64, Commit)], until: Timestamp) -> Vec<(String, Vec<Span>)> {
    let mut open: BTreeMap<Target, Timestamp> = BTreeMap::new();
    let mut order: Vec<Target> = Vec::new();
    let mut spans: BTreeMap<Target, Vec<Span>> = BTreeMap::new();
    for (_, commit) in commits {
        for event in &commit.events {
            let (target, ends, begins) = match event {
                Event::Prepared(target, _, not_before, _) => {
                    (target.clone(), None, Some(not_before.unwrap_or(commit.time)))
                }
                Event::Settled(target, _, outcome, retry_at) => {
                    let letter =
                        if matches!(outcome, Outcome::Succeeded(_)) { '█' } else { '▒' };
                    (target.clone(), Some(letter), *retry_at)
                }
                Event::TimerArmed(TimerKey::Node(at), _) | Event::Listening(at, _) => {
                    (Target::Planned(*at), None, Some(commit.time))
                }
                Event::TimerFired(TimerKey::Node(at)) | Event::WaitEnded(at, _) => {
                    (Target::Planned(*at), Some('·'), None)
                }
                _ => continue,
            };
            if let (Some(letter), Some(from)) = (ends, open.remove(&target)) {
                spans.entry(target.clone()).or_default().push((from, commit.time, letter));
            }
            if let Some(from) = begins {
                if !order.contains(&target) && order.len() < 100_000 {
                    order.push(target.clone());
                }
                open.insert(target, from);
            }
        }
    }
    for (target, from) in open {
        spans.entry(target).or_default().push((from, until.max(from), '░'));
    }
    let named = order.into_iter().map(|target| {
        let spans = spans.remove(&target).unwrap_or_default();
        (state.node_id(&target).to_string(), spans)
    });
    named.collect()
}

fn bars(spans: &[(String, Vec<Span>)], from: Timestamp, until: Timestamp, all: bool) {
    let shown = if all { spans.len() } else { spans.len().min(TASKS_MAX) };
    if shown == 0 {
        return;
    }
    let total = until.since(from).max(1);
    let column = |at: Timestamp| {
        usize::try_from(at.since(from) * WIDTH as u64 / total).unwrap_or(WIDTH).min(WIDTH - 1)
    };
    let width =
        spans[..shown].iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(32);
    println!();
    for (name, spans) in &spans[..shown] {
        let mut bar = vec![' '; WIDTH];
        for (begin, end, letter) in spans {
            bar[column(*begin)..=column(*end).max(column(*begin))].fill(*letter);
        }
        let name: String = name.chars().take(width).collect();
        let bar: String = bar.into_iter().collect();
        let took: u64 = spans.iter().map(|(begin, end, _)| end.since(*begin)).sum();
        println!("{name:width$}  {bar}  {:>8.2} s", took as f64 / 1_000.0);
    }
    if shown < spans.len() {
        println!("… and {} more tasks (--all shows them)", spans.len() - shown);
    }
    println!("█ succeeded  ▒ failed or lost  · waited  ░ under way");
}
