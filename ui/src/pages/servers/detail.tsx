// One server: state, actions, history, log and config.
import { useState } from "react";
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import type { ServerDetail } from "../../api/types";
import { Ago, Page, Panel, QueryView, StateBadge } from "../../kit/basics";
import { Code, ShowAsCli } from "../../kit/code";
import { Fact, Facts as FactList } from "../../kit/facts";
import { count } from "../../kit/format";
import { to } from "../../route";
import { useHasRight } from "../../session";
import { Actions } from "./actions";
import { EditServer } from "./edit";
import { History } from "./history";
import { Logs } from "./logs";

export function ServerPage(props: { id: string }) {
  const { id } = props;
  const route = path("api", "servers", id);
  const server = useRead<ServerDetail>(route, 3000);
  // The edit form keeps the version it started from, even while the page polls.
  const [editing, setEditing] = useState<ServerDetail>();
  const admin = useHasRight("admin");
  return (
    <Page
      title={id}
      lead={
        <>
          <a href={to("servers")}>Servers</a>
          {server.data?.category && ` · ${server.data.category}`}
        </>
      }
      actions={<ShowAsCli cli={`tollgate servers test ${id}`} path={route} />}
    >
      <QueryView of={server}>
        {(data) => (
          <>
            <ServerStatus of={data} />
            {admin && <Actions of={data} edit={() => setEditing(data)} />}
            <div className="columns">
              <ServerFacts of={data} />
              <Panel title="History">
                <History of={data.history} />
              </Panel>
            </div>
            {admin && data.transport === "stdio" && <Logs id={id} />}
            <Config of={data} />
          </>
        )}
      </QueryView>
      {editing && <EditServer of={editing} close={() => setEditing(undefined)} />}
    </Page>
  );
}

function ServerStatus(props: { of: ServerDetail }) {
  const { state, reason, since, last_ok, transport } = props.of;
  return (
    <div className="server-status" role="status">
      <StateBadge state={state} />
      <strong>{reason}</strong>
      <span className="quiet">
        changed <Ago time={since} />
        {transport !== "in-process" && (
          <>
            {" "}
            · last response <Ago time={last_ok} />
          </>
        )}
      </span>
    </div>
  );
}

function ServerFacts(props: { of: ServerDetail }) {
  const { of } = props;
  return (
    <Panel title="Details">
      <FactList>
        <Fact name="Tools">
          <a href={`${to("tools")}?server=${encodeURIComponent(of.id)}`}>
            {count(of.tools, "tool")}
          </a>
        </Fact>
        <Fact name="Transport">{of.transport}</Fact>
        <Fact name="Protocol">{of.protocol ?? "not negotiated yet"}</Fact>
        <Fact name="Process ID">{of.pid}</Fact>
        <Fact name="Restarts">{of.restarts}</Fact>
        <Fact name="Late responses">{of.late_answers}</Fact>
        <Fact name="Trusted">
          {of.trusted ? "yes: its annotations are used" : "no: its annotations are only hints"}
        </Fact>
        <Fact name="Last error">{of.last_error ?? <span className="quiet">none</span>}</Fact>
        <Fact name="Calls">
          <a href={`${to("calls")}?server=${encodeURIComponent(of.id)}`}>Recent calls</a>,{" "}
          <a href={`${to("audit")}?server=${encodeURIComponent(of.id)}`}>audit trail</a>
        </Fact>
      </FactList>
    </Panel>
  );
}

function Config(props: { of: ServerDetail }) {
  const { yaml, transport, writable } = props.of;
  return (
    <Panel title="Config">
      {yaml ? (
        <>
          {writable === false && (
            <div className="note">
              The config file is read-only. “Edit” shows the config to copy.
            </div>
          )}
          <Code text={yaml} label="server config" />
        </>
      ) : (
        <p className="quiet">
          {transport === "in-process"
            ? "Built in. Configure it under `builtin:` in the settings."
            : "Visible to admins only."}
        </p>
      )}
    </Panel>
  );
}
