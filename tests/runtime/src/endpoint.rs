//! One address that speaks DynamoDB and SQS, and fails where it is told to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use dynoxide::Database;
use everlog_sqs::Engine;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use tokio::net::TcpListener;

const DYNAMODB: &str = "DynamoDB_20120810.";

/// Whether a request (its `x-amz-target` and body) is answered with a 500.
type Outage = Box<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The services behind the address. Clones share them.
#[derive(Clone)]
pub(crate) struct Endpoint {
    db: Database,
    sqs: Engine,
    outage: Arc<Mutex<Option<Outage>>>,
}

impl Endpoint {
    pub(crate) fn new(db: Database, sqs: Engine) -> Self {
        Self { db, sqs, outage: Arc::default() }
    }

    /// Sets which requests fail from now on.
    pub(crate) fn set_outage(&self, outage: Option<Outage>) {
        *self.outage.lock().expect("no test panics inside its outage") = outage;
    }

    /// Serves every connection, as long as the runtime lives.
    pub(crate) fn serve_on(&self, listener: TcpListener) -> SocketAddr {
        let endpoint = self.clone();
        serve(listener, move |request| {
            let endpoint = endpoint.clone();
            async move { endpoint.answer(request).await }
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let target = header(&request, "x-amz-target");
        let body = body_of(request).await;
        let fails = {
            let outage = self.outage.lock().expect("no test panics inside its outage");
            outage.as_ref().is_some_and(|fails| fails(&target, &String::from_utf8_lossy(&body)))
        };
        if fails {
            let body = br#"{"__type":"InternalServerError","message":"made to fail"}"#;
            return respond(500, &[], body.to_vec());
        }
        match target.strip_prefix(DYNAMODB) {
            Some(operation) => {
                let (status, answer) = crate::dynamodb::answer(&self.db, operation, &body);
                respond(status, &[("content-type", "application/x-amz-json-1.0")], answer)
            }
            None => {
                let (status, answer, headers) = self.sqs.call(&target, &body).await;
                let headers = headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
                respond(status, &headers.collect::<Vec<_>>(), answer)
            }
        }
    }
}

/// Serves HTTP/1 on `listener` until the runtime ends.
pub(crate) fn serve<F, A>(listener: TcpListener, answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let address = listener.local_addr().expect("a bound listener has an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            let service = hyper::service::service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, Infallible>(answered.await) }
            });
            let stream = hyper_util::rt::TokioIo::new(stream);
            // A client that goes away in the middle is the client's affair.
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(stream, service),
            );
        }
    });
    address
}

pub(crate) fn header(request: &Request<Incoming>, name: &str) -> String {
    let value = request.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

pub(crate) async fn body_of(request: Request<Incoming>) -> Bytes {
    let body = request.into_body().collect().await;
    body.map(|body| body.to_bytes()).unwrap_or_default()
}

pub(crate) fn respond(
    status: u16,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::from(body)).expect("status and headers are well formed")
}
