// Live calls, turns and sessions.
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { query } from "../api/client";
import { useRead } from "../api/queries";
import { type Call, OUTCOMES, type Session, TIERS } from "../api/types";
import { Failure, Loading, Page, Tabs } from "../kit/basics";
import { AsCommand } from "../kit/code";
import { download, lines } from "../kit/download";
import { Choice } from "../kit/filters";
import { count } from "../kit/words";
import { narrow, to, useRoute } from "../route";
import { useMay } from "../session";
import { Detail } from "./calls/detail";
import { List, Running } from "./calls/list";
import { FILTERS, type Filter, type FilterName, MOST, type Snapshot, wire } from "./calls/log";
import { Sessions } from "./calls/sessions";
import { TurnList } from "./calls/turn-list";
import { type Turn, turns } from "./calls/turns";
import { type Live, useLog } from "./calls/use-log";
import "../style/calls.css";

type Tab = "calls" | "turns" | "sessions";

const WORDS: Record<FilterName, string> = {
  server: "Server",
  tool: "Tool",
  agent: "Agent",
  principal: "Key",
  outcome: "Outcome",
  tier: "Tier",
};

/** Filters with fixed values; the others offer the values seen so far. */
const FIXED: Partial<Record<FilterName, readonly string[]>> = {
  tier: TIERS,
  outcome: ["running", ...OUTCOMES],
};

export default function CallsPage() {
  const { query: asked } = useRoute();
  const filter = useMemo<Filter>(() => {
    const names = [...FILTERS, "turn", "probes"] as const;
    return Object.fromEntries(names.map((name) => [name, asked.get(name) ?? undefined]));
  }, [asked]);
  const tab = (asked.get("tab") ?? "calls") as Tab;
  const live = useLog(filter);
  const sessions = useRead<{ sessions: Session[] }>("/api/sessions").data?.sessions.length;
  return (
    <Page
      title="Live calls"
      lead={`Running calls and the last ${MOST.toLocaleString("en")} finished ones. Older calls are in the audit trail.`}
      actions={
        <AsCommand
          cli="tollgate audit --follow"
          path={tab === "sessions" ? "/api/sessions" : `/api/calls${query({ ...wire(filter) })}`}
        />
      }
    >
      <Tabs
        label="View"
        chosen={tab}
        choose={(next) => narrow({ tab: next === "calls" ? undefined : next })}
        tabs={[
          { id: "calls", title: "Calls" },
          { id: "turns", title: "Turns" },
          { id: "sessions", title: sessions ? `Sessions (${sessions})` : "Sessions" },
        ]}
      />
      {tab === "sessions" ? <Sessions /> : <Tail live={live} filter={filter} tab={tab} />}
    </Page>
  );
}

function Tail(props: { live: Live; filter: Filter; tab: Tab }) {
  const { live, filter, tab } = props;
  const { query: asked } = useRoute();
  const [paused, setPaused] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const held = useHeld(list);
  const shown = useFrozen(live.shown, paused || held.holds);
  const byTurn = useMemo(() => (tab === "turns" ? grouped(shown) : []), [shown, tab]);
  const open = useCallback((call: Call) => narrow({ call: call.id }), []);
  const chosen = asked.get("call");
  const newer = live.shown.ended - shown.ended;
  const isEmpty = shown.calls.length === 0 && shown.running.length === 0;
  return (
    <>
      <div className="filters">
        {FILTERS.map((name) => (
          <Choice
            key={name}
            label={WORDS[name]}
            value={filter[name]}
            options={FIXED[name] ?? live.log.seen(name)}
            choose={(value) => narrow({ [name]: value })}
          />
        ))}
        {filter.turn && (
          <button type="button" onClick={() => narrow({ turn: undefined })}>
            Clear turn filter ✕
          </button>
        )}
      </div>
      <div className="bar">
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Resume" : "Pause"}
        </button>
        <button
          type="button"
          aria-pressed={filter.probes === "true"}
          onClick={() => narrow({ probes: filter.probes ? undefined : "true" })}
        >
          Include probes
        </button>
        <button
          type="button"
          disabled={shown.calls.length === 0}
          onClick={() => download("calls.jsonl", "application/x-ndjson", lines(shown.calls))}
        >
          Export JSONL
        </button>
        <span className="quiet" role="status">
          {state(shown, { paused, holds: held.holds, newer })}
        </span>
      </div>
      {live.problem && <Failure error={live.problem} />}
      {!live.ready && <Loading />}
      {live.ready && isEmpty && <NoCalls filtered={Object.values(filter).some(Boolean)} />}
      <div ref={list} onPointerEnter={held.enter} onPointerLeave={held.leave}>
        {tab === "turns" ? (
          !isEmpty && <TurnList turns={byTurn} open={(id) => narrow({ call: id })} />
        ) : (
          <>
            <Running of={shown.running} open={open} />
            {shown.calls.length > 0 && <List calls={shown.calls} open={open} />}
          </>
        )}
      </div>
      {live.ready && !isEmpty && <End live={live} filter={filter} />}
      {chosen && (
        <Detail
          id={chosen}
          call={live.log.find(chosen)}
          turn={turnOf(live.shown, live.log.find(chosen))}
          open={(id) => narrow({ call: id })}
          close={() => narrow({ call: undefined })}
        />
      )}
    </>
  );
}

