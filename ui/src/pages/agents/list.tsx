import { useRead } from "../../api/queries";
import type { Agent } from "../../api/types";
import { Page, Shown, TierBadge } from "../../kit/basics";
import { AsCommand } from "../../kit/code";
import { clipped, visible } from "../../kit/foreign";
import { Table } from "../../kit/table";
import { go, to } from "../../route";

export function AgentList() {
  const read = useRead<{ agents: Agent[] }>("/api/agents");
  return (
    <Page
      title="Agents"
      lead="Every request runs as one of these agents. The agent determines the visible tools, the models and the time limit of a turn."
      actions={<AsCommand path="/api/agents" />}
    >
      <Shown of={read}>
        {({ agents }) => (
          <div className="panel">
            <Table
              label="Agents"
              rows={agents}
              id={(row) => row.name}
              open={(row) => go(to("agents", row.name))}
              empty="No agents. Add one under `agents:` in the config."
              columns={[
                {
                  id: "name",
                  title: "Agent",
                  by: (row) => row.name,
                  cell: (row) => (
                    <>
                      <a href={to("agents", row.name)}>{visible(row.name)}</a>{" "}
                      {row.default && <span className="badge">default</span>}
                    </>
                  ),
                },
                {
                  id: "description",
                  title: "Description",
                  cell: (row) => visible(clipped(row.description ?? "–", 120)),
                },
                {
                  id: "budget",
                  title: "Budget",
                  by: (row) => row.budget_tier ?? "",
                  cell: (row) => <TierBadge tier={row.budget_tier} />,
                },
                { id: "models", title: "Models", cell: (row) => visible(row.models.join(", ")) },
                {
                  id: "tools",
                  title: "Tools",
                  cell: (row) => <code>{visible(clipped(row.tools.join(", "), 80))}</code>,
                },
              ]}
            />
          </div>
        )}
      </Shown>
    </Page>
  );
}
