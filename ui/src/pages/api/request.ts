// Sends one request and shows the response while it arrives; streams may never end.
import { send } from "../../api/client";

export interface Got {
  ended: boolean;
  took_ms: number;
  status?: number;
  type: string;
  etag: string | null;
  size: number;
  /** Pretty-printed. */
  text: string;
  cut: boolean;
  problem?: string;
}

export interface Order {
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string | undefined;
}

/** Limits of shown characters and of bytes that are read. */
const SHOWN = 200_000;
const READ = 8 * 1024 * 1024;

export async function request(order: Order, signal: AbortSignal, show: (got: Got) => void) {
  const began = performance.now();
  let got: Got = { ended: false, took_ms: 0, type: "", etag: null, size: 0, text: "", cut: false };
  const set = (more: Partial<Got>) => {
    got = { ...got, ...more };
    show(got);
  };
  set({});
  try {
    const { method, path, headers, text } = order;
    const response = await send(method, path, { headers, text, signal, refusals: "returned" });
    set({
      took_ms: performance.now() - began,
      status: response.status,
      type: response.headers.get("content-type") ?? "no body",
      etag: response.headers.get("etag"),
    });
    await read(response, set);
  } catch (error) {
    if (!signal.aborted) set({ problem: error instanceof Error ? error.message : String(error) });
  }
  set({ ended: true });
}

async function read(response: Response, set: (more: Partial<Got>) => void) {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  let drawn = 0;
  for (;;) {
    const { done, value } = await reader.read();
    size += value?.length ?? 0;
    if (text.length < SHOWN) text += decoder.decode(value, { stream: !done });
    const now = performance.now();
    if (done || now - drawn > 50) {
      drawn = now;
      const cut = text.length > SHOWN;
      set({ size, cut, text: done ? pretty(text.slice(0, SHOWN)) : text.slice(0, SHOWN) });
    }
    if (done) return;
    if (size > READ) {
      set({ cut: true });
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
