//! A loopback port before the backend, for other processes on the same file.
//!
//! It speaks what AWS speaks: POST with `x-amz-target` for DynamoDB and SQS,
//! and Lambda's path for a direct invocation of the functions, which this
//! process runs. Any credentials will do: signatures are not looked at, and it
//! binds to 127.0.0.1 alone.

use std::convert::Infallible;
use std::net::SocketAddr;

use everlog::fleet::Fleet;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::backend::{Answer, Backend};
use crate::invoke;
use crate::transport::http_date;

/// Bytes of a request that are read; DynamoDB takes 16 MiB.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Listens on a free loopback port and serves until the runtime ends; `fleet`
/// is the instance that serves direct invocations.
///
/// # Errors
/// If no port can be bound.
pub async fn serve(backend: Backend, fleet: Fleet) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (backend, fleet) = (backend.clone(), fleet.clone());
            tokio::spawn(async move {
                let service =
                    service_fn(move |request| answer(backend.clone(), fleet.clone(), request));
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                if let Err(error) = served.await {
                    tracing::debug!(%error, "connection ended");
                }
            });
        }
    });
    Ok(address)
}

async fn answer(
    backend: Backend,
    fleet: Fleet,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let Ok(body) = http_body_util::Limited::new(body, REQUEST_BYTES_MAX).collect().await else {
        let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
        *response.status_mut() = hyper::StatusCode::PAYLOAD_TOO_LARGE;
        return Ok(response);
    };
    let body = body.to_bytes();
    let (answer, format) = match invoke::function_in(parts.uri.path()) {
        Some(function) => {
            let kind = header("x-amz-invocation-type");
            let answer = Box::pin(invoke::invoke(&fleet, function, kind, &body)).await;
            (answer, "application/json")
        }
        None => {
            let target = header("x-amz-target").unwrap_or_default();
            (backend.answer(target, &body).await, "application/x-amz-json-1.0")
        }
    };
    Ok(response(answer, format, http_date(backend.clock())))
}

fn response(answer: Answer, format: &str, date: Option<String>) -> Response<Full<Bytes>> {
    let mut builder = Response::builder().status(answer.status).header("content-type", format);
    if let Some(date) = date {
        builder = builder.header("date", date);
    }
    for (name, value) in answer.headers {
        builder = builder.header(name, value);
    }
    let body = Full::new(Bytes::from(answer.body));
    builder.body(body).unwrap_or_else(|_| Response::new(Full::new(Bytes::new())))
}
