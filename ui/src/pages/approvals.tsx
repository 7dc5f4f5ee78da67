// Calls awaiting approval. The first decision is final.
import { useEffect, useRef, useState } from "react";
import { useEvents } from "../api/events";
import { invalidate, useRead } from "../api/queries";
import type { Approval } from "../api/types";
import { Empty, Page, Panel, QueryView } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { count } from "../kit/format";
import { to } from "../route";
import { useHasRight } from "../session";
import { AlwaysAllow } from "./approvals/always-allow";
import { ApprovalCard } from "./approvals/card";
import { type Decision, Decisions } from "./approvals/decisions";
import "../style/approvals.css";

/** Decisions that stay listed. */
const MAX_DECISIONS = 12;
/** Ignore keys right after the focus moved: they were meant for the previous call. */
const FOCUS_DELAY_MS = 600;

export default function ApprovalsPage() {
  const mayApprove = useHasRight("approve");
  const waiting = useRead<{ approvals: Approval[] }>(
    mayApprove ? "/api/approvals" : undefined,
    5000,
  );
  const [decisions, setDecisions] = useState<Decision[]>([]);
  const [always, setAlways] = useState<Approval>();
  const [handled, setHandled] = useState<ReadonlySet<string>>(new Set());

  useEvents<Decision>(["approval_decided"], (data) => {
    const one = { ...data, at: new Date().toISOString() };
    setDecisions((all) => [one, ...all.filter((it) => it.id !== one.id)].slice(0, MAX_DECISIONS));
  });

  const doneIds = new Set([...handled, ...decisions.map((it) => it.id)]);
  const shown = waiting.data?.approvals.filter((it) => !doneIds.has(it.id)) ?? [];
  return (
    <Page
      title="Approvals"
      lead="Calls awaiting approval. An approval covers one call with exactly these arguments."
      actions={<ShowAsCli cli="tollgate approvals" path="/api/approvals" />}
    >
      {!mayApprove && <Empty>Requires the approve right. Your key does not have it.</Empty>}
      {mayApprove && (
        <QueryView of={waiting}>
          {() =>
            shown.length === 0 ? (
              <NoApprovals />
            ) : (
              <Queue
                of={shown}
                always={setAlways}
                onDone={(id) => {
                  setHandled((ids) => new Set([...ids].slice(-200)).add(id));
                  invalidate("api/approvals", "api/overview");
                }}
              />
            )
          }
        </QueryView>
      )}
      {decisions.length > 0 && (
        <Panel title="Recent decisions">
          <Decisions of={decisions} />
        </Panel>
      )}
      {always && <AlwaysAllow approval={always} close={() => setAlways(undefined)} />}
    </Page>
  );
}

function NoApprovals() {
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
  onDone: (id: string) => void;
}) {
  const { of } = props;
  const list = useRef<HTMLUListElement>(null);
  const lastLength = useRef(of.length);
  const focusedAt = useRef(0);
  // After a decision, focus the next call.
  useEffect(() => {
    const focusLost = document.activeElement === document.body || document.activeElement === null;
    if (of.length < lastLength.current && focusLost) {
      focusedAt.current = Date.now();
      list.current?.querySelector<HTMLElement>(".approval")?.focus();
    }
    lastLength.current = of.length;
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
            <ApprovalCard
              approval={approval}
              move={move}
              hasSettled={() => Date.now() - focusedAt.current > FOCUS_DELAY_MS}
              onDone={() => props.onDone(approval.id)}
              always={() => props.always(approval)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
