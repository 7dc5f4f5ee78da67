// Live stderr output of a server.
import { useLayoutEffect, useRef, useState } from "react";
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import { Failure, Panel } from "../../kit/basics";
import { CopyButton } from "../../kit/code";

const POLL_INTERVAL_MS = 1500;

export function Logs(props: { id: string }) {
  const [following, setFollowing] = useState(true);
  const [filter, setFilter] = useState("");
  const logs = useRead<{ lines: string[] }>(
    `${path("api", "servers", props.id)}/logs`,
    following ? POLL_INTERVAL_MS : undefined,
  );
  // The lines shown while paused.
  const [frozenLines, setFrozenLines] = useState<string[]>([]);
  const all = following ? (logs.data?.lines ?? []) : frozenLines;
  const needle = filter.trim().toLowerCase();
  const lines = needle ? all.filter((line) => line.toLowerCase().includes(needle)) : all;
  return (
    <Panel
      title="Log"
      actions={
        <>
          <input
            type="search"
            aria-label="Filter log"
            placeholder="Filter lines…"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          <button
            type="button"
            aria-pressed={!following}
            onClick={() => {
              setFrozenLines(logs.data?.lines ?? []);
              setFollowing(!following);
            }}
          >
            {following ? "Pause" : "Follow"}
          </button>
          <CopyButton text={lines.join("\n")} />
        </>
      }
    >
      {logs.error && <Failure error={logs.error} retry={() => void logs.refetch()} />}
      <LogLines lines={lines} empty={needle ? "No matching lines." : "No output on stderr."} />
      <p className="help" role="status">
        {following ? "Following live output." : "Paused. New output is not shown."}
        {needle && ` ${lines.length} of ${all.length} lines.`}
      </p>
    </Panel>
  );
}

/** Auto-scrolls to the end, unless the user scrolled up. */
export function LogLines(props: { lines: readonly string[]; empty: string }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
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
