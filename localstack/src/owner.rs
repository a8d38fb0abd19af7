//! Who owns a database file.
//!
//! The owner holds an exclusive lock on `<file>.lock`, which ends with its
//! process however that ends, and writes the port that it serves into
//! `<file>.port`. Anybody else finds the lock taken and talks to that port.

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs4::fs_std::FileExt;

/// How long a newcomer waits for an owner that has the lock but no port yet.
const PORT_WAIT: Duration = Duration::from_secs(10);

/// The lock of an owner; let go when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    port_file: PathBuf,
}

/// What a process is to a file.
#[derive(Debug)]
pub enum Role {
    /// Its owner.
    Owner(Lock),
    /// Another process owns it and serves it there.
    Guest(SocketAddr),
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Becomes the owner of `file`, or finds who is.
///
/// # Errors
/// If the files beside it can't be written, or its owner never says its port.
pub async fn take(file: &Path) -> std::io::Result<Role> {
    let lock_file = beside(file, ".lock");
    let port_file = beside(file, ".port");
    let deadline = tokio::time::Instant::now() + PORT_WAIT;
    loop {
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_file)?;
        if lock.try_lock_exclusive()? {
            let _ = std::fs::remove_file(&port_file);
            return Ok(Role::Owner(Lock { _file: lock, port_file }));
        }
        let port = std::fs::read_to_string(&port_file).ok();
        if let Some(address) = port.and_then(|text| text.trim().parse().ok())
            && tokio::net::TcpStream::connect(address).await.is_ok()
        {
            return Ok(Role::Guest(address));
        }
        if tokio::time::Instant::now() > deadline {
            let what = format!("{} is locked, and its owner serves no port", file.display());
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, what));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

impl Lock {
    /// Tells others where the owner serves.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn announce(&self, address: SocketAddr) -> std::io::Result<()> {
        let new = beside(&self.port_file, ".new");
        std::fs::write(&new, address.to_string())?;
        std::fs::rename(new, &self.port_file)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.port_file);
    }
}
