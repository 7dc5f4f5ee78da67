// All tools by tier: visible, or the level that hides it and the reason.
import { useDeferredValue, useMemo } from "react";
import { query as search } from "../../api/client";
import { useRead } from "../../api/queries";
import { type Agent, TIERS, type Tier, type ToolVisibility } from "../../api/types";
import { Failure, Loading, Panel, TierBadge } from "../../kit/basics";
import { count } from "../../kit/format";
import { type Column, Table } from "../../kit/table";
import { escapeHidden } from "../../kit/untrusted";
import { setQuery, to, useRoute } from "../../route";
import {
  countVisible,
  filterTools,
  hidingLevels,
  mergeTiers,
  type TierVisibility,
} from "./visibility";

type ToolsResponse = { tools: ToolVisibility[] };

function useVisibility(agent: string, tier: Tier) {
  return useRead<ToolsResponse>(`/v1/tools${search({ explain: true, agent, tier })}`, 30_000);
}

export function Matrix(props: { agent: Agent }) {
  const { agent } = props;
  const fast = useVisibility(agent.name, "fast");
  const standard = useVisibility(agent.name, "standard");
  const deep = useVisibility(agent.name, "deep");
  const all = useMemo(
    () =>
      mergeTiers([
        { tier: "fast", tools: fast.data?.tools ?? [] },
        { tier: "standard", tools: standard.data?.tools ?? [] },
        { tier: "deep", tools: deep.data?.tools ?? [] },
      ]),
    [fast.data, standard.data, deep.data],
  );
  const error = fast.error ?? standard.error ?? deep.error;
  if (error) return <Failure error={error} />;
  if (!fast.data || !standard.data || !deep.data) return <Loading />;
  return <FilteredMatrix agent={agent} all={all} />;
}

function FilteredMatrix(props: { agent: Agent; all: TierVisibility[] }) {
  const { agent, all } = props;
  const { query } = useRoute();
  const text = query.get("q") ?? "";
  const level = query.get("level") ?? "";
  const visibleOnly = query.get("only") === "visible";
  const deferredText = useDeferredValue(text);
  const rows = useMemo(
    () => filterTools(all, deferredText, level, visibleOnly),
    [all, deferredText, level, visibleOnly],
  );
  const columns = useMemo(() => columnsOf(all, agent), [all, agent]);
  return (
    <Panel>
      <div className="bar">
        <input
          type="search"
          aria-label="Filter tools"
          placeholder="Name or server/tool"
          value={text}
          onChange={(event) => setQuery({ q: event.target.value })}
        />
        <select
          aria-label="Hidden by"
          value={level}
          onChange={(event) => setQuery({ level: event.target.value })}
        >
          <option value="">Hidden by: any</option>
          {hidingLevels(all).map((it) => (
            <option key={it} value={it}>
              Hidden by {it}
            </option>
          ))}
        </select>
        <label>
          <input
            type="checkbox"
            checked={visibleOnly}
            onChange={(event) => setQuery({ only: event.target.checked ? "visible" : "" })}
          />{" "}
          Visible only
        </label>
        <span className="quiet" role="status">
          {rows.length.toLocaleString("en")} of {count(all.length, "tool")}
        </span>
      </div>
      <div className="matrix">
        <Table
          label="Tools by tier"
          rows={rows}
          columns={columns}
          id={(row) => `${row.server}/${row.tool}`}
          height={52}
          empty="No matching tools."
        />
      </div>
      <p className="help">
        Each cell shows the first level that hides the tool. All levels are described in
        docs/security.md.
      </p>
    </Panel>
  );
}

const TIER_ORDER: Record<Tier, number> = { fast: 0, standard: 1, deep: 2 };

function columnsOf(all: TierVisibility[], agent: Agent): Column<TierVisibility>[] {
  const isAboveBudget = (tier: Tier) =>
    agent.budget_tier !== null && TIER_ORDER[tier] > TIER_ORDER[agent.budget_tier];
  return [
    {
      id: "name",
      title: "Tool",
      sortValue: (row) => row.name,
      cell: (row) => (
        <>
          <a className="clip" href={to("tools", row.server, row.tool)}>
            {escapeHidden(row.name)}
          </a>
          <span className="clip quiet">{escapeHidden(row.server)}</span>
        </>
      ),
    },
    ...TIERS.map(
      (tier): Column<TierVisibility> => ({
        id: tier,
        sortValue: (row: TierVisibility) =>
          row.tiers[tier]?.visible ? "" : (row.tiers[tier]?.level ?? "?"),
        title: (
          <>
            <TierBadge tier={tier} /> {countVisible(all, tier).toLocaleString("en")}
            {isAboveBudget(tier) && (
              <span title="Above the agent's budget. Requires the override_tier right.">
                {" "}
                override only
              </span>
            )}
          </>
        ),
        cell: (row: TierVisibility) => <Cell visibility={row.tiers[tier]} />,
      }),
    ),
  ];
}

function Cell(props: { visibility: ToolVisibility | undefined }) {
  const { visibility } = props;
  if (!visibility) return <span className="quiet">–</span>;
  if (visibility.visible) return <span className="badge good">visible</span>;
  const why = escapeHidden(visibility.reason ?? "");
  return (
    <>
      <span className="badge">{escapeHidden(visibility.level ?? "hidden")}</span>
      <span className="clip quiet" title={why}>
        {why}
      </span>
    </>
  );
}
