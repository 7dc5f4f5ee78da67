//! Signatures that come back from clients, of their own dialect and of others.

use super::*;

fn all_signatures() -> impl Iterator<Item = ThoughtSignature> {
    let sol = ModelOrigin::new("openai", "gpt-6.1-sol");
    let origins = [None, Some(sol), Some(sol.at_account("team-a"))];
    Dialect::ALL.into_iter().flat_map(move |maker| {
        origins.into_iter().flat_map(move |origin| {
            [0, 2].map(|hidden_rounds| ThoughtSignature {
                maker,
                origin,
                hidden_rounds,
                text: "a:b==".to_owned(),
            })
        })
    })
}

#[test]
fn a_signature_finds_its_maker_again_through_any_client() {
    for client in Dialect::ALL {
        for signature in all_signatures() {
            let stored = signature.for_client(client);
            let is_plain = signature == ThoughtSignature::new(client, "a:b==");
            assert_eq!(stored == signature.text, is_plain);
            assert_eq!(ThoughtSignature::from_client(client, stored), signature);
        }
    }
}

#[test]
fn what_is_encoded_is_found_in_the_text_of_a_request() {
    for client in Dialect::ALL {
        let encoded = all_signatures().map(|it| it.for_client(client)).filter(|it| it != "a:b==");
        for stored in encoded {
            let json = serde_json::to_string(&stored).unwrap();
            assert!(ENCODED_SIGNATURE_STARTS.iter().any(|start| json.starts_with(start)), "{json}");
        }
    }
}

#[test]
fn signatures_of_earlier_versions_are_read() {
    let read = |client, stored: &str| ThoughtSignature::from_client(client, stored.to_owned());
    let expected = ThoughtSignature::new(Dialect::Anthropic, "EqQB:1");
    assert_eq!(read(Dialect::OpenAiResponses, "tollgate:anthropic:EqQB:1"), expected);
    let packed = BASE64_STANDARD.encode("tollgate:anthropic:EqQB:1");
    assert_eq!(read(Dialect::Gemini, &packed), expected);
}

#[test]
fn a_signature_without_a_known_maker_is_the_clients_own() {
    for stored in [
        "",
        "abc",
        "tollgate:",
        "tollgate:nobody:abc",
        "tollgate:gemini@12:abc",
        "tollgate:gemini@0123456789abcdeé:abc",
        "tollgate:gemini.x:abc",
    ] {
        let signature = ThoughtSignature::from_client(Dialect::Anthropic, stored.to_owned());
        assert_eq!(signature, ThoughtSignature::new(Dialect::Anthropic, stored));
    }
}

#[test]
fn only_the_model_that_signed_reads_it_and_claudes_read_each_other() {
    let sol = ModelOrigin::new("openai", "gpt-6.1-sol");
    let others = [ModelOrigin::new("openai", "gpt-5.5"), ModelOrigin::new("azure", "gpt-6.1-sol")];
    for dialect in Dialect::ALL {
        let unknown = ThoughtSignature::new(dialect, "sig");
        let signed = unknown.clone().with_origin(dialect, sol);
        assert!(signed.is_readable_by(dialect, sol));
        let other_models = others.map(|other| signed.is_readable_by(dialect, other));
        assert_eq!(other_models, [dialect == Dialect::Anthropic, false]);
        assert!(others.iter().all(|other| unknown.is_readable_by(dialect, *other)));
        for other in Dialect::ALL.into_iter().filter(|other| *other != dialect) {
            assert!(!signed.is_readable_by(other, sol) && !unknown.is_readable_by(other, sol));
        }
        let mark = ThoughtSignature::new(dialect, "").with_origin(dialect, sol);
        assert!(!mark.is_readable_by(dialect, sol), "it signs nothing");
    }
}

#[test]
fn a_provider_that_is_a_gateway_gets_its_own_encoding_back() {
    let behind = ModelOrigin::new("anthropic", "claude-opus-5-5");
    let here = ModelOrigin::new("other-gateway", "claude");
    for dialect in Dialect::ALL {
        let sent = ThoughtSignature::new(Dialect::Anthropic, "EqQB")
            .with_origin(Dialect::Anthropic, behind)
            .for_client(dialect);
        let read = ThoughtSignature::from_client(dialect, sent.clone()).with_origin(dialect, here);
        let stored = read.for_client(Dialect::OpenAiChat);
        let back = ThoughtSignature::from_client(Dialect::OpenAiChat, stored);
        assert_eq!(back.text, sent);
        assert!(back.is_readable_by(dialect, here));
    }
}

#[test]
fn what_openai_seals_is_read_by_its_account_only() {
    let here = ModelOrigin::new("openai", "gpt-6.1-sol").at_account("team-a");
    let other = ModelOrigin::new("openai", "gpt-6.1-sol").at_account("team-b");
    for (dialect, is_bound) in [
        (Dialect::OpenAiResponses, true),
        (Dialect::OpenAiChat, true),
        (Dialect::Gemini, false),
        (Dialect::Anthropic, false),
    ] {
        let signature = ThoughtSignature::new(dialect, "sealed").with_origin(dialect, here);
        assert!(signature.is_readable_by(dialect, here), "{dialect}");
        assert_eq!(signature.is_readable_by(dialect, other), !is_bound, "{dialect}");
    }
}
