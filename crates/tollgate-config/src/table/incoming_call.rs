//! Config keys of webhooks for incoming telephone calls.

use super::{PLAIN, SECRET, SectionSpec, key, required_key};

pub(super) const INCOMING_CALL: SectionSpec = SectionSpec {
    title: "incoming_calls.NAME",
    keys: &[
        required_key(
            "secret",
            SECRET,
            "Signing secret of the webhook, as the provider shows it: `whsec_…`. The URL of the \
             webhook is `/v1/realtime/incoming/NAME`",
        ),
        required_key("agent", PLAIN, "The agent that answers"),
        key("model", PLAIN, "the agent's first realtime model", "Realtime model"),
    ],
    elsewhere: &[],
};
