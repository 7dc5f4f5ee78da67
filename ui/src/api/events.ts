// What happens while the page is open. One connection for all who listen; the browser opens it
// again when it breaks. Events of single calls come on a stream of their own, only while somebody
// looks at calls: there may be hundreds in a second. Browsers have six connections for all tabs
// of a gateway, so a tab that nobody sees holds none.
import { useEffect, useRef, useState } from "react";
import { address } from "./client";

type Handler = (data: unknown) => void;

export class Stream {
  private source: EventSource | undefined;
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly watchers = new Set<(open: boolean) => void>();

  constructor(private readonly path: string) {}

  listen(name: string, handler: Handler): () => void {
    const known = this.handlers.get(name) ?? new Set();
    this.handlers.set(name, known.add(handler));
    this.open();
    this.attach(name);
    return () => {
      known.delete(handler);
      this.closeIfUnused();
    };
  }

  watch(watcher: (open: boolean) => void): () => void {
    this.watchers.add(watcher);
    this.open();
    watcher(document.hidden || this.source?.readyState === EventSource.OPEN);
    return () => {
      this.watchers.delete(watcher);
      this.closeIfUnused();
    };
  }

  private heeded = false;

  /** Whether somebody sees the tab; from the first who listens on. */
  private heed() {
    if (this.heeded) return;
    this.heeded = true;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) return this.reopen();
      this.close();
      // It hears nothing because it does not want to.
      this.tell(true);
    });
  }

  private open() {
    this.heed();
    if (document.hidden) return;
    if (this.source && this.source.readyState !== EventSource.CLOSED) return;
    this.source = new EventSource(address(this.path));
    this.source.onopen = () => {
      this.tell(true);
      // What happened while it was closed is not told again.
      for (const handler of this.handlers.get("opened") ?? []) handler(undefined);
    };
    this.source.onerror = () => {
      this.tell(false);
      // A refusal closes it for good; the gateway may be back later.
      if (this.source?.readyState === EventSource.CLOSED) setTimeout(() => this.reopen(), 3000);
    };
    this.attached.clear();
    for (const name of this.handlers.keys()) this.attach(name);
  }

  private reopen() {
    if (this.isUsed()) this.open();
  }

  private readonly attached = new Set<string>();

  private attach(name: string) {
    if (!this.source || this.attached.has(name)) return;
    this.attached.add(name);
    this.source.addEventListener(name, (event) => {
      const data: unknown = JSON.parse((event as MessageEvent<string>).data);
      for (const handler of this.handlers.get(name) ?? []) handler(data);
    });
  }

  private tell(open: boolean) {
    for (const watcher of this.watchers) watcher(open);
  }

  private isUsed(): boolean {
    return this.watchers.size > 0 || [...this.handlers.values()].some((known) => known.size > 0);
  }

  private closeIfUnused() {
    // The next page may listen at once.
    setTimeout(() => {
      if (this.isUsed()) return;
      this.close();
    }, 500);
  }

  private close() {
    this.source?.close();
    this.source = undefined;
  }
}

const happenings = new Stream("/api/events");
const calls = new Stream("/api/events?calls=true");

/** Hears events of these names while the component is shown; `opened` is heard each time we begin to. */
export function useEvents<T>(names: readonly string[], handler: (data: T, name: string) => void) {
  const latest = useRef(handler);
  latest.current = handler;
  const listed = names.join(" ");
  useEffect(() => {
    const wanted = listed.split(" ");
    const stream = wanted.some((name) => name.startsWith("call_")) ? calls : happenings;
    const leave = wanted.map((name) =>
      stream.listen(name, (data) => latest.current(data as T, name)),
    );
    return () => {
      for (const leaving of leave) leaving();
    };
  }, [listed]);
}

/** Whether we hear of what happens. */
export function useConnected(): boolean {
  const [open, setOpen] = useState(true);
  useEffect(() => {
    let settled: ReturnType<typeof setTimeout> | undefined;
    const leave = happenings.watch((now) => {
      clearTimeout(settled);
      // A moment without it is nothing to speak of.
      if (now) setOpen(true);
      else settled = setTimeout(() => setOpen(false), 1500);
    });
    return () => {
      clearTimeout(settled);
      leave();
    };
  }, []);
  return open;
}
