// The calls that the page has heard of: those that run, and the last that are over. Of bounded size,
// and cheap for each call: nothing here looks at all of them when one comes in.
import type { Call } from "../../api/types";

/** Calls that are over and kept. */
export const MOST = 2000;
/** Values that a filter offers. */
const MOST_CHOICES = 300;

export const FILTERS = ["server", "tool", "agent", "principal", "outcome", "tier"] as const;
export type FilterName = (typeof FILTERS)[number];
/** Probes are what the gateway itself calls to measure; they are there if `probes` is "true". */
export type Filter = Partial<Record<FilterName | "turn" | "probes", string>>;

/** A call, and when it was heard of: its clock runs on from there. */
export interface Heard {
  call: Call;
  /** By the clock of `performance.now()`. */
  heard: number;
}

export interface Snapshot {
  /** The oldest first. */
  running: Heard[];
  /** That fit the filter, the newest first. */
  calls: Call[];
  /** All that is kept, whether or not it fits; the newest first. */
  all: Call[];
  /** How many that fit have ended since the page was opened. */
  ended: number;
  /** Grows with what somebody asked for: that is shown though the list is held. */
  asked: number;
}

/** What the gateway is asked for: of what runs it knows no outcome, and tiers are told apart here. */
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

/** The last so many, in the order in which they came. */
class Ring {
  private items: Call[] = [];
  private readonly ids = new Set<string>();

  /** Is it new? */
  push(call: Call): boolean {
    if (this.ids.has(call.id)) return false;
    this.ids.add(call.id);
    this.items.push(call);
    // Cut once in a while, not at each call.
    if (this.items.length > MOST * 1.25) {
      for (const old of this.items.splice(0, this.items.length - MOST)) this.ids.delete(old.id);
    }
    return true;
  }

  /** Puts these in, the newest first, also where they are older than what is there. How many are new? */
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

/** When it was over, in ms. */
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
    // What began and is over by now is told as it is.
    if (call.outcome === null) this.running.set(call.id, { call, heard: now });
  }

  done(call: Call) {
    this.note(call);
    this.running.delete(call.id);
    this.all.push(call);
    if (fits(call, this.filter) && this.fitting.push(call)) this.ended += 1;
  }

  /** From now on only these; what is known and fits is there at once. */
  narrow(filter: Filter) {
    this.filter = filter;
    this.asked += 1;
    this.fitting.clear();
    this.fitting.merge(this.all.newest().filter((call) => fits(call, filter)));
  }

  /** What the gateway remembers, for the filter that was set. How many that fit were not known? */
  fill(running: readonly Call[] | undefined, calls: readonly Call[], now: number): number {
    if (running) {
      this.running.clear();
      for (const call of running) this.started(call, now);
    }
    for (const call of calls) this.note(call);
    this.all.merge(calls);
    return this.fitting.merge(calls.filter((call) => fits(call, this.filter)));
  }

  /** So many ended that nobody told us of. */
  missed(count: number) {
    this.ended += count;
  }

  /** Somebody asked for what was filled in last. */
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

  /** What a filter can be set to: what was seen. */
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
