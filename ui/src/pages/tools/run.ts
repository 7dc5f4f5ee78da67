// One call of a tool, from what was entered to its outcome, with all that is heard on the way.
import { Problem, send } from "../../api/client";
import { stale } from "../../api/queries";
import { events } from "../../api/stream";
import type { Outcome, Tier } from "../../api/types";
import { quoted } from "../../kit/code";

export interface Order {
  name: string;
  /** The exact JSON of the arguments. */
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
  /** Whose ceiling counts. */
  tier: Tier | undefined;
  progress?: Progress;
  /** What the server logged, and what would have been said to a caller who waits. */
  heard: { kind: string; text: string }[];
  outcome?: Outcome;
  problem?: Problem;
}

/** The body as it is sent: arguments go in byte by byte. */
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

/** Lines that are kept; a server may log without end. */
const MOST_HEARD = 200;

export async function runTool(
  order: Order & { counts: Tier | undefined },
  signal: AbortSignal,
  show: (run: Run) => void,
) {
  let run: Run = { began: Date.now(), ended: false, tier: order.counts, heard: [] };
  let waiting = false;
  // However much is heard, the page is drawn at most once a frame.
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
  // At once: until it is shown as running, a second click would call a second time.
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
  if (signal.aborted) return { problem: new Problem(0, "cancelled", "You cancelled the call.") };
  const problem = Problem.of(error);
  // A call that was made too often is refused with its outcome.
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
