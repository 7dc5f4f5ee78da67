use tollgate_core::mask::MaskPattern;

use super::*;
use crate::settings::{SecretArgumentPolicy, SecretResultPolicy};

/// What the server saw of `{"note": …}` and what came back of its answer, which repeats it.
async fn check(secrets: SecretSettings, note: &str) -> (Option<String>, String) {
    let seen = Arc::new(Mutex::new(None));
    let heard = Arc::clone(&seen);
    let script = move |job: Seen| {
        let note = job.params["arguments"]["note"].as_str().unwrap_or_default().to_owned();
        *heard.lock() = Some(note.clone());
        Box::pin(async move { Ok(text(&format!("{note} and password=swordfish1"))) })
            as BoxFuture<'static, _>
    };
    let stage = RecordingStage { secrets, ..RecordingStage::default() };
    let test = gate_with(Era::Modern, stage, |_, _| {}, script).await;
    let client = nobody();
    let params = json!({"name": "s_a", "arguments": {"note": note}}).to_string();
    let message = describe_reply(&test.call(&params, Caller::silent(&client)).await);
    (seen.lock().take(), message)
}

fn secrets(arguments: SecretArgumentPolicy, results: SecretResultPolicy) -> SecretSettings {
    let patterns = vec![MaskPattern::new("canary", "CANARY-[0-9]+").unwrap()];
    SecretSettings { arguments, results, patterns }
}

#[tokio::test(start_paused = true)]
async fn secrets_pass_unless_the_operator_says_otherwise() {
    let settings = secrets(SecretArgumentPolicy::Passed, SecretResultPolicy::Passed);
    let (seen, text) = check(settings, "CANARY-1").await;
    assert_eq!(seen.as_deref(), Some("CANARY-1"));
    assert_eq!(text, "ok CANARY-1 and password=swordfish1");
}

#[tokio::test(start_paused = true)]
async fn secrets_in_arguments_are_masked_before_the_server_sees_them() {
    let settings = secrets(SecretArgumentPolicy::Masked, SecretResultPolicy::Passed);
    let (seen, _) = check(settings.clone(), "it is CANARY-1").await;
    assert_eq!(seen.as_deref(), Some("it is [masked:canary]"));
    let (seen, _) = check(settings, "nothing to hide").await;
    assert_eq!(seen.as_deref(), Some("nothing to hide"));
}

#[tokio::test(start_paused = true)]
async fn a_call_with_secrets_in_its_arguments_is_refused_before_it_is_made() {
    let settings = secrets(SecretArgumentPolicy::Refused, SecretResultPolicy::Passed);
    let (seen, text) = check(settings.clone(), "CANARY-1").await;
    assert_eq!(seen, None);
    assert!(
        text.starts_with("denied this was not run because its arguments contain a secret"),
        "{text}"
    );
    assert!(!text.contains("CANARY-1"), "{text}");
    let (seen, _) = check(settings, "nothing to hide").await;
    assert_eq!(seen.as_deref(), Some("nothing to hide"));
}

#[tokio::test(start_paused = true)]
async fn secrets_in_results_are_masked() {
    let settings = secrets(SecretArgumentPolicy::Passed, SecretResultPolicy::Masked);
    let (seen, text) = check(settings, "CANARY-1").await;
    assert_eq!(seen.as_deref(), Some("CANARY-1"));
    assert_eq!(text, "ok [masked:canary] and password=[masked:password]");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_tool_call_is_refused_in_its_own_words() {
    let secrets = secrets(SecretArgumentPolicy::Refused, SecretResultPolicy::Passed);
    let stage = RecordingStage { secrets, ..RecordingStage::default() };
    let script = |_: Seen| Box::pin(async { Ok(text("done")) }) as BoxFuture<'static, _>;
    let test = gate_with(Era::Modern, stage, |_, _| {}, script).await;
    let client = nobody();
    for (kind, params) in [
        (RequestKind::GetPrompt, r#"{"name":"p","arguments":{"note":"CANARY-1"}}"#),
        (RequestKind::Complete, r#"{"ref":{},"argument":{"name":"n","value":"CANARY-1"}}"#),
        (RequestKind::Complete, r#"{"ref":{},"context":{"arguments":{"n":"CANARY-1"}}}"#),
    ] {
        let request = GateRequest { kind, params: Object::parse(params).unwrap() };
        let reply = test.gate.call(&test.turn(), request, Caller::silent(&client)).await;
        assert!(
            matches!(reply, Err(CallError::Refused(PermitError::ContainsSecrets))),
            "{reply:?}"
        );
    }
    let retry =
        RoundAnswers { state: None, responses: Some(raw(r#"{"q":"CANARY-1"}"#.to_owned())) };
    let caller = Caller { dialogue: Dialogue::Rounds(retry), ..Caller::silent(&client) };
    let message = describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await);
    assert!(
        message.starts_with("denied this was not run because its arguments contain a secret"),
        "{message}"
    );
}
