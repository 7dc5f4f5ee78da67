// Toasts: short notifications that disappear after a few seconds.
import { useLayoutEffect, useRef, useSyncExternalStore } from "react";
import { ApiError } from "../api/client";

interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

let toasts: Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function publish(next: Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

export function showToast(text: string, tone: Toast["tone"] = "good") {
  lastId += 1;
  const toast = { id: lastId, text, tone };
  publish([...toasts.slice(-3), toast]);
  setTimeout(
    () => publish(toasts.filter((it) => it.id !== toast.id)),
    tone === "bad" ? 10_000 : 4000,
  );
}

export function showError(error: unknown) {
  showToast(ApiError.from(error).message, "bad");
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  const box = useRef<HTMLDivElement>(null);
  const newest = shown.at(-1)?.id;
  // The top layer is ordered by opening time: reopen the popover so that it lies above dialogs.
  useLayoutEffect(() => {
    if (newest === undefined) return;
    box.current?.hidePopover();
    box.current?.showPopover();
  }, [newest]);
  return (
    <div ref={box} popover="manual" className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={`toast ${toast.tone}`}>
          {toast.text}
        </div>
      ))}
    </div>
  );
}
