// One answer: its tool calls, text, notes and usage.
import { memo } from "react";
import { StateBadge, TierBadge } from "../../kit/basics";
import { count, ms } from "../../kit/format";
import { escapeHidden } from "../../kit/untrusted";
import { to } from "../../route";
import type { Answer, ChatCall, Note } from "./answer";
import type { Item } from "./conversation";

export interface CallActions {
  run: (call: ChatCall) => void;
  decline: (call: ChatCall) => void;
  running: ReadonlySet<string>;
  /** Whether its returned calls can still be decided. */
  last: boolean;
}

export const UserMessage = memo(function User(props: { text: string }) {
  return (
    <li className="message user">
      <span className="hidden">You: </span>
      <div className="message-text">{escapeHidden(props.text)}</div>
    </li>
  );
});

export function AnswerMessage(props: {
  item: Extract<Item, { kind: "answer" }>;
  actions: CallActions;
}) {
  const { answer, took, stopped } = props.item;
  return (
    <li className="message answer">
      <AnswerHeader answer={answer} />
      {answer.calls.length > 0 && (
        <ul className="chat-calls" aria-label="Calls">
          {answer.calls.map((call, at) => (
            <CallItem key={at} call={call} actions={props.actions} />
          ))}
        </ul>
      )}
      {answer.notes.map((note, at) => (
        <NoteItem key={at} note={note} />
      ))}
      {answer.text && <div className="message-text">{escapeHidden(answer.text)}</div>}
      {answer.error && (
        <div className="note bad" role="alert">
          {answer.error}
        </div>
      )}
      {stopped && <p className="quiet">Stopped. Running calls were cancelled.</p>}
      {took === null && !answer.text && <p className="quiet thinking">…</p>}
      {took !== null && <AnswerFooter answer={answer} took={took} />}
    </li>
  );
}

function AnswerHeader(props: { answer: Answer }) {
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

function CallItem(props: { call: ChatCall; actions: CallActions }) {
  const { call, actions } = props;
  const isReturned = call.status === "returned";
  const isRunning = actions.running.has(call.id);
  return (
    <li className={call.status === null ? "chat-call running" : "chat-call"}>
      <div className="chat-call-head">
        <code>{escapeHidden(call.name)}</code>
        {isReturned ? (
          <span className="badge warn">{isRunning ? "running" : "awaiting your decision"}</span>
        ) : (
          <StateBadge state={call.status} />
        )}
        {call.duration_ms !== null && <span className="quiet">{ms(call.duration_ms)}</span>}
        {isReturned && actions.last && !isRunning && (
          <span className="actions">
            <button type="button" className="small primary" onClick={() => actions.run(call)}>
              Run
            </button>
            <button type="button" className="small" onClick={() => actions.decline(call)}>
              Decline
            </button>
          </span>
        )}
        {isRunning && (
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
        {escapeHidden(call.arguments || "{}")}
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
            {escapeHidden(call.result)}
          </pre>
        </details>
      )}
    </li>
  );
}

const NOTE_LABELS: Record<Note["kind"], string> = {
  announcement: "Announcement",
  fallback: "Fallback",
  lost: "Dropped",
  progress: "Progress",
};

function NoteItem(props: { note: Note }) {
  const { kind, text } = props.note;
  return (
    <p className="chat-note">
      <span className="badge">{NOTE_LABELS[kind]}</span> {escapeHidden(text)}
    </p>
  );
}

const END_REASONS: Record<string, string> = {
  calls_pending: "awaiting tool calls",
  tool_calls: "awaiting tool calls",
  max_depth: "stopped: too many tool rounds",
  max_calls: "stopped: too many calls",
  deadline: "stopped: tool time exceeded",
  length: "stopped: length limit reached",
};

function AnswerFooter(props: { answer: Answer; took: number }) {
  const { answer, took } = props;
  const { facts, usage } = answer;
  const parts = [
    answer.ended && END_REASONS[answer.ended],
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
