//! Client address of a request. Behind a trusted proxy it comes from `forwarded` or
//! `x-forwarded-for`. From any other peer these headers are ignored.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::{HeaderMap, HeaderName, header};

/// The addresses that are counted as one client: an IPv6 /64 belongs to one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AddressGroup(IpAddr);

impl AddressGroup {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        })
    }
}

impl fmt::Display for AddressGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

/// Addresses and networks of the proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedProxies(Vec<CidrBlock>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CidrBlock {
    address: IpAddr,
    prefix: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadProxyError {
    #[error(
        "it is neither an address nor a network, such as `10.0.0.7`, `10.0.0.0/8` or `fd00::/8`"
    )]
    NoAddress,
    #[error("the prefix length exceeds the bits of the address")]
    TooLong,
    #[error("the address has bits set beyond the prefix length")]
    HostBits,
}

impl TrustedProxies {
    pub fn add(&mut self, text: &str) -> Result<(), BadProxyError> {
        self.0.push(text.parse()?);
        Ok(())
    }

    /// Whether every address is trusted.
    pub fn is_everyone(&self) -> bool {
        self.0.iter().any(|network| network.prefix == 0)
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }
}

impl FromStr for CidrBlock {
    type Err = BadProxyError;

    fn from_str(text: &str) -> Result<Self, BadProxyError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadProxyError::NoAddress)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = match prefix {
            None => bits,
            Some(text) => {
                let text = Some(text).filter(is_number).ok_or(BadProxyError::NoAddress)?;
                text.parse().map_err(|_| BadProxyError::NoAddress)?
            }
        };
        if prefix > bits {
            return Err(BadProxyError::TooLong);
        }
        let network = Self { address, prefix };
        if network.network_bits(address) != number(address) {
            return Err(BadProxyError::HostBits);
        }
        Ok(network)
    }
}

impl CidrBlock {
    fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && self.network_bits(address) == number(self.address)
    }

    /// The network bits of an address of the same family.
    fn network_bits(&self, address: IpAddr) -> u128 {
        let bits = if self.address.is_ipv4() { 32 } else { 128 };
        let free = u32::from(bits - self.prefix);
        number(address).checked_shr(free).and_then(|it| it.checked_shl(free)).unwrap_or(0)
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Limit on the chain of proxies. Further hops are ignored.
const MAX_HOPS: usize = 32;

/// The client's address: that of the connection, or the one reported by trusted proxies. Each proxy
/// appends the address of its peer, so the last one that is not a trusted proxy is the client.
pub(crate) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    proxies: &TrustedProxies,
) -> IpAddr {
    if !proxies.trusts(peer) {
        return peer;
    }
    let listed = headers.contains_key(X_FORWARDED_FOR);
    let standard = headers.contains_key(header::FORWARDED);
    match (listed, standard) {
        (false, false) => peer,
        (true, false) => last_untrusted(peer, &hops(headers, &X_FORWARDED_FOR), proxies),
        (false, true) => last_untrusted(peer, &hops(headers, &header::FORWARDED), proxies),
        // One of the two headers may come from the client: believe them only if they agree.
        (true, true) => {
            let [one, other] = [X_FORWARDED_FOR, header::FORWARDED]
                .map(|name| last_untrusted(peer, &hops(headers, &name), proxies));
            if one == other { one } else { peer }
        }
    }
}

/// Nearest hop first. `None`: the entry cannot be parsed.
fn hops(headers: &HeaderMap, name: &HeaderName) -> Vec<Option<IpAddr>> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    let mut hops: Vec<&str> = values.flat_map(|value| value.split(',')).collect();
    hops.reverse();
    hops.truncate(MAX_HOPS);
    let read =
        |hop: &str| if *name == header::FORWARDED { node(forwarded_for(hop)?) } else { node(hop) };
    hops.into_iter().map(read).collect()
}

fn last_untrusted(peer: IpAddr, hops: &[Option<IpAddr>], proxies: &TrustedProxies) -> IpAddr {
    let mut known = peer;
    for hop in hops {
        let Some(hop) = hop else { return known };
        known = *hop;
        if !proxies.trusts(known) {
            return known;
        }
    }
    known
}

/// The value of `for` in one element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<&str> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    Some(value.trim().trim_matches('"'))
}

