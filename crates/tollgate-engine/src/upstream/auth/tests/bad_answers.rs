//! B-OA: what servers and their authorization servers should never say. Each is refused with words that
//! say what is wrong, costs neither time nor memory, and a good server works afterwards.

use super::hostile::{ASM, Answer, Hostile, PRM, stranger};
use super::*;

/// What any of these inputs may take, without those that are about time.
const QUICKLY: Duration = Duration::from_secs(15);

/// Resident memory of this process, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// One bad input: what both logins say of it, where it matters for both. Then a good server works.
async fn refused(
    server: &Hostile,
    path: &str,
    answer: Answer,
    by_grant: Option<&str>,
    by_login: &str,
) {
    server.behave();
    server.says(path, answer);
    let began = SystemClock.now();
    let before = resident();
    if let Some(expected) = by_grant {
        assert_eq!(server.grant(None).await.unwrap_err().to_string(), expected);
    }
    let error = server.log_in(None).await.unwrap_err().to_string();
    assert!(error.contains(by_login), "{error}\nshould say: {by_login}");
    assert!(began.elapsed() < QUICKLY, "{by_login}: {:?}", began.elapsed());
    let more = resident().saturating_sub(before);
    // 16 MiB, and what the allocator of a test process keeps.
    assert!(more < 32 << 10, "{by_login}: {more} KiB more");
    let requests = server.requests();
    assert!(requests.len() < 64, "{by_login}: {} requests", requests.len());
    assert!(!requests.iter().any(|it| it.starts_with("/token")), "{by_login}: {requests:?}");
    server.behave();
    assert_eq!(server.log_in(None).await.unwrap(), "Bearer good", "after {by_login}");
    server.requests();
}

#[tokio::test]
async fn b_oa_2_resource_metadata_that_is_none_or_of_others_is_refused() {
    let server = Hostile::start().await;
    let origin = server.origin.clone();
    let about = |resource: &str| Answer::Json(200, server.resource(&json!({"resource": resource})));
    let another = "the resource metadata is about another resource";
    for resource in [
        "https://other.example/mcp",
        &format!("{origin}/mcp/"),
        &format!("{origin}/mc"),
        &format!("{origin}/mcp/below"),
        &format!("{origin}/MCP"),
    ] {
        refused(&server, PRM, about(resource), Some(another), another).await;
    }
    let unfit = "a URL in the OAuth metadata is invalid";
    for resource in ["", "x", "javascript:alert(1)", "file:///etc/passwd"] {
        refused(&server, PRM, about(resource), Some(unfit), unfit).await;
    }
    let without = Answer::Json(200, server.resource(&json!({"resource": null})));
    let unnamed = "the resource metadata does not say which resource it is about";
    refused(&server, PRM, without, Some(unnamed), unnamed).await;
    let naming = |servers: Value| {
        Answer::Json(200, server.resource(&json!({"authorization_servers": servers})))
    };
    let nobody = "the resource metadata names no authorization server";
    refused(&server, PRM, naming(json!([])), Some(nobody), nobody).await;
    // A thousand that all answer 404: the first few are asked.
    let thousand: Vec<String> = (0..1_000).map(|number| format!("{origin}/as{number}")).collect();
    server.behave();
    server.says(ASM, Answer::Page(404, "nothing"));
    server.says(PRM, naming(json!(thousand)));
    let first = "no metadata for the authorization server `ORIGIN`";
    assert_eq!(server.grant(None).await.unwrap_err().to_string(), first);
    assert!(server.requests().len() < 24);
    let error = server.log_in(None).await.unwrap_err().to_string();
    assert_eq!(error, "the server's OAuth metadata needs more than 24 requests");
    assert_eq!(server.requests().len(), 24);
    let private =
        "names authorization servers https://10.0.0.5, but none published usable metadata";
    let elsewhere = "the server requests that its credentials be sent to `https://10.0.0.5`; set \
                     `token_url` if that is correct";
    refused(&server, PRM, naming(json!(["https://10.0.0.5"])), Some(elsewhere), private).await;
    let metadata_service = naming(json!(["http://169.254.169.254/latest"]));
    let insecure = "`http://169.254.169.254` is not https, so credentials are not sent to it";
    let unreached = "none published usable metadata";
    refused(&server, PRM, metadata_service, Some(insecure), unreached).await;
}

