//! Config keys of model providers.

use super::{KeyKind, PLAIN, SECRET, SectionSpec, key, required_key, whole};

pub(super) const PROVIDER: SectionSpec = SectionSpec {
    title: "providers.NAME",
    keys: &[
        required_key(
            "kind",
            KeyKind::Choice(&["openai", "anthropic", "gemini", "deepgram", "offline"]),
            "`openai` is any compatible API, `deepgram` is its voice agent, `offline` is the small \
             built-in model",
        ),
        key("base_url", PLAIN, "the vendor's", "Base URL of the API"),
        key("api_key", SECRET, "none", "Sent as the API requires it"),
        key(
            "azure",
            KeyKind::Section(&AZURE),
            "none",
            "It is a resource of Azure OpenAI, which `base_url` names: \
             `https://NAME.openai.azure.com`. For kind `openai`; the `id` of a model is its \
             deployment. `azure: {}` is the v1 API with `api_key`",
        ),
        key(
            "vertex",
            KeyKind::Section(&VERTEX),
            "none",
            "It is Google's Vertex AI: Gemini with kind `gemini`, Claude with kind `anthropic`",
        ),
        key(
            "bedrock",
            KeyKind::Section(&BEDROCK),
            "none",
            "It is Amazon Bedrock: Claude with kind `anthropic`, models of its API in the form of \
             OpenAI with kind `openai`",
        ),
        key(
            "endpoints",
            KeyKind::Entries(&PROVIDER_ENDPOINT),
            "one: `base_url` with `api_key`",
            "Several keys or regions, which share the load of every model. Each has a circuit \
             breaker and a speed of its own. They should belong to one account: signatures of \
             reasoning and stored files go to any of them",
        ),
        key("headers", KeyKind::Table(&SECRET), "{}", "Sent with every request"),
        key(
            "timeout_ms",
            whole(100, 3_600_000, "milliseconds"),
            "120000",
            "Timeout until the response, or the first event of a stream",
        ),
        key(
            "idle_timeout_ms",
            whole(100, 3_600_000, "milliseconds"),
            "60000",
            "Timeout between two events of a stream",
        ),
        key(
            "connect_timeout_ms",
            whole(100, 600_000, "milliseconds"),
            "5000",
            "Timeout until a realtime session is accepted, or resumed on a new connection",
        ),
        key("retries", whole(0, 10, "attempts"), "2", "Retries after a transient failure"),
        key("concurrent", whole(1, 100_000, "requests"), "256", "Concurrent requests"),
    ],
    elsewhere: &[("type", "write `kind:`")],
};

const AZURE: SectionSpec = SectionSpec {
    title: "providers.NAME.azure",
    keys: &[
        key(
            "api_version",
            PLAIN,
            "none: the v1 API",
            "Version of the older API with deployments in the path, such as `2024-10-21`",
        ),
        key("tenant", PLAIN, "none", "Tenant of Microsoft Entra, in place of `api_key`"),
        key("client_id", PLAIN, "none: needed with `tenant`", "The registered application"),
        key("client_secret", SECRET, "none: needed with `tenant`", "Its secret"),
        key(
            "authority",
            PLAIN,
            "https://login.microsoftonline.com",
            "Address of Entra, for national clouds",
        ),
    ],
    elsewhere: &[
        ("tenant_id", "write `tenant:`"),
        ("deployment", "write it as `id:` of a model"),
        ("endpoint", "write it as `base_url:` of the provider"),
    ],
};

const VERTEX: SectionSpec = SectionSpec {
    title: "providers.NAME.vertex",
    keys: &[
        key("project", PLAIN, "that of `credentials`", "Id of the project in Google Cloud"),
        key("location", PLAIN, "global", "Such as `europe-west1`, `eu` or `global`"),
        key(
            "credentials",
            SECRET,
            "none",
            "Key of a service account: the content of its JSON file, as `${file:/path/to/key.json}` \
             or from a variable. Its access tokens are renewed before they expire",
        ),
        key(
            "metadata",
            KeyKind::Flag,
            "false",
            "Access tokens of the account of this machine, from the metadata server of Google Cloud",
        ),
        key("access_token", SECRET, "none", "An access token, which is not renewed"),
        key(
            "token_url",
            PLAIN,
            "that of `credentials`, or the metadata server",
            "Where access tokens come from",
        ),
    ],
    elsewhere: &[
        ("region", "write `location:`"),
        ("project_id", "write `project:`"),
        ("credentials_file", "write `credentials: ${file:/path/to/key.json}`"),
    ],
};

const BEDROCK: SectionSpec = SectionSpec {
    title: "providers.NAME.bedrock",
    keys: &[
        key("region", PLAIN, "none: required", "Such as `us-east-1`"),
        key(
            "credentials",
            KeyKind::Choice(&["environment", "container", "instance", "web_identity"]),
            "none: needs an access key or `api_key`",
            "Credentials from where the gateway runs, by the variables that AWS sets there. \
             `container`: the role of a task of ECS or a pod of EKS; `instance`: that of a machine \
             of EC2 (IMDSv2); `web_identity`: that of a service account of EKS. These are renewed \
             before they expire. `environment`: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and \
             `AWS_SESSION_TOKEN`",
        ),
        key(
            "credentials_url",
            PLAIN,
            "that of AWS",
            "Where credentials of a role come from instead: the address of a container's endpoint, \
             of a metadata service or of a token service",
        ),
        key("access_key_id", PLAIN, "none: needs `credentials`", "Access key; requests are signed"),
        key("secret_access_key", SECRET, "none: needed with `access_key_id`", "Its secret"),
        key("session_token", SECRET, "none", "Of temporary credentials, which are not renewed"),
        key("api_key", SECRET, "none: needs `credentials`", "An API key of Bedrock"),
    ],
    elsewhere: &[
        ("access_key", "write `access_key_id:`"),
        ("secret_key", "write `secret_access_key:`"),
        ("metadata", "write `credentials: instance`"),
        ("profile", "write `credentials:`, or the keys of the profile"),
    ],
};

const PROVIDER_ENDPOINT: SectionSpec = SectionSpec {
    title: "providers.NAME.endpoints",
    keys: &[
        key(
            "name",
            PLAIN,
            "its `region`, or its number from 1",
            "Names it in errors, metrics and `/api/models`",
        ),
        key("base_url", PLAIN, "the provider's", "Base URL of the API, such as that of a region"),
        key("api_key", SECRET, "the provider's", "Sent as the API requires it"),
        key("region", PLAIN, "the provider's", "Region of Bedrock, location of Vertex AI"),
        key(
            "weight",
            whole(0, 1_000, ""),
            "1",
            "Share of the requests, relative to the others. 0: only when all others are out",
        ),
    ],
    elsewhere: &[("key", "write `api_key:`")],
};
