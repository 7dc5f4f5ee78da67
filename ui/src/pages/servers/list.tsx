// The list of servers with their state.
import { useMemo } from "react";
import { useRead } from "../../api/queries";
import type { Server, ServerState } from "../../api/types";
import { Ago, Page, QueryView, StateBadge } from "../../kit/basics";
import { ShowAsCli } from "../../kit/code";
import { count } from "../../kit/format";
import { type Column, Table } from "../../kit/table";
import { navigate, setQuery, to, useRoute } from "../../route";
import { useHasRight } from "../../session";

const STATES: readonly ServerState[] = [
  "ready",
  "starting",
  "degraded",
  "offline",
  "failed",
  "disabled",
];
/** Worst state first. */
const SEVERITY_ORDER: readonly ServerState[] = [
  "failed",
  "offline",
  "degraded",
  "starting",
  "ready",
  "disabled",
];

export const addLink = `${to("servers")}?add=paste`;

export function ServerList() {
  const servers = useRead<{ servers: Server[] }>("/api/servers", 5000);
  const admin = useHasRight("admin");
  return (
    <Page
      title="Servers"
      lead="MCP servers that the gateway runs or connects to."
      actions={
        <>
          <ShowAsCli cli="tollgate servers list" path="/api/servers" />
          {admin && (
            <a className="button primary" href={addLink}>
              Add server{" "}
            </a>
          )}
        </>
      }
    >
      <QueryView of={servers}>{(data) => <FilteredServers servers={data.servers} />}</QueryView>
    </Page>
  );
}

function FilteredServers(props: { servers: Server[] }) {
  const { query } = useRoute();
  const needle = (query.get("q") ?? "").trim().toLowerCase();
  const state = query.get("state") ?? "";
  const rows = useMemo(
    () =>
      props.servers.filter(
        (it) => (!state || it.state === state) && (!needle || searchText(it).includes(needle)),
      ),
    [props.servers, needle, state],
  );
  const hasConfigured = props.servers.some((it) => it.transport !== "in-process");
  return (
    <>
      <div className="bar">
        <input
          type="search"
          aria-label="Filter servers"
          placeholder="Name, reason, category…"
          value={query.get("q") ?? ""}
          onChange={(event) => setQuery({ q: event.target.value })}
        />
        <StateFilter servers={props.servers} chosen={state} />
        <span className="quiet" role="status">
          {rows.length < props.servers.length
            ? `${rows.length} of ${count(props.servers.length, "server")}`
            : count(rows.length, "server")}
        </span>
      </div>
      <Table
        label="Servers"
        rows={rows}
        id={(row) => row.id}
        open={openServer}
        columns={COLUMNS}
        height={57}
        initialSort="state"
        empty={
          <>
            <p>No matching servers.</p>
            <button type="button" onClick={() => setQuery({ q: undefined, state: undefined })}>
              Clear filters
            </button>
          </>
        }
      />
      {!hasConfigured && <NoServers />}
    </>
  );
}

const openServer = (row: Server) => navigate(to("servers", row.id));

function searchText(it: Server): string {
  const words = [it.id, it.state, it.reason, it.transport, it.category, it.protocol, it.last_error];
  return words.join(" ").toLowerCase();
}

function StateFilter(props: { servers: Server[]; chosen: string }) {
  return (
    <div className="chips" role="group" aria-label="State">
      {STATES.map((state) => {
        const number = props.servers.filter((it) => it.state === state).length;
        if (number === 0 && state !== props.chosen) return null;
        const pressed = state === props.chosen;
        return (
          <button
            key={state}
            type="button"
            className="chip"
            aria-pressed={pressed}
            onClick={() => setQuery({ state: pressed ? undefined : state })}
          >
            {state} <span className="quiet">{number}</span>
          </button>
        );
      })}
    </div>
  );
}

function NoServers() {
  return (
    <div className="panel empty">
      <p>Only built-in servers so far.</p>
      <p>
        <a href={addLink}>Add a server</a> by its command, its URL or an existing client config.
      </p>
    </div>
  );
}

const COLUMNS: readonly Column<Server>[] = [
  {
    id: "state",
    title: "State",
    className: "narrow",
    sortValue: (row) => SEVERITY_ORDER.indexOf(row.state),
    cell: (row) => <StateBadge state={row.state} />,
  },
  {
    id: "id",
    title: "Server",
    sortValue: (row) => row.id,
    cell: (row) => (
      <>
        <a className="strong" href={to("servers", row.id)}>
          {row.id}
        </a>
        {row.needs_login && <span className="badge warn">needs login</span>}
        {row.category && <span className="badge">{row.category}</span>}
        <span className="clip quiet small" title={row.reason}>
          {row.reason}
        </span>
      </>
    ),
  },
  {
    id: "since",
    title: "Changed",
    className: "narrow",
    sortValue: (row) => row.since,
    cell: (row) => <Ago time={row.since} />,
  },
  {
    id: "transport",
    title: "Transport",
    sortValue: (row) => row.transport,
    cell: (row) => (
      <>
        {row.transport}
        <span className="clip quiet small">{row.protocol ?? ""}</span>
      </>
    ),
  },
  {
    id: "tools",
    title: "Tools",
    className: "number",
    sortValue: (row) => row.tools,
    cell: (row) => <a href={`${to("tools")}?server=${encodeURIComponent(row.id)}`}>{row.tools}</a>,
  },
  {
    id: "restarts",
    title: "Restarts",
    className: "number",
    sortValue: (row) => row.restarts,
    cell: (row) =>
      row.restarts > 0 ? <a href={to("servers", row.id)}>{row.restarts}</a> : row.restarts,
  },
  {
    id: "last",
    title: "Last response",
    className: "narrow",
    sortValue: (row) => row.last_ok ?? "",
    cell: (row) =>
      row.transport === "in-process" ? (
        <span className="quiet" title="Runs in the gateway process">
          –
        </span>
      ) : (
        <Ago time={row.last_ok} />
      ),
  },
  {
    id: "error",
    title: "Last error",
    className: "last-error",
    cell: (row) => (
      <span className="clip" title={row.last_error ?? undefined}>
        {row.last_error && row.last_error !== row.reason ? (
          row.last_error
        ) : (
          <span className="quiet">{row.last_error ? "see state" : "none"}</span>
        )}
      </span>
    ),
  },
];
