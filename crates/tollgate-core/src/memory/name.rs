//! Names of memory namespaces: campaign and tenant.

use std::fmt;
use std::sync::Arc;

use crate::id::InvalidNameError;
use crate::text::truncate_chars;

/// A campaign, or a tenant.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryName(Arc<str>);

/// An isolated part of the memory: a campaign, within a tenant if there are several.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Arc<str>);

const MAX_NAME_LEN: usize = 64;
const ALLOWED_CHARACTERS: &str = "use letters, digits, `_`, `-` and `.`";

impl MemoryName {
    pub fn parse(text: &str) -> Result<Self, InvalidNameError> {
        if text.is_empty() {
            return Err(InvalidNameError::Empty);
        }
        if text.len() > MAX_NAME_LEN {
            return Err(InvalidNameError::TooLong {
                name: truncate_chars(text, MAX_NAME_LEN),
                limit: MAX_NAME_LEN,
            });
        }
        let fits = |found: char| found.is_ascii_alphanumeric() || "_-.".contains(found);
        match text.chars().find(|found| !fits(*found)) {
            Some(found) => Err(InvalidNameError::Character {
                name: text.into(),
                found,
                allowed: ALLOWED_CHARACTERS,
            }),
            None => Ok(Self(text.into())),
        }
    }

    /// The default name.
    pub fn usual() -> Self {
        Self("default".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Namespace {
    /// Names contain no `/`, so a campaign cannot be that of another tenant.
    pub fn of(tenant: Option<&MemoryName>, campaign: &MemoryName) -> Self {
        match tenant {
            None => Self(Arc::clone(&campaign.0)),
            Some(tenant) => Self(format!("{tenant}/{campaign}").into()),
        }
    }

    /// `CAMPAIGN`, or `TENANT/CAMPAIGN`: for operators, who may name any namespace.
    pub fn parse(text: &str) -> Result<Self, InvalidNameError> {
        match text.split_once('/') {
            None => Ok(Self::of(None, &MemoryName::parse(text)?)),
            Some((tenant, campaign)) => {
                Ok(Self::of(Some(&MemoryName::parse(tenant)?), &MemoryName::parse(campaign)?))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MemoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryName, Namespace};

    #[test]
    fn a_namespace_is_a_campaign_or_a_tenants_campaign() {
        for text in ["default", "waterdeep", "acme/waterdeep", "a.b-c_1/x"] {
            assert_eq!(Namespace::parse(text).unwrap().as_str(), text);
        }
        for text in ["", "/", "a/", "/a", "a/b/c", "a b", "ä", "a\0", &"x".repeat(65)] {
            assert!(Namespace::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn no_campaign_reaches_into_a_tenant() {
        assert!(MemoryName::parse("acme/waterdeep").is_err());
        let acme = MemoryName::parse("acme").unwrap();
        let waterdeep = MemoryName::parse("waterdeep").unwrap();
        let theirs = Namespace::of(Some(&acme), &waterdeep);
        assert_eq!(theirs.as_str(), "acme/waterdeep");
        assert_ne!(theirs, Namespace::of(None, &waterdeep));
    }
}
