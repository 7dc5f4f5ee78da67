// Executes one tool call and streams its progress, events and outcome.
import { ApiError, send } from "../../api/client";
import { invalidate } from "../../api/queries";
import { readEvents } from "../../api/sse";
import type { Outcome, Tier } from "../../api/types";
import { shellQuote } from "../../kit/code";

export interface CallRequest {
  name: string;
  /** The arguments as exact JSON. */
  text: string;
  agent: string;
  tier: Tier | "";
  bypassCache: boolean;
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface Run {
  began: number;
  ended: boolean;
  /** The tier whose ceiling applies. */
  tier: Tier | undefined;
  progress?: Progress;
  /** Log messages of the server, and announcements for a waiting caller. */
  events: { kind: string; text: string }[];
  outcome?: Outcome;
  problem?: ApiError;
}

/** The request body; the arguments are inserted byte by byte. */
export function bodyOf(order: CallRequest): string {
  const members = [
    `"name": ${JSON.stringify(order.name)}`,
    `"arguments": ${order.text}`,
    ...(order.agent ? [`"agent": ${JSON.stringify(order.agent)}`] : []),
    ...(order.tier ? [`"tier": "${order.tier}"`] : []),
    `"consumer": "chat"`,
    `"also": ["speech"]`,
  ];
  return `{${members.join(", ")}}`;
}

export function commandOf(order: CallRequest): string {
  const parts = ["tollgate", "call", shellQuote(order.name), shellQuote(order.text)];
  if (order.agent) parts.push("--agent", shellQuote(order.agent));
  if (order.tier) parts.push("--tier", order.tier);
  if (order.bypassCache) parts.push("--no-cache");
  return parts.join(" ");
}

/** Events that are kept; a server may log without limit. */
const MAX_EVENTS = 200;

export async function runTool(
  order: CallRequest & { effectiveTier: Tier | undefined },
  signal: AbortSignal,
  show: (run: Run) => void,
) {
  let run: Run = { began: Date.now(), ended: false, tier: order.effectiveTier, events: [] };
  let waiting = false;
  // Render at most once per frame.
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show(run);
    });
  };
  const set = (more: Partial<Run>) => {
    run = { ...run, ...more };
    draw();
  };
  // Render at once: until the button is disabled, a second click would call again.
  show(run);
  try {
    const response = await sendCall(order, signal);
    for await (const { event, data } of readEvents(response)) {
      if (event === "progress") set({ progress: JSON.parse(data) as Progress });
      else if (event === "outcome") set({ outcome: JSON.parse(data) as Outcome });
      else if (data) set({ events: [...run.events, eventOf(event, data)].slice(-MAX_EVENTS) });
    }
  } catch (error) {
    set(failureOf(error, signal));
  }
  set({ ended: true });
  invalidate("api/tools");
}

function sendCall(order: CallRequest, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream",
  };
  if (order.bypassCache) headers["x-tollgate-no-cache"] = "1";
  return send("POST", "/v1/tools/execute", { text: bodyOf(order), headers, signal });
}

function failureOf(error: unknown, signal: AbortSignal): Partial<Run> {
  if (signal.aborted) return { problem: new ApiError(0, "cancelled", "Call cancelled.") };
  const problem = ApiError.from(error);
  // A rate-limited call is rejected with an outcome as its body.
  if (typeof problem.more.message === "string" && typeof problem.more.status === "string") {
    return { outcome: problem.more as unknown as Outcome };
  }
  return { problem };
}

function eventOf(kind: string, data: string): { kind: string; text: string } {
  const value = JSON.parse(data) as Record<string, unknown>;
  const text = kind === "announcement" ? value.message : (value.data ?? value);
  return { kind, text: typeof text === "string" ? text : JSON.stringify(text) };
}
