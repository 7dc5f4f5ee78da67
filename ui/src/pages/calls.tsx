// Live calls, turns and sessions.
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { query } from "../api/client";
import { useRead } from "../api/queries";
import { type Call, OUTCOMES, type Session, TIERS } from "../api/types";
import { Failure, Loading, Page, Tabs } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { download, toJsonLines } from "../kit/download";
import { SelectFilter } from "../kit/filters";
import { count } from "../kit/format";
import { setQuery, to, useRoute } from "../route";
import { useHasRight } from "../session";
import {
  apiFilter,
  FILTERS,
  type Filter,
  type FilterName,
  MAX_CALLS,
  type Snapshot,
} from "./calls/call-log";
import { CallDetail } from "./calls/detail";
import { CallTable, RunningCalls } from "./calls/list";
import { Sessions } from "./calls/sessions";
import { TurnList } from "./calls/turn-list";
import { groupTurns, type Turn } from "./calls/turns";
import { type LiveCalls, useCallLog } from "./calls/use-call-log";
import "../style/calls.css";

type Tab = "calls" | "turns" | "sessions";

const FILTER_LABELS: Record<FilterName, string> = {
  server: "Server",
  tool: "Tool",
  agent: "Agent",
  principal: "Key",
  outcome: "Outcome",
  tier: "Tier",
};

/** Filters with fixed values; the others offer the values seen so far. */
const FIXED_VALUES: Partial<Record<FilterName, readonly string[]>> = {
  tier: TIERS,
  outcome: ["running", ...OUTCOMES],
};

export default function CallsPage() {
  const { query: params } = useRoute();
  const filter = useMemo<Filter>(() => {
    const names = [...FILTERS, "turn", "probes"] as const;
    return Object.fromEntries(names.map((name) => [name, params.get(name) ?? undefined]));
  }, [params]);
  const tab = (params.get("tab") ?? "calls") as Tab;
  const live = useCallLog(filter);
  const sessions = useRead<{ sessions: Session[] }>("/api/sessions").data?.sessions.length;
  return (
    <Page
      title="Live calls"
      lead={`Running calls and the last ${MAX_CALLS.toLocaleString("en")} finished ones. Older calls are in the audit trail.`}
      actions={
        <ShowAsCli
          cli="tollgate audit --follow"
          path={
            tab === "sessions" ? "/api/sessions" : `/api/calls${query({ ...apiFilter(filter) })}`
          }
        />
      }
    >
      <Tabs
        label="View"
        chosen={tab}
        choose={(next) => setQuery({ tab: next === "calls" ? undefined : next })}
        tabs={[
          { id: "calls", title: "Calls" },
          { id: "turns", title: "Turns" },
          { id: "sessions", title: sessions ? `Sessions (${sessions})` : "Sessions" },
        ]}
      />
      {tab === "sessions" ? <Sessions /> : <CallsView live={live} filter={filter} tab={tab} />}
    </Page>
  );
}

