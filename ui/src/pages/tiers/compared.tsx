// The tier of the same text for each agent.
import { useEffect, useState } from "react";
import type { Agent } from "../../api/types";
import { Panel, TierBadge } from "../../kit/basics";
import { visible } from "../../kit/foreign";
import { Table } from "../../kit/table";
import { count } from "../../kit/words";
import { narrow } from "../../route";
import { type Asked, ask, bodyOf, type Chosen } from "./ask";

/** Limit of agents that are requested on every change. */
const MOST = 12;

export function Compared(props: { agents: Agent[]; asked: Asked }) {
  const agents = props.agents.slice(0, MOST);
  const [answers, setAnswers] = useState<ReadonlyMap<string, Chosen>>(new Map());
  const bodies = JSON.stringify(
    agents.map((it) => [it.name, bodyOf({ ...props.asked, agent: it.name }, "partial")]),
  );
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      const all = JSON.parse(bodies) as [string, unknown][];
      const asked = all.map(async ([name, body]): Promise<[string, Chosen] | undefined> => {
        try {
          return [name, await ask(JSON.stringify(body), controller.signal)];
        } catch {
          // The agent's own page shows the error.
          return undefined;
        }
      });
      const answered = (await Promise.all(asked)).filter((it) => it !== undefined);
      if (!controller.signal.aborted) setAnswers(new Map(answered));
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
              <button type="button" className="plain" onClick={() => narrow({ agent: row.name })}>
                {visible(row.name)}
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
            cell: (row) => visible(answers.get(row.name)?.reason ?? "–"),
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
      {props.agents.length > MOST && (
        <p className="quiet">
          Showing the first {MOST} of {count(props.agents.length, "agent")}.
        </p>
      )}
    </Panel>
  );
}
