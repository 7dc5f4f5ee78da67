//! Allowlists and denylists of one request, which only restrict its view: by header, by `_meta`, by
//! flag.
//!
//! This is the only place that parses them. The gate applies them. A filter that cannot be parsed
//! is refused: ignoring it would show more than intended.

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tollgate_core::filter::RequestFilter;
use tollgate_core::glob::Glob;
use tollgate_core::json::{self, Object};
use tollgate_core::text::truncate_chars;

use crate::api_error::{ApiError, MAX_ECHOED_CHARS};

/// Limit on all filters of a request together.
const MAX_FILTERS_BYTES: usize = 8 << 10;
const MAX_FILTER_ITEMS: usize = 256;
/// Limit on one item. No name is longer.
const MAX_ITEM_LEN: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterField {
    IncludeServers,
    ExcludeServers,
    IncludeTools,
    ExcludeTools,
}

/// The header names of Bifrost mean the same. An empty list that is present allows nothing.
const HEADERS: &[(&str, FilterField)] = &[
    ("x-tollgate-include-servers", FilterField::IncludeServers),
    ("x-tollgate-exclude-servers", FilterField::ExcludeServers),
    ("x-tollgate-include-tools", FilterField::IncludeTools),
    ("x-tollgate-exclude-tools", FilterField::ExcludeTools),
    ("x-bf-mcp-include-clients", FilterField::IncludeServers),
    ("x-bf-mcp-include-tools", FilterField::IncludeTools),
];

/// Any header with such a prefix, with `_` for `-` or not, is meant as a filter.
const LIKE_HEADERS: &[&str] =
    &["x-tollgate-include", "x-tollgate-exclude", "x-bf-mcp-include", "x-bf-mcp-exclude"];

/// For clients that cannot set headers.
const META: &[(&str, FilterField)] = &[
    ("dev.tollgate/include-servers", FilterField::IncludeServers),
    ("dev.tollgate/exclude-servers", FilterField::ExcludeServers),
    ("dev.tollgate/include-tools", FilterField::IncludeTools),
    ("dev.tollgate/exclude-tools", FilterField::ExcludeTools),
];

const LIKE_META: &[&str] = &["dev.tollgate/include", "dev.tollgate/exclude"];

/// A filter that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequestFilterError(String);

impl From<RequestFilterError> for ApiError {
    fn from(bad: RequestFilterError) -> Self {
        Self::with_detail(StatusCode::BAD_REQUEST, "bad_filter", bad.0)
    }
}

/// Lists of the command line. Each item is a name, a glob, or several of them separated by commas.
#[derive(Debug, Clone, Copy, Default)]
pub struct FilterFlags<'a> {
    /// `None`: all of them.
    pub include_servers: Option<&'a [String]>,
    pub exclude_servers: &'a [String],
    pub include_tools: Option<&'a [String]>,
    pub exclude_tools: &'a [String],
}

/// A list of the command line that is not empty, and the header that says the same.
struct SuppliedList<'a> {
    header: &'static str,
    field: FilterField,
    items: &'a [String],
}

impl<'a> FilterFlags<'a> {
    fn supplied_lists(self) -> Vec<SuppliedList<'a>> {
        let some = |list: &'a [String]| Some(list).filter(|list| !list.is_empty());
        let lists = [
            self.include_servers,
            some(self.exclude_servers),
            self.include_tools,
            some(self.exclude_tools),
        ];
        let given = HEADERS.iter().zip(lists);
        given
            .filter_map(|((header, field), items)| {
                Some(SuppliedList { header, field: *field, items: items? })
            })
            .collect()
    }

    pub fn read(self) -> Result<RequestFilter, RequestFilterError> {
        let mut reader = FilterReader::default();
        for SuppliedList { header, field, items } in self.supplied_lists() {
            let flag = header.replace("x-tollgate-", "--");
            let globs = reader.lists(&flag, items.iter().map(String::as_str))?;
            reader.take(field, globs);
        }
        Ok(reader.narrow)
    }

    /// The same filters as request headers.
    pub fn headers(self) -> Vec<(&'static str, String)> {
        self.supplied_lists().into_iter().map(|it| (it.header, it.items.join(","))).collect()
    }
}

