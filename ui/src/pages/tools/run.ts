// Executes one tool call and streams its progress, events and outcome.
import { Problem, send } from "../../api/client";
import { stale } from "../../api/queries";
import { events } from "../../api/stream";
import type { Outcome, Tier } from "../../api/types";
import { quoted } from "../../kit/code";

export interface Order {
  name: string;
  /** The arguments as exact JSON. */
  text: string;
  agent: string;
  tier: Tier | "";
  fresh: boolean;
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
  heard: { kind: string; text: string }[];
  outcome?: Outcome;
  problem?: Problem;
}

/** The request body; the arguments are inserted byte by byte. */
export function bodyOf(order: Order): string {
  const wishes = [
    `"name": ${JSON.stringify(order.name)}`,
    `"arguments": ${order.text}`,
    ...(order.agent ? [`"agent": ${JSON.stringify(order.agent)}`] : []),
    ...(order.tier ? [`"tier": "${order.tier}"`] : []),
    `"consumer": "chat"`,
    `"also": ["speech"]`,
  ];
  return `{${wishes.join(", ")}}`;
}

export function commandOf(order: Order): string {
  const words = ["tollgate", "call", quoted(order.name), quoted(order.text)];
  if (order.agent) words.push("--agent", quoted(order.agent));
  if (order.tier) words.push("--tier", order.tier);
  if (order.fresh) words.push("--no-cache");
  return words.join(" ");
}

/** Events that are kept; a server may log without limit. */
const MOST_HEARD = 200;

export async function runTool(
  order: Order & { counts: Tier | undefined },
  signal: AbortSignal,
  show: (run: Run) => void,
) {
  let run: Run = { began: Date.now(), ended: false, tier: order.counts, heard: [] };
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
    const response = await ask(order, signal);
    for await (const { event, data } of events(response)) {
      if (event === "progress") set({ progress: JSON.parse(data) as Progress });
      else if (event === "outcome") set({ outcome: JSON.parse(data) as Outcome });
      else if (data) set({ heard: [...run.heard, heardOf(event, data)].slice(-MOST_HEARD) });
    }
  } catch (error) {
    set(endOf(error, signal));
  }
  set({ ended: true });
  stale("api/tools");
}

function ask(order: Order, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream",
  };
  if (order.fresh) headers["x-tollgate-no-cache"] = "1";
  return send("POST", "/v1/tools/execute", { text: bodyOf(order), headers, signal });
}

function endOf(error: unknown, signal: AbortSignal): Partial<Run> {
  if (signal.aborted) return { problem: new Problem(0, "cancelled", "Call cancelled.") };
  const problem = Problem.of(error);
  // A rate-limited call is rejected with an outcome as its body.
  if (typeof problem.more.message === "string" && typeof problem.more.status === "string") {
    return { outcome: problem.more as unknown as Outcome };
  }
  return { problem };
}

function heardOf(kind: string, data: string): { kind: string; text: string } {
  const value = JSON.parse(data) as Record<string, unknown>;
  const said = kind === "announcement" ? value.message : (value.data ?? value);
  return { kind, text: typeof said === "string" ? said : JSON.stringify(said) };
}
