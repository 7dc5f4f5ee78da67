//! Query parameters of the memory routes.

use std::time::SystemTime;

use axum::extract;
use http::{StatusCode, Uri};
use tollgate_core::date;
use tollgate_core::memory::MAX_HITS;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_store::memory::Page;

use crate::api_error::ApiError;
use crate::fields::check_query;

/// Maximum page size.
const MAX_PAGE_SIZE: usize = 1_000;
const USUAL_SHOWN: usize = 100;
const USUAL_HITS: usize = 10;
/// Limit on a parameter, in bytes. Longer ones are refused.
const MAX_PARAMETER_BYTES: usize = 16 << 10;

pub(super) struct MemoryQueryParams(Vec<(String, String)>);

impl MemoryQueryParams {
    /// Refuses unknown parameters (beside those of every route and `known`) and duplicates.
    pub(super) fn read(uri: &Uri, known: &[&str]) -> Result<Self, ApiError> {
        let all: Vec<&str> = ["namespace", "agent"].iter().chain(known).copied().collect();
        check_query(uri, &all)?;
        let extract::Query(pairs) = extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| bad_query("the query is malformed".to_owned()))?;
        for (at, (key, value)) in pairs.iter().enumerate() {
            if pairs[..at].iter().any(|(other, _)| other == key) {
                return Err(bad_query(format!("`{key}` appears twice")));
            }
            if value.len() > MAX_PARAMETER_BYTES {
                return Err(bad_query(format!(
                    "`{key}` is longer than {MAX_PARAMETER_BYTES} bytes"
                )));
            }
        }
        Ok(Self(pairs))
    }

    /// Refuses an empty value: it is probably a mistake.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, ApiError> {
        let found = self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        match found {
            Some("") => Err(bad_query(format!("`{key}` is empty; remove it"))),
            found => Ok(found),
        }
    }

    pub(super) fn require(&self, key: &str) -> Result<&str, ApiError> {
        self.text(key)?.ok_or_else(|| bad_query(format!("`{key}` is missing")))
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, ApiError> {
        match self.text(key)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(bad_query(format!("`{key}` is true or false"))),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, ApiError> {
        let wrong = |_| bad_query(format!("`{key}` is a whole number, 0 or more"));
        self.text(key)?.map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// Page size: `limit`, at least 1.
    pub(super) fn limit(&self, usual: usize, most: usize) -> Result<usize, ApiError> {
        match self.number("limit")? {
            None => Ok(usual),
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=most).contains(limit))
                .ok_or_else(|| bad_query(format!("`limit` is from 1 to {most}"))),
        }
    }

    /// Number of search hits.
    pub(super) fn hits(&self) -> Result<usize, ApiError> {
        self.limit(USUAL_HITS, MAX_HITS)
    }

    pub(super) fn page(&self) -> Result<Page, ApiError> {
        let most = self.limit(USUAL_SHOWN, MAX_PAGE_SIZE)?;
        let skip = usize::try_from(self.number("skip")?.unwrap_or(0)).unwrap_or(usize::MAX);
        Ok(Page { skip, most })
    }

    /// A time, or a duration before now.
    pub(super) fn moment(&self, key: &str) -> Result<Option<SystemTime>, ApiError> {
        let wrong =
            || bad_query(format!("`{key}` is a time (`2026-11-15T10:00:00Z`) or a span (`30d`)"));
        let moment = |text: &str| match date::span(text) {
            Some(span) => SystemClock.wall().checked_sub(span),
            None => date::parse(text),
        };
        self.text(key)?.map(|text| moment(text).ok_or_else(wrong)).transpose()
    }
}

pub(super) fn bad_query(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
}

/// Value of `skip` for the next page. `None`: this was the last one.
pub(super) fn next(page: Page, found: usize) -> Option<usize> {
    (found == page.most).then(|| page.skip.saturating_add(found))
}
