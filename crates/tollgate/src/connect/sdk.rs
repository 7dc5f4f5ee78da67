//! Minimal code samples for SDKs that use the gateway.

use super::{KEY, Snippet, SnippetAccess, SnippetTarget};

/// A template with the placeholders `{base}`, `{mcp}`, `{model}`, and lines for keys.
struct SnippetTemplate {
    id: &'static str,
    name: &'static str,
    language: &'static str,
    text: &'static str,
    note: Option<&'static str>,
}

/// SDKs require some key, even where none is needed.
const ANY_KEY: &str = "none";

const TEMPLATES: &[SnippetTemplate] = &[
    SnippetTemplate {
        id: "openai-python",
        name: "OpenAI (Python)",
        language: "python",
        text: r#"from openai import OpenAI

client = OpenAI(base_url="{base}/v1", api_key="{key}")
answer = client.chat.completions.create(
    model="{model}", messages=[{"role": "user", "content": "Roll 2d6+3"}]
)
print(answer.choices[0].message.content)
"#,
        note: Some(
            "use an agent as the model: its tools run in the gateway. `client.responses` works as \
             well",
        ),
    },
    SnippetTemplate {
        id: "openai-js",
        name: "OpenAI (JavaScript)",
        language: "javascript",
        text: r#"import OpenAI from "openai";

const client = new OpenAI({ baseURL: "{base}/v1", apiKey: "{key}" });
const answer = await client.chat.completions.create({
  model: "{model}",
  messages: [{ role: "user", content: "Roll 2d6+3" }],
});
console.log(answer.choices[0].message.content);
"#,
        note: None,
    },
    SnippetTemplate {
        id: "openai-realtime",
        name: "OpenAI Realtime (Python)",
        language: "python",
        text: r#"import asyncio

from openai import AsyncOpenAI


async def main():
    client = AsyncOpenAI(base_url="{base}/v1", api_key="{key}")
    async with client.realtime.connect(model="{model}") as connection:
        await connection.session.update(
            session={"type": "realtime", "output_modalities": ["text"]}
        )


asyncio.run(main())
"#,
        note: Some("the JavaScript SDK requires TLS: `tollgate serve --tls`"),
    },
    SnippetTemplate {
        id: "anthropic",
        name: "Anthropic (Python)",
        language: "python",
        text: r#"from anthropic import Anthropic

client = Anthropic(base_url="{base}", api_key="{key}")
answer = client.messages.create(
    model="{model}", max_tokens=1024, messages=[{"role": "user", "content": "Roll 2d6+3"}]
)
print(answer.content[0].text)
"#,
        note: Some("the address has no `/v1`"),
    },
    SnippetTemplate {
        id: "gemini",
        name: "Google Gen AI (Python)",
        language: "python",
        text: r#"from google import genai

client = genai.Client(api_key="{key}", http_options={"base_url": "{base}"})
answer = client.models.generate_content(model="{model}", contents="Roll 2d6+3")
print(answer.text)
"#,
        note: Some("live sessions of this SDK require TLS: `tollgate serve --tls`"),
    },
    SnippetTemplate {
        id: "mcp-python",
        name: "MCP (Python)",
        language: "python",
        text: r#"import asyncio

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    http = httpx2.AsyncClient(headers={python_headers})
    async with Client(streamable_http_client("{mcp}", http_client=http)) as client:
        for tool in (await client.list_tools()).tools:
            print(tool.name)


asyncio.run(main())
"#,
        note: None,
    },
    SnippetTemplate {
        id: "mcp-typescript",
        name: "MCP (TypeScript)",
        language: "typescript",
        text: r#"import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "mine", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL("{mcp}"), { requestInit: { headers: {js_headers} } }),
);
console.log((await client.listTools()).tools.map((tool) => tool.name));
"#,
        note: None,
    },
    SnippetTemplate {
        id: "curl",
        name: "curl",
        language: "shell",
        text: r#"curl -s {base}/v1/tools/execute \
  -H 'content-type: application/json' \{shell_header}
  -d '{"name": "roll", "arguments": {"expression": "2d6+3"}{json_agent}}'
"#,
        note: None,
    },
    SnippetTemplate {
        id: "livekit",
        name: "LiveKit Agents",
        language: "python",
        text: r#"from livekit.agents import AgentSession, mcp

session = AgentSession(
    mcp_servers=[mcp.MCPServerHTTP(url="{mcp}", headers={python_headers})],
)
"#,
        note: Some("`pip install 'livekit-agents[mcp]'`"),
    },
    SnippetTemplate {
        id: "pipecat",
        name: "Pipecat",
        language: "python",
        text: r#"from mcp.client.session_group import StreamableHttpParameters
from pipecat.services.mcp_service import MCPClient

client = MCPClient(
    server_params=StreamableHttpParameters(url="{mcp}", headers={python_headers}),
)
"#,
        note: Some("`pip install 'pipecat-ai[mcp]'`; then `await client.start()`"),
    },
];

pub(super) fn snippets(target: &SnippetTarget) -> impl Iterator<Item = Snippet> {
    TEMPLATES.iter().map(|made| Snippet {
        id: made.id,
        name: made.name,
        file: None,
        language: made.language,
        text: fill_template(made.text, target),
        link: None,
        note: made.note.map(str::to_owned),
    })
}

fn fill_template(text: &str, target: &SnippetTarget) -> String {
    let bearer = format!("Bearer {KEY}");
    let (key, python, js, shell) = match target.access {
        SnippetAccess::Keyed => (
            KEY,
            format!("{{\"Authorization\": \"{bearer}\"}}"),
            format!("{{ Authorization: \"{bearer}\" }}"),
            format!("\n  -H 'authorization: {bearer}' \\"),
        ),
        SnippetAccess::Open => (ANY_KEY, "{}".to_owned(), "{}".to_owned(), String::new()),
    };
    let agent = match &target.agent {
        Some(agent) => format!(", \"agent\": \"{agent}\""),
        None => String::new(),
    };
    text.replace("{base}", &target.base)
        .replace("{mcp}", &target.mcp())
        .replace("{model}", &target.model)
        .replace("{key}", key)
        .replace("{python_headers}", &python)
        .replace("{js_headers}", &js)
        .replace("{shell_header}", &shell)
        .replace("{json_agent}", &agent)
}
