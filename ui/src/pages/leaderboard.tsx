// Measured tools by category, fastest first.
import { useMemo } from "react";
import { query as search } from "../api/client";
import { useRead } from "../api/queries";
import type { Agent, Tool } from "../api/types";
import { Empty, Page, Panel, QueryView, TierBadge } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { count, ms } from "../kit/format";
import { Table } from "../kit/table";
import { escapeHidden } from "../kit/untrusted";
import { setQuery, to, useRoute } from "../route";
import "../style/leaderboard.css";

interface RankedTool {
  rank: number;
  name: string;
  p50_ms: number;
  badge: string;
}

interface Leaderboard {
  categories: { category: string; tools: RankedTool[] }[];
}

export default function LeaderboardPage() {
  const { query } = useRoute();
  const agent = query.get("agent") ?? "";
  const address = `/v1/tools${search({ leaderboard: true, agent })}`;
  const board = useRead<Leaderboard>(address, 15_000);
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? [];
  const tools = useRead<{ tools: Tool[] }>("/api/tools").data?.tools;
  const known = useMemo(() => new Map((tools ?? []).map((it) => [it.name, it])), [tools]);
  return (
    <Page
      title="Leaderboard"
      lead="Measured tools by category, ranked by median latency."
      actions={<ShowAsCli cli="tollgate tools --leaderboard" path={address} />}
    >
      <div className="bar">
        <select
          aria-label="Agent"
          value={agent}
          onChange={(event) => setQuery({ agent: event.target.value })}
        >
          <option value="">Agent: default</option>
          {agents.map((it) => (
            <option key={it.name} value={it.name}>
              {escapeHidden(it.name)}
            </option>
          ))}
        </select>
        <span className="quiet">
          lightning: under 50 ms, fast: under 200 ms, standard: under 1 s, slow: 1 s or more
        </span>
      </div>
      <QueryView of={board}>
        {({ categories }) =>
          categories.length === 0 ? (
            <Empty>
              No measurements yet. <a href={to("tools")}>Try a tool</a> or run{" "}
              <code>tollgate calibrate</code>.
            </Empty>
          ) : (
            categories.map((it) => <Category key={it.category} of={it} known={known} />)
          )
        }
      </QueryView>
    </Page>
  );
}

function Category(props: {
  of: Leaderboard["categories"][number];
  known: ReadonlyMap<string, Tool>;
}) {
  const { of, known } = props;
  const slowest = Math.max(...of.tools.map((it) => it.p50_ms), 0.001);
  const servers = new Set(of.tools.map((it) => known.get(it.name)?.server));
  return (
    <Panel
      title={escapeHidden(of.category)}
      actions={
        <span className="quiet">
          {count(of.tools.length, "tool")} from {count(servers.size, "server")}
        </span>
      }
    >
      <div className="board">
        <Table
          label={`Leaderboard of ${of.category}`}
          rows={of.tools}
          id={(row) => row.name}
          columns={[
            { id: "rank", title: "Rank", className: "number", cell: (row) => row.rank },
            {
              id: "name",
              title: "Tool",
              cell: (row) => <ToolName row={row} tool={known.get(row.name)} />,
            },
            {
              id: "p50",
              title: "p50",
              className: "number",
              sortValue: (row) => row.p50_ms,
              cell: (row) => ms(row.p50_ms),
            },
            {
              id: "bar",
              title: "Relative to slowest",
              cell: (row) => (
                <meter
                  aria-label={`${ms(row.p50_ms)} of ${ms(slowest)}`}
                  min={0}
                  max={slowest}
                  value={row.p50_ms}
                />
              ),
            },
            { id: "badge", title: "Badge", cell: (row) => <Badge badge={row.badge} /> },
            {
              id: "tier",
              title: "Tier",
              cell: (row) => {
                const tool = known.get(row.name);
                return tool ? <TierBadge tier={tool.tier} /> : "–";
              },
            },
            {
              id: "calls",
              title: "Calls",
              className: "number",
              cell: (row) => known.get(row.name)?.measured?.calls ?? "–",
            },
          ]}
        />
      </div>
      {of.category === "other" && (
        <p className="help">
          Servers without a <code>category</code> in the config are ranked here.
        </p>
      )}
    </Panel>
  );
}

function ToolName(props: { row: RankedTool; tool: Tool | undefined }) {
  const { row, tool } = props;
  if (!tool) return escapeHidden(row.name);
  return (
    <a href={`${to("tools", tool.server, tool.tool)}?tab=latency`}>{escapeHidden(row.name)}</a>
  );
}

const TONES: Record<string, string> = { lightning: "good", fast: "good", slow: "warn" };

function Badge(props: { badge: string }) {
  return <span className={`badge ${TONES[props.badge] ?? ""}`}>{escapeHidden(props.badge)}</span>;
}
