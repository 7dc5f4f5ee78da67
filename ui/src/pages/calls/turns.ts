// Groups calls into turns and positions them on the turn's time axis. Pure functions.
import type { Call, Step } from "../../api/types";
import type { RunningCall } from "./call-log";

export interface Line {
  call: Call;
  /** Nesting depth within calls of programs. */
  depth: number;
  /** In ms since the start of the turn. */
  from: number;
  to: number;
  running: boolean;
  steps: Step[];
}

export interface Turn {
  id: string;
  agent: string;
  principal: string;
  tier: Call["tier"];
  began: string;
  deadline: number | null;
  lines: Line[];
  /** The end of the last call, or the deadline if that is later. */
  span: number;
  /** Calls that ended after the deadline. */
  late: number;
}

/** Newest turn first. Running calls extend up to `now`. */
export function groupTurns(
  calls: readonly Call[],
  running: readonly RunningCall[],
  now: number,
): Turn[] {
  const found = new Map<string, Line[]>();
  const add = (line: Line) => {
    const known = found.get(line.call.turn);
    if (known) known.push(line);
    else found.set(line.call.turn, [line]);
  };
  for (const { call, receivedAt } of running)
    add(createLine(call, call.duration_ms + (now - receivedAt)));
  for (const call of calls) add(lineOf(call));
  return [...found.values()].map(createTurn).sort((a, b) => compareCodeUnits(b.began, a.began));
}

/** Code-unit order, which is much faster than `localeCompare`. */
function compareCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Finished calls do not change, but are rendered often. */
const lineCache = new WeakMap<Call, Line>();

function lineOf(call: Call): Line {
  const known = lineCache.get(call) ?? createLine(call, call.duration_ms);
  lineCache.set(call, known);
  return known;
}

function createLine(call: Call, took: number): Line {
  const from = Math.max(0, Date.parse(call.at) - Date.parse(call.turn_began));
  const running = call.outcome === null;
  const steps = call.steps.map((step) => ({ ...step, to_ms: step.to_ms ?? took }));
  const last = steps.at(-1);
  // There are no events for steps: assume that the last known step is still running.
  if (running && last) last.to_ms = took;
  return { call, depth: 0, from, to: from + took, running, steps };
}

function createTurn(lines: Line[]): Turn {
  const ordered = nestLines(lines);
  const first = (ordered[0] as Line).call;
  const deadline = first.deadline_ms;
  const end = Math.max(...ordered.map((it) => it.to), 1);
  return {
    id: first.turn,
    agent: first.agent,
    principal: first.principal,
    tier: first.tier,
    began: first.turn_began,
    deadline,
    lines: ordered,
    span: Math.max(end, deadline ?? 0),
    late: deadline === null ? 0 : ordered.filter((it) => it.to > deadline).length,
  };
}

/** Sorted by start; calls made by a program come below it. */
function nestLines(lines: Line[]): Line[] {
  const sorted = [...lines].sort(
    (a, b) => a.from - b.from || compareCodeUnits(a.call.id, b.call.id),
  );
  const known = new Set(sorted.map((it) => it.call.id));
  const children = new Map<string | null, Line[]>();
  for (const it of sorted) {
    const parent = it.call.within && known.has(it.call.within) ? it.call.within : null;
    children.set(parent, [...(children.get(parent) ?? []), it]);
  }
  const collect = (parent: string | null, depth: number): Line[] =>
    (children.get(parent) ?? []).flatMap((it) => [
      { ...it, depth },
      ...(it.call.id === parent ? [] : collect(it.call.id, depth + 1)),
    ]);
  return collect(null, 0);
}

/** Round values for the axis ticks, without zero. */
export function axisTicks(span: number): number[] {
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
  const found: number[] = [];
  for (let at = step; at <= span; at += step) found.push(at);
  return found;
}
