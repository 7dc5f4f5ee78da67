// Calls awaiting approval. The first decision is final.
import { useEffect, useRef, useState } from "react";
import { useEvents } from "../api/events";
import { stale, useRead } from "../api/queries";
import type { Approval } from "../api/types";
import { Empty, Page, Panel, Shown } from "../kit/basics";
import { AsCommand } from "../kit/code";
import { count } from "../kit/words";
import { to } from "../route";
import { useMay } from "../session";
import { AlwaysAllow } from "./approvals/always";
import { Waiting } from "./approvals/card";
import { type Decided, Decisions } from "./approvals/decisions";
import "../style/approvals.css";

/** Decisions that stay listed. */
const MOST_DECIDED = 12;
/** Ignore keys right after the focus moved: they were meant for the previous call. */
const SETTLES_MS = 600;

export default function ApprovalsPage() {
  const may = useMay("approve");
  const waiting = useRead<{ approvals: Approval[] }>(may ? "/api/approvals" : undefined, 5000);
  const [decided, setDecided] = useState<Decided[]>([]);
  const [always, setAlways] = useState<Approval>();
  const [left, leave] = useState<ReadonlySet<string>>(new Set());

  useEvents<Decided>(["approval_decided"], (data) => {
    const one = { ...data, at: new Date().toISOString() };
    setDecided((all) => [one, ...all.filter((it) => it.id !== one.id)].slice(0, MOST_DECIDED));
  });

  const gone = new Set([...left, ...decided.map((it) => it.id)]);
  const shown = waiting.data?.approvals.filter((it) => !gone.has(it.id)) ?? [];
  return (
    <Page
      title="Approvals"
      lead="Calls awaiting approval. An approval covers one call with exactly these arguments."
      actions={<AsCommand cli="tollgate approvals" path="/api/approvals" />}
    >
      {!may && <Empty>Requires the approve right. Your key does not have it.</Empty>}
      {may && (
        <Shown of={waiting}>
          {() =>
            shown.length === 0 ? (
              <Nothing />
            ) : (
              <Queue
                of={shown}
                always={setAlways}
                over={(id) => {
                  leave((ids) => new Set([...ids].slice(-200)).add(id));
                  stale("api/approvals", "api/overview");
                }}
              />
            )
          }
        </Shown>
      )}
      {decided.length > 0 && (
        <Panel title="Recent decisions">
          <Decisions of={decided} />
        </Panel>
      )}
      {always && <AlwaysAllow approval={always} close={() => setAlways(undefined)} />}
    </Page>
  );
}

function Nothing() {
  return (
    <Panel>
      <Empty>
        No pending approvals. Calls appear here when a tool has <code>approval: always</code>, or
        when a model calls a tool that is not in its <a href={to("agents")}>agent</a>'s{" "}
        <code>auto_execute</code> list.
      </Empty>
    </Panel>
  );
}

function Queue(props: {
  of: readonly Approval[];
  always: (approval: Approval) => void;
  over: (id: string) => void;
}) {
  const { of } = props;
  const list = useRef<HTMLUListElement>(null);
  const had = useRef(of.length);
  const moved = useRef(0);
  // After a decision, focus the next call.
  useEffect(() => {
    const lost = document.activeElement === document.body || document.activeElement === null;
    if (of.length < had.current && lost) {
      moved.current = Date.now();
      list.current?.querySelector<HTMLElement>(".approval")?.focus();
    }
    had.current = of.length;
  }, [of.length]);
  const move = (by: number) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>(".approval") ?? [])];
    const at = all.findIndex((it) => it.contains(document.activeElement));
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
  };
  return (
    <>
      <p className="quiet approvals-keys">
        {count(of.length, "call")} waiting. Shortcuts: <kbd>a</kbd> approve, <kbd>d</kbd> deny,{" "}
        <kbd>j</kbd> next, <kbd>k</kbd> previous.
      </p>
      <ul ref={list} className="approvals" aria-label="Pending approvals">
        {of.map((approval) => (
          <li key={approval.id}>
            <Waiting
              approval={approval}
              move={move}
              settled={() => Date.now() - moved.current > SETTLES_MS}
              over={() => props.over(approval.id)}
              always={() => props.always(approval)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
