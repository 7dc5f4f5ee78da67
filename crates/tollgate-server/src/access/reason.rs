//! Reasons for refused access: a small closed set, so that it can be a metric label.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RefusalReason {
    NoKey,
    WrongKey,
    ExpiredKey,
    BadToken,
    Malformed,
    FailedLogin,
    NoCsrf,
    NoRight,
    BadHost,
    BadOrigin,
    BadSignature,
}

impl RefusalReason {
    pub(crate) const ALL: [Self; 11] = [
        Self::NoKey,
        Self::WrongKey,
        Self::ExpiredKey,
        Self::BadToken,
        Self::Malformed,
        Self::FailedLogin,
        Self::NoCsrf,
        Self::NoRight,
        Self::BadHost,
        Self::BadOrigin,
        Self::BadSignature,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::WrongKey => "wrong_key",
            Self::ExpiredKey => "expired_key",
            Self::BadToken => "bad_token",
            Self::Malformed => "malformed_credentials",
            Self::FailedLogin => "failed_login",
            Self::NoCsrf => "no_csrf",
            Self::NoRight => "no_right",
            Self::BadHost => "bad_host",
            Self::BadOrigin => "bad_origin",
            Self::BadSignature => "bad_signature",
        }
    }

    /// The reason for an error code. `None`: the error is not about access.
    pub(crate) fn of(code: &str) -> Option<Self> {
        Some(match code {
            "no_key" | "admin_only" => Self::NoKey,
            "wrong_key" | "mistyped_key" => Self::WrongKey,
            "expired_key" | "expired_client_secret" | "used_client_secret" => Self::ExpiredKey,
            "bad_token" => Self::BadToken,
            "two_keys" | "key_in_url" => Self::Malformed,
            "no_csrf" => Self::NoCsrf,
            "no_right"
            | "not_your_agent"
            | "no_rule"
            | "no_line_key"
            | "not_for_client_secrets" => Self::NoRight,
            "bad_host" | "host_mismatch" | "host_not_allowed" => Self::BadHost,
            "origin_not_allowed" => Self::BadOrigin,
            "bad_signature" => Self::BadSignature,
            _ => return None,
        })
    }

    /// Whether the client may be guessing credentials.
    pub(crate) const fn is_guess(self) -> bool {
        matches!(self, Self::WrongKey | Self::BadToken | Self::FailedLogin | Self::BadSignature)
    }
}
