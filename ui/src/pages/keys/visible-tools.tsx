// The tools visible to a key in each tier, by the same rules as for a turn.
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, get, query } from "../../api/client";
import { useRead } from "../../api/queries";
import { type Agent, TIERS, type Tier, type ToolVisibility } from "../../api/types";
import { Empty, Failure, Loading } from "../../kit/basics";
import { count } from "../../kit/format";
import { isAllowed } from "../../kit/glob";
import { to } from "../../route";

/** The restrictions of a key; `null` is none. */
export interface KeyAccess {
  agents: readonly string[] | null;
  tools: readonly string[] | null;
}

type TurnTier = Tier | "none";
const TURN_TIERS: readonly { id: TurnTier; title: string }[] = [
  { id: "none", title: "no budget" },
  ...TIERS.map((tier) => ({ id: tier, title: tier })),
];

export function VisibleTools(props: { of: KeyAccess }) {
  const agents = useRead<{ agents: Agent[] }>("/api/agents");
  const [selected, select] = useState<string>();
  const [turn, setTurn] = useState<TurnTier>("none");
  const allAgents = agents.data?.agents ?? [];
  const allowed = allAgents.filter((it) => props.of.agents?.includes(it.name) ?? true);
  const agent = allowed.find((it) => it.name === selected) ?? allowed[0];
  if (agents.error) return <Failure error={agents.error} />;
  if (!agents.data) return <Loading />;
  if (!agent) return <Empty>None of its agents exists in the config.</Empty>;
  return (
    <>
      <div className="bar">
        <label>
          Agent{" "}
          <select value={agent.name} onChange={(event) => select(event.target.value)}>
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
  tools: KeyAccess["tools"];
  turn: TurnTier;
  choose: (turn: TurnTier) => void;
}) {
  const responses = useQueries({
    queries: TURN_TIERS.map(({ id }) => {
      const tier = id === "none" ? undefined : id;
      const path = `/v1/tools${query({ agent: props.agent, tier, explain: true })}`;
      return {
        queryKey: ["v1", "tools", path],
        queryFn: () => get<{ tools: ToolVisibility[] }>(path),
      };
    }),
  });
  const failed = responses.find((it) => it.error);
  if (failed) return <Failure error={ApiError.from(failed.error)} />;
  const shown = responses[TURN_TIERS.findIndex((it) => it.id === props.turn)]?.data?.tools;
  const visible = (tool: ToolVisibility) => tool.visible && isAllowed(props.tools, tool.name);
  return (
    <>
      <div className="figures">
        {TURN_TIERS.map(({ id, title }, at) => (
          <button
            key={id}
            type="button"
            className="figure choice"
            aria-pressed={id === props.turn}
            onClick={() => props.choose(id)}
          >
            <span className="figure-value">
              {responses[at]?.data?.tools.filter(visible).length ?? "…"}
            </span>
            <span className="figure-label">{title}</span>
          </button>
        ))}
      </div>
      {shown ? <ToolLists of={shown} tools={props.tools} /> : <Loading />}
    </>
  );
}

function ToolLists(props: { of: ToolVisibility[]; tools: KeyAccess["tools"] }) {
  const visible = props.of.filter((it) => it.visible && isAllowed(props.tools, it.name));
  const hidden = props.of.filter((it) => !visible.includes(it));
  const why = (tool: ToolVisibility) =>
    tool.visible ? "not in this key's tool list" : (tool.reason ?? tool.level ?? "");
  return (
    <>
      <h3>{count(visible.length, "visible tool")}</h3>
      {visible.length === 0 && <p className="quiet">None.</p>}
      <ul className="names">
        {visible.map((it) => (
          <li key={it.name}>
            <a href={to("tools", it.server, it.tool)}>{it.name}</a>
          </li>
        ))}
      </ul>
      {hidden.length > 0 && (
        <details>
          <summary>{count(hidden.length, "hidden tool")}</summary>
          <ul className="reasons">
            {hidden.map((it) => (
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
