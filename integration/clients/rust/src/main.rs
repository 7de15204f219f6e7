//! Locks with rslock, or by hand with redis-rs, against the server at --addr, in named cases.
//!
//! Options: --addr host:port, --library rslock|redis-rs, --protocol 2|3 (of redis-rs), --case NAME for one case only.
//! Prints one line per case, "ok NAME DETAILS" or "not ok NAME REASON"; the exit code is 1 when any case failed.

mod by_hand;
mod cases;
mod rslock_library;

use std::collections::HashMap;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options: HashMap<&str, &str> = args
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--"), pair[1].as_str()))
        .collect();
    let protocol = options.get("protocol").unwrap_or(&"3");
    let uri = format!("redis://{}/?protocol=resp{protocol}", options["addr"]);
    let only = options.get("case").copied();
    let passed = match options["library"] {
        "rslock" => cases::run(only, &rslock_library::RsLock::new(&uri), &uri).await,
        "redis-rs" => {
            let by_hand = by_hand::ByHand::new(&uri);
            by_hand.run_own(only).await & cases::run(only, &by_hand, &uri).await
        }
        other => panic!("no such library: {other}"),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
