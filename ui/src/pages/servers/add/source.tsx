// The source of a new server: pasted text, or the registry.
import { useState } from "react";
import { ApiError, post } from "../../../api/client";
import type { ImportResult } from "../../../api/types";
import { Failure, Field, Panel, Tabs } from "../../../kit/basics";
import { setQuery, useRoute } from "../../../route";
import type { Candidate } from "./draft";
import { RegistrySearch } from "./registry";

const EXAMPLES: readonly { title: string; text: string }[] = [
  { title: "Command", text: "npx -y @modelcontextprotocol/server-everything@2026.8.31" },
  { title: "URL", text: "https://mcp.example.com/mcp" },
  {
    title: "Client config",
    text: `{
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/tmp"] }
  }
}`,
  },
];

type Tab = "paste" | "registry";

export function ServerSource(props: {
  read: (found: ImportResult) => void;
  configure: (candidate: Candidate) => void;
}) {
  const { query } = useRoute();
  const tab: Tab = query.get("add") === "registry" ? "registry" : "paste";
  return (
    <Panel>
      <Tabs
        label="Source"
        tabs={[
          { id: "paste", title: "Paste" },
          { id: "registry", title: "MCP registry" },
        ]}
        chosen={tab}
        choose={(next) => setQuery({ add: next })}
      />
      {tab === "paste" ? (
        <Paste read={props.read} />
      ) : (
        <RegistrySearch configure={props.configure} />
      )}
    </Panel>
  );
}

function Paste(props: { read: (found: ImportResult) => void }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      props.read(await post<ImportResult>("/api/import", { text }));
    } catch (error) {
      setProblem(ApiError.from(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Field
        label="Command, URL or MCP client config"
        help="From a README, or from Claude, Cursor, VS Code, Codex, Gemini, Zed, Goose… (JSON, TOML or YAML). Nothing is started or saved yet."
      >
        {(id) => (
          <textarea
            id={id}
            className="mono"
            rows={8}
            // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
            autoFocus
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim()) {
                event.preventDefault();
                void send();
              }
            }}
          />
        )}
      </Field>
      {problem && <Failure error={problem} />}
      <div className="bar">
        <button type="submit" className="primary" disabled={busy || !text.trim()}>
          {busy ? "Reading…" : "Continue"}
        </button>
        <span className="quiet">Examples:</span>
        {EXAMPLES.map((it) => (
          <button key={it.title} type="button" className="chip" onClick={() => setText(it.text)}>
            {it.title}
          </button>
        ))}
      </div>
    </form>
  );
}