function state(shown: Snapshot, now: { paused: boolean; holds: boolean; newer: number }): string {
  const newer = now.newer > 0 ? `, ${count(now.newer, "new call")}` : "";
  if (now.paused) return `Paused${newer}`;
  if (now.holds) return `Updates paused while you read${newer}`;
  const running = shown.running.length;
  return `${count(shown.calls.length, "call")}${running > 0 ? `, ${running} running` : ""}`;
}

function NoCalls(props: { filtered: boolean }) {
  if (props.filtered) {
    return (
      <div className="empty">
        No recent calls match these filters.{" "}
        <button
          type="button"
          className="plain"
          onClick={() => narrow(Object.fromEntries([...FILTERS, "turn"].map((it) => [it, ""])))}
        >
          Clear filters
        </button>
      </div>
    );
  }
  return (
    <div className="empty">
      No calls yet. <a href={to("tools")}>Try a tool</a>, use the <a href={to("chat")}>chat</a> or{" "}
      <a href={to("connect")}>connect a client</a>. Calls appear here live.
    </div>
  );
}

function End(props: { live: Live; filter: Filter }) {
  const { server, tool, agent, principal, outcome } = wire(props.filter);
  const may = useMay("admin");
  return (
    <p className="calls-end">
      {props.live.older && (
        <button type="button" onClick={props.live.older}>
          Load older calls
        </button>
      )}
      {may && (
        <a href={`${to("audit")}${query({ server, tool, agent, principal, outcome })}`}>
          View all in the audit trail
        </a>
      )}
    </p>
  );
}

/** Turns that have a shown call, each with all of its calls. */
function grouped(shown: Snapshot): Turn[] {
  const wanted = new Set(shown.calls.map((call) => call.turn));
  for (const { call } of shown.running) wanted.add(call.turn);
  const all = new Map([...shown.calls, ...shown.all].map((call) => [call.id, call]));
  const theirs = [...all.values()].filter((call) => wanted.has(call.turn));
  return turns(theirs, shown.running, performance.now());
}

function turnOf(shown: Snapshot, call: Call | undefined): Turn | undefined {
  if (!call) return undefined;
  const of = (it: Call) => it.turn === call.turn;
  const all = new Map([...shown.calls, ...shown.all].map((it) => [it.id, it]));
  const running = shown.running.filter((it) => of(it.call));
  return turns([...all.values()].filter(of), running, performance.now())[0];
}

/** How far the list may be scrolled before updates pause, in pixels. */
const SLACK = 40;

/** Pauses updates while the user hovers or has scrolled, so that rows do not move away. */
function useHeld(list: RefObject<HTMLElement | null>) {
  const [over, setOver] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const moved = () => setScrolled((list.current?.getBoundingClientRect().top ?? 0) < -SLACK);
    moved();
    addEventListener("scroll", moved, { passive: true });
    return () => removeEventListener("scroll", moved);
  }, [list]);
  return {
    holds: over || scrolled,
    enter: () => setOver(true),
    leave: () => setOver(false),
  };
}

function useFrozen(latest: Snapshot, frozen: boolean): Snapshot {
  const kept = useRef(latest);
  // What the user requested is shown even while paused.
  if (!frozen || latest.asked !== kept.current.asked) kept.current = latest;
  const running = new Set(latest.running.map((it) => it.call.id));
  const still = kept.current.running.filter((it) => running.has(it.call.id));
  const unchanged = still.length === kept.current.running.length;
  return unchanged ? kept.current : { ...kept.current, running: still };
}
