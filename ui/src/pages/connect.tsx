// Setup instructions for clients, each with its own key.
import { useState } from "react";
import { query } from "../api/client";
import { useRead } from "../api/queries";
import type { Agent, Connect } from "../api/types";
import { Page, Panel, Shown } from "../kit/basics";
import { AsCommand, Code } from "../kit/code";
import { narrow, useRoute } from "../route";
import { ClientKey } from "./connect/key";
import { installLink, lacksKey, PLACEHOLDER } from "./connect/links";
import { Seen } from "./connect/seen";
import type { MadeKey } from "./keys/secret";
import "../style/connect.css";

type Client = Connect["clients"][number];

export default function ConnectPage() {
  const route = useRoute();
  const agent = route.query.get("agent") ?? "";
  const path = `/api/connect${query({ agent })}`;
  const connect = useRead<Connect>(path);
  const [keys, setKeys] = useState<Record<string, MadeKey>>({});
  const chosen =
    connect.data?.clients.find((it) => it.id === route.query.get("client")) ??
    connect.data?.clients[0];
  return (
    <Page
      title="Connect"
      lead="Choose a client and copy its configuration."
      actions={<AsCommand cli={`tollgate connect ${chosen?.id ?? "CLIENT"}`} path={path} />}
    >
      <Shown of={connect}>
        {(data) => (
          <div className="connect">
            <Clients of={data.clients} chosen={chosen?.id} />
            {chosen && (
              <div key={chosen.id}>
                <Steps
                  client={chosen}
                  agent={agent}
                  of={data}
                  made={keys[chosen.id]}
                  make={(made) => setKeys({ ...keys, [chosen.id]: made })}
                />
              </div>
            )}
          </div>
        )}
      </Shown>
    </Page>
  );
}

function Clients(props: { of: readonly Client[]; chosen: string | undefined }) {
  return (
    <nav className="clients" aria-label="Clients">
      <ul>
        {props.of.map((it) => (
          <li key={it.id}>
            <button
              type="button"
              aria-pressed={it.id === props.chosen}
              onClick={() => narrow({ client: it.id })}
            >
              {it.name}
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Steps(props: {
  client: Client;
  agent: string;
  of: Connect;
  made: MadeKey | undefined;
  make: (made: MadeKey) => void;
}) {
  const { client, agent, of, made } = props;
  return (
    <>
      <Panel title={`1. Tools for ${client.name}`}>
        <AgentChoice agent={agent} />
      </Panel>
      <Panel title="2. Key">
        <ClientKey
          client={client.id}
          agent={agent}
          needed={of.needs_key}
          made={made}
          make={props.make}
        />
      </Panel>
      <Panel title={client.file ? `3. Add to ${client.file}` : "3. Configuration"}>
        <Snippet of={client} made={made} needed={of.needs_key} />
      </Panel>
      <Panel title="4. Verify">
        <Seen name={made?.name} client={client.name} />
      </Panel>
    </>
  );
}

function AgentChoice(props: { agent: string }) {
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? [];
  const known = agents.find((it) => it.name === props.agent);
  const usual = agents.find((it) => it.default);
  return (
    <>
      <label>
        Agent{" "}
        <select
          value={props.agent}
          onChange={(event) => narrow({ agent: event.target.value || undefined })}
        >
          <option value="">{usual ? `${usual.name} (default)` : "default"}</option>
          {agents.map((it) => (
            <option key={it.name} value={it.name}>
              {it.name}
            </option>
          ))}
        </select>
      </label>
      {known?.description && <p className="help">{known.description}</p>}
    </>
  );
}

function Snippet(props: { of: Client; made: MadeKey | undefined; needed: boolean }) {
  const { of, made } = props;
  const filled = (text: string) => (made ? text.replaceAll(PLACEHOLDER, made.key) : text);
  const open = of.text.includes(PLACEHOLDER) && !made;
  const link = installLink(of.link, made?.key);
  return (
    <>
      {open && (
        <p className="help">
          Create a key above to have it filled in, or replace <code>{PLACEHOLDER}</code> by an
          existing key.
        </p>
      )}
      {link &&
        (props.needed && !made && lacksKey(link) ? (
          <p className="help">Create a key to get a one-click install button.</p>
        ) : (
          <p className="bar">
            <a className="button primary" href={link} rel="noopener noreferrer">
              Install in {of.name}
            </a>
            <span className="quiet">or configure it manually:</span>
          </p>
        ))}
      <Code text={filled(of.text)} label={`config for ${of.name}`} />
      {of.note && <p className="help note-text">{filled(of.note)}</p>}
    </>
  );
}
