//! A Media Stream from its handshake to its end: who may open it, and the session that it becomes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::future::join;
use hyper::upgrade::Upgraded;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use tollgate_core::template::{self, PlaceholderValues};
use tollgate_core::text::truncate_chars;
use tollgate_llm::realtime::wire::{self, SocketSide, close, code};
use tollgate_llm::realtime::{CloseReason, DialedProvider, SessionRequest, SessionSockets};
use tollgate_mcp::offload::{LargeWork, offload_while_large};

use super::super::caller;
use super::call::{CallOptions, TwilioCall};
use super::driver::CallDriver;
use super::dtmf::DigitCollector;
use super::frames::{MAX_FRAME_BYTES, StreamStart, TwilioFrame};
use super::{StreamAdmission, admit_stream, peer_address, twiml};
use crate::access::{AccessRefusal, RefusalReason};
use crate::api_error::{ApiError, STOPPING};
use crate::app_state::AppState;
use crate::in_flight::{InFlightPermit, PrincipalShare};
use crate::phone_lines::{CallFacts, PhoneLine, TokenError, TwilioLine};
use crate::realtime::{
    ClientWebSocket, NO_SOCKET, PendingSession, UpgradeHandover, WebSocketHandshake, leave,
    provider_problem, share,
};
use crate::unproven_senders::UnprovenPlace;

/// Twilio sends `start` as soon as it is connected.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Buffer between a call and its session, each way.
const PIPE_BYTES: usize = 64 << 10;
/// Limit on a variable that comes from a call, in characters.
const MAX_VARIABLE_CHARS: usize = 256;

/// A stream whose call is not known yet.
struct PendingStream {
    front: Arc<AppState>,
    line: Arc<PhoneLine<TwilioLine>>,
    admission: StreamAdmission,
    session: PendingSession,
    from: Option<IpAddr>,
    /// Until it has brought a token.
    unproven: Option<UnprovenPlace>,
    /// For a live session, from its proof on: strangers must not use up those of the line.
    permit: Option<InFlightPermit>,
    share: Option<PrincipalShare>,
}

/// A call whose provider is connected.
struct StartedCall {
    call: TwilioCall,
    options: CallOptions,
    request: SessionRequest,
    provider: DialedProvider,
}

pub(super) fn accept(
    front: &Arc<AppState>,
    line: Option<&str>,
    mut request: Request,
) -> Result<Response, ApiError> {
    let shake = WebSocketHandshake::read(&request)?;
    let upgrade = hyper::upgrade::on(&mut request);
    let (sent, _) = request.into_parts();
    let handover = sent.extensions.get::<UpgradeHandover>().cloned().ok_or(NO_SOCKET)?;
    // A new call would end at once.
    if front.stopping.is_cancelled() {
        return Err(STOPPING);
    }
    let line = front.telephony.twilio.find(line)?;
    let admission = admit_stream(front, &line, &sent)?;
    front.pressure.take_stream()?;
    let who = caller::context(front, &line, &sent, "")?;
    let share = share(front, &who);
    let from = peer_address(&sent.extensions);
    let (unproven, permit, share) = match admission {
        StreamAdmission::NoSignature => (Some(line.tokens.enter(from)), None, share),
        StreamAdmission::Signed | StreamAdmission::SignedNeedsToken => {
            (None, Some(front.live.enter(share)?), None)
        }
    };
    let session = PendingSession::of_call(front, &sent, who)?;
    let thread = front.realtime_threads.pick();
    let front = Arc::clone(front);
    let stream = PendingStream { front, line, admission, session, from, unproven, permit, share };
    let response = shake.response(&sent);
    handover.give(
        thread,
        offload_while_large(async move |large_work| match upgrade.await {
            Ok(upgraded) => Box::pin(stream.run(upgraded, large_work)).await,
            Err(error) => tracing::debug!(%error, "a WebSocket upgrade failed"),
        }),
    );
    Ok(response)
}

impl PendingStream {
    async fn run(mut self, upgraded: Upgraded, large_work: LargeWork) {
        let config = wire::config()
            .max_message_size(Some(MAX_FRAME_BYTES))
            .max_frame_size(Some(MAX_FRAME_BYTES));
        let mut socket = self.session.socket(upgraded, &large_work, config).await;
        let mut ends = self.session.ends();
        let started = tokio::select! {
            started = self.start(&mut socket) => started,
            end = &mut ends.at_once => Err(end),
            end = &mut ends.after_turn => Err(end),
        };
        self.unproven = None;
        let StartedCall { mut call, options, request, provider } = match started {
            Ok(started) => started,
            Err(end) => return leave(socket, end).await,
        };
        let Self { front, permit, session: pending, .. } = self;
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let config = Some(wire::config());
        let client = WebSocketStream::from_raw_socket(far, Role::Server, config).await;
        let session = WebSocketStream::from_raw_socket(near, Role::Client, config).await;
        let calls = pending.worker().clone();
        let large = large_work.clone();
        let sockets = SessionSockets { client, provider, first: None, large_work: large, calls };
        let running = front.realtime_sessions.hold(request, sockets, ends);
        let now = front.clock.now();
        let twilio = SocketSide::new(socket, large_work.clone(), now);
        let session = SocketSide::new(session, large_work, now);
        let first = call.open(&options);
        let clock = Arc::clone(&front.clock);
        let driver = CallDriver::new(call, twilio, session).run(first, move || clock.now());
        join(Box::pin(driver), running).await;
        drop(permit);
    }

