// The tools hidden in a turn, each with the reason.
import { query } from "../../api/client";
import { useRead } from "../../api/queries";
import type { Tier, ToolVisibility } from "../../api/types";
import { Panel, QueryView } from "../../kit/basics";
import { count } from "../../kit/format";
import { escapeHidden } from "../../kit/untrusted";
import { to } from "../../route";

const MAX_TOOLS = 100;

export function HiddenTools(props: { agent: string; tier: Tier | null }) {
  const tier = props.tier ?? undefined;
  const address = `/v1/tools${query({ explain: true, agent: props.agent, tier })}`;
  const read = useRead<{ tools: ToolVisibility[] }>(address);
  const hidden = (read.data?.tools ?? []).filter((it) => !it.visible);
  return (
    <Panel
      title={read.data ? count(hidden.length, "hidden tool") : "Hidden tools"}
      actions={<a href={to("agents", props.agent)}>All tools of this agent</a>}
    >
      <QueryView of={read}>
        {() => (
          <>
            <ul className="names" tabIndex={0} aria-label="Hidden tools">
              {hidden.slice(0, MAX_TOOLS).map((it) => (
                <li key={`${it.server}/${it.tool}`}>
                  <a href={to("tools", it.server, it.tool)}>{escapeHidden(it.name)}</a>{" "}
                  <span className="badge">{it.level}</span>{" "}
                  <span className="quiet">{escapeHidden(it.reason ?? "")}</span>
                </li>
              ))}
            </ul>
            {hidden.length > MAX_TOOLS && (
              <p className="quiet">and {hidden.length - MAX_TOOLS} more</p>
            )}
          </>
        )}
      </QueryView>
    </Panel>
  );
}