#[tokio::test]
async fn b_oa_2_pages_floods_and_redirects_in_place_of_resource_metadata_lead_nowhere() {
    let server = Hostile::start().await;
    let there = format!("{}{PRM}", server.origin);
    let large = "the answer is larger than 1048576 bytes";
    let large = format!("`ORIGIN{PRM}`: {large}");
    refused(&server, PRM, Answer::Flood(10 << 20), Some(&large), &large).await;
    refused(&server, PRM, Answer::GzipBomb, Some(&large), &large).await;
    // Redirects: client credentials follow none; rmcp follows a few on the same origin.
    refused(&server, PRM, Answer::Redirect(there), None, "redirect").await;
    for elsewhere in ["http://10.0.0.5/x", "http://169.254.169.254/latest", "file:///etc/passwd"] {
        refused(&server, PRM, Answer::Redirect(elsewhere.to_owned()), None, elsewhere).await;
    }
    // A page is what servers without metadata answer to anything: the next place is looked at.
    server.says(PRM, Answer::Page(200, "<html>hello</html>"));
    assert_eq!(server.log_in(None).await.unwrap(), "Bearer good");
    server.says(ASM, Answer::Page(200, "<html>hello</html>"));
    server.says("/register", Answer::Page(200, "<html>hello</html>"));
    let error = server.log_in(None).await.unwrap_err().to_string();
    assert!(error.contains("publishes no usable OAuth metadata"), "{error}");
    assert!(error.contains(&format!("`ORIGIN{PRM}`: no JSON object")), "{error}");
}

#[tokio::test]
async fn b_oa_3_authorization_server_metadata_that_cannot_be_trusted_is_refused() {
    let server = Hostile::start().await;
    let origin = server.origin.clone();
    let with = |changes: Value| Answer::Json(200, server.metadata(&changes));
    let issuer = "the authorization server's metadata names another issuer";
    for (value, by_login) in [
        (json!(null), "missing required issuer"),
        (json!("https://other.example"), "issuer mismatch"),
        (json!(format!("{origin}/tenant")), "issuer mismatch"),
        (json!(format!("{origin}.evil.example")), "issuer mismatch"),
    ] {
        refused(&server, ASM, with(json!({"issuer": value})), Some(issuer), by_login).await;
    }
    // Pkce is for codes only; client credentials have none.
    let pkce = "does not say that it supports PKCE with S256";
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"]), json!(["S512"])] {
        let answer = with(json!({"code_challenge_methods_supported": methods}));
        refused(&server, ASM, answer, None, pkce).await;
    }
    let unfit = "a URL in the OAuth metadata is invalid";
    for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let by_login = format!("the authorization server's `{name}`: {unfit}");
        let by_grant = (name == "token_endpoint").then_some(unfit);
        for url in ["javascript:alert(1)", "file:///etc/passwd", "--flag", "", "/token"] {
            refused(&server, ASM, with(json!({name: url})), by_grant, &by_login).await;
        }
        let far = format!("the authorization server's `{name}`: `http://far.example` is not https");
        let answer = with(json!({name: "http://far.example/x"}));
        refused(&server, ASM, answer, None, &far).await;
    }
    let missing = with(json!({"token_endpoint": null}));
    let nowhere = "the authorization server names no token endpoint";
    // Without a field that it must have it is no metadata at all.
    refused(&server, ASM, missing, Some(nowhere), "names authorization servers").await;
    let large = format!("`ORIGIN{ASM}`: the answer is larger than 1048576 bytes");
    refused(&server, ASM, Answer::Flood(10 << 20), Some(&large), &large).await;
}

/// A server that names as its authorization server a document of its own making, about another.
#[tokio::test]
async fn b_oa_3_s_21_metadata_from_a_place_that_its_issuer_has_nothing_to_do_with_is_refused() {
    let server = Hostile::start().await;
    let path = "/x/.well-known/made-up";
    let named = json!({"authorization_servers": [format!("{}{path}", server.origin)]});
    server.says(PRM, Answer::Json(200, server.resource(&named)));
    let forged = json!({"issuer": "https://honest.example"});
    server.says(path, Answer::Json(200, server.metadata(&forged)));
    let error = server.log_in(None).await.unwrap_err().to_string();
    assert_eq!(error, "the authorization server's metadata names another issuer");
    assert!(!server.requests().iter().any(|it| it.starts_with("/register")));
}

/// An issuer may have its endpoints elsewhere on the public web; nothing is sent to a private place.
#[tokio::test]
async fn b_oa_3_endpoints_at_a_private_place_are_not_reached() {
    let server = Hostile::start().await;
    let elsewhere = json!({"registration_endpoint": "https://169.254.169.254/register"});
    server.says(ASM, Answer::Json(200, server.metadata(&elsewhere)));
    let error = server.log_in(None).await.unwrap_err().to_string();
    assert!(error.starts_with("`https://169.254.169.254/register`: "), "{error}");
    assert!(error.contains("is not a public address"), "{error}");
}