/// The filter from the headers of a request. Also for fronts of an embedding program.
pub fn by_headers(headers: &HeaderMap) -> Result<RequestFilter, RequestFilterError> {
    for name in headers.keys() {
        let is_known = HEADERS.iter().any(|(known, _)| name == known);
        if !is_known && looks_like(name.as_str(), LIKE_HEADERS) {
            return Err(unknown("header", name.as_str(), HEADERS));
        }
    }
    let mut reader = FilterReader::default();
    for (name, field) in HEADERS {
        let values: Vec<&HeaderValue> = headers.get_all(*name).iter().collect();
        match (field, &values[..]) {
            (_, []) => continue,
            // Ambiguous: one longer list, or two lists that must both match.
            (FilterField::IncludeServers | FilterField::IncludeTools, [_, _, ..]) => {
                return Err(RequestFilterError(format!("`{name}` appears twice; send one list")));
            }
            _ => {}
        }
        let mut globs = Vec::new();
        for value in values {
            let text = std::str::from_utf8(value.as_bytes())
                .map_err(|_| RequestFilterError(format!("`{name}` is not UTF-8")))?;
            globs.extend(reader.lists(name, [text])?);
        }
        reader.take(*field, globs);
    }
    Ok(reader.narrow)
}

/// The filter from the `_meta` of a request: lists, or strings with commas.
pub(crate) fn by_meta(meta: &Object<'_>) -> Result<RequestFilter, RequestFilterError> {
    let mut reader = FilterReader::default();
    for (key, value) in meta.iter() {
        match META.iter().find(|(name, _)| *name == key) {
            Some((name, field)) => {
                let texts = texts(value).ok_or_else(|| {
                    RequestFilterError(format!("`{name}` of `_meta` must be a list of strings"))
                })?;
                let globs = reader.lists(name, texts.iter().map(String::as_str))?;
                reader.take(*field, globs);
            }
            None if looks_like(key, LIKE_META) => return Err(unknown("key", key, META)),
            None => {}
        }
    }
    Ok(reader.narrow)
}

/// They are for this gateway and not forwarded to upstream servers.
pub(crate) fn meta_keys() -> impl Iterator<Item = &'static str> {
    META.iter().map(|(name, _)| *name)
}

fn texts(value: &RawValue) -> Option<Vec<String>> {
    match json::string(value) {
        Some(text) => Some(vec![text.into_owned()]),
        None => serde_json::from_str(value.get()).ok(),
    }
}

fn looks_like(name: &str, patterns: &[&str]) -> bool {
    let folded = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    patterns.iter().any(|pattern| {
        name.len() >= pattern.len()
            && name.bytes().map(folded).zip(pattern.bytes()).all(|(a, b)| a == b)
    })
}

fn unknown(what: &str, name: &str, known: &[(&str, FilterField)]) -> RequestFilterError {
    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let name = truncate_chars(name, MAX_ECHOED_CHARS);
    RequestFilterError(format!("there is no {what} `{name}`; filters are {}", known.join(", ")))
}

/// Parser state: the filters so far and their total size.
#[derive(Default)]
struct FilterReader {
    narrow: RequestFilter,
    bytes: usize,
    items: usize,
}

impl FilterReader {
    /// Items of comma-separated lists. Surrounding blanks and empty items are ignored.
    fn lists<'t>(
        &mut self,
        name: &str,
        lists: impl IntoIterator<Item = &'t str>,
    ) -> Result<Vec<Glob>, RequestFilterError> {
        let mut globs = Vec::new();
        for list in lists {
            self.bytes += list.len();
            let items = list.split(',').map(|item| item.trim_matches([' ', '\t']));
            for item in items.filter(|item| !item.is_empty()) {
                self.items += 1;
                if self.items > MAX_FILTER_ITEMS || self.bytes > MAX_FILTERS_BYTES {
                    return Err(too_much());
                }
                if item.len() > MAX_ITEM_LEN || !item.chars().all(may_stand) {
                    let item = truncate_chars(item, MAX_ECHOED_CHARS);
                    return Err(RequestFilterError(format!(
                        "`{name}`: `{item}` is neither a name nor a glob"
                    )));
                }
                globs.push(Glob::new(item));
            }
        }
        if self.bytes > MAX_FILTERS_BYTES { Err(too_much()) } else { Ok(globs) }
    }

    fn take(&mut self, field: FilterField, globs: Vec<Glob>) {
        let RequestFilter { include_servers, exclude_servers, include_tools, exclude_tools } =
            &mut self.narrow;
        match field {
            FilterField::IncludeServers => include_servers.push(globs),
            FilterField::ExcludeServers => exclude_servers.extend(globs),
            FilterField::IncludeTools => include_tools.push(globs),
            FilterField::ExcludeTools => exclude_tools.extend(globs),
        }
    }
}

/// Characters of server and tool names, and of globs. Anything else, such as a semicolon instead of
/// a comma, is a mistake that would silently change the meaning.
fn may_stand(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:*?".contains(letter)
}

fn too_much() -> RequestFilterError {
    let limits = format!("{MAX_FILTER_ITEMS} names and {MAX_FILTERS_BYTES} bytes");
    RequestFilterError(format!("the filters of a request are limited to {limits} in total"))
}

#[cfg(test)]
mod tests;
