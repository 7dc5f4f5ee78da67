//! How long somebody who was let in may stay. Requests are short and end by themselves; sessions
//! and streams ask here.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(crate) struct Lease(Arc<Terms>);

#[derive(Debug)]
struct Terms {
    /// Cancelled when what was presented lets nobody in any more.
    presented: CancellationToken,
    /// Cancelled when whoever holds it lost what they had, or got something else.
    holder: CancellationToken,
    /// Cancelled when the browser that came by it is not logged in any more.
    login: Option<CancellationToken>,
    until: Option<SystemTime>,
}

impl Lease {
    /// For whoever needs no key that could be taken away.
    pub(crate) fn endless() -> Self {
        Self::of(&CancellationToken::new(), None)
    }

    /// One way in of a holder. Ends with the holder, or alone.
    pub(super) fn of(holder: &CancellationToken, until: Option<SystemTime>) -> Self {
        let presented = holder.child_token();
        Self(Arc::new(Terms { presented, holder: holder.clone(), login: None, until }))
    }

    /// The same, but no longer than a login.
    pub(super) fn within(&self, login: &CancellationToken, until: SystemTime) -> Self {
        let Terms { presented, holder, until: own, .. } = &*self.0;
        Self(Arc::new(Terms {
            presented: presented.clone(),
            holder: holder.clone(),
            login: Some(login.clone()),
            until: Some(own.map_or(until, |own| own.min(until))),
        }))
    }

    pub(super) fn end(&self) {
        self.0.presented.cancel();
    }

    pub(super) fn until(&self) -> Option<SystemTime> {
        self.0.until
    }

    /// Whether the holder may still do what they could when they were let in.
    pub(crate) fn holds(&self) -> bool {
        !self.0.holder.is_cancelled()
    }

    /// Waits until nothing more may be said to whoever was let in.
    pub(crate) async fn ended(self, now: SystemTime) {
        let left = self.0.until.map(|until| until.duration_since(now).unwrap_or(Duration::ZERO));
        let over = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        let left = async {
            match &self.0.login {
                Some(login) => login.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.0.presented.cancelled() => {}
            () = left => {}
            () = over => {}
        }
    }
}
