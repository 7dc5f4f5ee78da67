// The conversation. It survives navigation to other pages, but is only in memory and gone with the
// tab.
import { useSyncExternalStore } from "react";
import { call, Problem, send } from "../../api/client";
import { events } from "../../api/stream";
import type { Tier } from "../../api/types";
import {
  type Answer,
  BLANK,
  factsOf,
  heard,
  type Message,
  messagesOf,
  type Shown,
  waiting,
  withResults,
} from "./answer";

export interface Settings {
  /** The agent; without one, the model alone answers. */
  agent?: string;
  /** The model; without one, the agent's default. */
  model?: string;
  tier?: Tier;
  variables: { name: string; value: string }[];
}

export type Item =
  | { kind: "user"; text: string }
  | { kind: "answer"; answer: Answer; began: number; took: number | null; stopped: boolean };

export interface State {
  items: readonly Item[];
  /** An answer is streaming. */
  busy: boolean;
  /** Ids of returned calls that are running. */
  running: ReadonlySet<string>;
}

type AnswerItem = Extract<Item, { kind: "answer" }>;

export class Conversation {
  private items: Item[] = [];
  private running = new Set<string>();
  private leaving: AbortController | undefined;
  private id = newId();
  private state: State = { items: [], busy: false, running: new Set() };
  private readonly listeners = new Set<() => void>();
  private frame = 0;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = () => this.state;

  say(text: string, settings: Settings) {
    this.items.push({ kind: "user", text });
    void this.ask(settings);
  }

  stop() {
    this.leaving?.abort();
  }

  forget() {
    this.stop();
    this.items = [];
    this.running.clear();
    this.id = newId();
    this.publish();
  }

  /** Runs a returned call; after the last one the turn continues. */
  async run(shown: Shown, settings: Settings) {
    const asked = this.last();
    if (!asked || this.running.has(shown.id)) return;
    this.running.add(shown.id);
    this.publish();
    const began = performance.now();
    let [status, result] = ["ran", ""];
    try {
      const { name, arguments: given } = shown;
      const body = { id: shown.id, type: "function", function: { name, arguments: given } };
      const headers = headersOf(settings);
      const message = await call<{ content: unknown }>("POST", EXECUTE, { body, headers });
      result =
        typeof message.content === "string" ? message.content : JSON.stringify(message.content);
    } catch (error) {
      [status, result] = ["failed", Problem.of(error).message];
    }
    this.running.delete(shown.id);
    const came = { status, result, duration_ms: performance.now() - began };
    this.settle(asked.began, shown.id, came, settings);
  }

  /** Declines a returned call; the model is told. */
  decline(shown: Shown, settings: Settings) {
    const item = this.last();
    if (item) this.settle(item.began, shown.id, { status: "declined", result: null }, settings);
  }

  private settle(began: number, id: string, came: Partial<Shown>, settings: Settings) {
    // Found by its start time: a parallel call may have replaced the object.
    const at = this.items.findIndex((it) => it.kind === "answer" && it.began === began);
    const item = this.items[at];
    // The user may have started a new conversation.
    if (item?.kind !== "answer") return this.publish();
    const calls = item.answer.calls.map((it) =>
      it.id === id && it.status === "returned" ? { ...it, ...came } : it,
    );
    const settled = { ...item, answer: { ...item.answer, calls } };
    this.items[at] = settled;
    this.publish();
    if (waiting(settled.answer).length === 0) void this.ask(settings);
  }

  private async ask(settings: Settings) {
    const messages = this.messages();
    const began = performance.now();
    const leaving = new AbortController();
    this.leaving = leaving;
    let item: AnswerItem = { kind: "answer", answer: BLANK, began, took: null, stopped: false };
    this.items.push(item);
    const at = this.items.length - 1;
    const change = (more: Partial<AnswerItem>) => {
      const before = item;
      item = { ...item, ...more };
      if (this.items[at] === before) this.items[at] = item;
      this.touch();
    };
    this.publish();
    try {
      const response = await send("POST", "/v1/chat/completions", {
        headers: { ...headersOf(settings), "x-tollgate-conversation": this.id },
        body: {
          model: settings.model ?? settings.agent,
          messages,
          stream: true,
          stream_options: { include_usage: true },
        },
        signal: leaving.signal,
      });
      change({ answer: { ...item.answer, facts: factsOf(response.headers) } });
      for await (const { event, data } of events(response)) {
        if (event !== "comment") change({ answer: heard(item.answer, event, data) });
      }
      const brokeOff = item.answer.ended === null && item.answer.error === null;
      const error = brokeOff ? "the response ended unexpectedly" : item.answer.error;
      change({ answer: withResults({ ...item.answer, error }) });
    } catch (error) {
      if (leaving.signal.aborted) change({ stopped: true });
      else change({ answer: { ...item.answer, error: Problem.of(error).message } });
    }
    change({ took: performance.now() - began });
    if (this.leaving === leaving) this.leaving = undefined;
    this.publish();
  }

  private messages(): Message[] {
    return this.items.flatMap((item): Message[] =>
      item.kind === "user" ? [{ role: "user", content: item.text }] : messagesOf(item.answer),
    );
  }

  private last(): AnswerItem | undefined {
    const item = this.items.at(-1);
    return item?.kind === "answer" ? item : undefined;
  }

  /** Chunks arrive faster than frames. */
  private touch() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.publish());
  }

  private publish() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.state = {
      items: [...this.items],
      busy: this.leaving !== undefined,
      running: new Set(this.running),
    };
    for (const listener of this.listeners) listener();
  }
}

const EXECUTE = "/v1/mcp/tool/execute?format=chat";

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function headersOf(settings: Settings): Record<string, string> {
  const headers: Record<string, string> = { "x-tollgate-events": "true" };
  if (settings.agent) headers["x-tollgate-agent"] = settings.agent;
  if (settings.tier) headers["x-tollgate-tier"] = settings.tier;
  for (const { name, value } of settings.variables) {
    if (!NAME.test(name) || !value) continue;
    headers[`x-tollgate-var-${name.replaceAll("_", "-")}`] = asBytes(value);
  }
  return headers;
}

/** Header values are bytes: each UTF-8 byte becomes one character. */
function asBytes(text: string): string {
  const line = text.replace(/[\r\n\0]/g, " ");
  return String.fromCharCode(...new TextEncoder().encode(line));
}

const conversation = new Conversation();

export function useConversation(): { state: State; conversation: Conversation } {
  const state = useSyncExternalStore(conversation.subscribe, conversation.snapshot);
  return { state, conversation };
}
