//! A plain TCP relay: the least that anything between two ends of a connection can do. Reads nothing
//! of what it copies.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Relays every connection to `upstream`, until dropped.
pub(crate) async fn relay(listener: TcpListener, upstream: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // An end that goes away in the middle is its own affair.
            let _ = copy_both_ways(client, upstream).await;
        });
    }
}

async fn copy_both_ways(mut client: TcpStream, upstream: SocketAddr) -> std::io::Result<()> {
    let mut provider = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    provider.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut provider).await?;
    Ok(())
}
