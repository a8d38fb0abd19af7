//! A transport for the AWS SDK that is a function call.
//!
//! [`client`] makes an HTTP client of any [`Handler`]; the plain one asks the
//! backend. Tests put their own handler in between: it may lose answers,
//! delay, refuse, or count, exactly where a network would.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::{Response, StatusCode};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::{DateTime, Format};
use everlog::time::Clock;

use crate::backend::{Answer, Backend};

/// One request of a client.
#[derive(Debug, Clone)]
pub struct Call {
    /// The `x-amz-target` header.
    pub target: String,
    /// The body.
    pub body: Arc<[u8]>,
}

/// No answer came; whether the request was served is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost")]
pub struct NoAnswer;

/// What becomes of a call.
pub type Outcome = Pin<Box<dyn Future<Output = Result<Answer, NoAnswer>> + Send>>;

/// Serves calls.
pub type Handler = Arc<dyn Fn(Call) -> Outcome + Send + Sync>;

/// The handler that asks the backend.
#[must_use]
pub fn direct(backend: &Backend) -> Handler {
    let backend = backend.clone();
    Arc::new(move |call| {
        let backend = backend.clone();
        Box::pin(async move { Ok(backend.answer(&call.target, &call.body).await) })
    })
}

/// An HTTP client for the SDK that calls `handler`. Answers carry the date of `clock`.
#[must_use]
pub fn client(handler: Handler, clock: Clock) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(Connector { handler, clock });
    http_client_fn(move |_, _| connector.clone())
}

struct Connector {
    handler: Handler,
    clock: Clock,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body: Arc<[u8]> = request.body().bytes().unwrap_or_default().into();
        let outcome = (self.handler)(Call { target, body });
        let clock = self.clock.clone();
        HttpConnectorFuture::new(async move {
            let answer = outcome.await.map_err(|lost| ConnectorError::io(lost.into()))?;
            let status = StatusCode::try_from(answer.status)
                .map_err(|bad| ConnectorError::other(bad.into(), None))?;
            let mut response = Response::new(status, SdkBody::from(answer.body));
            if let Some(date) = http_date(&clock) {
                response.headers_mut().insert("date", date);
            }
            for (name, value) in answer.headers {
                response.headers_mut().insert(name, value);
            }
            Ok(response)
        })
    }
}

/// The clock's time as a Date header.
#[must_use]
pub fn http_date(clock: &Clock) -> Option<String> {
    let seconds = i64::try_from(clock.now().0 / 1_000).ok()?;
    DateTime::from_secs(seconds).fmt(Format::HttpDate).ok()
}
