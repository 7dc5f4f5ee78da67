import { useRead } from "../../api/queries";
import type { Agent } from "../../api/types";
import { Page, QueryView, TierBadge } from "../../kit/basics";
import { ShowAsCli } from "../../kit/code";
import { Table } from "../../kit/table";
import { escapeHidden, truncate } from "../../kit/untrusted";
import { navigate, to } from "../../route";

export function AgentList() {
  const read = useRead<{ agents: Agent[] }>("/api/agents");
  return (
    <Page
      title="Agents"
      lead="Every request runs as one of these agents. The agent determines the visible tools, the models and the time limit of a turn."
      actions={<ShowAsCli path="/api/agents" />}
    >
      <QueryView of={read}>
        {({ agents }) => (
          <div className="panel">
            <Table
              label="Agents"
              rows={agents}
              id={(row) => row.name}
              open={(row) => navigate(to("agents", row.name))}
              empty="No agents. Add one under `agents:` in the config."
              columns={[
                {
                  id: "name",
                  title: "Agent",
                  sortValue: (row) => row.name,
                  cell: (row) => (
                    <>
                      <a href={to("agents", row.name)}>{escapeHidden(row.name)}</a>{" "}
                      {row.default && <span className="badge">default</span>}
                    </>
                  ),
                },
                {
                  id: "description",
                  title: "Description",
                  cell: (row) => escapeHidden(truncate(row.description ?? "–", 120)),
                },
                {
                  id: "budget",
                  title: "Budget",
                  sortValue: (row) => row.budget_tier ?? "",
                  cell: (row) => <TierBadge tier={row.budget_tier} />,
                },
                {
                  id: "models",
                  title: "Models",
                  cell: (row) => escapeHidden(row.models.join(", ")),
                },
                {
                  id: "tools",
                  title: "Tools",
                  cell: (row) => <code>{escapeHidden(truncate(row.tools.join(", "), 80))}</code>,
                },
              ]}
            />
          </div>
        )}
      </QueryView>
    </Page>
  );
}
