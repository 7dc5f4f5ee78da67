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

export interface ChatCall {
  id: string;
  name: string;
  arguments: string;
  /** Returned to the client, which decides whether to run it. */
  returned: boolean;
  /** `null` while running; `returned` until the user decides. */
  status: string | null;
  duration_ms: number | null;
  result: string | null;
}

const NEW_CALL = { returned: false, status: null, duration_ms: null, result: null };

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
  calls: ChatCall[];
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

export const EMPTY_ANSWER: Answer = {
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
    delta?: { content?: string | null; tool_calls?: CallPiece[] };
    finish_reason?: string | null;
  }[];
  usage?: Usage | null;
  error?: { message?: string };
  tollgate?: { ended?: string; model?: string; rounds?: number; history?: Message[] };
}

interface CallPiece {
  index: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** Applies an event of the stream. */
export function applyEvent(answer: Answer, name: string, data: string): Answer {
  if (data === "[DONE]") return answer;
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    return { ...answer, error: "invalid JSON in the stream" };
  }
  return name === "tollgate"
    ? applyGatewayEvent(answer, parsed as GatewayEvent)
    : applyChunk(answer, parsed as Chunk);
}

function applyChunk(answer: Answer, chunk: Chunk): Answer {
  const next = { ...answer };
  if (chunk.error) next.error = chunk.error.message ?? "the model failed";
  if (chunk.usage) next.usage = chunk.usage;
  const choice = chunk.choices?.[0];
  if (choice?.delta?.content) next.text += choice.delta.content;
  for (const piece of choice?.delta?.tool_calls ?? []) next.calls = addReturned(next.calls, piece);
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
function addReturned(calls: ChatCall[], piece: CallPiece): ChatCall[] {
  const undecided = calls.filter((call) => call.status === "returned");
  const known = piece.id
    ? calls.find((call) => call.id === piece.id)
    : undecided[Math.min(piece.index, undecided.length - 1)];
  const more = piece.function?.arguments ?? "";
  if (!known) {
    const name = piece.function?.name ?? "";
    const id = piece.id ?? `call_${piece.index}`;
    return [
      ...calls,
      { ...NEW_CALL, id, name, arguments: more, returned: true, status: "returned" },
    ];
  }
  return calls.map((call) =>
    call === known ? { ...call, arguments: call.arguments + more } : call,
  );
}

type GatewayEvent =
  | { type: "call"; id: string; name: string; arguments: string }
  | { type: "result"; id: string; name: string; status: string; duration_ms: number }
  | { type: "progress"; progress: { message?: string; progress?: number; total?: number } }
  | { type: "announcement"; message: string }
  | { type: "fallback"; from: string; to: string; why: string }
  | { type: "lost"; lost: string[] };

function applyGatewayEvent(answer: Answer, event: GatewayEvent): Answer {
  switch (event.type) {
    case "call": {
      const { id, name } = event;
      return {
        ...answer,
        calls: [...answer.calls, { ...NEW_CALL, id, name, arguments: event.arguments }],
      };
    }
    case "result":
      return {
        ...answer,
        calls: finishCall(answer.calls, event.id, event.status, event.duration_ms),
      };
    case "progress":
      return addNote(answer, "progress", describeProgress(event.progress));
    case "announcement":
      return addNote(answer, "announcement", event.message);
    case "fallback":
      return addNote(answer, "fallback", `${event.from} failed (${event.why}), using ${event.to}`);
    case "lost":
      return addNote(answer, "lost", `not supported by the provider: ${event.lost.join(", ")}`);
    default:
      return answer;
  }
}

/** The latest running call of that id: models may reuse ids in each round. */
function finishCall(calls: ChatCall[], id: string, status: string, took: number): ChatCall[] {
  const at = calls.findLastIndex((call) => call.id === id && call.status === null);
  return calls.map((call, index) => (index === at ? { ...call, status, duration_ms: took } : call));
}

function addNote(answer: Answer, kind: Note["kind"], text: string): Answer {
  const last = answer.notes.at(-1);
  // Progress replaces the previous progress.
  const before =
    kind === "progress" && last?.kind === kind ? answer.notes.slice(0, -1) : answer.notes;
  return { ...answer, notes: [...before, { kind, text }] };
}

function describeProgress(of: { message?: string; progress?: number; total?: number }): string {
  const amount = of.total ? `${of.progress ?? 0} of ${of.total}` : `${of.progress ?? ""}`;
  return [of.message, amount].filter(Boolean).join(": ");
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
export function undecidedCalls(answer: Answer): ChatCall[] {
  return answer.calls.filter((call) => call.status === "returned");
}

/** The messages of the answer for the next request. */
export function messagesOf(answer: Answer): Message[] {
  const messages = answer.history ?? answerMessages(answer);
  const known = new Set(messages.map((it) => (it.role === "tool" ? it.tool_call_id : "")));
  const results = answer.calls.filter((call) => call.returned && !known.has(call.id));
  return [
    ...messages,
    ...results.map<Message>((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: call.result ?? "The user declined this call.",
    })),
  ];
}

/** The gateway sends no history if it ran no tools itself. */
function answerMessages(answer: Answer): Message[] {
  const returned = answer.calls.filter((call) => call.returned);
  if (returned.length === 0) {
    return answer.text ? [{ role: "assistant", content: answer.text }] : [];
  }
  const calls = returned.map<ToolCall>(({ id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }));
  return [{ role: "assistant", content: answer.text || null, tool_calls: calls }];
}
