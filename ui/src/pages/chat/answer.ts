// Reduces the stream of one answer to state: text, tool calls and gateway events. Pure functions.
import type { Tier } from "../../api/types";

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A message in the format of the API. */
export type Message =
  | { role: "user" | "system"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: ToolCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

export interface Shown {
  id: string;
  name: string;
  arguments: string;
  /** Returned to the client, which decides whether to run it. */
  ours: boolean;
  /** `null` while running; `returned` until the user decides. */
  status: string | null;
  duration_ms: number | null;
  result: string | null;
}

const NEW = { ours: false, status: null, duration_ms: null, result: null };

export interface Note {
  kind: "announcement" | "fallback" | "lost" | "progress";
  text: string;
}

/** From the response headers. */
export interface Facts {
  agent: string | null;
  model: string | null;
  tier: Tier | null;
  reason: string | null;
  visible: number | null;
  pruned: number | null;
  turn: string | null;
  deadline_ms: number | null;
  call: string | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

export interface Answer {
  text: string;
  calls: Shown[];
  notes: Note[];
  facts: Facts | null;
  usage: Usage | null;
  /** Why it ended; `null` while streaming. */
  ended: string | null;
  model: string | null;
  rounds: number | null;
  error: string | null;
  /** The messages of this answer in the conversation. */
  history: Message[] | null;
}

export const BLANK: Answer = {
  text: "",
  calls: [],
  notes: [],
  facts: null,
  usage: null,
  ended: null,
  model: null,
  rounds: null,
  error: null,
  history: null,
};

export function factsOf(headers: Headers): Facts {
  const of = (name: string) => headers.get(`x-tollgate-${name}`);
  const number = (name: string) => {
    const value = of(name);
    return value === null ? null : Number(value);
  };
  return {
    agent: of("agent"),
    model: of("model"),
    tier: of("tier") as Tier | null,
    reason: of("tier-reason"),
    visible: number("tools-visible"),
    pruned: number("tools-pruned"),
    turn: of("turn"),
    deadline_ms: number("deadline-ms"),
    call: of("call-id"),
  };
}

interface Chunk {
  choices?: {
    delta?: { content?: string | null; tool_calls?: Piece[] };
    finish_reason?: string | null;
  }[];
  usage?: Usage | null;
  error?: { message?: string };
  tollgate?: { ended?: string; model?: string; rounds?: number; history?: Message[] };
}

interface Piece {
  index: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** Applies an event of the stream. */
export function heard(answer: Answer, name: string, data: string): Answer {
  if (data === "[DONE]") return answer;
  let said: unknown;
  try {
    said = JSON.parse(data);
  } catch {
    return { ...answer, error: "invalid JSON in the stream" };
  }
  return name === "tollgate" ? beside(answer, said as Beside) : part(answer, said as Chunk);
}

function part(answer: Answer, chunk: Chunk): Answer {
  const next = { ...answer };
  if (chunk.error) next.error = chunk.error.message ?? "the model failed";
  if (chunk.usage) next.usage = chunk.usage;
  const choice = chunk.choices?.[0];
  if (choice?.delta?.content) next.text += choice.delta.content;
  for (const piece of choice?.delta?.tool_calls ?? []) next.calls = returned(next.calls, piece);
  if (choice?.finish_reason) next.ended = choice.finish_reason;
  if (chunk.tollgate) {
    next.ended = chunk.tollgate.ended ?? next.ended;
    next.model = chunk.tollgate.model ?? null;
    next.rounds = chunk.tollgate.rounds ?? null;
    next.history = chunk.tollgate.history ?? null;
  }
  return next;
}

/** A returned call is streamed in pieces: first its name, then its arguments. */
function returned(calls: Shown[], piece: Piece): Shown[] {
  const ours = calls.filter((call) => call.status === "returned");
  const known = piece.id
    ? calls.find((call) => call.id === piece.id)
    : ours[Math.min(piece.index, ours.length - 1)];
  const more = piece.function?.arguments ?? "";
  if (!known) {
    const name = piece.function?.name ?? "";
    const id = piece.id ?? `call_${piece.index}`;
    return [...calls, { ...NEW, id, name, arguments: more, ours: true, status: "returned" }];
  }
  return calls.map((call) =>
    call === known ? { ...call, arguments: call.arguments + more } : call,
  );
}

type Beside =
  | { type: "call"; id: string; name: string; arguments: string }
  | { type: "result"; id: string; name: string; status: string; duration_ms: number }
  | { type: "progress"; progress: { message?: string; progress?: number; total?: number } }
  | { type: "announcement"; message: string }
  | { type: "fallback"; from: string; to: string; why: string }
  | { type: "lost"; lost: string[] };

function beside(answer: Answer, said: Beside): Answer {
  switch (said.type) {
    case "call": {
      const { id, name } = said;
      return {
        ...answer,
        calls: [...answer.calls, { ...NEW, id, name, arguments: said.arguments }],
      };
    }
    case "result":
      return {
        ...answer,
        calls: finished(answer.calls, said.id, said.status, said.duration_ms),
      };
    case "progress":
      return noted(answer, "progress", progressed(said.progress));
    case "announcement":
      return noted(answer, "announcement", said.message);
    case "fallback":
      return noted(answer, "fallback", `${said.from} failed (${said.why}), using ${said.to}`);
    case "lost":
      return noted(answer, "lost", `not supported by the provider: ${said.lost.join(", ")}`);
    default:
      return answer;
  }
}

/** The latest running call of that id: models may reuse ids in each round. */
function finished(calls: Shown[], id: string, status: string, took: number): Shown[] {
  const at = calls.findLastIndex((call) => call.id === id && call.status === null);
  return calls.map((call, index) => (index === at ? { ...call, status, duration_ms: took } : call));
}

function noted(answer: Answer, kind: Note["kind"], text: string): Answer {
  const last = answer.notes.at(-1);
  // Progress replaces the previous progress.
  const before =
    kind === "progress" && last?.kind === kind ? answer.notes.slice(0, -1) : answer.notes;
  return { ...answer, notes: [...before, { kind, text }] };
}

function progressed(of: { message?: string; progress?: number; total?: number }): string {
  const far = of.total ? `${of.progress ?? 0} of ${of.total}` : `${of.progress ?? ""}`;
  return [of.message, far].filter(Boolean).join(": ");
}

/** Adds the results of the tools, which are only in the history. */
export function withResults(answer: Answer): Answer {
  const results = new Map<string, string[]>();
  for (const message of answer.history ?? []) {
    if (message.role !== "tool") continue;
    const known = results.get(message.tool_call_id) ?? [];
    results.set(message.tool_call_id, [...known, message.content]);
  }
  const calls = answer.calls.map((call) => {
    const result = results.get(call.id)?.shift();
    return result === undefined ? call : { ...call, result };
  });
  return { ...answer, calls };
}

/** Calls that await a decision of the user. */
export function waiting(answer: Answer): Shown[] {
  return answer.calls.filter((call) => call.status === "returned");
}

/** The messages of the answer for the next request. */
export function messagesOf(answer: Answer): Message[] {
  const said = answer.history ?? own(answer);
  const known = new Set(said.map((it) => (it.role === "tool" ? it.tool_call_id : "")));
  const results = answer.calls.filter((call) => call.ours && !known.has(call.id));
  return [
    ...said,
    ...results.map<Message>((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: call.result ?? "The user declined this call.",
    })),
  ];
}

/** The gateway sends no history if it ran no tools itself. */
function own(answer: Answer): Message[] {
  const asked = answer.calls.filter((call) => call.ours);
  if (asked.length === 0) {
    return answer.text ? [{ role: "assistant", content: answer.text }] : [];
  }
  const calls = asked.map<ToolCall>(({ id, name, arguments: given }) => ({
    id,
    type: "function",
    function: { name, arguments: given },
  }));
  return [{ role: "assistant", content: answer.text || null, tool_calls: calls }];
}
