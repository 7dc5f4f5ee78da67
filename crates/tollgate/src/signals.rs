//! Unix signals: stop (SIGTERM, SIGINT, SIGHUP of a closed terminal), and config reload (SIGHUP).

use std::io::{IsTerminal as _, stderr};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// For a command that ends by itself: returns at SIGTERM, SIGINT (Ctrl-C) or SIGHUP. Never returns
/// where signals are not available.
pub async fn wait_for_stop_signal() {
    let mut hangups = Hangups::listen();
    tokio::select! {
        () = wait_for_interrupt() => {}
        () = hangups.next() => {}
    }
}

/// For a command that Ctrl-C does not end: returns at SIGTERM or SIGHUP.
pub async fn wait_for_terminate_signal() {
    let mut hangups = Hangups::listen();
    let mut ends = signal(SignalKind::terminate()).ok();
    let terminated = async {
        match &mut ends {
            Some(ends) => drop(ends.recv().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = terminated => {}
        () = hangups.next() => {}
    }
}

/// A stream of Ctrl-C signals.
pub struct Interrupts(Option<Signal>);

impl Interrupts {
    pub fn listen() -> Self {
        Self(signal(SignalKind::interrupt()).ok())
    }

    /// Cancel-safe. Never returns where signals are not available.
    pub async fn next(&mut self) {
        let received = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if received.is_none() {
            std::future::pending().await
        }
    }
}

/// A stream of signals that end the gateway. SIGHUP does so only if its terminal was closed.
pub struct EndSignals {
    terminates: Option<Signal>,
    interrupts: Interrupts,
    hangups: Hangups,
    attended: TerminalPresence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// From a process manager.
    Terminate,
    /// From the user at the terminal, or because the terminal was closed.
    Interrupt,
}

impl EndSignals {
    /// From now on, none of them ends the process by itself.
    pub fn listen(attended: TerminalPresence) -> Self {
        let terminates = signal(SignalKind::terminate()).ok();
        Self { terminates, interrupts: Interrupts::listen(), hangups: Hangups::listen(), attended }
    }

    /// Cancel-safe: a signal between two calls is not lost.
    pub async fn next(&mut self) -> EndSignal {
        let Self { terminates, interrupts, hangups, attended } = self;
        let terminated = async {
            match terminates {
                Some(terminates) => drop(terminates.recv().await),
                None => std::future::pending().await,
            }
        };
        let left_alone = async {
            loop {
                hangups.next().await;
                if *attended == TerminalPresence::Yes && !stderr().is_terminal() {
                    return;
                }
            }
        };
        tokio::select! {
            () = terminated => EndSignal::Terminate,
            () = interrupts.next() => EndSignal::Interrupt,
            () = left_alone => EndSignal::Interrupt,
        }
    }
}

/// Whether a user is at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalPresence {
    Yes,
    No,
}

impl TerminalPresence {
    /// The current state.
    pub fn look() -> Self {
        if stderr().is_terminal() { Self::Yes } else { Self::No }
    }
}

/// A stream of SIGHUP signals.
pub struct Hangups(Option<Signal>);

impl Hangups {
    pub fn listen() -> Self {
        Self(signal(SignalKind::hangup()).ok())
    }

    /// Cancel-safe. Never returns where signals are not available.
    pub async fn next(&mut self) {
        let received = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if received.is_none() {
            std::future::pending().await
        }
    }
}

async fn wait_for_interrupt() {
    let signals = [SignalKind::terminate(), SignalKind::interrupt()];
    let [Ok(mut terminate), Ok(mut interrupt)] = signals.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