function CallsView(props: { live: LiveCalls; filter: Filter; tab: Tab }) {
  const { live, filter, tab } = props;
  const { query: params } = useRoute();
  const [paused, setPaused] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const readingPause = useReadingPause(list);
  const shown = useFrozenSnapshot(live.snapshot, paused || readingPause.paused);
  const byTurn = useMemo(() => (tab === "turns" ? turnsOf(shown) : []), [shown, tab]);
  const open = useCallback((call: Call) => setQuery({ call: call.id }), []);
  const chosen = params.get("call");
  const newer = live.snapshot.ended - shown.ended;
  const isEmpty = shown.calls.length === 0 && shown.running.length === 0;
  return (
    <>
      <div className="filters">
        {FILTERS.map((name) => (
          <SelectFilter
            key={name}
            label={FILTER_LABELS[name]}
            value={filter[name]}
            options={FIXED_VALUES[name] ?? live.log.knownValues(name)}
            choose={(value) => setQuery({ [name]: value })}
          />
        ))}
        {filter.turn && (
          <button type="button" onClick={() => setQuery({ turn: undefined })}>
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
          onClick={() => setQuery({ probes: filter.probes ? undefined : "true" })}
        >
          Include probes
        </button>
        <button
          type="button"
          disabled={shown.calls.length === 0}
          onClick={() => download("calls.jsonl", "application/x-ndjson", toJsonLines(shown.calls))}
        >
          Export JSONL
        </button>
        <span className="quiet" role="status">
          {statusText(shown, { paused, reading: readingPause.paused, newer })}
        </span>
      </div>
      {live.problem && <Failure error={live.problem} />}
      {!live.ready && <Loading />}
      {live.ready && isEmpty && <NoCalls filtered={Object.values(filter).some(Boolean)} />}
      <div ref={list} onPointerEnter={readingPause.enter} onPointerLeave={readingPause.leave}>
        {tab === "turns" ? (
          !isEmpty && <TurnList turns={byTurn} open={(id) => setQuery({ call: id })} />
        ) : (
          <>
            <RunningCalls of={shown.running} open={open} />
            {shown.calls.length > 0 && <CallTable calls={shown.calls} open={open} />}
          </>
        )}
      </div>
      {live.ready && !isEmpty && <ListFooter live={live} filter={filter} />}
      {chosen && (
        <CallDetail
          id={chosen}
          call={live.log.find(chosen)}
          turn={turnOf(live.snapshot, live.log.find(chosen))}
          open={(id) => setQuery({ call: id })}
          close={() => setQuery({ call: undefined })}
        />
      )}
    </>
  );
}

function statusText(
  shown: Snapshot,
  now: { paused: boolean; reading: boolean; newer: number },
): string {
  const newer = now.newer > 0 ? `, ${count(now.newer, "new call")}` : "";
  if (now.paused) return `Paused${newer}`;
  if (now.reading) return `Updates paused while you read${newer}`;
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
          onClick={() => setQuery(Object.fromEntries([...FILTERS, "turn"].map((it) => [it, ""])))}
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

function ListFooter(props: { live: LiveCalls; filter: Filter }) {
  const { server, tool, agent, principal, outcome } = apiFilter(props.filter);
  const mayReadAudit = useHasRight("admin");
  return (
    <p className="calls-end">
      {props.live.older && (
        <button type="button" onClick={props.live.older}>
          Load older calls
        </button>
      )}
      {mayReadAudit && (
        <a href={`${to("audit")}${query({ server, tool, agent, principal, outcome })}`}>
          View all in the audit trail
        </a>
      )}
    </p>
  );
}

/** Turns that have a shown call, each with all of its calls. */
function turnsOf(shown: Snapshot): Turn[] {
  const turnIds = new Set(shown.calls.map((call) => call.turn));
  for (const { call } of shown.running) turnIds.add(call.turn);
  const all = new Map([...shown.calls, ...shown.all].map((call) => [call.id, call]));
  const calls = [...all.values()].filter((call) => turnIds.has(call.turn));
  return groupTurns(calls, shown.running, performance.now());
}

function turnOf(shown: Snapshot, call: Call | undefined): Turn | undefined {
  if (!call) return undefined;
  const of = (it: Call) => it.turn === call.turn;
  const all = new Map([...shown.calls, ...shown.all].map((it) => [it.id, it]));
  const running = shown.running.filter((it) => of(it.call));
  return groupTurns([...all.values()].filter(of), running, performance.now())[0];
}

/** How far the list may be scrolled before updates pause, in pixels. */
const SCROLL_TOLERANCE = 40;

/** Pauses updates while the user hovers or has scrolled, so that rows do not move away. */
function useReadingPause(list: RefObject<HTMLElement | null>) {
  const [hovered, setHovered] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const handleScroll = () =>
      setScrolled((list.current?.getBoundingClientRect().top ?? 0) < -SCROLL_TOLERANCE);
    handleScroll();
    addEventListener("scroll", handleScroll, { passive: true });
    return () => removeEventListener("scroll", handleScroll);
  }, [list]);
  return {
    paused: hovered || scrolled,
    enter: () => setHovered(true),
    leave: () => setHovered(false),
  };
}

function useFrozenSnapshot(latest: Snapshot, frozen: boolean): Snapshot {
  const shown = useRef(latest);
  // What the user requested is shown even while paused.
  if (!frozen || latest.requests !== shown.current.requests) shown.current = latest;
  const running = new Set(latest.running.map((it) => it.call.id));
  const still = shown.current.running.filter((it) => running.has(it.call.id));
  const unchanged = still.length === shown.current.running.length;
  return unchanged ? shown.current : { ...shown.current, running: still };
}
