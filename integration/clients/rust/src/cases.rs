//! What every lock library must do.

use crate::server::Server;
use futures::future::{try_join_all, BoxFuture};
use redis::aio::MultiplexedConnection;
use redis::AsyncCommands;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub type Outcome = Result<String, String>;

pub const LEASE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(20);

/// A lock that was taken.
pub trait Held: Send {
    /// Gives the lock a new TTL; tells whether it was still held.
    fn extend(&mut self, ttl: Duration) -> BoxFuture<'_, Result<bool, String>>;
    /// Lets go; what the library does not tell is looked up: whether it was still held.
    fn release(self: Box<Self>) -> BoxFuture<'static, Result<bool, String>>;
}

/// A lock, or none when it is held.
pub type Taken = Option<Box<dyn Held>>;

/// A way to lock. Each user has connections of its own.
pub trait Library: Send + Sync {
    fn user(&self) -> Box<dyn User>;
}

pub trait User: Send + Sync {
    fn try_acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Taken, String>>;
    /// Waits for the lock.
    fn acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Box<dyn Held>, String>>;
}

pub fn that(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

/// A key that nobody else uses.
pub fn fresh_key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_nanos();
    format!("rust:{now}:{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Runs one case, prints its line, and tells whether it passed.
pub async fn report(only: Option<&str>, name: &str, body: impl Future<Output = Outcome>) -> bool {
    if only.is_some_and(|o| o != name) {
        return true;
    }
    let outcome = tokio::time::timeout(Duration::from_secs(60), body).await;
    match outcome.unwrap_or_else(|_| Err("not done in 60 s".into())) {
        Ok(details) => println!("ok {name} {details}"),
        Err(reason) => {
            println!("not ok {name} {}", reason.replace('\n', " "));
            return false;
        }
    }
    true
}

pub async fn run(only: Option<&str>, library: &dyn Library, server: &Server) -> bool {
    let inspect = server.connect().await.expect("a connection");
    let cases = Cases { library, alice: library.user(), bob: library.user(), inspect };
    let mut passed = report(only, "acquire-release", cases.acquire_release(&fresh_key())).await;
    passed &= report(only, "held-is-refused", cases.held_is_refused(&fresh_key())).await;
    passed &= report(only, "waits", cases.waits(&fresh_key())).await;
    passed &= report(only, "extend", cases.extend(&fresh_key())).await;
    passed &= report(only, "extend-lost", cases.extend_lost(&fresh_key())).await;
    passed &= report(only, "expiry", cases.expiry(&fresh_key())).await;
    passed &= report(only, "script-flush", cases.script_flush(&fresh_key())).await;
    passed & report(only, "contention", cases.contention(&fresh_key())).await
}

struct Cases<'a> {
    library: &'a dyn Library,
    alice: Box<dyn User>,
    bob: Box<dyn User>,
    inspect: MultiplexedConnection,
}

impl Cases<'_> {
    async fn exists(&self, key: &str) -> Result<bool, String> {
        self.inspect.clone().exists(key).await.map_err(|e| e.to_string())
    }

    async fn pttl(&self, key: &str) -> Result<i64, String> {
        let ttl = redis::cmd("PTTL").arg(key).query_async(&mut self.inspect.clone()).await;
        ttl.map_err(|e| e.to_string())
    }

    async fn acquire_release(&self, key: &str) -> Outcome {
        let held = self.alice.acquire(key, LEASE).await?;
        let ttl = self.pttl(key).await?;
        that(ttl > 0 && ttl <= 30_000, format!("TTL of {ttl} ms"))?;
        that(held.release().await?, "release by the owner")?;
        that(!self.exists(key).await?, "the key is there after its release")?;
        Ok(format!("ttl_ms={ttl}"))
    }

    async fn held_is_refused(&self, key: &str) -> Outcome {
        let held = self.alice.acquire(key, LEASE).await?;
        that(self.bob.try_acquire(key, LEASE).await?.is_none(), "another owner got a held lock")?;
        that(held.release().await?, "release after a refusal")?;
        let next = self.bob.try_acquire(key, LEASE).await?.ok_or("not free after its release")?;
        that(next.release().await?, "release by the next owner")?;
        Ok(String::new())
    }

    async fn waits(&self, key: &str) -> Outcome {
        let held = self.alice.acquire(key, LEASE).await?;
        let waiter = self.bob.acquire(key, LEASE);
        let early = tokio::time::sleep(Duration::from_millis(300));
        tokio::pin!(waiter);
        tokio::select! {
            _ = &mut waiter => return Err("another owner got a held lock".into()),
            () = early => {}
        }
        held.release().await?;
        let next = tokio::time::timeout(PATIENCE, waiter).await.map_err(|_| "waits for ever")??;
        that(next.release().await?, "release by the waiter")?;
        Ok(String::new())
    }

    async fn extend(&self, key: &str) -> Outcome {
        let mut held = self.alice.acquire(key, Duration::from_secs(10)).await?;
        that(held.extend(Duration::from_secs(60)).await?, "extension by the owner")?;
        let ttl = self.pttl(key).await?;
        that(ttl > 20_000 && ttl <= 60_000, format!("TTL of {ttl} ms after extending"))?;
        that(self.bob.try_acquire(key, LEASE).await?.is_none(), "another owner got an extended lock")?;
        that(held.release().await?, "release after extending")?;
        Ok(format!("ttl_ms={ttl}"))
    }

    async fn extend_lost(&self, key: &str) -> Outcome {
        let mut held = self.alice.acquire(key, LEASE).await?;
        let _: i64 = self.inspect.clone().del(key).await.map_err(|e| e.to_string())?;
        let next = self.bob.try_acquire(key, LEASE).await?.ok_or("not free though its key was deleted")?;
        that(!held.extend(Duration::from_secs(60)).await?, "a lost lock was extended")?;
        that(self.pttl(key).await? <= 30_000, "a stranger extended the lock")?;
        that(next.release().await?, "release by the next owner")?;
        Ok(String::new())
    }

    async fn expiry(&self, key: &str) -> Outcome {
        let start = Instant::now();
        let held = self.alice.acquire(key, Duration::from_secs(1)).await?;
        let next = loop {
            that(start.elapsed() < PATIENCE, "the lock does not expire")?;
            if let Some(next) = self.bob.try_acquire(key, LEASE).await? {
                break next;
            }
        };
        let waited = start.elapsed().as_millis();
        that(waited >= 990, format!("another owner got the lock after {waited} ms of 1000"))?;
        that(!held.release().await?, "the former owner could let go")?;
        that(self.alice.try_acquire(key, LEASE).await?.is_none(), "the former owner's release took the lock away")?;
        that(next.release().await?, "release by the next owner")?;
        Ok(format!("next_owner_after_ms={waited}"))
    }

    /// Without its scripts the server answers NOSCRIPT, and the library loads them.
    async fn script_flush(&self, key: &str) -> Outcome {
        for _ in 0..2 {
            let mut held = self.alice.acquire(key, LEASE).await?;
            self.flush_scripts().await?;
            that(held.extend(LEASE).await?, "extension after SCRIPT FLUSH")?;
            self.flush_scripts().await?;
            that(held.release().await?, "release after SCRIPT FLUSH")?;
        }
        Ok(String::new())
    }

    async fn flush_scripts(&self) -> Result<(), String> {
        let flush = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut self.inspect.clone()).await;
        flush.map_err(|e| e.to_string())
    }

    async fn contention(&self, key: &str) -> Outcome {
        const USERS: u64 = 5;
        const ROUNDS: u64 = 8;
        let (inside, count) = (AtomicU64::new(0), AtomicU64::new(0));
        try_join_all((0..USERS).map(|_| async {
            let user = self.library.user();
            for _ in 0..ROUNDS {
                let held = user.acquire(key, LEASE).await?;
                that(inside.fetch_add(1, Ordering::SeqCst) == 0, "two owners inside")?;
                let seen = count.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
                count.store(seen + 1, Ordering::SeqCst);
                inside.fetch_sub(1, Ordering::SeqCst);
                that(held.release().await?, "release by the owner")?;
            }
            Ok::<(), String>(())
        }))
        .await?;
        let count = count.into_inner();
        that(count == USERS * ROUNDS, format!("counter {count}"))?;
        Ok(format!("grants={count}"))
    }
}
