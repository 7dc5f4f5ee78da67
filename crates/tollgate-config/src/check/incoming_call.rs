//! Webhooks for incoming telephone calls.

use tollgate_core::agent::Agent;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::LlmSettings;
use tollgate_server::IncomingCallSettings;

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::unknown_name;

pub(super) fn incoming_calls(
    top: &SectionFields,
    agents: &[Agent],
    llm: &LlmSettings,
    problems: &mut Problems,
) -> Vec<IncomingCallSettings> {
    let sections = top.named_sections("incoming_calls").iter();
    let calls = sections.map(|(name, fields)| incoming_call(name, fields, agents, llm, problems));
    calls.collect::<Vec<_>>().into_iter().flatten().collect()
}

fn incoming_call(
    name: &Spanned<String>,
    fields: &SectionFields,
    agents: &[Agent],
    llm: &LlmSettings,
    problems: &mut Problems,
) -> Option<IncomingCallSettings> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.value.bytes().all(is_plain) || !(1..=64).contains(&name.value.len()) {
        problems
            .error(name.at, &fields.path, "the name of a webhook is a part of its URL")
            .help("letters, digits, `-` and `_`, at most 64");
        return None;
    }
    let secret = fields.text("secret")?;
    if !IncomingCallSettings::is_secret(secret.value) {
        problems
            .error(secret.at, &fields.path("secret"), "this is no signing secret of a webhook")
            .help("`whsec_` and base64, as the provider shows it when the webhook is created");
    }
    let agent = fields.text("agent")?;
    let Some(found) = agents.iter().find(|known| known.id.as_str() == agent.value) else {
        let known: Vec<&str> = agents.iter().map(|known| known.id.as_str()).collect();
        unknown_name(agent, &fields.path("agent"), "agent", &known, problems);
        return None;
    };
    let model = fields.text("model");
    if let Some(model) = model
        && !llm.models.iter().any(|known| known.name == model.value)
    {
        let known: Vec<&str> = llm.models.iter().map(|known| known.name.as_str()).collect();
        unknown_name(model, &fields.path("model"), "model", &known, problems);
        return None;
    }
    Some(IncomingCallSettings {
        name: name.value.clone(),
        secret: Secret::new(secret.value),
        agent: found.id.clone(),
        model: model.map(|model| model.value.to_owned()),
    })
}
