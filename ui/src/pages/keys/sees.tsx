// The tools visible to a key in each tier, by the same rules as for a turn.
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { get, Problem, query } from "../../api/client";
import { useRead } from "../../api/queries";
import { type Agent, type Explained, TIERS, type Tier } from "../../api/types";
import { Empty, Failure, Loading } from "../../kit/basics";
import { lets } from "../../kit/glob";
import { count } from "../../kit/words";
import { to } from "../../route";

/** The restrictions of a key; `null` is none. */
export interface Eyes {
  agents: readonly string[] | null;
  tools: readonly string[] | null;
}

type Turn = Tier | "none";
const TURNS: readonly { id: Turn; title: string }[] = [
  { id: "none", title: "no budget" },
  ...TIERS.map((tier) => ({ id: tier, title: tier })),
];

export function Sees(props: { of: Eyes }) {
  const agents = useRead<{ agents: Agent[] }>("/api/agents");
  const [picked, pick] = useState<string>();
  const [turn, setTurn] = useState<Turn>("none");
  const known = agents.data?.agents ?? [];
  const allowed = known.filter((it) => props.of.agents?.includes(it.name) ?? true);
  const agent = allowed.find((it) => it.name === picked) ?? allowed[0];
  if (agents.error) return <Failure error={agents.error} />;
  if (!agents.data) return <Loading />;
  if (!agent) return <Empty>None of its agents exists in the config.</Empty>;
  return (
    <>
      <div className="bar">
        <label>
          Agent{" "}
          <select value={agent.name} onChange={(event) => pick(event.target.value)}>
            {allowed.map((it) => (
              <option key={it.name}>{it.name}</option>
            ))}
          </select>
        </label>
        <span className="quiet">
          {props.of.agents ? `${count(allowed.length, "agent")} allowed` : "all agents allowed"}
        </span>
      </div>
      <ByTier agent={agent.name} tools={props.of.tools} turn={turn} choose={setTurn} />
    </>
  );
}

function ByTier(props: {
  agent: string;
  tools: Eyes["tools"];
  turn: Turn;
  choose: (turn: Turn) => void;
}) {
  const answers = useQueries({
    queries: TURNS.map(({ id }) => {
      const tier = id === "none" ? undefined : id;
      const path = `/v1/tools${query({ agent: props.agent, tier, explain: true })}`;
      return {
        queryKey: ["v1", "tools", path],
        queryFn: () => get<{ tools: Explained[] }>(path),
      };
    }),
  });
  const failed = answers.find((it) => it.error);
  if (failed) return <Failure error={Problem.of(failed.error)} />;
  const shown = answers[TURNS.findIndex((it) => it.id === props.turn)]?.data?.tools;
  const visible = (tool: Explained) => tool.visible && lets(props.tools, tool.name);
  return (
    <>
      <div className="figures">
        {TURNS.map(({ id, title }, at) => (
          <button
            key={id}
            type="button"
            className="figure choice"
            aria-pressed={id === props.turn}
            onClick={() => props.choose(id)}
          >
            <span className="figure-value">
              {answers[at]?.data?.tools.filter(visible).length ?? "…"}
            </span>
            <span className="figure-label">{title}</span>
          </button>
        ))}
      </div>
      {shown ? <Both of={shown} tools={props.tools} /> : <Loading />}
    </>
  );
}

function Both(props: { of: Explained[]; tools: Eyes["tools"] }) {
  const seen = props.of.filter((it) => it.visible && lets(props.tools, it.name));
  const kept = props.of.filter((it) => !seen.includes(it));
  const why = (tool: Explained) =>
    tool.visible ? "not in this key's tool list" : (tool.reason ?? tool.level ?? "");
  return (
    <>
      <h3>{count(seen.length, "visible tool")}</h3>
      {seen.length === 0 && <p className="quiet">None.</p>}
      <ul className="names">
        {seen.map((it) => (
          <li key={it.name}>
            <a href={to("tools", it.server, it.tool)}>{it.name}</a>
          </li>
        ))}
      </ul>
      {kept.length > 0 && (
        <details>
          <summary>{count(kept.length, "hidden tool")}</summary>
          <ul className="kept">
            {kept.map((it) => (
              <li key={it.name + it.server + it.tool}>
                <code>{it.name}</code> <span className="quiet">{why(it)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
