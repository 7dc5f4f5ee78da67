//! Address classification for the SSRF guard: whether an IP address is public, private, local or
//! forbidden. Used before a connection is made on behalf of a caller. Pure: no DNS, no sockets.
//!
//! An address is public only if the tables say so; unknown addresses are not public. Addresses that
//! embed an IPv4 address (mapped, translated, NAT64) are classified by the embedded one. Obsolete
//! tunnels (6to4, Teredo, ISATAP, IPv4-compatible) are never public: only attackers use them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressScope {
    /// The public internet.
    Public,
    /// A private network: private, shared (CGNAT) or unique local addresses.
    Network,
    /// Loopback: this machine.
    Machine,
    /// Never a valid target: metadata services, link-local, multicast, reserved.
    Nowhere,
}

/// Classifies an address, in IPv4 or any IPv6 form.
pub fn address_scope(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => scope_v6(address),
    }
}

pub fn is_public(address: IpAddr) -> bool {
    address_scope(address) == AddressScope::Public
}

/// IPv4 blocks that are not public: first address, prefix length, scope. From IANA's registry of
/// special-purpose addresses, plus cloud metadata addresses that are not in it.
const SPECIAL_V4: &[(Ipv4Addr, u32, AddressScope)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, AddressScope::Nowhere),
    (Ipv4Addr::new(10, 0, 0, 0), 8, AddressScope::Network),
    // A metadata service inside the shared block; must precede the row of that block.
    (Ipv4Addr::new(100, 100, 100, 200), 32, AddressScope::Nowhere),
    (Ipv4Addr::new(100, 64, 0, 0), 10, AddressScope::Network),
    (Ipv4Addr::new(127, 0, 0, 0), 8, AddressScope::Machine),
    (Ipv4Addr::new(168, 63, 129, 16), 32, AddressScope::Nowhere),
    (Ipv4Addr::new(169, 254, 0, 0), 16, AddressScope::Nowhere),
    (Ipv4Addr::new(172, 16, 0, 0), 12, AddressScope::Network),
    (Ipv4Addr::new(192, 0, 0, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(192, 0, 2, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(192, 31, 196, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(192, 52, 193, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(192, 88, 99, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(192, 168, 0, 0), 16, AddressScope::Network),
    (Ipv4Addr::new(192, 175, 48, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(198, 18, 0, 0), 15, AddressScope::Nowhere),
    (Ipv4Addr::new(198, 51, 100, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(203, 0, 113, 0), 24, AddressScope::Nowhere),
    (Ipv4Addr::new(224, 0, 0, 0), 3, AddressScope::Nowhere),
];

fn scope_v4(address: Ipv4Addr) -> AddressScope {
    let is_inside =
        |first: Ipv4Addr, bits: u32| (address.to_bits() ^ first.to_bits()).leading_zeros() >= bits;
    let block = SPECIAL_V4.iter().find(|(first, bits, _)| is_inside(*first, *bits));
    block.map_or(AddressScope::Public, |(.., scope)| *scope)
}

/// Addresses that share their first `bits` bits.
#[derive(Clone, Copy)]
struct Ipv6Block {
    first: Ipv6Addr,
    bits: u32,
}

impl Ipv6Block {
    const fn new(first: Ipv6Addr, bits: u32) -> Self {
        Self { first, bits }
    }

    fn contains(self, address: Ipv6Addr) -> bool {
        (address.to_bits() ^ self.first.to_bits()).leading_zeros() >= self.bits
    }
}

/// Blocks of global unicast IPv6 that are not public.
const SPECIAL_V6: &[Ipv6Block] = &[
    // Protocol assignments: Teredo, benchmarking, ORCHID.
    Ipv6Block::new(Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    Ipv6Block::new(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4
    Ipv6Block::new(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    Ipv6Block::new(Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    // The 6bone, and documentation.
    Ipv6Block::new(Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 15),
];

const GLOBAL_UNICAST: Ipv6Block = Ipv6Block::new(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const UNIQUE_LOCAL: Ipv6Block = Ipv6Block::new(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// Metadata services inside the unique local block.
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

fn scope_v6(address: Ipv6Addr) -> AddressScope {
    if let Some(carried) = embedded_ipv4(address) {
        return scope_v4(carried);
    }
    if address == Ipv6Addr::LOCALHOST {
        return AddressScope::Machine;
    }
    if METADATA_V6.contains(&address) {
        return AddressScope::Nowhere;
    }
    if UNIQUE_LOCAL.contains(address) {
        return AddressScope::Network;
    }
    let special = SPECIAL_V6.iter().any(|block| block.contains(address));
    if GLOBAL_UNICAST.contains(address) && !special && !is_isatap(address) {
        AddressScope::Public
    } else {
        AddressScope::Nowhere
    }
}

/// The IPv4 address that packets to this address finally reach.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., high, low] = address.segments();
    let last = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // Mapped and translated.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last),
        // NAT64: any resolver may synthesize this prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last),
        _ => None,
    }
}

/// `…:0:5efe:a.b.c.d`, under any prefix.
fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe
}

#[cfg(test)]
mod tests;
