//! The rules of the house: which tools there are for anybody, here and in this environment.

use tollgate_core::filter::{House, Lists, Switch};
use tollgate_core::glob::Glob;

use super::super::diagnostic::Problems;
use super::super::raw::Fields;
use super::super::suggest::nearest;

pub(super) fn house(top: &Fields, environment: &str, problems: &mut Problems) -> House {
    let Some(tools) = top.section("tools") else { return House::default() };
    let known = tools.named("environments");
    let own = known.iter().find(|(name, _)| name.value == environment);
    if let (None, Some((first, _))) = (own, known.first()) {
        let message = format!("nothing here is for this environment, `{environment}`");
        let names = known.iter().map(|(name, _)| name.value.as_str());
        let near = nearest(environment, names);
        let found = problems.warning(first.at, &tools.path("environments"), message);
        match near {
            Some(near) => found.help(format!("did you mean `environment: {near}`?")),
            None => found.help("`environment:` at the top says which one this is"),
        };
    }
    House {
        switch: if tools.flag("enabled") == Some(false) { Switch::Off } else { Switch::On },
        everywhere: lists(tools),
        environment: own.map_or_else(Lists::default, |(_, fields)| lists(fields)),
        ..House::default()
    }
}

/// A list that stands there and is empty lets nothing in.
fn lists(fields: &Fields) -> Lists {
    let globs = |key: &str| fields.texts(key).iter().map(|text| Glob::new(text.value)).collect();
    Lists {
        allow: if fields.has("allow") { globs("allow") } else { Lists::default().allow },
        deny: globs("deny"),
    }
}
