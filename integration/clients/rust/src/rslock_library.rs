//! rslock over one server. Who waits tries again and again; a release tells nothing.

use crate::cases::{Held, Library, Taken, User};
use futures::future::BoxFuture;
use futures::FutureExt;
use rslock::{Lock, LockError, LockManager};
use std::time::Duration;

pub struct RsLock {
    uri: String,
}

impl RsLock {
    pub fn new(uri: &str) -> Self {
        RsLock { uri: uri.to_owned() }
    }
}

impl Library for RsLock {
    fn user(&self) -> Box<dyn User> {
        let manager = |tries| {
            let mut m = LockManager::new(vec![self.uri.as_str()]);
            m.set_retry(tries, Duration::from_millis(10));
            m
        };
        Box::new(RsLockUser { impatient: manager(1), patient: manager(10_000) })
    }
}

struct RsLockUser {
    impatient: LockManager,
    patient: LockManager,
}

impl User for RsLockUser {
    fn try_acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Taken, String>> {
        async move {
            match self.impatient.lock(key, ttl).await {
                Ok(lock) => Ok(Some(held(lock, &self.impatient))),
                Err(LockError::Unavailable) => Ok(None),
                Err(e) => Err(e.to_string()),
            }
        }
        .boxed()
    }

    fn acquire<'a>(&'a self, key: &'a str, ttl: Duration) -> BoxFuture<'a, Result<Box<dyn Held>, String>> {
        async move {
            let lock = self.patient.lock(key, ttl).await.map_err(|e| e.to_string())?;
            Ok(held(lock, &self.impatient))
        }
        .boxed()
    }
}

fn held(lock: Lock, manager: &LockManager) -> Box<dyn Held> {
    Box::new(RsLockHeld { lock, manager: manager.clone() })
}

struct RsLockHeld {
    lock: Lock,
    manager: LockManager,
}

impl Held for RsLockHeld {
    fn extend(&mut self, ttl: Duration) -> BoxFuture<'_, Result<bool, String>> {
        async move {
            match self.manager.extend(&self.lock, ttl).await {
                Ok(lock) => {
                    self.lock = lock;
                    Ok(true)
                }
                Err(LockError::Unavailable) => Ok(false),
                Err(e) => Err(e.to_string()),
            }
        }
        .boxed()
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, Result<bool, String>> {
        async move {
            let stored = self.manager.query_redis_for_key_value(&self.lock.resource).await;
            let owned = stored.map_err(|e| e.to_string())?.is_some_and(|value| value == self.lock.val);
            self.manager.unlock(&self.lock).await;
            Ok(owned)
        }
        .boxed()
    }
}
