//! Locks with rslock, or by hand with redis-rs, against the server at --addr, in named cases.
//!
//! Options: --addr host:port or --sentinels host:port,... (not with rslock), --library rslock|redis-rs, --protocol 2|3 (of
//! redis-rs), --case NAME for one case only. Prints one line per case, "ok NAME DETAILS" or "not ok NAME REASON"; the exit
//! code is 1 when any case failed.

mod by_hand;
mod cases;
mod rslock_library;
mod server;

use server::Server;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options: HashMap<&str, &str> = args
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--"), pair[1].as_str()))
        .collect();
    let protocol = options.get("protocol").unwrap_or(&"3");
    let server = Arc::new(match options.get("sentinels") {
        Some(sentinels) => Server::named_by(sentinels, protocol),
        None => Server::at(&server::uri(options["addr"], protocol)),
    });
    let only = options.get("case").copied();
    let passed = match options["library"] {
        "rslock" => {
            let library = rslock_library::RsLock::new(&server::uri(options["addr"], protocol));
            cases::run(only, &library, &server).await
        }
        "redis-rs" => {
            let by_hand = by_hand::ByHand::new(server.clone());
            by_hand.run_own(only).await & cases::run(only, &by_hand, &server).await
        }
        other => panic!("no such library: {other}"),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
