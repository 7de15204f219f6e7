//! Locks by hand with redis-rs: SET NX PX and scripts; a release publishes, and who waits is subscribed.

use crate::cases::{fresh_key, report, that, Held, Library, Outcome, Taken, User, LEASE};
use crate::server::Server;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{RedisResult, Script, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

const EXTEND: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";
const RELEASE: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[1] .. ':free', '')
return 1";

pub struct ByHand {
    server: Arc<Server>,
}

impl ByHand {
    pub fn new(server: Arc<Server>) -> Self {
        ByHand { server }
    }

    /// The cases that only this one has.
    pub async fn run_own(&self, only: Option<&str>) -> bool {
        report(only, "pipeline", self.pipeline(&fresh_key())).await
            & report(only, "transaction", self.transaction(&fresh_key())).await
    }

    async fn connection(&self) -> Result<MultiplexedConnection, String> {
        self.server.connect().await.map_err(|e| e.to_string())
    }

    async fn pipeline(&self, key: &str) -> Outcome {
        let mut pipe = redis::pipe();
        for owner in ["a", "b"] {
            pipe.cmd("SET").arg(key).arg(owner).arg("NX").arg("PX").arg(30_000);
        }
        pipe.cmd("GET").arg(key).cmd("DEL").arg(key);
        let replies: RedisResult<(Value, Value, String, i64)> = pipe.query_async(&mut self.connection().await?).await;
        let (first, second, owner, deleted) = replies.map_err(|e| e.to_string())?;
        that(first == Value::Okay && second == Value::Nil, format!("SET answered {first:?} and {second:?}"))?;
        that(owner == "a" && deleted == 1, format!("owner {owner}, {deleted} deleted"))?;
        Ok(String::new())
    }

    async fn transaction(&self, key: &str) -> Outcome {
        let mut pipe = redis::pipe();
        pipe.atomic().cmd("SET").arg(key).arg("a").arg("NX").arg("PX").arg(30_000).cmd("PTTL").arg(key).cmd("DEL").arg(key);
        let replies: RedisResult<(Value, i64, i64)> = pipe.query_async(&mut self.connection().await?).await;
        let (set, ttl, deleted) = replies.map_err(|e| e.to_string())?;
        that(set == Value::Okay && ttl > 0 && ttl <= 30_000 && deleted == 1, format!("{set:?}, {ttl}, {deleted}"))?;
        Ok(String::new())
    }
}

impl Library for ByHand {
    fn user(&self) -> Box<dyn User> {
        Box::new(HandUser { server: self.server.clone(), connection: OnceCell::new() })
    }
}

struct HandUser {
    server: Arc<Server>,
    connection: OnceCell<MultiplexedConnection>,
}

impl HandUser {
    async fn connection(&self) -> RedisResult<MultiplexedConnection> {
        self.connection.get_or_try_init(|| self.server.connect()).await.cloned()
    }

    async fn attempt(&self, key: &str, ttl: Duration) -> RedisResult<Taken> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut connection = self.connection().await?;
        let owner = format!("owner-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let reply: Value = redis::cmd("SET")
            .arg(key).arg(&owner).arg("NX").arg("PX").arg(ttl.as_millis() as u64)
            .query_async(&mut connection)
            .await?;
        Ok(match reply {
            Value::Okay => Some(Box::new(HandHeld { connection, key: key.to_owned(), owner })),
            _ => None,
        })
    }

    async fn wait(&self, key: &str, ttl: Duration) -> RedisResult<Box<dyn Held>> {
        if let Some(held) = self.attempt(key, ttl).await? {
            return Ok(held);
        }
        let mut messages = self.server.client().await?.get_async_pubsub().await?;
        messages.subscribe(format!("{key}:free")).await?;
        let mut messages = messages.into_on_message();
        loop {
            if let Some(held) = self.attempt(key, ttl).await? {
                return Ok(held);
            }
            let _ = tokio::time::timeout(LEASE, messages.next()).await; // a holder that dies publishes nothing
        }
    }
}

impl User for HandUser {
    fn try_acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Taken, String>> {
        async move { self.attempt(key, ttl).await.map_err(|e| e.to_string()) }.boxed()
    }

    fn acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Box<dyn Held>, String>> {
        async move { self.wait(key, ttl).await.map_err(|e| e.to_string()) }.boxed()
    }
}

struct HandHeld {
    connection: MultiplexedConnection,
    key: String,
    owner: String,
}

impl Held for HandHeld {
    fn extend(&mut self, ttl: Duration) -> BoxFuture<'_, Result<bool, String>> {
        async move {
            let script = Script::new(EXTEND);
            let mut call = script.prepare_invoke();
            call.key(&self.key).arg(&self.owner).arg(ttl.as_millis() as u64);
            call.invoke_async::<bool>(&mut self.connection).await.map_err(|e| e.to_string())
        }
        .boxed()
    }

    fn release(mut self: Box<Self>) -> BoxFuture<'static, Result<bool, String>> {
        async move {
            let script = Script::new(RELEASE);
            let mut call = script.prepare_invoke();
            call.key(&self.key).arg(&self.owner);
            call.invoke_async::<bool>(&mut self.connection).await.map_err(|e| e.to_string())
        }
        .boxed()
    }
}
