//! Which URLs are followed at all, and where they may lead. B-FE 1, 2 and 4, S-20.

use tollgate_core::address::AddressScope;

use super::super::fetch::OperatorHttpClient;
use super::super::ssrf_guard::SsrfRule;
use super::super::target_url::TargetUrl;
use super::*;

const INNER_NAMES: &str = "
    localhost 127.0.0.1,::1
    metadata.google.internal 169.254.169.254
    intranet.example 10.0.0.5
    both.example 93.184.215.14,10.0.0.5
    six.example fd00::5
";

#[tokio::test]
async fn b_fe_1_private_places_are_refused_in_every_spelling() {
    let egress = Egress::over(Dialer::with(Names::read(INNER_NAMES), None), &[]);
    for url in INNER {
        let refused = egress.get(url, &ANYTHING).await.unwrap_err();
        assert!(matches!(refused, FetchError::Private(_)), "{url}: {refused:?}");
    }
    for url in ["http://[fe80::1%25lo]/", "http://fd00::5/", "http://[::1/", "http:///"] {
        let refused = egress.get(url, &ANYTHING).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::Unfit(_) | FetchError::Unknown(_)),
            "{url}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn b_fe_2_urls_that_are_no_pages_are_refused() {
    let egress = Egress::over(Dialer::with(Names::read(INNER_NAMES), None), &[]);
    let check = async |url: &str, expected: &str| {
        let refused = egress.get(url, &ANYTHING).await.unwrap_err();
        assert_eq!(refused.to_string(), expected, "{url:?}");
    };
    let secret = "the URL contains a user or a password; remove them";
    check("http://user:pass@site.example/", secret).await;
    check("http://site.example@127.0.0.1/", secret).await;
    check("http://:p@127.0.0.1/", secret).await;
    let scheme = "only `http` and `https` URLs can be fetched";
    for url in ["gopher://site.example/", "ftp://site.example/", "data:text/html,x", "file:///etc"]
    {
        check(url, scheme).await;
    }
    check("javascript:alert(1)", scheme).await;
    let unseen = "the URL contains invisible characters";
    for url in ["http://127.0.0\t.1/", "http://site\n.example/", "http://site.example/\r\nX: y"] {
        check(url, unseen).await;
    }
    check(
        "http://site.example\\@127.0.0.1/",
        "the URL contains `\\`; write `/`, or `%5C` for a literal backslash",
    )
    .await;
    for (url, port) in
        [("http://1.1.1.1:22/", 22), ("http://a.example:25", 25), ("http://1.1.1.1:6379", 6379)]
    {
        check(url, &format!("port {port} is not allowed; only 80 and 443 are")).await;
    }
    // The host is what stands before the fragment, and nothing after it counts.
    check("http://127.0.0.1#@site.example/", PRIVATE).await;
    check("http://127.0.0.1?@site.example/", PRIVATE).await;
    check("", "the URL is invalid (relative URL without a base); start it with `https://`").await;
    let long = format!("http://site.example/{}", "x".repeat(5_000));
    check(&long, "the URL is longer than 4096 bytes").await;
    check("http://nobody.example/", "`nobody.example` does not resolve: the name has no address")
        .await;
}

const PRIVATE: &str = "`127.0.0.1` is not a public address; only the public web can be fetched";

#[tokio::test]
async fn b_fe_4_a_name_with_one_private_address_among_public_ones_is_refused() {
    for answers in ["93.184.215.14,127.0.0.1", "127.0.0.1,93.184.215.14", "2606:4700::1,::1"] {
        let names = Names::read(&format!("mixed.example {answers}"));
        let egress = Egress::over(Dialer::with(names, None), &[]);
        let refused = egress.get("http://mixed.example/", &ANYTHING).await.unwrap_err();
        assert_eq!(refused, FetchError::Private("mixed.example".to_owned()), "{answers}");
    }
}

/// A name that changes its mind between looking and connecting is looked up once.
#[tokio::test]
async fn s_20_b_fe_4_each_hop_is_looked_up_once_and_anew() {
    let site = Site::start(|path| match path {
        "/first" => redirect("/second"),
        _ => html("here"),
    })
    .await;
    let names = Names::read("site.example 127.0.0.1 then 127.0.0.1 then 10.0.0.5");
    let url = format!("http://site.example:{}/first", site.port());
    let page = egress(&names, &site).get(&url, &ANYTHING).await.unwrap();
    assert_eq!((page.bytes.as_slice(), names.lookups()), (&b"here"[..], 2));
    let names = Names::read("rebound.example 10.0.0.5 then 127.0.0.1");
    let egress = Egress::over(Dialer::with(names.clone(), None), &[]);
    let refused = egress.get("http://rebound.example/", &ANYTHING).await.unwrap_err();
    assert_eq!((refused, names.lookups()), (FetchError::Private("rebound.example".to_owned()), 1));
}

