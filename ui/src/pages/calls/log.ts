// A bounded log of calls: the running ones and the last finished ones. Adding a call is cheap: it
// never scans the others.
import type { Call } from "../../api/types";

/** Finished calls that are kept. */
export const MOST = 2000;
/** Values offered per filter. */
const MOST_CHOICES = 300;

export const FILTERS = ["server", "tool", "agent", "principal", "outcome", "tier"] as const;
export type FilterName = (typeof FILTERS)[number];
/** Probes are calls that the gateway makes to measure latency; shown only if `probes` is "true". */
export type Filter = Partial<Record<FilterName | "turn" | "probes", string>>;

/** A running call and the time it was received; its clock continues from there. */
export interface Heard {
  call: Call;
  /** In terms of `performance.now()`. */
  heard: number;
}

export interface Snapshot {
  /** The oldest first. */
  running: Heard[];
  /** Finished calls that match the filter, newest first. */
  calls: Call[];
  /** All finished calls that are kept, newest first. */
  all: Call[];
  /** How many matching calls have ended since the page was opened. */
  ended: number;
  /** Incremented by user requests; their results are shown even while updates are paused. */
  asked: number;
}

/** The filter for the API, which knows no outcome `running` and does not filter by tier. */
export function wire(filter: Filter): Filter {
  const { tier: _, outcome, ...rest } = filter;
  return {
    ...rest,
    outcome: outcome === "running" ? undefined : outcome,
    probes: filter.probes ?? "false",
  };
}

export function fits(call: Call, filter: Filter): boolean {
  return (
    (!call.probe || filter.probes === "true") &&
    (!filter.turn || call.turn === filter.turn) &&
    FILTERS.every((name) => !filter[name] || (call[name] ?? "running") === filter[name])
  );
}

/** The last `MOST` calls in order of arrival. */
class Ring {
  private items: Call[] = [];
  private readonly ids = new Set<string>();

  /** Returns whether the call is new. */
  push(call: Call): boolean {
    if (this.ids.has(call.id)) return false;
    this.ids.add(call.id);
    this.items.push(call);
    // Trim occasionally, not on every push.
    if (this.items.length > MOST * 1.25) {
      for (const old of this.items.splice(0, this.items.length - MOST)) this.ids.delete(old.id);
    }
    return true;
  }

  /** Merges calls (newest first) that may be older than the known ones. Returns how many are new. */
  merge(calls: readonly Call[]): number {
    const known = calls.filter((call) => this.ids.has(call.id)).length;
    const all = new Map([...calls.toReversed(), ...this.items].map((call) => [call.id, call]));
    const sorted = [...all.values()].sort((a, b) => over(a) - over(b)).slice(-MOST);
    this.clear();
    for (const call of sorted) this.push(call);
    return calls.length - known;
  }

  clear() {
    this.items = [];
    this.ids.clear();
  }

  newest(): Call[] {
    return this.items.slice(-MOST).reverse();
  }
}

/** When the call ended, in ms. */
function over(call: Call): number {
  return Date.parse(call.at) + call.duration_ms;
}

export class CallLog {
  private readonly running = new Map<string, Heard>();
  private readonly all = new Ring();
  private readonly fitting = new Ring();
  private readonly choices = new Map<FilterName, Set<string>>(
    FILTERS.map((name) => [name, new Set()]),
  );
  private filter: Filter = {};
  private ended = 0;
  private asked = 0;

  started(call: Call, now: number) {
    this.note(call);
    // A call may already have ended when its start event arrives.
    if (call.outcome === null) this.running.set(call.id, { call, heard: now });
  }

  done(call: Call) {
    this.note(call);
    this.running.delete(call.id);
    this.all.push(call);
    if (fits(call, this.filter) && this.fitting.push(call)) this.ended += 1;
  }

  /** Sets the filter; known calls that match are shown at once. */
  narrow(filter: Filter) {
    this.filter = filter;
    this.asked += 1;
    this.fitting.clear();
    this.fitting.merge(this.all.newest().filter((call) => fits(call, filter)));
  }

  /** Merges a page from the API. Returns how many matching calls were unknown. */
  fill(running: readonly Call[] | undefined, calls: readonly Call[], now: number): number {
    if (running) {
      this.running.clear();
      for (const call of running) this.started(call, now);
    }
    for (const call of calls) this.note(call);
    this.all.merge(calls);
    return this.fitting.merge(calls.filter((call) => fits(call, this.filter)));
  }

  /** Counts ended calls whose events were missed. */
  missed(count: number) {
    this.ended += count;
  }

  /** Marks the last page as requested by the user. */
  answered() {
    this.asked += 1;
  }

  snapshot(): Snapshot {
    const running = [...this.running.values()].filter(({ call }) => fits(call, this.filter));
    running.sort((a, b) => (a.call.at < b.call.at ? -1 : 1));
    return {
      running,
      calls: this.fitting.newest(),
      all: this.all.newest(),
      ended: this.ended,
      asked: this.asked,
    };
  }

  find(id: string): Call | undefined {
    const found = this.running.get(id)?.call ?? this.all.newest().find((call) => call.id === id);
    return found ?? this.fitting.newest().find((call) => call.id === id);
  }

  /** The values seen so far for a filter. */
  seen(name: FilterName): string[] {
    return [...(this.choices.get(name) ?? [])].sort();
  }

  private note(call: Call) {
    for (const name of FILTERS) {
      const value = call[name];
      const known = this.choices.get(name);
      if (value && known && known.size < MOST_CHOICES) known.add(value);
    }
  }
}
