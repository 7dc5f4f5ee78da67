// The list of tools: grouped by server, or as a flat sortable table.
import { type ReactNode, useCallback, useDeferredValue, useMemo, useState } from "react";
import { useRead } from "../../api/queries";
import { TIERS, type Tool } from "../../api/types";
import { Empty, Page, QueryView, StateBadge, TierBadge } from "../../kit/basics";
import { Sparkline } from "../../kit/chart";
import { ShowAsCli } from "../../kit/code";
import { count, ms, percent } from "../../kit/format";
import { type Column, Table } from "../../kit/table";
import { escapeHidden, truncate } from "../../kit/untrusted";
import { navigate, setQuery, to, useRoute } from "../../route";
import { Filters } from "./filters";
import { callsOf } from "./links";
import {
  filterOf,
  filterTools,
  groupByServer,
  isFiltered,
  type Row,
  rowOf,
  type ServerRow,
} from "./rows";
import { stateOf } from "./state";

/** Up to this many tools, all groups are expanded. */
const EXPAND_UP_TO = 150;

const NONE: ReadonlySet<string> = new Set();

export function ToolList() {
  const { query } = useRoute();
  const read = useRead<{ tools: Tool[] }>("/api/tools", 30_000);
  const filter = filterOf(useDeferredValue(query));
  const flat = query.get("view") === "flat";
  return (
    <Page
      title="Tools"
      lead="All tools offered by servers, with latency, tier and state."
      actions={<ShowAsCli cli="tollgate tools" path="/api/tools" />}
    >
      <QueryView of={read}>
        {({ tools }) => (
          <>
            <Filters tools={tools} filter={filterOf(query)} />
            <FoundTools tools={tools} filter={filter} flat={flat} />
          </>
        )}
      </QueryView>
    </Page>
  );
}

function FoundTools(props: { tools: Tool[]; filter: ReturnType<typeof filterOf>; flat: boolean }) {
  const { tools, flat } = props;
  const { q, server, tier, health, verdict, online } = props.filter;
  const found = useMemo(
    () => filterTools(tools, { q, server, tier, health, verdict, online }),
    [tools, q, server, tier, health, verdict, online],
  );
  const filtered = isFiltered(props.filter);
  const openByDefault = filtered || found.length <= EXPAND_UP_TO;
  // Servers toggled by the user; reset when the default changes with the search.
  const [toggles, setToggles] = useState({ openByDefault, servers: NONE });
  const toggled = toggles.openByDefault === openByDefault ? toggles.servers : NONE;
  const rows = useMemo(
    () =>
      flat
        ? found.map(rowOf)
        : groupByServer(found, (server) => toggled.has(server) !== openByDefault),
    [found, flat, toggled, openByDefault],
  );
  const toggle = useCallback(
    (group: ServerRow) =>
      setToggles((before) => {
        const servers = new Set(before.openByDefault === openByDefault ? before.servers : NONE);
        if (!servers.delete(group.server)) servers.add(group.server);
        return { openByDefault, servers };
      }),
    [openByDefault],
  );
  const open = useCallback(
    (row: Row) =>
      row.group ? toggle(row.group) : navigate(to("tools", row.tool.server, row.tool.tool)),
    [toggle],
  );
  const columns = useMemo(() => columnsOf(flat, toggle), [flat, toggle]);
  if (tools.length === 0) {
    return (
      <Empty>
        No tools yet. <a href={to("servers")}>Add a server</a>.
      </Empty>
    );
  }
  return (
    <>
      <div className="tools-count">
        <span className="quiet" role="status">
          {filtered
            ? `${found.length.toLocaleString("en")} of ${count(tools.length, "tool")}`
            : count(tools.length, "tool")}
        </span>
        <ViewSwitch flat={flat} />
      </div>
      <div className="panel tools-panel">
        <Table
          key={String(flat)}
          label="Tools"
          rows={rows}
          columns={columns}
          id={(row) => row.id}
          height={57}
          open={open}
          empty="No matching tools. Clear a filter."
        />
      </div>
    </>
  );
}

/** Rows of servers have only the first two cells. */
const toolCell =
  (cell: (tool: Tool) => ReactNode) =>
  (row: Row): ReactNode =>
    row.group ? null : cell(row.tool);

const toolSort =
  (value: (tool: Tool) => string | number) =>
  (row: Row): string | number =>
    row.group ? "" : value(row.tool);

const UNKNOWN = Number.MAX_VALUE;