#[tokio::test(start_paused = true)]
async fn b_fe_4_a_silent_resolver_ends_with_the_askers_time() {
    let names = Arc::new(Names::default());
    let egress = Egress::over(Dialer::with(names, None), &[]);
    let refused = egress.get("http://silent.example/", &ANYTHING).await.unwrap_err();
    assert_eq!(refused, FetchError::TooSlow);
}

#[test]
fn what_the_operator_opened_is_open_there_only() {
    let check = |opened: &str, url: &str, expected: bool| {
        let rule = SsrfRule::Stranger(Arc::new([AllowedHost::parse(opened).unwrap()]));
        let target = TargetUrl::parse(url).unwrap();
        let private = "10.0.0.5".parse().unwrap();
        let admitted = rule.admits_url(&target).is_ok() && rule.admits(&target, private);
        assert_eq!(admitted, expected, "{opened} {url}");
    };
    check("10.0.0.5:8080", "http://10.0.0.5:8080/x", true);
    check("10.0.0.5:8080", "http://167772165:8080/x", true);
    check("10.0.0.5:8080", "http://10.0.0.5/", false);
    check("10.0.0.5:8080", "http://10.0.0.6:8080/", false);
    check("10.0.0.5:80", "http://10.0.0.5/", true);
    check("10.0.0.5:80", "https://10.0.0.5/", false);
    check("intranet.example", "https://INTRANET.example./", true);
    check("intranet.example", "http://intranet.example/", true);
    check("intranet.example", "http://intranet.example:8080/", false);
    check("intranet.example", "http://sub.intranet.example/", false);
    check("[fd00::5]:8080", "http://[fd00:0::5]:8080/", true);
    for bad in
        ["", "http://x", "x/y", "*.example", "a b", "x:70000", "x@y", "x?y", "x:", "[fd00::5"]
    {
        assert!(AllowedHost::parse(bad).is_err(), "{bad:?}");
    }
}

/// S-19: what a server tells us leads to where it is itself, or to the public web.
#[test]
fn s_19_a_public_server_cannot_send_us_into_a_private_network() {
    let check = |home: AddressScope, address: &str, expected: bool| {
        let target = TargetUrl::parse("https://issuer.example:8443/").unwrap();
        let rule = SsrfRule::Beside(home);
        assert!(rule.admits_url(&target).is_ok());
        assert_eq!(rule.admits(&target, address.parse().unwrap()), expected, "{home:?} {address}");
    };
    for home in
        [AddressScope::Public, AddressScope::Network, AddressScope::Machine, AddressScope::Nowhere]
    {
        check(home, "93.184.215.14", true);
        check(home, "169.254.169.254", false);
        check(home, "0.0.0.0", false);
        check(home, "10.0.0.5", matches!(home, AddressScope::Network | AddressScope::Machine));
        check(home, "fd00::5", matches!(home, AddressScope::Network | AddressScope::Machine));
        check(home, "127.0.0.1", home == AddressScope::Machine);
        check(home, "::ffff:127.0.0.1", home == AddressScope::Machine);
    }
}

#[tokio::test]
async fn s_19_the_operators_own_url_may_be_private_and_leads_nowhere_worse() {
    let site = Site::start(|_| response("200 OK\ncontent-type: application/json", "{}")).await;
    let other = Site::start(|_| html("")).await;
    let home = format!("http://home.example:{}", site.port());
    let elsewhere = format!("http://home.example:{}/", other.port());
    // A name that is public at home counts for nothing elsewhere.
    let names = Names::read("home.example 127.0.0.1\nmixed.example 127.0.0.1,1.1.1.1");
    let fetch = OperatorHttpClient::over(Dialer::with(names.clone(), None), &home).unwrap();
    assert!(fetch.get(&format!("{home}/x")).await.unwrap().status.is_success());
    assert!(fetch.get(&elsewhere).await.unwrap().status.is_success());
    let refused = fetch.get("https://169.254.169.254/x").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`https://169.254.169.254/x`: `169.254.169.254` is not a public address; only the public \
         web can be fetched"
    );
    let fetch =
        OperatorHttpClient::over(Dialer::with(names, None), "https://mixed.example").unwrap();
    assert!(
        fetch.get(&elsewhere).await.unwrap_err().to_string().contains("is not a public address")
    );
    assert_eq!(other.requests().len(), 1);
}