/// An address, with or without a port.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split_once(']')?.0.parse().ok().map(|ip: IpAddr| ip.to_canonical());
    }
    let bare: Option<IpAddr> = text.parse().ok();
    let with_port = || text.rsplit_once(':')?.0.parse().ok();
    bare.or_else(with_port).map(|ip| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted_proxies(texts: &[&str]) -> TrustedProxies {
        let mut proxies = TrustedProxies::default();
        texts.iter().for_each(|text| proxies.add(text).unwrap());
        proxies
    }

    fn client_seen_as(peer: &str, sent: &[(&str, &str)], proxies: &TrustedProxies) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        client_address(peer.parse().unwrap(), &headers, proxies).to_string()
    }

    #[test]
    fn networks_are_read_strictly() {
        for (text, expected) in [
            ("10.0.0.0/8", Ok(())),
            ("10.1.2.3", Ok(())),
            ("::1", Ok(())),
            ("fd00::/8", Ok(())),
            ("0.0.0.0/0", Ok(())),
            ("10.0.0.1/8", Err(BadProxyError::HostBits)),
            ("10.0.0.0/33", Err(BadProxyError::TooLong)),
            ("fd00::/129", Err(BadProxyError::TooLong)),
            ("10.0.0.0/", Err(BadProxyError::NoAddress)),
            ("10.0.0.0/+8", Err(BadProxyError::NoAddress)),
            ("proxy.example", Err(BadProxyError::NoAddress)),
            ("10.0.0", Err(BadProxyError::NoAddress)),
            ("10.0.0.7:80", Err(BadProxyError::NoAddress)),
            ("", Err(BadProxyError::NoAddress)),
        ] {
            assert_eq!(TrustedProxies::default().add(text), expected, "{text}");
        }
        let proxies = trusted_proxies(&["10.0.0.0/8", "fd00::/8", "192.168.1.7"]);
        for (address, expected) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("::ffff:10.0.0.1", true),
            ("fdff::1", true),
            ("fe80::1", false),
            ("192.168.1.7", true),
            ("192.168.1.8", false),
        ] {
            assert_eq!(proxies.trusts(address.parse().unwrap()), expected, "{address}");
        }
        assert!(trusted_proxies(&["::/0"]).is_everyone() && !proxies.is_everyone());
    }

    #[test]
    fn only_a_trusted_proxy_says_who_its_client_is_and_the_last_stranger_counts() {
        let proxies = trusted_proxies(&["10.0.0.0/8"]);
        let listed = |value| ("x-forwarded-for", value);
        for (peer, sent, expected) in [
            ("203.0.113.5", vec![listed("198.51.100.1")], "203.0.113.5"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec![listed("198.51.100.1")], "198.51.100.1"),
            // What stands before it was said by a stranger.
            ("10.0.0.1", vec![listed("127.0.0.1, 198.51.100.1")], "198.51.100.1"),
            ("10.0.0.1", vec![listed("127.0.0.1"), listed("198.51.100.1")], "198.51.100.1"),
            ("10.0.0.1", vec![listed("198.51.100.1, 10.0.0.2, 10.0.0.3")], "198.51.100.1"),
            ("10.0.0.1", vec![listed("10.0.0.9")], "10.0.0.9"),
            ("10.0.0.1", vec![listed("198.51.100.1, nonsense")], "10.0.0.1"),
            ("10.0.0.1", vec![listed("nonsense, 10.0.0.2")], "10.0.0.2"),
            ("10.0.0.1", vec![listed("198.51.100.1:4711")], "198.51.100.1"),
            ("10.0.0.1", vec![listed("[2001:db8::7]:4711")], "2001:db8::7"),
            ("10.0.0.1", vec![listed("2001:db8::7")], "2001:db8::7"),
            ("10.0.0.1", vec![("forwarded", "for=198.51.100.1;proto=https")], "198.51.100.1"),
            ("10.0.0.1", vec![("forwarded", "For=\"[2001:db8::7]:80\"")], "2001:db8::7"),
            ("10.0.0.1", vec![("forwarded", "for=127.0.0.1, for=198.51.100.1")], "198.51.100.1"),
            ("10.0.0.1", vec![("forwarded", "for=unknown")], "10.0.0.1"),
            ("10.0.0.1", vec![("forwarded", "proto=https")], "10.0.0.1"),
            (
                "10.0.0.1",
                vec![listed("198.51.100.1"), ("forwarded", "for=198.51.100.1")],
                "198.51.100.1",
            ),
            // One of them was written by the client.
            ("10.0.0.1", vec![listed("198.51.100.1"), ("forwarded", "for=192.0.2.9")], "10.0.0.1"),
        ] {
            assert_eq!(client_seen_as(peer, &sent, &proxies), expected, "{peer} {sent:?}");
            let nobody = TrustedProxies::default();
            assert_eq!(client_seen_as(peer, &sent, &nobody), peer, "nobody is trusted: {sent:?}");
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let group = |text: &str| AddressGroup::of(text.parse().unwrap());
        assert_eq!(group("2001:db8:1:2::7"), group("2001:db8:1:2:ffff::1"));
        assert_ne!(group("2001:db8:1:2::7"), group("2001:db8:1:3::7"));
        assert_eq!(group("::ffff:10.0.0.1"), group("10.0.0.1"));
        assert_eq!(group("2001:db8:1:2::7").to_string(), "2001:db8:1:2::/64");
    }
}
