// The conversation. It survives navigation to other pages, but is only in memory and gone with the
// tab.
import { useSyncExternalStore } from "react";
import { ApiError, call, send } from "../../api/client";
import { readEvents } from "../../api/sse";
import type { Tier } from "../../api/types";
import {
  type Answer,
  applyEvent,
  type ChatCall,
  EMPTY_ANSWER,
  factsOf,
  type Message,
  messagesOf,
  undecidedCalls,
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
  private controller: AbortController | undefined;
  private id = newId();
  private state: State = { items: [], busy: false, running: new Set() };
  private readonly listeners = new Set<() => void>();
  private frame = 0;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = () => this.state;

  send(text: string, settings: Settings) {
    this.items.push({ kind: "user", text });
    void this.requestAnswer(settings);
  }

  stop() {
    this.controller?.abort();
  }

  forget() {
    this.stop();
    this.items = [];
    this.running.clear();
    this.id = newId();
    this.publish();
  }

  /** Runs a returned call; after the last one the turn continues. */
  async run(toolCall: ChatCall, settings: Settings) {
    const item = this.last();
    if (!item || this.running.has(toolCall.id)) return;
    this.running.add(toolCall.id);
    this.publish();
    const began = performance.now();
    let [status, result] = ["ran", ""];
    try {
      const { name, arguments: args } = toolCall;
      const body = { id: toolCall.id, type: "function", function: { name, arguments: args } };
      const headers = headersOf(settings);
      const message = await call<{ content: unknown }>("POST", EXECUTE, { body, headers });
      result =
        typeof message.content === "string" ? message.content : JSON.stringify(message.content);
    } catch (error) {
      [status, result] = ["failed", ApiError.from(error).message];
    }
    this.running.delete(toolCall.id);
    const outcome = { status, result, duration_ms: performance.now() - began };
    this.settle(item.began, toolCall.id, outcome, settings);
  }

  /** Declines a returned call; the model is told. */
  decline(toolCall: ChatCall, settings: Settings) {
    const item = this.last();
    if (item) this.settle(item.began, toolCall.id, { status: "declined", result: null }, settings);
  }

  private settle(began: number, id: string, outcome: Partial<ChatCall>, settings: Settings) {
    // Found by its start time: a parallel call may have replaced the object.
    const at = this.items.findIndex((it) => it.kind === "answer" && it.began === began);
    const item = this.items[at];
    // The user may have started a new conversation.
    if (item?.kind !== "answer") return this.publish();
    const calls = item.answer.calls.map((it) =>
      it.id === id && it.status === "returned" ? { ...it, ...outcome } : it,
    );
    const updated = { ...item, answer: { ...item.answer, calls } };
    this.items[at] = updated;
    this.publish();
    if (undecidedCalls(updated.answer).length === 0) void this.requestAnswer(settings);
  }

  private async requestAnswer(settings: Settings) {
    const messages = this.messages();
    const began = performance.now();
    const controller = new AbortController();
    this.controller = controller;
    let item: AnswerItem = {
      kind: "answer",
      answer: EMPTY_ANSWER,
      began,
      took: null,
      stopped: false,
    };
    this.items.push(item);
    const at = this.items.length - 1;
    const change = (more: Partial<AnswerItem>) => {
      const before = item;
      item = { ...item, ...more };
      if (this.items[at] === before) this.items[at] = item;
      this.publishSoon();
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
        signal: controller.signal,
      });
      change({ answer: { ...item.answer, facts: factsOf(response.headers) } });
      for await (const { event, data } of readEvents(response)) {
        if (event !== "comment") change({ answer: applyEvent(item.answer, event, data) });
      }
      const truncated = item.answer.ended === null && item.answer.error === null;
      const error = truncated ? "the response ended unexpectedly" : item.answer.error;
      change({ answer: withResults({ ...item.answer, error }) });
    } catch (error) {
      if (controller.signal.aborted) change({ stopped: true });
      else change({ answer: { ...item.answer, error: ApiError.from(error).message } });
    }
    change({ took: performance.now() - began });
    if (this.controller === controller) this.controller = undefined;
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
  private publishSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.publish());
  }

  private publish() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.state = {
      items: [...this.items],
      busy: this.controller !== undefined,
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

export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function headersOf(settings: Settings): Record<string, string> {
  const headers: Record<string, string> = { "x-tollgate-events": "true" };
  if (settings.agent) headers["x-tollgate-agent"] = settings.agent;
  if (settings.tier) headers["x-tollgate-tier"] = settings.tier;
  for (const { name, value } of settings.variables) {
    if (!VARIABLE_NAME.test(name) || !value) continue;
    headers[`x-tollgate-var-${name.replaceAll("_", "-")}`] = toHeaderValue(value);
  }
  return headers;
}

/** Header values are bytes: each UTF-8 byte becomes one character. */
function toHeaderValue(text: string): string {
  const line = text.replace(/[\r\n\0]/g, " ");
  return String.fromCharCode(...new TextEncoder().encode(line));
}

const conversation = new Conversation();

export function useConversation(): { state: State; conversation: Conversation } {
  const state = useSyncExternalStore(conversation.subscribe, conversation.snapshot);
  return { state, conversation };
}
