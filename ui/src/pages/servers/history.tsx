// State history of a server: a timeline strip, and each change with its reason.
import type { ServerDetail, ServerState } from "../../api/types";
import { Ago, Empty, StateBadge } from "../../kit/basics";
import { dateTime, duration } from "../../kit/format";

interface StatePeriod {
  at: string;
  state: ServerState;
  reason: string;
  seconds: number;
}

/** Adds the duration of each state; newest first. */
export function statePeriods(history: ServerDetail["history"], now = Date.now()): StatePeriod[] {
  return history.map((it, at) => {
    const next = history[at - 1];
    const end = next ? Date.parse(next.at) : now;
    return { ...it, seconds: Math.max(0, (end - Date.parse(it.at)) / 1000) };
  });
}

export function History(props: { of: ServerDetail["history"] }) {
  const all = statePeriods(props.of);
  if (all.length === 0) return <Empty>No history yet.</Empty>;
  return (
    <>
      <div className="strip" aria-hidden="true">
        {all.toReversed().map((it, at) => (
          <span
            key={at}
            className={`strip-part ${it.state}`}
            title={`${it.state} for ${duration(it.seconds)}: ${it.reason}`}
            // Keep short states visible beside long ones.
            style={{ flexGrow: Math.sqrt(it.seconds + 1) }}
          />
        ))}
      </div>
      <ol className="timeline">
        {all.map((it, at) => (
          <li key={at} className={it.state}>
            <div>
              <StateBadge state={it.state} /> <span>{it.reason}</span>
            </div>
            <div className="quiet">
              <time dateTime={it.at}>{dateTime(it.at)}</time>
              {at === 0 ? (
                <>
                  , <Ago time={it.at} />
                </>
              ) : (
                `, for ${duration(it.seconds)}`
              )}
            </div>
          </li>
        ))}
      </ol>
    </>
  );
}
