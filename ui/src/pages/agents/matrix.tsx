// All tools by tier: visible, or the level that hides it and the reason.
import { useDeferredValue, useMemo } from "react";
import { query as search } from "../../api/client";
import { useRead } from "../../api/queries";
import { type Agent, type Explained, TIERS, type Tier } from "../../api/types";
import { Failure, Loading, Panel, TierBadge } from "../../kit/basics";
import { visible } from "../../kit/foreign";
import { type Column, Table } from "../../kit/table";
import { count } from "../../kit/words";
import { narrow, to, useRoute } from "../../route";
import { countOf, levels, narrowed, type Seen, together } from "./seen";

type Answer = { tools: Explained[] };

function useExplained(agent: string, tier: Tier) {
  return useRead<Answer>(`/v1/tools${search({ explain: true, agent, tier })}`, 30_000);
}

export function Matrix(props: { agent: Agent }) {
  const { agent } = props;
  const fast = useExplained(agent.name, "fast");
  const standard = useExplained(agent.name, "standard");
  const deep = useExplained(agent.name, "deep");
  const all = useMemo(
    () =>
      together([
        { tier: "fast", tools: fast.data?.tools ?? [] },
        { tier: "standard", tools: standard.data?.tools ?? [] },
        { tier: "deep", tools: deep.data?.tools ?? [] },
      ]),
    [fast.data, standard.data, deep.data],
  );
  const error = fast.error ?? standard.error ?? deep.error;
  if (error) return <Failure error={error} />;
  if (!fast.data || !standard.data || !deep.data) return <Loading />;
  return <Filtered agent={agent} all={all} />;
}

function Filtered(props: { agent: Agent; all: Seen[] }) {
  const { agent, all } = props;
  const { query } = useRoute();
  const text = query.get("q") ?? "";
  const level = query.get("level") ?? "";
  const only = query.get("only") === "visible";
  const wanted = useDeferredValue(text);
  const rows = useMemo(() => narrowed(all, wanted, level, only), [all, wanted, level, only]);
  const columns = useMemo(() => columnsOf(all, agent), [all, agent]);
  return (
    <Panel>
      <div className="bar">
        <input
          type="search"
          aria-label="Filter tools"
          placeholder="Name or server/tool"
          value={text}
          onChange={(event) => narrow({ q: event.target.value })}
        />
        <select
          aria-label="Hidden by"
          value={level}
          onChange={(event) => narrow({ level: event.target.value })}
        >
          <option value="">Hidden by: any</option>
          {levels(all).map((it) => (
            <option key={it} value={it}>
              Hidden by {it}
            </option>
          ))}
        </select>
        <label>
          <input
            type="checkbox"
            checked={only}
            onChange={(event) => narrow({ only: event.target.checked ? "visible" : "" })}
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

const PLACES: Record<Tier, number> = { fast: 0, standard: 1, deep: 2 };

function columnsOf(all: Seen[], agent: Agent): Column<Seen>[] {
  const above = (tier: Tier) =>
    agent.budget_tier !== null && PLACES[tier] > PLACES[agent.budget_tier];
  return [
    {
      id: "name",
      title: "Tool",
      by: (row) => row.name,
      cell: (row) => (
        <>
          <a className="clip" href={to("tools", row.server, row.tool)}>
            {visible(row.name)}
          </a>
          <span className="clip quiet">{visible(row.server)}</span>
        </>
      ),
    },
    ...TIERS.map((tier) => ({
      id: tier,
      by: (row: Seen) => (row.tiers[tier]?.visible ? "" : (row.tiers[tier]?.level ?? "?")),
      title: (
        <>
          <TierBadge tier={tier} /> {countOf(all, tier).toLocaleString("en")}
          {above(tier) && (
            <span title="Above the agent's budget. Requires the override_tier right.">
              {" "}
              override only
            </span>
          )}
        </>
      ),
      cell: (row: Seen) => <Cell seen={row.tiers[tier]} />,
    })),
  ];
}

function Cell(props: { seen: Explained | undefined }) {
  const { seen } = props;
  if (!seen) return <span className="quiet">–</span>;
  if (seen.visible) return <span className="badge good">visible</span>;
  const why = visible(seen.reason ?? "");
  return (
    <>
      <span className="badge">{visible(seen.level ?? "hidden")}</span>
      <span className="clip quiet" title={why}>
        {why}
      </span>
    </>
  );
}