function columnsOf(flat: boolean, toggle: (group: ServerRow) => void): Column<Row>[] {
  const sortIfFlat = (value: (tool: Tool) => string | number) =>
    flat ? toolSort(value) : undefined;
  return [
    {
      id: "name",
      title: "Tool",
      className: "tool-name",
      sortValue: sortIfFlat((tool) => tool.name),
      cell: (row) =>
        row.group ? <ServerCell group={row.group} toggle={toggle} /> : <Name tool={row.tool} />,
    },
    {
      id: "tier",
      title: "Tier",
      className: "tool-tier",
      sortValue: sortIfFlat((tool) => tool.tier),
      cell: (row) => (row.group ? <Tiers group={row.group} /> : <TierCell tool={row.tool} />),
    },
    {
      id: "p50",
      title: "p50",
      className: "number",
      sortValue: sortIfFlat((tool) => tool.measured?.p50_ms ?? UNKNOWN),
      cell: toolCell((tool) => ms(tool.measured?.p50_ms)),
    },
    {
      id: "p99",
      title: "p99",
      className: "number",
      sortValue: sortIfFlat((tool) => tool.measured?.p99_ms ?? UNKNOWN),
      cell: toolCell((tool) => ms(tool.measured?.p99_ms)),
    },
    {
      id: "recent",
      title: "Recent calls",
      cell: toolCell((tool) => (
        <Sparkline
          values={tool.recent}
          label={`last ${tool.recent.length} calls, at most ${ms(Math.max(...tool.recent))}`}
        />
      )),
    },
    {
      id: "errors",
      title: "Failed",
      className: "number",
      sortValue: sortIfFlat((tool) => tool.measured?.error_rate ?? -1),
      cell: toolCell((tool) => <Failed tool={tool} />),
    },
    {
      id: "state",
      title: "State",
      sortValue: sortIfFlat(stateOf),
      cell: toolCell((tool) => <State tool={tool} />),
    },
  ];
}

function ServerCell(props: { group: ServerRow; toggle: (group: ServerRow) => void }) {
  const { group } = props;
  return (
    <span className="tool-server">
      <button
        type="button"
        className="plain"
        aria-expanded={group.open}
        onClick={() => props.toggle(group)}
      >
        <span aria-hidden="true">{group.open ? "▾" : "▸"}</span> {escapeHidden(group.server)}
      </button>
      <span className="quiet">{count(group.tools, "tool")}</span>
      {!group.online && <span className="badge bad">offline</span>}
      {group.toReview > 0 && <span className="badge warn">{group.toReview} to review</span>}
      <a href={to("servers", group.server)}>server</a>
    </span>
  );
}

function Tiers(props: { group: ServerRow }) {
  const { tiers } = props.group;
  const some = TIERS.filter((tier) => tiers[tier] > 0);
  return <span className="quiet">{some.map((it) => `${tiers[it]} ${it}`).join(", ")}</span>;
}

function TierCell(props: { tool: Tool }) {
  const why = escapeHidden(props.tool.tier_reason);
  return (
    <>
      <TierBadge tier={props.tool.tier} />
      <span className="clip quiet" title={why}>
        {why}
      </span>
    </>
  );
}

function ViewSwitch(props: { flat: boolean }) {
  const { flat } = props;
  return (
    <span className="switch" role="group" aria-label="View">
      <button
        type="button"
        className="small"
        aria-pressed={!flat}
        onClick={() => setQuery({ view: "" })}
      >
        By server
      </button>
      <button
        type="button"
        className="small"
        aria-pressed={flat}
        onClick={() => setQuery({ view: "flat" })}
      >
        Flat list
      </button>
    </span>
  );
}

function Name(props: { tool: Tool }) {
  const { tool } = props;
  const about = tool.description ?? tool.title ?? "";
  return (
    <>
      <a
        className="clip"
        href={to("tools", tool.server, tool.tool)}
        title={escapeHidden(tool.name)}
      >
        {escapeHidden(tool.name)}
      </a>
      <span className="clip quiet">{escapeHidden(truncate(about, 160)).replaceAll("\n", " ")}</span>
    </>
  );
}

function Failed(props: { tool: Tool }) {
  const { measured } = props.tool;
  if (!measured) return "–";
  if (measured.error_rate === 0) return percent(0);
  return <a href={callsOf(props.tool, "error")}>{percent(measured.error_rate)}</a>;
}

function State(props: { tool: Tool }) {
  const { tool } = props;
  return (
    <span className="tool-state">
      <StateBadge state={stateOf(tool)} />
      {tool.verdict !== "served" && tool.health !== "healthy" && tool.online && (
        <StateBadge state={tool.health} />
      )}
      {tool.badge && <span className="badge">{tool.badge}</span>}
      {tool.bimodal && <span className="badge warn">bimodal</span>}
    </span>
  );
}
