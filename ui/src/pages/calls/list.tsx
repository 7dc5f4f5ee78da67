// Running calls with a live clock on top, the last finished calls below.
import { useEffect, useMemo, useState } from "react";
import type { Call } from "../../api/types";
import { Panel, StateBadge, TierBadge } from "../../kit/basics";
import { bytes, count, ms } from "../../kit/format";
import { type Column, Table } from "../../kit/table";
import type { RunningCall } from "./call-log";

/** Shorter calls are not shown as running. */
const SHOW_AFTER_MS = 250;
const MAX_RUNNING = 12;

export function RunningCalls(props: { of: readonly RunningCall[]; open: (call: Call) => void }) {
  const now = useNow(props.of.length > 0);
  const shown = props.of.filter((it) => elapsed(it, now) > SHOW_AFTER_MS);
  if (shown.length === 0) return null;
  const more = shown.length - MAX_RUNNING;
  return (
    <Panel title={`Running now: ${shown.length}`} className="running-calls">
      <ul>
        {shown.slice(0, MAX_RUNNING).map((it) => (
          <li key={it.call.id}>
            <span className="running-clock">{ms(elapsed(it, now))}</span>
            <button type="button" className="plain" onClick={() => props.open(it.call)}>
              {it.call.name}
            </button>
            <span className={isWaiting(it.call) ? "badge warn" : "badge"}>
              {stateLabel(it.call)}
            </span>
            <span className="quiet running-who">
              {it.call.agent}, {it.call.principal}
            </span>
            <TierBadge tier={it.call.tier} />
            {it.call.deadline_ms !== null && <TimeLeft of={it} now={now} />}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="quiet">and {count(more, "more call")}</p>}
    </Panel>
  );
}

/** The time left in its turn. */
function TimeLeft(props: { of: RunningCall; now: number }) {
  const { call } = props.of;
  const began = Date.parse(call.at) - Date.parse(call.turn_began);
  const left = (call.deadline_ms ?? 0) - began - elapsed(props.of, props.now);
  return left > 0 ? (
    <span className="quiet">{ms(left)} left</span>
  ) : (
    <span className="badge bad">over ceiling</span>
  );
}

function elapsed(of: RunningCall, now: number): number {
  return of.call.duration_ms + Math.max(0, now - of.receivedAt);
}

function isWaiting(call: Call): boolean {
  return call.steps.at(-1)?.step === "leave";
}

function stateLabel(call: Call): string {
  if (isWaiting(call)) return "awaiting approval";
  return call.steps.at(-1)?.step === "queued" ? "queued" : "running";
}

function useNow(ticking: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}

const TIME = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

const columns = (open: (call: Call) => void): Column<Call>[] => [
  {
    id: "at",
    title: "Started",
    className: "number",
    cell: (call) => <time dateTime={call.at}>{TIME.format(Date.parse(call.at))}</time>,
  },
  {
    id: "name",
    title: "Tool",
    cell: (call) => (
      <button type="button" className="plain" title={call.name} onClick={() => open(call)}>
        {call.within ? "↳ " : ""}
        {call.name}
      </button>
    ),
  },
  { id: "server", title: "Server", cell: (call) => call.server ?? <span>–</span> },
  { id: "agent", title: "Agent", cell: (call) => call.agent },
  { id: "principal", title: "Key", cell: (call) => call.principal },
  { id: "tier", title: "Tier", cell: (call) => <TierBadge tier={call.tier} /> },
  {
    id: "outcome",
    title: "Outcome",
    cell: (call) => (
      <>
        <StateBadge state={call.outcome} /> {call.cached && <span className="quiet">cached</span>}
      </>
    ),
  },
  { id: "took", title: "Duration", className: "number", cell: (call) => ms(call.duration_ms) },
  { id: "size", title: "Result", className: "number", cell: (call) => bytes(call.result_bytes) },
];

export function CallTable(props: { calls: readonly Call[]; open: (call: Call) => void }) {
  const { open } = props;
  const shown = useMemo(() => columns(open), [open]);
  return (
    <div className="panel calls-list one-line">
      <Table
        label="Calls"
        rows={props.calls}
        id={(call) => call.id}
        columns={shown}
        open={open}
        height={37}
      />
    </div>
  );
}
