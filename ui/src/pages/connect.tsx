// Setup instructions for clients, each with its own key.
import { useState } from "react";
import { query } from "../api/client";
import { useRead } from "../api/queries";
import type { Agent, ConnectInfo } from "../api/types";
import { Page, Panel, QueryView } from "../kit/basics";
import { Code, ShowAsCli } from "../kit/code";
import { setQuery, useRoute } from "../route";
import { ConnectionStatus } from "./connect/connection-status";
import { ClientKey } from "./connect/key";
import { installLink, lacksKey, PLACEHOLDER } from "./connect/links";
import type { CreatedKey } from "./keys/secret";
import "../style/connect.css";

type Client = ConnectInfo["clients"][number];

export default function ConnectPage() {
  const route = useRoute();
  const agent = route.query.get("agent") ?? "";
  const path = `/api/connect${query({ agent })}`;
  const connect = useRead<ConnectInfo>(path);
  const [keys, setKeys] = useState<Record<string, CreatedKey>>({});
  const chosen =
    connect.data?.clients.find((it) => it.id === route.query.get("client")) ??
    connect.data?.clients[0];
  return (
    <Page
      title="Connect"
      lead="Choose a client and copy its configuration."
      actions={<ShowAsCli cli={`tollgate connect ${chosen?.id ?? "CLIENT"}`} path={path} />}
    >
      <QueryView of={connect}>
        {(data) => (
          <div className="connect">
            <Clients of={data.clients} chosen={chosen?.id} />
            {chosen && (
              <div key={chosen.id}>
                <Steps
                  client={chosen}
                  agent={agent}
                  of={data}
                  created={keys[chosen.id]}
                  onCreated={(created) => setKeys({ ...keys, [chosen.id]: created })}
                />
              </div>
            )}
          </div>
        )}
      </QueryView>
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
              onClick={() => setQuery({ client: it.id })}
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
  of: ConnectInfo;
  created: CreatedKey | undefined;
  onCreated: (created: CreatedKey) => void;
}) {
  const { client, agent, of, created } = props;
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
          created={created}
          onCreated={props.onCreated}
        />
      </Panel>
      <Panel title={client.file ? `3. Add to ${client.file}` : "3. Configuration"}>
        <Snippet of={client} created={created} needed={of.needs_key} />
      </Panel>
      <Panel title="4. Verify">
        <ConnectionStatus name={created?.name} client={client.name} />
      </Panel>
    </>
  );
}

function AgentChoice(props: { agent: string }) {
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? [];
  const known = agents.find((it) => it.name === props.agent);
  const defaultAgent = agents.find((it) => it.default);
  return (
    <>
      <label>
        Agent{" "}
        <select
          value={props.agent}
          onChange={(event) => setQuery({ agent: event.target.value || undefined })}
        >
          <option value="">{defaultAgent ? `${defaultAgent.name} (default)` : "default"}</option>
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

function Snippet(props: { of: Client; created: CreatedKey | undefined; needed: boolean }) {
  const { of, created } = props;
  const fillIn = (text: string) => (created ? text.replaceAll(PLACEHOLDER, created.key) : text);
  const hasPlaceholder = of.text.includes(PLACEHOLDER) && !created;
  const link = installLink(of.link, created?.key);
  return (
    <>
      {hasPlaceholder && (
        <p className="help">
          Create a key above to have it filled in, or replace <code>{PLACEHOLDER}</code> by an
          existing key.
        </p>
      )}
      {link &&
        (props.needed && !created && lacksKey(link) ? (
          <p className="help">Create a key to get a one-click install button.</p>
        ) : (
          <p className="bar">
            <a className="button primary" href={link} rel="noopener noreferrer">
              Install in {of.name}
            </a>
            <span className="quiet">or configure it manually:</span>
          </p>
        ))}
      <Code text={fillIn(of.text)} label={`config for ${of.name}`} />
      {of.note && <p className="help note-text">{fillIn(of.note)}</p>}
    </>
  );
}
