// Selects the agents that get the tools of a new server. Tools in no agent's list are visible to none.
import { useRead } from "../../../api/queries";
import { Panel } from "../../../kit/basics";
import { escapeHidden } from "../../../kit/untrusted";

interface ConfigFile {
  config: {
    default_agent?: string;
    agents?: Record<string, { description?: string }> | { name: string; description?: string }[];
  };
}

interface Choice {
  name: string;
  description: string;
}

/** The agents of the config file. Without any, the built-in one sees all tools. */
export function useAgents(): { all: Choice[]; defaults: string[] } {
  const file = useRead<ConfigFile>("/api/config?format=json").data;
  const { agents = {}, default_agent } = file?.config ?? {};
  const all = Array.isArray(agents)
    ? agents.map((it) => ({ name: it.name, description: it.description ?? "" }))
    : Object.entries(agents).map(([name, it]) => ({ name, description: it?.description ?? "" }));
  const defaults = all.filter((it) => it.name === (default_agent ?? all[0]?.name));
  return { all, defaults: defaults.map((it) => it.name) };
}

export function AgentChoice(props: {
  of: Choice[];
  chosen: readonly string[];
  choose: (chosen: string[]) => void;
}) {
  const { of, chosen, choose } = props;
  if (of.length === 0) return null;
  const toggle = (name: string) =>
    chosen.includes(name) ? chosen.filter((it) => it !== name) : [...chosen, name];
  return (
    <Panel title="Agent access">
      <ul className="tool-choice">
        {of.map((it) => (
          <li key={it.name}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(it.name)}
                onChange={() => choose(toggle(it.name))}
              />
              <code>{escapeHidden(it.name)}</code>
            </label>
            <span className="quiet">{escapeHidden(it.description)}</span>
          </li>
        ))}
      </ul>
      <p className="help">
        {chosen.length === 0
          ? "No agent selected. The tools cannot be called until an agent's tool list includes them."
          : "All its tools are added to the tool list of each selected agent."}
      </p>
    </Panel>
  );
}
