//! Sessions for callers that can be asked, one per set of declared capabilities; opened on first
//! use. An open session is used without waiting, and an unclaimed session is closed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, oneshot};
use tokio::time::timeout;

use super::{LegacyCore, open};
use crate::Revision;
use crate::client::RequestError;
use crate::client::declared_capabilities::DeclaredCapabilities;
use crate::client::http::session::LegacySession;
use crate::client::inbound::Inbound;
use crate::tasks::{Task, TaskGroup};

/// Handshake timeout of an additional session.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long calls wait for the server to open its notification stream before they proceed.
const STREAM_TIMEOUT: Duration = Duration::from_millis(500);
/// How long closing the connection waits for a session that is being opened.
const CLOSING: Duration = Duration::from_secs(2);
/// Maximum sessions being opened at the same time.
const OPENINGS: usize = 64;

pub(super) struct InteractiveSessions {
    /// The session of the gateway itself.
    main: Arc<LegacyCore>,
    revision: Revision,
    sessions: Mutex<HashMap<DeclaredCapabilities, Arc<OnceCell<InteractiveSession>>>>,
    openings: TaskGroup,
}

/// A session whose callers can be asked, with the stream on which the server asks. Dropping it
/// closes the session at the server.
struct InteractiveSession {
    core: Arc<LegacyCore>,
    stream: Option<Task>,
    /// Used to send the closing message.
    main: Arc<LegacySession>,
}

impl InteractiveSessions {
    pub(super) fn new(main: Arc<LegacyCore>, revision: Revision) -> Self {
        let openings = TaskGroup::new("session opening", OPENINGS);
        Self { main, revision, sessions: Mutex::default(), openings }
    }

    /// The session with the capabilities of a caller.
    pub(super) async fn core_for(
        &self,
        bridge: DeclaredCapabilities,
    ) -> Result<Arc<LegacyCore>, RequestError> {
        let main = &self.main.inbound.table;
        let session = {
            let mut sessions = self.sessions.lock();
            main.still_open()?;
            Arc::clone(sessions.entry(bridge).or_default())
        };
        let opened = session.get_or_try_init(|| self.open(bridge)).await?;
        main.still_open()?;
        Ok(Arc::clone(&opened.core))
    }

    /// Must be called after the main session's table was closed: nothing is opened after that.
    pub(super) async fn close(&self) {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        let closing = sessions.values().map(|session| async {
            let nobody = || async { Err(()) };
            if let Ok(Ok(opened)) = timeout(CLOSING, session.get_or_try_init(nobody)).await {
                opened.core.inbound.table.close("the connection was closed");
                opened.core.session.close().await;
            }
        });
        join_all(closing).await;
    }

    /// Runs in its own task, so that a caller that gives up does not leave a half-open session.
    async fn open(&self, bridge: DeclaredCapabilities) -> Result<InteractiveSession, RequestError> {
        let (sender, opened) = oneshot::channel();
        let opening = InteractiveSession::open(Arc::clone(&self.main), bridge, self.revision);
        let started = self.openings.spawn(async move {
            // If the receiver is gone, the session is dropped and so closed.
            let _ = sender.send(opening.await);
        });
        started.map_err(|full| RequestError::Lost(full.to_string()))?;
        let gone = |_| Err(RequestError::Lost("the connection is closed".to_owned()));
        opened.await.unwrap_or_else(gone)
    }
}

impl InteractiveSession {
    async fn open(
        main: Arc<LegacyCore>,
        bridge: DeclaredCapabilities,
        revision: Revision,
    ) -> Result<Self, RequestError> {
        let inbound = Inbound::new(Arc::clone(&main.inbound.listener));
        let core = LegacyCore::new(Arc::clone(&main.session.wire), inbound, main.limit, bridge);
        let core = Arc::new(core);
        let mut opened = Self { core, stream: None, main: Arc::clone(&main.session) };
        let handshake = opened.core.initialize(revision, Some(revision));
        let late = |_| {
            let reason = format!("no answer to the handshake within {HANDSHAKE:?}");
            RequestError::Lost(reason)
        };
        timeout(HANDSHAKE, handshake).await.map_err(late)?.map_err(open::to_request_error)?;
        let (stream, answered) = LegacyCore::following(&opened.core);
        opened.stream = Some(stream);
        // Some servers ask only on this stream, and lose questions that are sent before it is open.
        let _ = timeout(STREAM_TIMEOUT, answered).await;
        Ok(opened)
    }
}

impl Drop for InteractiveSession {
    fn drop(&mut self) {
        self.stream = None;
        self.core.inbound.abandon_questions();
        self.main.close_later(&self.core.session);
    }
}