    /// Waits for the call, checks it, and connects its provider.
    async fn start(&mut self, socket: &mut ClientWebSocket) -> Result<StartedCall, CloseReason> {
        let started = self.read_start(socket).await?;
        let facts = self.facts(&started).map_err(|error| {
            let refusal = AccessRefusal { reason: RefusalReason::BadSignature, throttled: false };
            let front = &self.front;
            front.refused.note(&refusal, self.from, None, front.clock.wall());
            close(code::POLICY, error.to_string())
        })?;
        self.unproven = None;
        if self.permit.is_none() {
            let permit = self.front.live.enter(self.share.take());
            let too_busy = |problem: ApiError| close(code::TRY_LATER, problem.detail);
            self.permit = Some(permit.map_err(too_busy)?);
        }
        let settings = &self.line.settings;
        let variables = variables(settings, &facts, &started);
        let agent = self.session.agent();
        let values = PlaceholderValues { request: &variables, agent, call_id: &started.call };
        let greeting = agent.persona.greeting.as_deref();
        let options = CallOptions {
            voice: settings.voice.clone(),
            transcription: settings.transcription.clone(),
            greeting: greeting.map(|text| template::render(text, &values)),
        };
        self.session.set_call(started.call.clone(), variables);
        let refuse = |problem: ApiError| close(code::POLICY, problem.detail);
        let mut request =
            self.session.session_request(settings.model.as_deref()).map_err(refuse)?;
        request.reserve(self.front.gate.model_usage()).map_err(|limited| {
            tracing::warn!(error = %limited, "a phone call exceeds the limits of its model");
            close(code::TRY_LATER, format!("model_limit_exceeded: {}", limited.message))
        })?;
        let provider = request.dial().await;
        let provider = provider.map_err(|failure| {
            tracing::warn!(error = %failure, "cannot connect a phone call to its model");
            close(code::FAULT, provider_problem(failure).detail)
        })?;
        let digits = DigitCollector::new(settings.dtmf, settings.dtmf_pause);
        let call = TwilioCall::new(started.stream, digits);
        Ok(StartedCall { call, options, request, provider })
    }

    /// Waits for `start`, as long as there is room for streams without proof.
    async fn read_start(&self, socket: &mut ClientWebSocket) -> Result<StreamStart, CloseReason> {
        let reading = tokio::time::timeout(START_TIMEOUT, read_start(socket));
        let read = match &self.unproven {
            Some(place) => place.hold(reading).await,
            None => Some(reading.await),
        };
        let read = read.ok_or_else(|| close(code::TRY_LATER, "too many streams begin at once"))?;
        read.map_err(|_| close(code::POLICY, "no `start` for 10 s"))?
    }

    fn facts(&self, started: &StreamStart) -> Result<CallFacts, TokenError> {
        let token = started.parameters.get(twiml::TOKEN_PARAMETER);
        match (token, self.admission) {
            (Some(token), _) => {
                self.line.tokens.redeem(token, &started.call, self.front.clock.now())
            }
            (None, StreamAdmission::Signed) => {
                Ok(CallFacts { call: started.call.clone(), ..CallFacts::default() })
            }
            (None, StreamAdmission::SignedNeedsToken | StreamAdmission::NoSignature) => {
                Err(TokenError::Unknown)
            }
        }
    }
}

/// `connected`, and then `start`.
async fn read_start(socket: &mut ClientWebSocket) -> Result<StreamStart, CloseReason> {
    loop {
        let text = match socket.next().await {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Binary(_))) => {
                return Err(close(code::POLICY, "Media Streams are text, not binary"));
            }
            Some(Ok(Message::Close(_))) | None => return Err(close(code::NORMAL, "")),
            Some(Err(error)) => return Err(wire::error_reason(&error)),
        };
        match TwilioFrame::parse(&text) {
            Ok(TwilioFrame::Start(start)) => return Ok(start),
            Ok(TwilioFrame::Connected | TwilioFrame::Other) => {}
            Ok(
                TwilioFrame::Media { .. }
                | TwilioFrame::Dtmf { .. }
                | TwilioFrame::Mark { .. }
                | TwilioFrame::Stop { .. },
            ) => return Err(close(code::POLICY, "a stream begins with `start`")),
            Err(error) => return Err(close(code::POLICY, error.to_string())),
        }
    }
}

/// Variables of the prompt. Custom parameters come from outside: only those that the config names.
fn variables(
    line: &TwilioLine,
    facts: &CallFacts,
    started: &StreamStart,
) -> BTreeMap<String, String> {
    let declared = line.parameters.iter().filter_map(|name| {
        started.parameters.get(name).map(|value| (name.as_str(), value.as_str()))
    });
    let known = [
        ("caller_number", facts.number.as_deref()),
        ("call_direction", facts.direction.as_deref()),
        ("call_id", Some(started.call.as_str())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let clean = |value: &str| {
        let value: String = value.chars().filter(|sign| !sign.is_control()).collect();
        truncate_chars(&value, MAX_VARIABLE_CHARS)
    };
    declared.chain(known).map(|(name, value)| (name.to_owned(), clean(value))).collect()
}