#[tokio::test]
async fn b_oa_4_a_token_that_cannot_be_used_is_refused_and_odd_lifetimes_are_read() {
    let server = Hostile::start().await;
    for (token, text) in [
        (json!({"token_type": "Bearer"}), "the token endpoint returned no access token"),
        (
            json!({"access_token": "", "token_type": "Bearer"}),
            "the token endpoint returned no access token",
        ),
        (
            json!({"access_token": "x", "token_type": "mac"}),
            "the token endpoint returned a token that is not a bearer token",
        ),
        (
            json!({"access_token": "x", "token_type": "DPoP"}),
            "the token endpoint returned a token that is not a bearer token",
        ),
        (
            json!({"access_token": "x", "token_type": "Bearer", "error": "no"}),
            "the token endpoint answered `no`",
        ),
        (
            json!({"access_token": "x\r\ny: z", "token_type": "Bearer"}),
            "the token has characters that are not allowed in a header",
        ),
        (json!([]), "the token endpoint returned no access token"),
    ] {
        server.says("/token", Answer::Json(200, token));
        assert_eq!(server.log_in(None).await.unwrap_err().to_string(), text);
    }
    server.says("/token", Answer::Page(200, "<html>"));
    let page = server.log_in(None).await.unwrap_err().to_string();
    assert_eq!(page, "the token endpoint answered HTTP 200 without JSON");
    for expires in [
        json!(-1),
        json!("3600"),
        json!(1e18),
        json!(1_000_000_000_000_000_000_u64),
        json!(null),
        json!("soon"),
    ] {
        let token = json!({"access_token": "good", "token_type": "bearer", "expires_in": expires});
        server.says("/token", Answer::Json(200, token));
        assert_eq!(server.log_in(None).await.unwrap(), "Bearer good", "{expires}");
    }
    let bare = json!({"access_token": "good"});
    server.says("/token", Answer::Json(200, bare));
    assert_eq!(server.log_in(None).await.unwrap(), "Bearer good");
    server.says("/token", Answer::GzipBomb);
    let bomb = server.log_in(None).await.unwrap_err().to_string();
    assert_eq!(bomb, "`ORIGIN/token`: the answer is larger than 1048576 bytes");
}

/// A byte a second is waited for ten seconds, for a document and for a token.
#[tokio::test]
async fn b_oa_4_b_oa_2_answers_that_drip_end_in_ten_seconds() {
    let check = async |path: &str| {
        let server = Hostile::start().await;
        server.says(path, Answer::Drip);
        let began = SystemClock.now();
        let error = server.log_in(None).await.unwrap_err().to_string();
        assert!(error.contains(&format!("`ORIGIN{path}`: ")), "{error}");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(14), "{path}: {took:?}");
        server.behave();
        assert_eq!(server.log_in(None).await.unwrap(), "Bearer good");
    };
    tokio::join!(check(PRM), check(ASM), check("/token"), check("/register"));
}

/// The document about us is the authorization server's to read. We never fetch it, whatever it is,
/// and it is only named where it is wanted.
#[tokio::test]
async fn b_oa_9_a_client_metadata_document_is_named_and_never_fetched() {
    let server = Hostile::start().await;
    let requested = json!({"client_id_metadata_document_supported": true});
    server.says(ASM, Answer::Json(200, server.metadata(&requested)));
    server.says("/client.json", Answer::Flood(10 << 20));
    for url in [
        "https://10.0.0.5/client.json".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        // It says that it is itself.
        format!("{}/client.json", server.origin).replace("http:", "https:"),
    ] {
        let code = server.code(stranger(Some(&url)), |back| back);
        assert_eq!(after_401(&code, None).await.unwrap(), "Bearer good", "{url}");
        let received = server.requests();
        assert!(!received.iter().any(|it| it.starts_with("/client.json")), "{received:?}");
        let token = received.iter().find(|it| it.starts_with("/token")).unwrap();
        assert!(token.contains(&percent_encoded(&url)), "{token}");
    }
    for url in ["http://far.example/client.json", "https://far.example/", "file:///c.json", "x"] {
        let code = server.code(stranger(Some(url)), |back| back);
        let error = after_401(&code, None).await.unwrap_err().to_string();
        assert!(error.contains("client_metadata_url must be a valid HTTPS URL"), "{error}");
        assert!(!server.requests().iter().any(|it| it.starts_with("/token")));
    }
}

#[tokio::test]
async fn b_oa_1_challenges_cannot_send_a_login_anywhere() {
    let server = Hostile::start().await;
    let huge = format!(r#"Bearer resource_metadata="{}""#, "x".repeat(64 << 10));
    for challenge in [
        r#"Bearer resource_metadata="http://169.254.169.254/latest""#,
        r#"Bearer resource_metadata="http://10.0.0.5/x", scope="a""#,
        r#"Bearer resource_metadata="file:///etc/passwd""#,
        r#"Bearer resource_metadata="https://10.0.0.5/x""#,
        r#"Basic realm="a, b", Bearer resource_metadata="javascript:alert(1)", DPoP x=y"#,
        r#"Bearer resource_metadata="open"#,
        "=,=,= Bearer ==,",
        &huge,
    ] {
        // What cannot be followed is as good as not said: the well-known place has it.
        assert_eq!(server.log_in(Some(challenge)).await.unwrap(), "Bearer good", "{challenge}");
    }
    server.says(
        "/mcp",
        Answer::Challenge(r#"Bearer resource_metadata="http://10.0.0.5/x""#.to_owned()),
    );
    assert_eq!(server.log_in(None).await.unwrap(), "Bearer good");
}
