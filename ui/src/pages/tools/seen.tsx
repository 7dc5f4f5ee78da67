// Who sees a tool: each agent in each tier, or what keeps it from them.
import { TIERS, type ToolDetail } from "../../api/types";
import { Panel, TierBadge } from "../../kit/basics";
import { visible } from "../../kit/foreign";
import { Table } from "../../kit/table";
import { to } from "../../route";

export function SeenTab(props: { tool: ToolDetail }) {
  return (
    <Panel title="Who sees it">
      <Table
        label="Who sees it"
        rows={props.tool.agents}
        id={(row) => row.agent}
        empty="There is no agent in the config."
        columns={[
          {
            id: "agent",
            title: "Agent",
            cell: (row) => <a href={to("agents", row.agent)}>{visible(row.agent)}</a>,
          },
          ...TIERS.map((tier) => ({
            id: tier,
            title: <TierBadge tier={tier} />,
            cell: (row: ToolDetail["agents"][number]) => <Cell sees={row.tiers[tier]} />,
          })),
        ]}
      />
      <p className="help">
        In a turn of that tier. <a href={to("agents")}>Agents</a> shows the same for all tools of
        one agent.
      </p>
    </Panel>
  );
}

function Cell(props: { sees: boolean | string | undefined }) {
  if (props.sees === true) return <span className="badge good">sees it</span>;
  const why = typeof props.sees === "string" ? props.sees : "does not see it";
  return <span className="quiet">{visible(why)}</span>;
}
