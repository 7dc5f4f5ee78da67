// Calls that wait for a person's leave. The first decision counts; there is no second.
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

/** Decisions that are still spoken of. */
const MOST_DECIDED = 12;
/** A second press of a key is not meant for the call that has just taken the place of another. */
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
      lead="Calls that run only if somebody agrees. A yes is for that call alone, with these arguments, once."
      actions={<AsCommand cli="tollgate approvals" path="/api/approvals" />}
    >
      {!may && <Empty>Deciding needs the right approve; your key does not have it.</Empty>}
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
        <Panel title="Decided while you were here">
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
        Nothing waits for you. Calls come here when a tool has <code>approval: always</code>, or
        when a model wants one that its agent may not run unasked. See{" "}
        <a href={to("agents")}>what agents may run</a>.
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
  // Whoever decided on one goes on with the next.
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
        {count(of.length, "call")} waiting. On the one in focus: <kbd>a</kbd> approves, <kbd>d</kbd>{" "}
        denies, <kbd>j</kbd> and <kbd>k</kbd> move.
      </p>
      <ul ref={list} className="approvals" aria-label="Waiting">
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
