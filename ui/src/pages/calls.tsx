// What is called right now: call by call, turn by turn, and the live sessions.
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

/** What there can be is known beforehand; else what was seen is offered. */
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
      lead={`What runs, and the last ${MOST.toLocaleString("en")} that ran. Older ones are in the audit trail.`}
      actions={
        <AsCommand
          cli="tollgate audit --follow"
          path={tab === "sessions" ? "/api/sessions" : `/api/calls${query({ ...wire(filter) })}`}
        />
      }
    >
      <Tabs
        label="What is shown"
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
            One turn ✕
          </button>
        )}
      </div>
      <div className="bar">
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
        <button
          type="button"
          aria-pressed={filter.probes === "true"}
          onClick={() => narrow({ probes: filter.probes ? undefined : "true" })}
        >
          With the gateway's own probes
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
  const newer = now.newer > 0 ? `, ${count(now.newer, "newer call")}` : "";
  if (now.paused) return `Paused${newer}`;
  if (now.holds) return `Held while you read${newer}`;
  const running = shown.running.length;
  return `${count(shown.calls.length, "call")}${running > 0 ? `, ${running} running` : ""}`;
}

function NoCalls(props: { filtered: boolean }) {
  if (props.filtered) {
    return (
      <div className="empty">
        Nothing that the gateway remembers fits these filters.{" "}
        <button
          type="button"
          className="plain"
          onClick={() => narrow(Object.fromEntries([...FILTERS, "turn"].map((it) => [it, ""])))}
        >
          Show all
        </button>
      </div>
    );
  }
  return (
    <div className="empty">
      Nobody has called anything yet. Try one of the <a href={to("tools")}>tools</a>, ask for one in
      the <a href={to("chat")}>chat</a>, or <a href={to("connect")}>connect a client</a>: calls
      appear here as they happen.
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
          Load older ones
        </button>
      )}
      {may && (
        <a href={`${to("audit")}${query({ server, tool, agent, principal, outcome })}`}>
          All of them in the audit trail
        </a>
      )}
    </p>
  );
}

/** Turns with a call that is shown, each with all of its calls. */
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

/** So much of the list may be out of sight before it is held, in pixels. */
const SLACK = 40;

/** Rows that move away under somebody's eyes or pointer cannot be read. */
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
  // What somebody asks for is shown all the same.
  if (!frozen || latest.asked !== kept.current.asked) kept.current = latest;
  const running = new Set(latest.running.map((it) => it.call.id));
  const still = kept.current.running.filter((it) => running.has(it.call.id));
  const unchanged = still.length === kept.current.running.length;
  return unchanged ? kept.current : { ...kept.current, running: still };
}
