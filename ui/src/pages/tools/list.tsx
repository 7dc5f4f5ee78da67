// The list of tools: grouped by server, or as a flat sortable table.
import { type ReactNode, useCallback, useDeferredValue, useMemo, useState } from "react";
import { useRead } from "../../api/queries";
import { TIERS, type Tool } from "../../api/types";
import { Empty, Page, Shown, StateBadge, TierBadge } from "../../kit/basics";
import { Sparkline } from "../../kit/chart";
import { AsCommand } from "../../kit/code";
import { clipped, visible } from "../../kit/foreign";
import { type Column, Table } from "../../kit/table";
import { count, ms, percent } from "../../kit/words";
import { go, narrow, to, useRoute } from "../../route";
import { Filters } from "./filters";
import { callsOf } from "./links";
import { grouped, isNarrowed, matching, type Row, rowOf, type ServerRow, wantedOf } from "./rows";
import { stateOf } from "./state";

/** Up to this many tools, all groups are expanded. */
const FEW = 150;

const NONE: ReadonlySet<string> = new Set();

export function ToolList() {
  const { query } = useRoute();
  const read = useRead<{ tools: Tool[] }>("/api/tools", 30_000);
  const wanted = wantedOf(useDeferredValue(query));
  const flat = query.get("view") === "flat";
  return (
    <Page
      title="Tools"
      lead="All tools offered by servers, with latency, tier and state."
      actions={<AsCommand cli="tollgate tools" path="/api/tools" />}
    >
      <Shown of={read}>
        {({ tools }) => (
          <>
            <Filters tools={tools} wanted={wantedOf(query)} />
            <Found tools={tools} wanted={wanted} flat={flat} />
          </>
        )}
      </Shown>
    </Page>
  );
}

function Found(props: { tools: Tool[]; wanted: ReturnType<typeof wantedOf>; flat: boolean }) {
  const { tools, flat } = props;
  const { q, server, tier, health, verdict, online } = props.wanted;
  const found = useMemo(
    () => matching(tools, { q, server, tier, health, verdict, online }),
    [tools, q, server, tier, health, verdict, online],
  );
  const narrowed = isNarrowed(props.wanted);
  const usual = narrowed || found.length <= FEW;
  // Servers toggled by the user; reset when the default changes with the search.
  const [turns, setTurns] = useState({ usual, servers: NONE });
  const turned = turns.usual === usual ? turns.servers : NONE;
  const rows = useMemo(
    () => (flat ? found.map(rowOf) : grouped(found, (server) => turned.has(server) !== usual)),
    [found, flat, turned, usual],
  );
  const toggle = useCallback(
    (group: ServerRow) =>
      setTurns((before) => {
        const servers = new Set(before.usual === usual ? before.servers : NONE);
        if (!servers.delete(group.server)) servers.add(group.server);
        return { usual, servers };
      }),
    [usual],
  );
  const open = useCallback(
    (row: Row) => (row.group ? toggle(row.group) : go(to("tools", row.tool.server, row.tool.tool))),
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
          {narrowed
            ? `${found.length.toLocaleString("en")} of ${count(tools.length, "tool")}`
            : count(tools.length, "tool")}
        </span>
        <View flat={flat} />
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
const of =
  (cell: (tool: Tool) => ReactNode) =>
  (row: Row): ReactNode =>
    row.group ? null : cell(row.tool);

const by =
  (value: (tool: Tool) => string | number) =>
  (row: Row): string | number =>
    row.group ? "" : value(row.tool);

const UNKNOWN = Number.MAX_VALUE;

function columnsOf(flat: boolean, toggle: (group: ServerRow) => void): Column<Row>[] {
  const ordered = (value: (tool: Tool) => string | number) => (flat ? by(value) : undefined);
  return [
    {
      id: "name",
      title: "Tool",
      className: "tool-name",
      by: ordered((tool) => tool.name),
      cell: (row) =>
        row.group ? <ServerCell group={row.group} toggle={toggle} /> : <Name tool={row.tool} />,
    },
    {
      id: "tier",
      title: "Tier",
      className: "tool-tier",
      by: ordered((tool) => tool.tier),
      cell: (row) => (row.group ? <Tiers group={row.group} /> : <Why tool={row.tool} />),
    },
    {
      id: "p50",
      title: "p50",
      className: "number",
      by: ordered((tool) => tool.measured?.p50_ms ?? UNKNOWN),
      cell: of((tool) => ms(tool.measured?.p50_ms)),
    },
    {
      id: "p99",
      title: "p99",
      className: "number",
      by: ordered((tool) => tool.measured?.p99_ms ?? UNKNOWN),
      cell: of((tool) => ms(tool.measured?.p99_ms)),
    },
    {
      id: "recent",
      title: "Recent calls",
      cell: of((tool) => (
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
      by: ordered((tool) => tool.measured?.error_rate ?? -1),
      cell: of((tool) => <Failed tool={tool} />),
    },
    {
      id: "state",
      title: "State",
      by: ordered(stateOf),
      cell: of((tool) => <State tool={tool} />),
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
        <span aria-hidden="true">{group.open ? "▾" : "▸"}</span> {visible(group.server)}
      </button>
      <span className="quiet">{count(group.tools, "tool")}</span>
      {!group.online && <span className="badge bad">offline</span>}
      {group.doubtful > 0 && <span className="badge warn">{group.doubtful} to review</span>}
      <a href={to("servers", group.server)}>server</a>
    </span>
  );
}

function Tiers(props: { group: ServerRow }) {
  const { tiers } = props.group;
  const some = TIERS.filter((tier) => tiers[tier] > 0);
  return <span className="quiet">{some.map((it) => `${tiers[it]} ${it}`).join(", ")}</span>;
}

function Why(props: { tool: Tool }) {
  const why = visible(props.tool.tier_reason);
  return (
    <>
      <TierBadge tier={props.tool.tier} />
      <span className="clip quiet" title={why}>
        {why}
      </span>
    </>
  );
}

function View(props: { flat: boolean }) {
  const { flat } = props;
  return (
    <span className="switch" role="group" aria-label="View">
      <button
        type="button"
        className="small"
        aria-pressed={!flat}
        onClick={() => narrow({ view: "" })}
      >
        By server
      </button>
      <button
        type="button"
        className="small"
        aria-pressed={flat}
        onClick={() => narrow({ view: "flat" })}
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
      <a className="clip" href={to("tools", tool.server, tool.tool)} title={visible(tool.name)}>
        {visible(tool.name)}
      </a>
      <span className="clip quiet">{visible(clipped(about, 160)).replaceAll("\n", " ")}</span>
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
