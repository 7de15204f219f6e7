//! Where the clients find their server: at an address, or as the master that Sentinels name.

use redis::aio::MultiplexedConnection;
use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{AsyncConnectionConfig, Client, ProtocolVersion, RedisConnectionInfo, RedisResult};
use std::time::Duration;
use tokio::sync::Mutex;

pub enum Server {
    At(Client),
    Named(Mutex<SentinelClient>),
}

/// The address as redis-rs wants it; the protocol is 2 or 3.
pub fn uri(addr: &str, protocol: &str) -> String {
    format!("redis://{addr}/?protocol=resp{protocol}")
}

impl Server {
    pub fn at(uri: &str) -> Self {
        Server::At(Client::open(uri).expect("an address"))
    }

    /// The addresses are separated by commas.
    pub fn named_by(sentinels: &str, protocol: &str) -> Self {
        let uris: Vec<String> = sentinels.split(',').map(|addr| uri(addr, protocol)).collect();
        let version = if protocol == "3" { ProtocolVersion::RESP3 } else { ProtocolVersion::RESP2 };
        let master = SentinelNodeConnectionInfo::default()
            .set_redis_connection_info(RedisConnectionInfo::default().set_protocol(version));
        let client = SentinelClient::build(uris, String::from("mymaster"), Some(master), SentinelServerType::Master);
        Server::Named(Mutex::new(client.expect("addresses")))
    }

    /// The server as it is now: another one may be the master next time.
    pub async fn client(&self) -> RedisResult<Client> {
        match self {
            Server::At(client) => Ok(client.clone()),
            Server::Named(sentinels) => sentinels.lock().await.async_get_client().await,
        }
    }

    /// A connection that waits longer than the 500 ms of redis-rs for an answer: as long as an election may take.
    pub async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(10)));
        self.client().await?.get_multiplexed_async_connection_with_config(&config).await
    }
}
