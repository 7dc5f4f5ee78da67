// One answer: its tool calls, text, notes and usage.
import { memo } from "react";
import { StateBadge, TierBadge } from "../../kit/basics";
import { visible } from "../../kit/foreign";
import { count, ms } from "../../kit/words";
import { to } from "../../route";
import type { Answer, Note, Shown } from "./answer";
import type { Item } from "./conversation";

export interface Hands {
  run: (call: Shown) => void;
  decline: (call: Shown) => void;
  running: ReadonlySet<string>;
  /** Whether its returned calls can still be decided. */
  last: boolean;
}

export const User = memo(function User(props: { text: string }) {
  return (
    <li className="said user">
      <span className="hidden">You: </span>
      <div className="words">{visible(props.text)}</div>
    </li>
  );
});

export function Answered(props: { item: Extract<Item, { kind: "answer" }>; hands: Hands }) {
  const { answer, took, stopped } = props.item;
  return (
    <li className="said answer">
      <Head answer={answer} />
      {answer.calls.length > 0 && (
        <ul className="chat-calls" aria-label="Calls">
          {answer.calls.map((call, at) => (
            <CallShown key={at} call={call} hands={props.hands} />
          ))}
        </ul>
      )}
      {answer.notes.map((note, at) => (
        <NoteShown key={at} note={note} />
      ))}
      {answer.text && <div className="words">{visible(answer.text)}</div>}
      {answer.error && (
        <div className="note bad" role="alert">
          {answer.error}
        </div>
      )}
      {stopped && <p className="quiet">Stopped. Running calls were cancelled.</p>}
      {took === null && !answer.text && <p className="quiet thinking">…</p>}
      {took !== null && <Foot answer={answer} took={took} />}
    </li>
  );
}

function Head(props: { answer: Answer }) {
  const { facts } = props.answer;
  if (!facts) return null;
  return (
    <header className="chat-head">
      <strong>{facts.agent ?? facts.model}</strong>
      {facts.tier && facts.agent && <TierBadge tier={facts.tier} />}
      {facts.reason && <span className="quiet">{facts.reason}</span>}
      {facts.deadline_ms !== null && (
        <span className="quiet">tool time {ms(facts.deadline_ms)}</span>
      )}
    </header>
  );
}

function CallShown(props: { call: Shown; hands: Hands }) {
  const { call, hands } = props;
  const isOurs = call.status === "returned";
  const runs = hands.running.has(call.id);
  return (
    <li className={call.status === null ? "chat-call running" : "chat-call"}>
      <div className="chat-call-head">
        <code>{visible(call.name)}</code>
        {isOurs ? (
          <span className="badge warn">{runs ? "running" : "awaiting your decision"}</span>
        ) : (
          <StateBadge state={call.status} />
        )}
        {call.duration_ms !== null && <span className="quiet">{ms(call.duration_ms)}</span>}
        {isOurs && hands.last && !runs && (
          <span className="actions">
            <button type="button" className="small primary" onClick={() => hands.run(call)}>
              Run
            </button>
            <button type="button" className="small" onClick={() => hands.decline(call)}>
              Decline
            </button>
          </span>
        )}
        {runs && (
          <span className="quiet">
            if it requires approval, decide in <a href={to("approvals")}>Approvals</a>
          </span>
        )}
      </div>
      <pre
        className="chat-json"
        tabIndex={0}
        role="region"
        aria-label={`arguments of ${call.name}`}
      >
        {visible(call.arguments || "{}")}
      </pre>
      {call.result !== null && (
        <details>
          <summary>Result</summary>
          <pre
            className="chat-json"
            tabIndex={0}
            role="region"
            aria-label={`result of ${call.name}`}
          >
            {visible(call.result)}
          </pre>
        </details>
      )}
    </li>
  );
}

const NOTES: Record<Note["kind"], string> = {
  announcement: "Announcement",
  fallback: "Fallback",
  lost: "Dropped",
  progress: "Progress",
};

function NoteShown(props: { note: Note }) {
  const { kind, text } = props.note;
  return (
    <p className="chat-note">
      <span className="badge">{NOTES[kind]}</span> {visible(text)}
    </p>
  );
}

const ENDS: Record<string, string> = {
  calls_pending: "awaiting tool calls",
  tool_calls: "awaiting tool calls",
  max_depth: "stopped: too many tool rounds",
  max_calls: "stopped: too many calls",
  deadline: "stopped: tool time exceeded",
  length: "stopped: length limit reached",
};

function Foot(props: { answer: Answer; took: number }) {
  const { answer, took } = props;
  const { facts, usage } = answer;
  const parts = [
    answer.ended && ENDS[answer.ended],
    ms(took),
    answer.calls.length > 0 && count(answer.calls.length, "call"),
    answer.rounds !== null && answer.rounds > 1 && count(answer.rounds, "round"),
    facts?.visible != null && `${count(facts.visible, "tool")} visible`,
    facts?.pruned ? `${facts.pruned} pruned` : "",
    usage && `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`,
    answer.model && `by ${answer.model}`,
  ].filter(Boolean);
  return (
    <footer className="chat-foot">
      {parts.join(" · ")}
      {facts?.turn && (
        <>
          {" · "}
          <a href={`${to("calls")}?tab=turns&turn=${encodeURIComponent(facts.turn)}`}>
            Call timeline
          </a>
        </>
      )}
    </footer>
  );
}
