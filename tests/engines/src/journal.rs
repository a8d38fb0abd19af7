//! What the journal asks of a DynamoDB.
//!
//! Each test has a table of its own. It goes through the journal; where the
//! engine's own answers matter, through the SDK.

mod cards;
mod chunks;
mod commits;
mod cost;
mod faults;
mod indexes;
mod killed;
mod removals;
mod values;

use std::process::ExitCode;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, Region};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use everlog::commit::Commit;
use everlog::event::{Event, Started};
use everlog::id::{CommandHash, Incarnation, Kind, Namespace, WorkflowId, WorkflowType, WriterId};
use everlog::journal::{self, Journal, Loaded, LogKey, Skew};
use everlog::payload::Payload;
use everlog::time::{Clock, Timestamp};
use everlog_local::transport;
use libtest_mimic::{Arguments, Trial};

use crate::case::{self, Case};
use crate::fact::{Engine, Fact, Seen};
use crate::place::{Endpoint, Place};
use crate::proxy::Weather;

/// When the workflows of the tests began.
pub(crate) const STARTED: Timestamp = Timestamp(1_796_083_200_123);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The list.
#[must_use]
pub fn list() -> Vec<&'static Case<Bench>> {
    let lists: [&'static [Case<Bench>]; 8] = [
        commits::CASES,
        cards::CASES,
        indexes::CASES,
        values::CASES,
        chunks::CASES,
        removals::CASES,
        faults::CASES,
        cost::CASES,
    ];
    lists.into_iter().flatten().collect()
}

/// What is left of a log whose engine was killed.
#[must_use]
pub fn left_after_a_kill() -> &'static Fact {
    &killed::LEFT
}

/// Engines of other people: place, engine, and the script that starts it.
const SCRIPTS: [(&str, Engine, &str); 2] = [
    ("dynamodb_local", Engine::DynamoDbLocal, "dynamodb-local.sh"),
    ("localstack", Engine::LocalStack, "localstack.sh"),
];

/// Every place. `EVERLOG_DYNAMODB_ENDPOINT` names a server that runs already.
fn places() -> Vec<Place> {
    let mut places = vec![Place::embedded(), Place::loopback()];
    if cfg!(feature = "engines") {
        places.extend(SCRIPTS.map(|(name, engine, script)| Place::script(name, engine, script)));
    }
    places.extend(Place::given("EVERLOG_DYNAMODB_ENDPOINT"));
    places
}

