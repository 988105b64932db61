//! A server over TCP: one session for each connection.
//!
//! `hardline::over` accepts any stream that tokio can read and write.
//!
//! ```sh
//! cargo run -q -p hardline --example tcp -- 127.0.0.1:8123 &
//! # With bash, which can open sockets:
//! exec 3<>/dev/tcp/127.0.0.1/8123; echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' >&3; head -n 1 <&3
//! ```

use std::env;
use std::error::Error;
use std::io::{Write, stderr};
use std::time::Duration;

use hardline::EndpointSettings;
use rmcp::ServerHandler;
use tokio::net::TcpListener;

#[derive(Debug)]
struct Service;

impl ServerHandler for Service {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Without an address, listens on a free port of the loopback interface.
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    writeln!(stderr(), "listening on {}", listener.local_addr()?)?;
    loop {
        let (stream, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let settings = EndpointSettings::default()
                // A TCP client does not keep a socket open for a minute to get an answer.
                .with_grace(Duration::from_secs(5))
                // Events that the service does not see, such as lines that are no messages.
                .with_observer(move |event| drop(writeln!(stderr(), "{peer}: {event}")));
            if let Err(error) =
                hardline::serve(Service, hardline::over_with(stream, settings)).await
            {
                drop(writeln!(stderr(), "{peer}: {error}"));
            }
        });
    }
}
