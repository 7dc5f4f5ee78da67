//! One side of all sessions: sends frames at a pace, and notes when those of the other side come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tollgate_testkit::ws::{CLOSE, RawWebSocket};

use super::frames::SpeechRole;
use super::{FrameDelays, FrameRate};
use crate::clock;
use crate::error::BenchError;
use crate::samples::Samples;

const TICK: Duration = Duration::from_millis(1);
/// So many frames in a row, then others may do something.
const BURST: u64 = 8;
/// For the last frames to come.
const LINGER: Duration = Duration::from_millis(300);
/// Events other than audio that nobody looked at.
const MAX_QUEUED_EVENTS: usize = 4_096;

pub(super) struct SpeechPeer {
    voice: SpeechRole,
    lines: Vec<SpeechConnection>,
    delays: Arc<Mutex<Vec<u64>>>,
    events: (mpsc::Sender<String>, mpsc::Receiver<String>),
    readers: JoinSet<()>,
}

struct SpeechConnection {
    writing: OwnedWriteHalf,
    is_open: Arc<AtomicBool>,
}

impl SpeechPeer {
    pub(super) fn new(voice: SpeechRole) -> Self {
        Self {
            voice,
            lines: Vec::new(),
            delays: Arc::default(),
            events: mpsc::channel(MAX_QUEUED_EVENTS),
            readers: JoinSet::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn forget_closed(&mut self) {
        self.lines.retain(|line| line.is_open.load(Ordering::Relaxed));
    }

    /// Reads this line from now on.
    pub(super) fn take(&mut self, wire: RawWebSocket) {
        let voice = self.voice;
        let delays = Arc::clone(&self.delays);
        let (mut reading, writing) = wire.into_halves();
        let is_open = Arc::new(AtomicBool::new(true));
        self.lines.push(SpeechConnection { writing, is_open: Arc::clone(&is_open) });
        let events = self.events.0.clone();
        self.readers.spawn(async move {
            while let Some(frame) = reading.frame().await.filter(|frame| frame.opcode != CLOSE) {
                match voice.sent_at(&frame.payload) {
                    Some(sent) => delays.lock().push(nanos_since_epoch().saturating_sub(sent)),
                    None => {
                        let text = String::from_utf8_lossy(&frame.payload).into_owned();
                        let _ = events.try_send(text);
                    }
                }
            }
            is_open.store(false, Ordering::Relaxed);
        });
    }

    /// Sends on all lines in turn, and says what came meanwhile.
    pub(super) async fn talk(&mut self, pace: FrameRate) -> Result<FrameDelays, BenchError> {
        self.delays.lock().clear();
        let mut frame = self.voice.frame();
        let per_second = pace.frames_per_second * self.lines.len() as f64;
        let began = clock::now();
        let mut sent = 0_u64;
        loop {
            let passed = clock::now() - began;
            let due = (passed.min(pace.lasts).as_secs_f64() * per_second) as u64;
            while sent < due {
                let at = sent as usize % self.lines.len();
                self.lines[at].writing.write_all(frame.with(nanos_since_epoch())).await?;
                sent += 1;
                if sent.is_multiple_of(BURST) {
                    tokio::task::yield_now().await;
                }
            }
            if passed >= pace.lasts {
                break;
            }
            tokio::time::sleep(TICK).await;
        }
        tokio::time::sleep(LINGER).await;
        let delays = Samples::of_nanos(std::mem::take(&mut *self.delays.lock()));
        Ok(FrameDelays { delays, due: sent })
    }

    /// On the first line.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), BenchError> {
        let nobody = || BenchError::Process("nobody is there to be asked".to_owned());
        let line = self.lines.first_mut().ok_or_else(nobody)?;
        Ok(line.writing.write_all(bytes).await?)
    }

    /// The next event that is no audio.
    pub(super) async fn event(&mut self) -> String {
        self.events.1.recv().await.unwrap_or_default()
    }
}

/// Nanoseconds since the first time somebody asked, the same on all threads.
fn nanos_since_epoch() -> u64 {
    static EPOCH: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    clock::nanos(clock::now() - *EPOCH.get_or_init(clock::now))
}
