//! Follows a workflow to its end and shows how far it is.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use everlog::event::{Ending, Event, Outcome, Target, WaitEnd};
use everlog::id::WorkflowId;
use everlog::journal::{Loaded, LogKey};
use everlog::state::{Phase, State};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};

use super::session::Session;
use super::{Failure, Global};

/// Between two looks at the log.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Plans up to this size are told task by task.
const TELL_TASKS_MAX: usize = 60;
/// How long the card may take to say what the log says.
const CARD_WAIT: Duration = Duration::from_secs(3);

/// How watching ended.
pub(super) enum Ended {
    Closed(Ending),
    Interrupted,
}

/// Follows until the run is closed or Ctrl-C comes.
pub(super) async fn watch(
    global: &Global,
    session: &Session,
    workflow: &WorkflowId,
) -> Result<Ended, Failure> {
    let (key, mut loaded) = session.load(workflow).await?;
    let mut view = View::new(global, &loaded.state);
    let mut terminate = signal(SignalKind::terminate()).map_err(|e| Failure::stack(&e))?;
    let interrupt = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    };
    tokio::pin!(interrupt);
    loop {
        if let Some(ending) = loaded.state.ending() {
            view.done();
            wait_for_card(session, &key, &loaded).await;
            return Ok(Ended::Closed(ending));
        }
        tokio::select! {
            () = &mut interrupt => {
                view.done();
                return Ok(Ended::Interrupted);
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        follow(session, &key, &mut loaded, &mut view).await?;
    }
}

async fn follow(
    session: &Session,
    key: &LogKey,
    loaded: &mut Loaded,
    view: &mut View,
) -> Result<(), Failure> {
    let journal = session.journal();
    let commits = journal.commits_from(key, loaded.state.commit + 1, |_, _| false).await;
    for (number, commit) in commits.map_err(|e| Failure::stack(&e))? {
        let folded = journal.fold(key, loaded, number, &commit, 0).await;
        folded.map_err(|e| Failure::stack(&e))?;
        for event in &commit.events {
            view.tell(&loaded.state, event);
        }
    }
    view.progress(&loaded.state);
    Ok(())
}

/// The last write of a run is its card's: lists should not lag behind the exit.
async fn wait_for_card(session: &Session, key: &LogKey, loaded: &Loaded) {
    let deadline = Instant::now() + CARD_WAIT;
    let journal = session.journal();
    while Instant::now() < deadline {
        match journal.card(&key.partition()).await {
            Ok(Some(card)) if card.as_of < loaded.state.card_commit => {}
            _ => return,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One word for an ending.
pub(super) fn word(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Cancelled => "was cancelled",
        Ending::TimedOut => "timed out",
    }
}

struct View {
    bar: Option<ProgressBar>,
    tell: bool,
    last_line: Instant,
    said: String,
}

impl View {
    fn new(global: &Global, state: &State) -> Self {
        let total = state.nodes.len();
        let terminal = std::io::stderr().is_terminal() && !global.json;
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {elapsed}");
        let bar = match (terminal, style) {
            (true, Ok(style)) => Some(ProgressBar::new(total as u64).with_style(style)),
            _ => None,
        };
        let tell = !global.json && total <= TELL_TASKS_MAX;
        Self {
            bar,
            tell,
            last_line: Instant::now(),
            said: if global.json { "-".into() } else { String::new() },
        }
    }

    fn line(&self, text: String) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => println!("{text}"),
        }
    }

    /// Says what happened, where there are few enough tasks to say it.
    fn tell(&self, state: &State, event: &Event) {
        if !self.tell {
            return;
        }
        let name = |target: &Target| state.node_id(target).to_string();
        let node = |at: &u32| name(&Target::Planned(*at));
        let text = match event {
            Event::Prepared(target, ..) => format!("  ▸ {}", name(target)),
            Event::Settled(target, n, outcome, retry) => match (outcome, retry) {
                (Outcome::Succeeded(_), _) => format!("  ✓ {}", name(target)),
                (Outcome::Failed(failure), Some(_)) => {
                    format!(
                        "  ↻ {} failed ({}), tried again as attempt {}",
                        name(target),
                        failure.kind,
                        n + 1
                    )
                }
                (Outcome::Failed(failure), None) => {
                    format!("  ✗ {} failed ({})", name(target), failure.kind)
                }
                (Outcome::Lost, _) => format!("  ↻ {} lost its worker", name(target)),
                (Outcome::TimedOut(_), _) => format!("  ✗ {} timed out", name(target)),
                (Outcome::Cancelled, _) => format!("  - {} cancelled", name(target)),
            },
            Event::TimerArmed(everlog::event::TimerKey::Node(at), _) => {
                format!("  ◷ {} waits", node(at))
            }
            Event::TimerFired(everlog::event::TimerKey::Node(at)) => format!("  ✓ {}", node(at)),
            Event::Listening(at, _) => format!("  ◌ {} waits for a signal", node(at)),
            Event::WaitEnded(at, WaitEnd::TimedOut) => {
                format!("  ✗ {} heard no signal in time", node(at))
            }
            Event::WaitEnded(at, WaitEnd::Signal(_)) => {
                format!("  ✓ {} heard its signal", node(at))
            }
            Event::Paused(_) => "  paused".into(),
            Event::Resumed => "  resumed".into(),
            Event::CancelRequested(_) => "  is being cancelled".into(),
            _ => return,
        };
        self.line(text);
    }

    fn progress(&mut self, state: &State) {
        let count = |phase| {
            (0..state.nodes.len()).filter(|at| state.nodes.phase(*at as u32) == phase).count()
        };
        let done = state.nodes.len() - state.nodes.unfinished();
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(format!("{} running, {}", count(Phase::Active), state.status()));
            return;
        }
        if self.tell || self.said == "-" || self.last_line.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.last_line = Instant::now();
        let line = format!(
            "{done} of {} tasks done, {} active, {} failed, {}",
            state.nodes.len(),
            count(Phase::Active),
            count(Phase::Failed),
            state.status()
        );
        if line != self.said {
            println!("{line}");
            self.said = line;
        }
    }

    fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
