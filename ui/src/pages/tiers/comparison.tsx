// The tier of the same text for each agent.
import { useEffect, useState } from "react";
import type { Agent } from "../../api/types";
import { Panel, TierBadge } from "../../kit/basics";
import { count } from "../../kit/format";
import { Table } from "../../kit/table";
import { escapeHidden } from "../../kit/untrusted";
import { setQuery } from "../../route";
import { bodyOf, fetchTier, type TierInput, type TierResult } from "./use-tier";

/** Limit of agents that are requested on every change. */
const MAX_AGENTS = 12;

export function Comparison(props: { agents: Agent[]; input: TierInput }) {
  const agents = props.agents.slice(0, MAX_AGENTS);
  const [answers, setAnswers] = useState<ReadonlyMap<string, TierResult>>(new Map());
  const bodies = JSON.stringify(
    agents.map((it) => [it.name, bodyOf({ ...props.input, agent: it.name }, "partial")]),
  );
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      const all = JSON.parse(bodies) as [string, unknown][];
      const requests = all.map(async ([name, body]): Promise<[string, TierResult] | undefined> => {
        try {
          return [name, await fetchTier(JSON.stringify(body), controller.signal)];
        } catch {
          // The agent's own page shows the error.
          return undefined;
        }
      });
      const results = (await Promise.all(requests)).filter((it) => it !== undefined);
      if (!controller.signal.aborted) setAnswers(new Map(results));
    }, 250);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [bodies]);
  if (props.agents.length < 2) return null;
  return (
    <Panel title="Comparison by agent">
      <Table
        label="Comparison by agent"
        rows={agents}
        id={(row) => row.name}
        columns={[
          {
            id: "name",
            title: "Agent",
            cell: (row) => (
              <button type="button" className="plain" onClick={() => setQuery({ agent: row.name })}>
                {escapeHidden(row.name)}
              </button>
            ),
          },
          {
            id: "budget",
            title: "Budget",
            cell: (row) => <TierBadge tier={row.budget_tier} />,
          },
          {
            id: "tier",
            title: "This turn",
            cell: (row) => {
              const answer = answers.get(row.name);
              return answer ? <TierBadge tier={answer.tier} /> : "–";
            },
          },
          {
            id: "reason",
            title: "Reason",
            cell: (row) => escapeHidden(answers.get(row.name)?.reason ?? "–"),
          },
          {
            id: "tools",
            title: "Visible",
            className: "number",
            cell: (row) => {
              const answer = answers.get(row.name);
              return answer ? count(answer.tools.length, "tool") : "–";
            },
          },
        ]}
      />
      {props.agents.length > MAX_AGENTS && (
        <p className="quiet">
          Showing the first {MAX_AGENTS} of {count(props.agents.length, "agent")}.
        </p>
      )}
    </Panel>
  );
}
