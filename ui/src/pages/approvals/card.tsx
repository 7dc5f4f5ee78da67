// One pending call: caller, arguments, reason, countdown and decision.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { ApiError, path, post } from "../../api/client";
import type { Approval } from "../../api/types";
import { Ago, Failure } from "../../kit/basics";
import { Code } from "../../kit/code";
import { bytes } from "../../kit/format";
import { showToast } from "../../kit/toast";
import { to } from "../../route";
import { useHasRight } from "../../session";

const MAX_NOTE_LENGTH = 1000;
/** How long after `g` a key opens a page. */
const PREFIX_MS = 1500;

export function ApprovalCard(props: {
  approval: Approval;
  move: (by: number) => void;
  /** Whether the focus has been here long enough for a key press to be meant for this call. */
  hasSettled: () => boolean;
  onDone: () => void;
  always: () => void;
}) {
  const { approval } = props;
  const [denying, setDenying] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  const card = useRef<HTMLElement>(null);
  const heading = useId();
  const mayChange = useHasRight("admin");

  const decide = async (decision: "approve" | "deny", note?: string) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await post(path("api", "approvals", approval.id), { decision, ...(note && { note }) });
      showToast(`${decision === "approve" ? "Approved" : "Denied"} ${approval.name}`);
      props.onDone();
    } catch (error) {
      const failure = ApiError.from(error);
      if (failure.status === 409 || failure.status === 404) {
        // Not an error: someone else decided first, or the call is no longer pending.
        showToast(describeGone(approval, failure), "bad");
        props.onDone();
      } else {
        setProblem(failure);
        setBusy(false);
      }
    }
  };

  const prefixAt = useRef(0);
  const handleKey = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey) return;
    // `g a` opens a page, and a key held down must not decide twice.
    if (event.key === "g") prefixAt.current = Date.now();
    if (event.repeat || Date.now() - prefixAt.current < PREFIX_MS) return;
    const acts = new Map([
      ["a", () => props.hasSettled() && void decide("approve")],
      ["d", () => setDenying(true)],
      ["j", () => props.move(1)],
      ["k", () => props.move(-1)],
      ["ArrowDown", () => props.move(1)],
      ["ArrowUp", () => props.move(-1)],
    ]);
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  return (
    <article
      ref={card}
      className="panel approval"
      tabIndex={0}
      aria-labelledby={heading}
      onKeyDown={handleKey}
    >
      <header className="approval-head">
        <h2 id={heading}>{approval.name}</h2>
        <a href={to("tools", approval.server, approval.tool)}>
          {approval.server}/{approval.tool}
        </a>
        <Countdown approval={approval} />
      </header>
      <p>
        Requested by <strong>{approval.principal}</strong> as agent{" "}
        <a href={to("agents", approval.agent)}>{approval.agent}</a>,{" "}
        <span className="quiet">
          <Ago time={approval.since} />
        </span>
        . {toSentence(approval.reason)}
      </p>
      <Arguments of={approval} />
      {problem && <Failure error={problem} />}
      {denying ? (
        <Deny
          busy={busy}
          deny={(note) => void decide("deny", note)}
          cancel={() => {
            setDenying(false);
            card.current?.focus();
          }}
        />
      ) : (
        <div className="actions">
          <button
            type="button"
            className="primary"
            disabled={busy}
            onClick={() => void decide("approve")}
          >
            Approve
          </button>
          <button type="button" className="danger" disabled={busy} onClick={() => setDenying(true)}>
            Deny…
          </button>
          {mayChange && (
            <button type="button" className="plain" onClick={props.always}>
              Always allow…
            </button>
          )}
        </div>
      )}
    </article>
  );
}

function describeGone(approval: Approval, failure: ApiError): string {
  return failure.status === 409
    ? `Someone else already decided on ${approval.name}`
    : `${approval.name} is no longer pending: it timed out or the caller disconnected`;
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

function Deny(props: { busy: boolean; deny: (note: string) => void; cancel: () => void }) {
  const [note, setNote] = useState("");
  const id = useId();
  return (
    <form
      className="deny"
      onSubmit={(event) => {
        event.preventDefault();
        props.deny(note.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        props.cancel();
      }}
    >
      <label htmlFor={id}>Reason (optional, sent to the caller)</label>
      <div className="actions">
        <input
          id={id}
          value={note}
          maxLength={MAX_NOTE_LENGTH}
          // biome-ignore lint/a11y/noAutofocus: the user just pressed "deny"
          autoFocus
          onChange={(event) => setNote(event.target.value)}
        />
        <button type="submit" className="danger" disabled={props.busy}>
          Deny
        </button>
        <button type="button" onClick={props.cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Arguments(props: { of: Approval }) {
  const { of } = props;
  if (of.arguments !== null) {
    // Wrapped, so that all of it is visible without scrolling sideways.
    const text = JSON.stringify(of.arguments, null, 2);
    return <Code text={text} label={`arguments of ${of.name}`} wrap />;
  }
  if (of.arguments_bytes === 0) return <p className="quiet">No arguments.</p>;
  return (
    <>
      <p className="note warn">
        The arguments are {bytes(of.arguments_bytes)} long. Only the beginning is shown.
      </p>
      <Code text={of.beginning ?? ""} label={`beginning of the arguments of ${of.name}`} wrap />
    </>
  );
}

function Countdown(props: { approval: Approval }) {
  const { since, until } = props.approval;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const total = Math.max(Date.parse(until) - Date.parse(since), 1);
  const left = Math.max(0, Date.parse(until) - now);
  const tone = left < 15_000 ? "bad" : left < 45_000 ? "warn" : "";
  return (
    <span className={`countdown ${tone}`}>
      <progress value={left} max={total} aria-label="Time left" />
      <span>{left === 0 ? "timed out" : `${formatCountdown(left)} left`}</span>
    </span>
  );
}

/** Minutes and seconds, as `1:05`. */
export function formatCountdown(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
