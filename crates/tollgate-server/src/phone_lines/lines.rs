//! Lines of the config that are in force. A changed or removed line ends what runs under it; an
//! unchanged one keeps its calls over a reload.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::StatusCode;
use tollgate_core::lease::{LeaseTerm, RevokedError};
use tollgate_core::text::truncate_chars;

use super::settings::{LineAccess, RetellLine, TelephonySettings, TwilioLine, VapiLine};
use super::stream_tokens::StreamTokens;
use super::tool_deliveries::ToolDeliveries;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};

/// A line, and what belongs to it while it is in force.
#[derive(Debug)]
pub(crate) struct PhoneLine<L> {
    pub(crate) settings: L,
    pub(crate) tokens: StreamTokens,
    pub(crate) calls: ToolDeliveries,
    /// Ended when the line is changed or removed.
    term: LeaseTerm,
}

/// What all kinds of lines have.
pub(crate) trait LineSettings: PartialEq + Clone {
    /// The part of the path that selects the kind.
    const VENDOR: &'static str;
    fn name(&self) -> &str;
    fn access(&self) -> &LineAccess;
}

impl LineSettings for TwilioLine {
    const VENDOR: &'static str = "twilio";

    fn name(&self) -> &str {
        &self.name
    }

    fn access(&self) -> &LineAccess {
        &self.access
    }
}

impl LineSettings for VapiLine {
    const VENDOR: &'static str = "vapi";

    fn name(&self) -> &str {
        &self.name
    }

    fn access(&self) -> &LineAccess {
        &self.access
    }
}

impl LineSettings for RetellLine {
    const VENDOR: &'static str = "retell";

    fn name(&self) -> &str {
        &self.name
    }

    fn access(&self) -> &LineAccess {
        &self.access
    }
}

/// The lines of one vendor.
#[derive(Debug)]
pub(crate) struct PhoneLines<L>(ArcSwap<Vec<Arc<PhoneLine<L>>>>);

impl<L> Default for PhoneLines<L> {
    fn default() -> Self {
        Self(ArcSwap::default())
    }
}

impl<L: LineSettings> PhoneLines<L> {
    fn configure(&self, settings: &[L]) {
        let before = self.0.load_full();
        let keep = |settings: &L| before.iter().find(|line| line.settings == *settings);
        let new = |settings: &L| Arc::new(PhoneLine::new(settings.clone()));
        let lines: Vec<Arc<PhoneLine<L>>> = settings
            .iter()
            .map(|settings| keep(settings).map_or_else(|| new(settings), Arc::clone))
            .collect();
        for gone in before.iter().filter(|line| !lines.iter().any(|it| Arc::ptr_eq(it, line))) {
            let reason = format!(
                "the line `{}` of {} was changed or removed",
                gone.settings.name(),
                L::VENDOR
            );
            gone.term.end(RevokedError::because(reason));
        }
        self.0.store(Arc::new(lines));
    }

    /// The named line, or the only one.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Arc<PhoneLine<L>>, ApiError> {
        let lines = self.0.load();
        match (name, &lines[..]) {
            (None, [line]) => Ok(Arc::clone(line)),
            (None, []) => Err(unknown(format!("no line of {} is configured", L::VENDOR))),
            (None, _) => Err(unknown(format!(
                "there are several lines of {vendor}: name one, `/v1/telephony/{vendor}/NAME`",
                vendor = L::VENDOR
            ))),
            (Some(name), lines) => {
                let found = lines.iter().find(|line| line.settings.name() == name);
                found.map(Arc::clone).ok_or_else(|| {
                    let name = truncate_chars(name, MAX_ECHOED_CHARS);
                    unknown(format!("there is no line `{name}` of {}", L::VENDOR))
                })
            }
        }
    }
}

fn unknown(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_line", detail)
}

impl<L: LineSettings> PhoneLine<L> {
    fn new(settings: L) -> Self {
        Self {
            settings,
            tokens: StreamTokens::default(),
            calls: ToolDeliveries::default(),
            term: LeaseTerm::new(),
        }
    }

    pub(crate) fn term(&self) -> &LeaseTerm {
        &self.term
    }
}

/// All lines in force.
#[derive(Debug, Default)]
pub(crate) struct PhoneLineRegistry {
    pub(crate) twilio: PhoneLines<TwilioLine>,
    pub(crate) vapi: PhoneLines<VapiLine>,
    pub(crate) retell: PhoneLines<RetellLine>,
}

impl PhoneLineRegistry {
    pub(crate) fn configure(&self, settings: &TelephonySettings) {
        self.twilio.configure(&settings.twilio);
        self.vapi.configure(&settings.vapi);
        self.retell.configure(&settings.retell);
    }
}
