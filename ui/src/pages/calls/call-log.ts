// A bounded log of calls: the running ones and the last finished ones. Adding a call is cheap: it
// never scans the others.
import type { Call } from "../../api/types";

/** Finished calls that are kept. */
export const MAX_CALLS = 2000;
/** Values offered per filter. */
const MAX_FILTER_VALUES = 300;

export const FILTERS = ["server", "tool", "agent", "principal", "outcome", "tier"] as const;
export type FilterName = (typeof FILTERS)[number];
/** Probes are calls that the gateway makes to measure latency; shown only if `probes` is "true". */
export type Filter = Partial<Record<FilterName | "turn" | "probes", string>>;

/** A running call and the time it was received; its clock continues from there. */
export interface RunningCall {
  call: Call;
  /** In terms of `performance.now()`. */
  receivedAt: number;
}

export interface Snapshot {
  /** The oldest first. */
  running: RunningCall[];
  /** Finished calls that match the filter, newest first. */
  calls: Call[];
  /** All finished calls that are kept, newest first. */
  all: Call[];
  /** How many matching calls have ended since the page was opened. */
  ended: number;
  /** Incremented by user requests; their results are shown even while updates are paused. */
  requests: number;
}

/** The filter for the API, which knows no outcome `running` and does not filter by tier. */
export function apiFilter(filter: Filter): Filter {
  const { tier: _, outcome, ...rest } = filter;
  return {
    ...rest,
    outcome: outcome === "running" ? undefined : outcome,
    probes: filter.probes ?? "false",
  };
}

export function matchesFilter(call: Call, filter: Filter): boolean {
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
    if (this.items.length > MAX_CALLS * 1.25) {
      for (const old of this.items.splice(0, this.items.length - MAX_CALLS))
        this.ids.delete(old.id);
    }
    return true;
  }

  /** Merges calls (newest first) that may be older than the known ones. Returns how many are new. */
  merge(calls: readonly Call[]): number {
    const known = calls.filter((call) => this.ids.has(call.id)).length;
    const all = new Map([...calls.toReversed(), ...this.items].map((call) => [call.id, call]));
    const sorted = [...all.values()].sort((a, b) => endedAt(a) - endedAt(b)).slice(-MAX_CALLS);
    this.clear();
    for (const call of sorted) this.push(call);
    return calls.length - known;
  }

  clear() {
    this.items = [];
    this.ids.clear();
  }

  newest(): Call[] {
    return this.items.slice(-MAX_CALLS).reverse();
  }
}

/** When the call ended, in ms. */
function endedAt(call: Call): number {
  return Date.parse(call.at) + call.duration_ms;
}

export class CallLog {
  private readonly running = new Map<string, RunningCall>();
  private readonly all = new Ring();
  private readonly matching = new Ring();
  private readonly choices = new Map<FilterName, Set<string>>(
    FILTERS.map((name) => [name, new Set()]),
  );
  private filter: Filter = {};
  private ended = 0;
  private requests = 0;

  addRunning(call: Call, now: number) {
    this.recordValues(call);
    // A call may already have ended when its start event arrives.
    if (call.outcome === null) this.running.set(call.id, { call, receivedAt: now });
  }

  addFinished(call: Call) {
    this.recordValues(call);
    this.running.delete(call.id);
    this.all.push(call);
    if (matchesFilter(call, this.filter) && this.matching.push(call)) this.ended += 1;
  }

  /** Sets the filter; known calls that match are shown at once. */
  setFilter(filter: Filter) {
    this.filter = filter;
    this.requests += 1;
    this.matching.clear();
    this.matching.merge(this.all.newest().filter((call) => matchesFilter(call, filter)));
  }

  /** Merges a page from the API. Returns how many matching calls were unknown. */
  fill(running: readonly Call[] | undefined, calls: readonly Call[], now: number): number {
    if (running) {
      this.running.clear();
      for (const call of running) this.addRunning(call, now);
    }
    for (const call of calls) this.recordValues(call);
    this.all.merge(calls);
    return this.matching.merge(calls.filter((call) => matchesFilter(call, this.filter)));
  }

  /** Counts ended calls whose events were missed. */
  countMissed(count: number) {
    this.ended += count;
  }

  /** Marks the last page as requested by the user. */
  markRequested() {
    this.requests += 1;
  }

  snapshot(): Snapshot {
    const running = [...this.running.values()].filter(({ call }) =>
      matchesFilter(call, this.filter),
    );
    running.sort((a, b) => (a.call.at < b.call.at ? -1 : 1));
    return {
      running,
      calls: this.matching.newest(),
      all: this.all.newest(),
      ended: this.ended,
      requests: this.requests,
    };
  }

  find(id: string): Call | undefined {
    const found = this.running.get(id)?.call ?? this.all.newest().find((call) => call.id === id);
    return found ?? this.matching.newest().find((call) => call.id === id);
  }

  /** The values seen so far for a filter. */
  knownValues(name: FilterName): string[] {
    return [...(this.choices.get(name) ?? [])].sort();
  }

  private recordValues(call: Call) {
    for (const name of FILTERS) {
      const value = call[name];
      const known = this.choices.get(name);
      if (value && known && known.size < MAX_FILTER_VALUES) known.add(value);
    }
  }
}
