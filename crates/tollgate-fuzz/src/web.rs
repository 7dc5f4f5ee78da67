//! SSRF: where strangers want to lead us by URLs, redirects and OAuth metadata.

use std::net::{IpAddr, Ipv4Addr};

use tollgate_core::address::{AddressScope, address_scope};
use tollgate_engine::fuzzing::{bearer_challenge, stranger_url, token_endpoint};
use tollgate_engine::web::place::OauthUrl;

/// The first line is a URL, the second where it redirects to. No address is admitted that is not public.
pub(crate) fn url(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let (text, redirect) = text.split_once('\n').map_or((text, None), |(url, to)| (url, Some(to)));
    for found in [stranger_url(text, None), stranger_url(text, redirect)].into_iter().flatten() {
        assert!(found.url.starts_with("http://") || found.url.starts_with("https://"));
        assert!(!found.url.contains('#') && found.url.is_ascii());
        // Redirects may have one in their query, as browsers take it; people may not.
        if !found.url.contains('\\') {
            let again = stranger_url(&found.url, None);
            assert_eq!(again.as_ref(), Ok(&found), "what is checked is what is connected to");
        }
        if let Some(address) = found.address {
            assert!(
                !found.admitted || address_scope(address) == AddressScope::Public,
                "{address} is admitted"
            );
            check_spellings(address);
        }
    }
}

/// An address that only carries another is judged by that one.
fn check_spellings(address: IpAddr) {
    let IpAddr::V4(address) = address else { return };
    let mapped = IpAddr::V6(address.to_ipv6_mapped());
    assert_eq!(address_scope(mapped), address_scope(IpAddr::V4(address)), "{mapped}");
    let [a, b, c, d] = address.octets();
    let nat64 = format!("64:ff9b::{a:x}{b:02x}:{c:x}{d:02x}");
    let nat64: IpAddr = nat64.parse().expect("an address");
    assert!(
        address_scope(nat64) != AddressScope::Public
            || address_scope(IpAddr::V4(address)) == AddressScope::Public
    );
    assert_eq!(address_scope(IpAddr::V4(Ipv4Addr::LOCALHOST)), AddressScope::Machine);
}

/// Lines: server, issuer, challenge; then the metadata. A secret goes to the server's own origin or nowhere.
pub(crate) fn oauth_metadata(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let mut parts = text.splitn(4, '\n');
    let mut next = || parts.next().unwrap_or_default();
    let server = next();
    let issuer = next();
    let challenge = next();
    let body = next();
    let (metadata, scopes) = bearer_challenge(challenge);
    assert!(metadata.is_none_or(|it| it.len() <= challenge.len()));
    assert!(scopes.iter().all(|scope| !scope.is_empty() && scope.len() <= challenge.len()));
    let Ok(body) = tollgate_core::json::value(body) else { return };
    let Ok(endpoint) = token_endpoint(server, issuer, &body) else { return };
    let endpoint = OauthUrl::parse(&endpoint);
    let server = OauthUrl::parse(server);
    let endpoint = endpoint.expect("it was checked");
    let server = server.expect("it was checked");
    let is_local = |place: &OauthUrl| {
        ["//localhost", "//127.", "//[::1]"].iter().any(|it| place.origin.contains(it))
    };
    let is_same = endpoint.origin == server.origin;
    assert!(is_same || is_local(&endpoint) && is_local(&server), "{endpoint:?} for {server:?}");
    assert!(endpoint.origin.starts_with("https://") || is_local(&endpoint));
}
