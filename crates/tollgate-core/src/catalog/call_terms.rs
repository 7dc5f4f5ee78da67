//! The call policy of a tool (timeout, effect, caching, hedging): operator settings first, then the
//! server's annotations where they are trusted.

use super::ServerRules;
use crate::budget::Estimate;
use crate::tool::{
    CallTerms, HedgingPolicy, TaintRule, ToolAnnotations, ToolDefinition, ToolEffect, ToolOverride,
};

/// An untrusted server can only tighten the terms: a shorter timeout, a longer estimate.
pub(super) fn terms(
    rules: &ServerRules,
    overrides: &ToolOverride,
    definition: &ToolDefinition,
) -> CallTerms {
    let declared = &definition.declared;
    let hints = &definition.annotations;
    let by_server = if rules.trusted { Estimate::Believed } else { Estimate::Claimed };
    let effect = overrides.effect.unwrap_or_else(|| effect(rules, hints));
    let safe_to_repeat =
        effect == ToolEffect::ReadOnly || rules.trusted && hints.idempotent == Some(true);
    let idempotent = overrides.idempotent.unwrap_or(safe_to_repeat);
    let cacheable = declared.cacheable.filter(|_| rules.trusted && idempotent);
    CallTerms {
        estimated: overrides
            .estimated
            .map(Estimate::Believed)
            .or(declared.estimated.map(by_server)),
        max: overrides.max.or(declared.max),
        timeout: rules.timeout,
        effect,
        taint: if is_called_destructive(overrides, hints) {
            rules.trust.taint
        } else {
            TaintRule::Off
        },
        idempotent,
        cacheable: overrides.cacheable.or(cacheable).unwrap_or_default(),
        scope: declared.scope.filter(|_| rules.trusted).unwrap_or_default(),
        approval: overrides.approval.unwrap_or_default(),
        speech: overrides.speech.clone(),
        probe: overrides.probe.clone(),
        rate_limit: overrides.rate_limit,
        slow: rules.slow.clone(),
        attempts: match overrides.hedge {
            Some(true) if idempotent => HedgingPolicy::Hedged,
            _ => HedgingPolicy::One,
        },
        reach: rules.reach,
        delivery: overrides.delivery.unwrap_or_default(),
    }
}

/// Whether the operator, or else the server, declares the tool destructive. A missing annotation is
/// no declaration. The claim to be destructive is accepted from any server.
fn is_called_destructive(overrides: &ToolOverride, hints: &ToolAnnotations) -> bool {
    match overrides.effect {
        Some(effect) => effect == ToolEffect::Destructive,
        None => hints.destructive == Some(true),
    }
}

/// MCP's default for a tool without annotations is destructive. A weaker effect is accepted only
/// from trusted servers, and not if the annotations contradict each other.
fn effect(rules: &ServerRules, hints: &ToolAnnotations) -> ToolEffect {
    match (hints.read_only, hints.destructive) {
        _ if !rules.trusted => ToolEffect::Destructive,
        (Some(true), None | Some(false)) => ToolEffect::ReadOnly,
        (_, Some(false)) => ToolEffect::Mutating,
        (_, None | Some(true)) => ToolEffect::Destructive,
    }
}
