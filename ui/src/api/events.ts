// Live events of the gateway. All listeners share one connection, which the browser reopens when it
// breaks. Events of single calls have a stream of their own, open only while calls are shown: there
// may be hundreds per second. Browsers allow six connections per origin for all tabs, so a hidden
// tab closes its own.
import { useEffect, useRef, useState } from "react";
import { absoluteUrl } from "./client";

type Handler = (data: unknown) => void;

export class EventStream {
  private source: EventSource | undefined;
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly watchers = new Set<(open: boolean) => void>();

  constructor(private readonly path: string) {}

  listen(name: string, handler: Handler): () => void {
    const handlers = this.handlers.get(name) ?? new Set();
    this.handlers.set(name, handlers.add(handler));
    this.open();
    this.attach(name);
    return () => {
      handlers.delete(handler);
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

  private watchesVisibility = false;

  /** Follows the visibility of the tab, from the first listener on. */
  private watchVisibility() {
    if (this.watchesVisibility) return;
    this.watchesVisibility = true;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) return this.reopen();
      this.close();
      // Closed on purpose, so not reported as a lost connection.
      this.notifyWatchers(true);
    });
  }

  private open() {
    this.watchVisibility();
    if (document.hidden) return;
    if (this.source && this.source.readyState !== EventSource.CLOSED) return;
    this.source = new EventSource(absoluteUrl(this.path));
    this.source.onopen = () => {
      this.notifyWatchers(true);
      // Events from before are not replayed; listeners of `opened` have to read again.
      for (const handler of this.handlers.get("opened") ?? []) handler(undefined);
    };
    this.source.onerror = () => {
      this.notifyWatchers(false);
      // An HTTP error closes the source for good; the gateway may come back.
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

  private notifyWatchers(open: boolean) {
    for (const watcher of this.watchers) watcher(open);
  }

  private isUsed(): boolean {
    return (
      this.watchers.size > 0 || [...this.handlers.values()].some((handlers) => handlers.size > 0)
    );
  }

  private closeIfUnused() {
    // The next page may start listening right away.
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

const gatewayEvents = new EventStream("/api/events");
const callEvents = new EventStream("/api/events?calls=true");

/** Handles events of these names while mounted; `opened` comes each time the stream opens. */
export function useEvents<T>(names: readonly string[], handler: (data: T, name: string) => void) {
  const latest = useRef(handler);
  latest.current = handler;
  const joinedNames = names.join(" ");
  useEffect(() => {
    const eventNames = joinedNames.split(" ");
    const stream = eventNames.some((name) => name.startsWith("call_")) ? callEvents : gatewayEvents;
    const stops = eventNames.map((name) =>
      stream.listen(name, (data) => latest.current(data as T, name)),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }, [joinedNames]);
}

/** Whether the event stream is connected. */
export function useConnected(): boolean {
  const [open, setOpen] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stopWatching = gatewayEvents.watch((now) => {
      clearTimeout(timer);
      // Short interruptions are not reported.
      if (now) setOpen(true);
      else timer = setTimeout(() => setOpen(false), 1500);
    });
    return () => {
      clearTimeout(timer);
      stopWatching();
    };
  }, []);
  return open;
}
