// Sends one request and shows the response while it arrives; streams may never end.
import { send } from "../../api/client";

export interface ResponseState {
  ended: boolean;
  took_ms: number;
  status?: number;
  type: string;
  etag: string | null;
  size: number;
  /** Pretty-printed. */
  text: string;
  truncated: boolean;
  problem?: string;
}

export interface RequestInput {
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string | undefined;
}

/** Limits of shown characters and of bytes that are read. */
const MAX_CHARS = 200_000;
const MAX_BYTES = 8 * 1024 * 1024;

export async function sendRequest(
  order: RequestInput,
  signal: AbortSignal,
  show: (got: ResponseState) => void,
) {
  const began = performance.now();
  let state: ResponseState = {
    ended: false,
    took_ms: 0,
    type: "",
    etag: null,
    size: 0,
    text: "",
    truncated: false,
  };
  const set = (more: Partial<ResponseState>) => {
    state = { ...state, ...more };
    show(state);
  };
  set({});
  try {
    const { method, path, headers, text } = order;
    const response = await send(method, path, {
      headers,
      text,
      signal,
      errorResponses: "returned",
    });
    set({
      took_ms: performance.now() - began,
      status: response.status,
      type: response.headers.get("content-type") ?? "no body",
      etag: response.headers.get("etag"),
    });
    await readBody(response, set);
  } catch (error) {
    if (!signal.aborted) set({ problem: error instanceof Error ? error.message : String(error) });
  }
  set({ ended: true });
}

async function readBody(response: Response, set: (more: Partial<ResponseState>) => void) {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  let renderedAt = 0;
  for (;;) {
    const { done, value } = await reader.read();
    size += value?.length ?? 0;
    if (text.length < MAX_CHARS) text += decoder.decode(value, { stream: !done });
    const now = performance.now();
    if (done || now - renderedAt > 50) {
      renderedAt = now;
      const cut = text.length > MAX_CHARS;
      set({
        size,
        truncated: cut,
        text: done ? pretty(text.slice(0, MAX_CHARS)) : text.slice(0, MAX_CHARS),
      });
    }
    if (done) return;
    if (size > MAX_BYTES) {
      set({ truncated: true });
      await reader.cancel();
      return;
    }
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
