// What a server writes to its standard error, as it comes.
import { useLayoutEffect, useRef, useState } from "react";
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import { Failure, Panel } from "../../kit/basics";
import { CopyButton } from "../../kit/code";

const EVERY = 1500;

export function Logs(props: { id: string }) {
  const [following, setFollowing] = useState(true);
  const [filter, setFilter] = useState("");
  const logs = useRead<{ lines: string[] }>(
    `${path("api", "servers", props.id)}/logs`,
    following ? EVERY : undefined,
  );
  // What is shown stands still while somebody reads it.
  const [held, setHeld] = useState<string[]>([]);
  const all = following ? (logs.data?.lines ?? []) : held;
  const wanted = filter.trim().toLowerCase();
  const lines = wanted ? all.filter((line) => line.toLowerCase().includes(wanted)) : all;
  return (
    <Panel
      title="Log"
      actions={
        <>
          <input
            type="search"
            aria-label="Filter the log"
            placeholder="Lines with…"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          <button
            type="button"
            aria-pressed={!following}
            onClick={() => {
              setHeld(logs.data?.lines ?? []);
              setFollowing(!following);
            }}
          >
            {following ? "Pause" : "Follow"}
          </button>
          <CopyButton text={lines.join("\n")} />
        </>
      }
    >
      {logs.error && <Failure error={logs.error} again={() => void logs.refetch()} />}
      <LogLines
        lines={lines}
        empty={wanted ? "No line has this in it." : "It has written nothing to its standard error."}
      />
      <p className="help" role="status">
        {following ? "Follows what it writes." : "Paused: what it writes now is not shown."}
        {wanted && ` ${lines.length} of ${all.length} lines.`}
      </p>
    </Panel>
  );
}

/** Stays at the end, unless somebody scrolled up. */
export function LogLines(props: { lines: readonly string[]; empty: string }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const shown = box.current;
    if (shown && atEnd.current) shown.scrollTop = shown.scrollHeight;
  });
  return (
    <pre
      ref={box}
      className="log"
      tabIndex={0}
      role="log"
      aria-label="Log lines"
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {props.lines.length > 0 ? (
        props.lines.join("\n")
      ) : (
        <span className="quiet">{props.empty}</span>
      )}
    </pre>
  );
}
