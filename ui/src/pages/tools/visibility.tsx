// Visibility of a tool by agent and tier, or the reason why it is hidden.
import { TIERS, type ToolDetail } from "../../api/types";
import { Panel, TierBadge } from "../../kit/basics";
import { Table } from "../../kit/table";
import { escapeHidden } from "../../kit/untrusted";
import { to } from "../../route";

export function VisibilityTab(props: { tool: ToolDetail }) {
  return (
    <Panel title="Visibility by agent">
      <Table
        label="Visibility by agent"
        rows={props.tool.agents}
        id={(row) => row.agent}
        empty="No agents configured."
        columns={[
          {
            id: "agent",
            title: "Agent",
            cell: (row) => <a href={to("agents", row.agent)}>{escapeHidden(row.agent)}</a>,
          },
          ...TIERS.map((tier) => ({
            id: tier,
            title: <TierBadge tier={tier} />,
            cell: (row: ToolDetail["agents"][number]) => <Cell sees={row.tiers[tier]} />,
          })),
        ]}
      />
      <p className="help">
        Visibility in a turn of that tier. See <a href={to("agents")}>Agents</a> for all tools of
        one agent.
      </p>
    </Panel>
  );
}

function Cell(props: { sees: boolean | string | undefined }) {
  if (props.sees === true) return <span className="badge good">visible</span>;
  const why = typeof props.sees === "string" ? props.sees : "hidden";
  return <span className="quiet">{escapeHidden(why)}</span>;
}
