//! Bad weather between a client and an engine: requests and answers that are lost.
//!
//! Before an address it is a TCP proxy, before the embedded engine in process a
//! handler. A lost request never reaches the engine; a lost answer is thrown
//! away after the engine has given it. Either way the client sees a connection
//! that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use everlog_local::backend::Backend;
use everlog_local::transport::{self, Handler, NoAnswer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Loss {
    /// Nothing.
    None,
    /// Requests.
    Request,
    /// Answers.
    Answer,
}

/// The weather; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Weather {
    loss: Arc<AtomicU8>,
    times: Arc<AtomicU32>,
}

impl Weather {
    /// The next `times` requests, or their answers, are lost.
    pub fn set(&self, loss: Loss, times: u32) {
        self.times.store(times, Ordering::SeqCst);
        self.loss.store(loss as u8, Ordering::SeqCst);
    }

    /// What becomes of the next request.
    fn next(&self) -> Loss {
        let less = |times: u32| times.checked_sub(1);
        if self.times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
            return Loss::None;
        }
        match self.loss.load(Ordering::SeqCst) {
            loss if loss == Loss::Request as u8 => Loss::Request,
            loss if loss == Loss::Answer as u8 => Loss::Answer,
            _ => Loss::None,
        }
    }

    /// The backend, in this weather.
    #[must_use]
    pub fn before(&self, backend: &Backend) -> Handler {
        let (weather, direct) = (self.clone(), transport::direct(backend));
        Arc::new(move |call| {
            let loss = weather.next();
            let answer = (loss != Loss::Request).then(|| direct(call));
            Box::pin(async move {
                match answer {
                    None => Err(NoAnswer),
                    Some(answer) => {
                        let answer = answer.await;
                        if loss == Loss::Answer { Err(NoAnswer) } else { answer }
                    }
                }
            })
        })
    }

    /// An address before `url`, in this weather. One request a connection.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn before_url(&self, url: &str) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let (weather, target) = (self.clone(), url.trim_start_matches("http://").to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target.clone(), weather.clone()));
            }
        });
        Ok(address)
    }
}

/// Serves one request of a connection and closes it.
async fn forward(mut client: TcpStream, target: String, weather: Weather) -> std::io::Result<()> {
    let Some(request) = read_request(&mut client).await? else { return Ok(()) };
    let loss = weather.next();
    if loss == Loss::Request {
        return Ok(());
    }
    let mut server = TcpStream::connect(target).await?;
    server.write_all(&request).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    if loss == Loss::Answer { Ok(()) } else { client.write_all(&answer).await }
}

/// One request, as the server gets it: the connection is to be closed after it.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 2;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let headers = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    while bytes.len() < head + 2 + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    bytes.splice(head..head, *b"connection: close\r\n");
    Ok(Some(bytes))
}
