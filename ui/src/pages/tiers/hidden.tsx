// The tools hidden in a turn, each with the reason.
import { query } from "../../api/client";
import { useRead } from "../../api/queries";
import type { Explained, Tier } from "../../api/types";
import { Panel, Shown } from "../../kit/basics";
import { visible } from "../../kit/foreign";
import { count } from "../../kit/words";
import { to } from "../../route";

const MOST = 100;

export function Hidden(props: { agent: string; tier: Tier | null }) {
  const tier = props.tier ?? undefined;
  const address = `/v1/tools${query({ explain: true, agent: props.agent, tier })}`;
  const read = useRead<{ tools: Explained[] }>(address);
  const hidden = (read.data?.tools ?? []).filter((it) => !it.visible);
  return (
    <Panel
      title={read.data ? count(hidden.length, "hidden tool") : "Hidden tools"}
      actions={<a href={to("agents", props.agent)}>All tools of this agent</a>}
    >
      <Shown of={read}>
        {() => (
          <>
            <ul className="names" tabIndex={0} aria-label="Hidden tools">
              {hidden.slice(0, MOST).map((it) => (
                <li key={`${it.server}/${it.tool}`}>
                  <a href={to("tools", it.server, it.tool)}>{visible(it.name)}</a>{" "}
                  <span className="badge">{it.level}</span>{" "}
                  <span className="quiet">{visible(it.reason ?? "")}</span>
                </li>
              ))}
            </ul>
            {hidden.length > MOST && <p className="quiet">and {hidden.length - MOST} more</p>}
          </>
        )}
      </Shown>
    </Panel>
  );
}
