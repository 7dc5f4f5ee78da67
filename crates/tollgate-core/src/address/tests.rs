//! S-20: no private address passes, however it is written, and no public one is held back.

use proptest::prelude::*;

use super::*;

fn check(addresses: &str, expected: AddressScope) {
    for text in addresses.split_whitespace() {
        let address: IpAddr = text.parse().unwrap();
        assert_eq!(address_scope(address), expected, "{text}");
    }
}

#[test]
fn s_20_what_everybody_reaches_is_public() {
    check(
        "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255",
        AddressScope::Public,
    );
    check(
        "100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17",
        AddressScope::Public,
    );
    check("169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0", AddressScope::Public);
    check(
        "192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255",
        AddressScope::Public,
    );
    check(
        "2606:4700:4700::1111 2a00:1450::1 2001:4860:4860::8888 2003::1 2c0f::1",
        AddressScope::Public,
    );
    check("::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8", AddressScope::Public);
}

#[test]
fn s_20_private_places_are_told_apart() {
    check(
        "10.0.0.5 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255",
        AddressScope::Network,
    );
    check(
        "fc00::1 fd00::5 fdff:ffff::1 ::ffff:10.0.0.5 64:ff9b::192.168.0.1",
        AddressScope::Network,
    );
    check(
        "127.0.0.1 127.1.2.3 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1",
        AddressScope::Machine,
    );
}

#[test]
fn s_20_nobody_is_sent_to_metadata_services_and_reserved_places() {
    check(
        "169.254.169.254 169.254.0.1 168.63.129.16 100.100.100.200 192.0.0.192",
        AddressScope::Nowhere,
    );
    check(
        "fd00:ec2::254 fd20:ce::254 fd00:c1::a9fe:a9fe ::ffff:169.254.169.254",
        AddressScope::Nowhere,
    );
    check("0.0.0.0 0.1.2.3 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9", AddressScope::Nowhere);
    check("192.88.99.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255", AddressScope::Nowhere);
    check(
        ":: ::2 ::7f00:1 ::8.8.8.8 fe80::1 fec0::1 ff02::1 100::1 5f00::1",
        AddressScope::Nowhere,
    );
    check(
        "2001::1 2001:2::1 2001:10::1 2001:db8::1 3fff::1 3ffe::1 4000::1",
        AddressScope::Nowhere,
    );
    check(
        "2002:a9fe:a9fe:: 2002:808:808:: 64:ff9b:1::8.8.8.8 64:ff9b::1:0:0",
        AddressScope::Nowhere,
    );
    check("2606:4700::5efe:10.0.0.5 2606:4700::200:5efe:808:808", AddressScope::Nowhere);
}

/// The ways to write an IPv4 address as another one.
fn spellings(address: Ipv4Addr) -> Vec<IpAddr> {
    let bits = address.to_bits();
    let high = (bits >> 16) as u16;
    let low = bits as u16;
    let v6 = |segments: [u16; 8]| IpAddr::V6(Ipv6Addr::from(segments));
    vec![
        IpAddr::V4(address),
        v6([0, 0, 0, 0, 0, 0xffff, high, low]),
        v6([0, 0, 0, 0, 0xffff, 0, high, low]),
        v6([0x64, 0xff9b, 0, 0, 0, 0, high, low]),
        // From here on refused whatever they carry.
        v6([0, 0, 0, 0, 0, 0, high, low]),
        v6([0x2002, high, low, 0, 0, 0, 0, 1]),
        v6([0x64, 0xff9b, 1, 0, 0, 0, high, low]),
        v6([0x2001, 0, high, low, 0, 0, !high, !low]),
        v6([0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low]),
    ]
}

/// How many of the spellings lead to the address itself today.
const LIVING: usize = 4;

fn private() -> impl Strategy<Value = Ipv4Addr> {
    let blocks = SPECIAL_V4.iter().map(|(first, bits, _)| (first.to_bits(), *bits));
    (proptest::sample::select(blocks.collect::<Vec<_>>()), any::<u32>()).prop_map(
        |((first, bits), any)| Ipv4Addr::from_bits(first | any.checked_shr(bits).unwrap_or(0)),
    )
}

/// Said by the standard library and by the blocks it has no stable word for.
fn is_special(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || matches!((a, b, c), (0 | 240.., ..) | (100, 64..128, _) | (192, 0, 0) | (198, 18..20, _))
        || matches!((a, b, c), (192, 31, 196) | (192, 52, 193) | (192, 88, 99) | (192, 175, 48))
        || (a, b, c, d) == (168, 63, 129, 16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn s_20_every_private_address_is_refused_in_nine_spellings(address in private()) {
        for spelling in spellings(address) {
            prop_assert!(!is_public(spelling), "{}", spelling);
        }
    }

    #[test]
    fn s_20_every_public_address_is_accepted(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        for (at, spelling) in spellings(address).into_iter().enumerate() {
            let expected = !is_special(address) && at < LIVING;
            prop_assert_eq!(is_public(spelling), expected, "{}", spelling);
        }
    }
}