/// Runs the list on every place, as a test program.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(4);
    let mut trials: Vec<Trial> = Vec::new();
    // Servers run until these are gone.
    let all = places();
    for place in &all {
        trials.extend(list().into_iter().map(|case| {
            let place = place.clone();
            case::trial(place.name, case, move |name| {
                let (runtime, endpoint, clock) = place.open()?;
                let seen = Seen::on(place.engine);
                let bench = runtime.block_on(Bench::new(endpoint, clock, name, seen.clone()))?;
                Ok((runtime, bench, seen))
            })
        }));
    }
    trials.extend(killed::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A fresh table on an engine.
#[derive(Debug, Clone)]
pub struct Bench {
    endpoint: Endpoint,
    clock: Clock,
    table: String,
    /// What the test sees.
    pub seen: Seen,
}

impl Bench {
    async fn new(endpoint: Endpoint, clock: Clock, name: &str, seen: Seen) -> Result<Self, String> {
        let name: String = name.chars().take(200).collect();
        let table = format!("{name}-{:016x}", rand::random::<u64>());
        let bench = Self { endpoint, clock, table, seen };
        let created = journal::create_table(&bench.client(), &bench.table).await;
        created.map_err(|e| e.to_string())?;
        Ok(bench)
    }

    fn http(&self, weather: Option<&Weather>) -> SharedHttpClient {
        match (&self.endpoint, weather) {
            (Endpoint::Direct(backend), None) => {
                transport::client(transport::direct(backend), self.clock.clone())
            }
            (Endpoint::Direct(backend), Some(weather)) => {
                transport::client(weather.before(backend), self.clock.clone())
            }
            (Endpoint::Url(_), _) => aws_smithy_http_client::Builder::new().build_http(),
        }
    }

    fn url(&self) -> &str {
        match &self.endpoint {
            Endpoint::Direct(_) => "http://dynamodb.local",
            Endpoint::Url(url) => url,
        }
    }

    /// The SDK's client, set up as the journal's.
    pub(crate) fn client(&self) -> Client {
        connect(self.http(None), self.url(), &self.clock).0
    }

    /// A journal on the table, as a fresh instance has it.
    pub(crate) fn journal(&self) -> Journal {
        self.journal_by(self.clock.clone())
    }

    /// The same, by another clock.
    pub(crate) fn journal_by(&self, clock: Clock) -> Journal {
        self.journal_at(self.http(None), self.url(), &self.table, clock)
    }

    /// The same, on a table that may not be there.
    pub(crate) fn journal_on(&self, table: &str) -> Journal {
        self.journal_at(self.http(None), self.url(), table, self.clock.clone())
    }

    /// The same, in this weather.
    pub(crate) async fn journal_in(&self, weather: &Weather) -> Journal {
        let url = match &self.endpoint {
            Endpoint::Direct(_) => self.url().to_owned(),
            Endpoint::Url(url) => weather.before_url(url).await.expect("a free port"),
        };
        self.journal_at(self.http(Some(weather)), &url, &self.table, self.clock.clone())
    }

    fn journal_at(&self, http: SharedHttpClient, url: &str, table: &str, clock: Clock) -> Journal {
        let (db, skew) = connect(http, url, &clock);
        Journal::new(db, table, clock, skew)
    }
}

/// The journal's client, but patient: an emulator on a busy machine may take
/// seconds where DynamoDB takes milliseconds.
fn connect(http: SharedHttpClient, url: &str, clock: &Clock) -> (Client, Skew) {
    let base = aws_sdk_dynamodb::Config::builder()
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "everlog-tests"))
        .endpoint_url(url)
        .http_client(http);
    let (db, skew) = journal::configure(base, clock);
    let patient = TimeoutConfig::builder()
        .connect_timeout(PATIENCE)
        .operation_attempt_timeout(PATIENCE)
        .operation_timeout(PATIENCE)
        .build();
    (Client::from_conf(db.config().to_builder().timeout_config(patient).build()), skew)
}

/// A workflow that began at [`STARTED`].
pub(crate) fn key(workflow: &str) -> LogKey {
    let workflow = WorkflowId::new(workflow).expect("an id");
    LogKey::new(Namespace::default(), workflow, Incarnation(STARTED.0))
}

/// A commit on top of `state` with one event: the start as number 1, then
/// `payload` of the user's engine.
pub(crate) fn next(loaded: &Loaded, payload: &[u8]) -> Commit {
    let state = &loaded.state;
    let event = if state.commit == 0 { start() } else { appended(payload) };
    Commit {
        writer: WriterId::random(),
        time: STARTED.max(state.time),
        first_seq: state.head + 1,
        events: vec![event],
        notes: Vec::new(),
        answers: Vec::new(),
        checkpoint: state.checkpoint,
        continues: false,
        alarm: None,
    }
}

fn start() -> Event {
    Event::Started(Box::new(Started {
        workflow_type: WorkflowType::new("order").expect("a type"),
        run: 1,
        plan: None,
        input: None,
        deadline: None,
        concurrency: None,
        attempts_max: 1_000,
        command: CommandHash([7; 16]),
        previous: None,
        package: None,
        labels: None,
    }))
}

fn appended(payload: &[u8]) -> Event {
    let payload = Payload::opaque(payload.to_vec(), Some("application/octet-stream".into()));
    Event::Appended(Kind::new("step").expect("a kind"), Some(payload.expect("it fits")))
}

/// Puts the next commit, which must land, and takes it over.
pub(crate) async fn grow(journal: &Journal, key: &LogKey, loaded: &mut Loaded, payload: &[u8]) {
    let commit = next(loaded, payload);
    let number = loaded.state.commit + 1;
    let (put, bytes) = journal.put(key, loaded, number, &commit).await.expect("an answer");
    assert!(matches!(put, journal::Put::Landed), "{put:?}");
    journal.fold(key, loaded, number, &commit, bytes).await.expect("it folds");
}
