//! The providers of one model, and the choice among them.

use std::time::Duration;

use tollgate_llm::settings::{EndpointSettings, ModelProviderSettings, PoolSettings, RoutePolicy};

use super::small;
use crate::check::unknown_name;
use crate::diagnostic::Problems;
use crate::raw::{SectionFields, Spanned};

/// The provider of a model that has a list of them.
pub(super) fn first_provider(model: &SectionFields) -> Option<Spanned<&str>> {
    model.entries("providers").first()?.text("provider")
}

/// `id` is the model's own, for providers that know it by this name.
pub(super) fn pool(
    model: &SectionFields,
    id: &str,
    known: &[&str],
    problems: &mut Problems,
) -> PoolSettings {
    check_keys(model, problems);
    let mut providers = Vec::new();
    for entry in model.entries("providers") {
        let Some(provider) = entry.text("provider") else { continue };
        if !known.contains(&provider.value) {
            unknown_name(provider, &entry.path("provider"), "provider", known, problems);
        }
        providers.push(ModelProviderSettings {
            provider: provider.value.to_owned(),
            id: entry.text("id").map_or(id, |text| text.value).to_owned(),
            weight: small(entry, "weight").unwrap_or(EndpointSettings::DEFAULT_WEIGHT),
            price: price(entry, problems),
        });
    }
    let hedge_after = model.whole("hedge_after_ms").map(|it| Duration::from_millis(it.value));
    PoolSettings { providers, route: route(model), hedge_after }
}

fn check_keys(model: &SectionFields, problems: &mut Problems) {
    match (model.has("provider"), model.has("providers")) {
        (true, true) => {
            let message = "`provider` and `providers` exclude each other";
            problems
                .error(model.place("provider"), &model.path("provider"), message)
                .help("write it as the first of `providers`");
        }
        (false, false) => {
            let message = format!("`{}` needs `provider`", model.path);
            problems
                .error(model.at, &model.path("provider"), message)
                .help("one of `providers`, or a list of several as `providers:`");
        }
        _ => {}
    }
}

fn route(model: &SectionFields) -> Option<RoutePolicy> {
    Some(match model.text("route")?.value {
        "order" => RoutePolicy::Order,
        "latency" => RoutePolicy::Latency,
        "cost" => RoutePolicy::Cost,
        _ => RoutePolicy::Weight,
    })
}

fn price(entry: &SectionFields, problems: &mut Problems) -> Option<u64> {
    let text = entry.text("price")?;
    let price = parse_millionths(text.value.trim());
    if price.is_none() {
        let message = format!("`price` must be a number such as `3.75`, not `{}`", text.value);
        problems
            .error(text.at, &entry.path("price"), message)
            .help("what a million tokens cost, with up to 6 decimals");
    }
    price
}

/// A decimal number, times a million.
fn parse_millionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| {
        (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole) || !is_number(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<6}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_millionths;

    #[test]
    fn prices_are_read_exactly() {
        for (text, expected) in [
            ("3", Some(3_000_000)),
            ("3.75", Some(3_750_000)),
            ("0.000001", Some(1)),
            ("015.5", Some(15_500_000)),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-1", None),
            ("1e3", None),
            ("1.0000001", None),
            ("1,5", None),
            ("1234567", None),
        ] {
            assert_eq!(parse_millionths(text), expected, "{text}");
        }
    }
}
