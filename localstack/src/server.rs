//! A loopback port before the backend, for other processes on the same file.
//!
//! It speaks what AWS speaks: POST with `x-amz-target`. Signatures are not
//! looked at; it binds to 127.0.0.1 alone.

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::backend::Backend;
use crate::transport::http_date;

/// Bytes of a request that are read; DynamoDB takes 16 MiB.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Listens on a free loopback port and serves until the runtime ends.
///
/// # Errors
/// If no port can be bound.
pub async fn serve(backend: Backend) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let backend = backend.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(backend.clone(), request));
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
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let header = request.headers().get("x-amz-target").and_then(|v| v.to_str().ok());
    let target = header.unwrap_or_default().to_owned();
    let limited = http_body_util::Limited::new(request.into_body(), REQUEST_BYTES_MAX);
    let Ok(body) = limited.collect().await else {
        let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
        *response.status_mut() = hyper::StatusCode::PAYLOAD_TOO_LARGE;
        return Ok(response);
    };
    let answer = backend.answer(&target, &body.to_bytes()).await;
    let mut builder = Response::builder()
        .status(answer.status)
        .header("content-type", "application/x-amz-json-1.0");
    if let Some(date) = http_date(backend.clock()) {
        builder = builder.header("date", date);
    }
    for (name, value) in answer.headers {
        builder = builder.header(name, value);
    }
    let body = Full::new(Bytes::from(answer.body));
    Ok(builder.body(body).unwrap_or_else(|_| Response::new(Full::new(Bytes::new()))))
}
