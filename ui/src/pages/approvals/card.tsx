// One call that waits: who wants what, why it asks, how long it can wait, and the decision.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Problem, path, post } from "../../api/client";
import type { Approval } from "../../api/types";
import { Ago, Failure } from "../../kit/basics";
import { Code } from "../../kit/code";
import { say } from "../../kit/toast";
import { bytes } from "../../kit/words";
import { to } from "../../route";
import { useMay } from "../../session";

const LONGEST_NOTE = 1000;
/** How long after `g` a key leads to a page. */
const LEADS_MS = 1500;

export function Waiting(props: {
  approval: Approval;
  move: (by: number) => void;
  /** Whether the focus came here long enough ago for a key to be meant for this call. */
  settled: () => boolean;
  over: () => void;
  always: () => void;
}) {
  const { approval } = props;
  const [denying, setDenying] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const card = useRef<HTMLElement>(null);
  const heading = useId();
  const mayChange = useMay("admin");

  const decide = async (decision: "approve" | "deny", note?: string) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await post(path("api", "approvals", approval.id), { decision, ...(note && { note }) });
      say(`${approval.name} is ${decision === "approve" ? "approved" : "denied"}`);
      props.over();
    } catch (error) {
      const refused = Problem.of(error);
      if (refused.status === 409 || refused.status === 404) {
        // Nothing was lost: somebody else was first, or nobody waits for it any more.
        say(gone(approval, refused), "bad");
        props.over();
      } else {
        setProblem(refused);
        setBusy(false);
      }
    }
  };

  const led = useRef(0);
  const pressed = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey) return;
    // `g a` leads to another page, and a key that is held down decides once.
    if (event.key === "g") led.current = Date.now();
    if (event.repeat || Date.now() - led.current < LEADS_MS) return;
    const acts = new Map([
      ["a", () => props.settled() && void decide("approve")],
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
      onKeyDown={pressed}
    >
      <header className="approval-head">
        <h2 id={heading}>{approval.name}</h2>
        <a href={to("tools", approval.server, approval.tool)}>
          {approval.server}/{approval.tool}
        </a>
        <Countdown approval={approval} />
      </header>
      <p>
        <strong>{approval.principal}</strong> asks as agent{" "}
        <a href={to("agents", approval.agent)}>{approval.agent}</a>,{" "}
        <span className="quiet">
          <Ago time={approval.since} />
        </span>
        . {sentence(approval.reason)}
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

function gone(approval: Approval, refused: Problem): string {
  return refused.status === 409
    ? `Somebody else decided on ${approval.name} a moment before you; their word counts`
    : `${approval.name} waits no longer: its time was over, or its caller went away`;
}

function sentence(text: string): string {
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
      <label htmlFor={id}>Why? The caller is told; it may stay empty.</label>
      <div className="actions">
        <input
          id={id}
          value={note}
          maxLength={LONGEST_NOTE}
          // biome-ignore lint/a11y/noAutofocus: whoever presses "deny" writes here next
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
    // Whoever decides sees all of it, without moving it to and fro.
    const text = JSON.stringify(of.arguments, null, 2);
    return <Code text={text} label={`arguments of ${of.name}`} wrap />;
  }
  if (of.arguments_bytes === 0) return <p className="quiet">Without arguments.</p>;
  return (
    <>
      <p className="note warn">
        The arguments are {bytes(of.arguments_bytes)} long: this is only their beginning.
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
  const whole = Math.max(Date.parse(until) - Date.parse(since), 1);
  const left = Math.max(0, Date.parse(until) - now);
  const tone = left < 15_000 ? "bad" : left < 45_000 ? "warn" : "";
  return (
    <span className={`countdown ${tone}`}>
      <progress value={left} max={whole} aria-label="Time that is left" />
      <span>{left === 0 ? "its time is over" : `${minutes(left)} left`}</span>
    </span>
  );
}

/** As a clock that counts down. */
export function minutes(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
