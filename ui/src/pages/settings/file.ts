// The config file and the unsaved edits. Edits survive navigation to other pages and changes of the
// file by others.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, call, get, send } from "../../api/client";
import type { ChangeResult, Diagnostic } from "../../api/types";

export interface ConfigFile {
  /** `null` while the built-in defaults are used. */
  file: string | null;
  writable: boolean;
  text: string;
  version: string;
}

async function read(signal: AbortSignal): Promise<ConfigFile> {
  const [about, response] = await Promise.all([
    get<{ file: string | null; writable?: boolean }>("/api/config?format=json", signal),
    send("GET", "/api/config", { signal }),
  ]);
  const version = response.headers.get("etag")?.replaceAll('"', "") ?? "";
  const text = await response.text();
  return { file: about.file, writable: about.writable ?? true, text, version };
}

export function useConfigFile() {
  return useQuery<ConfigFile, ApiError>({
    queryKey: ["api", "config", "text"],
    queryFn: ({ signal }) => read(signal),
    refetchInterval: 10_000,
  });
}

export interface Draft {
  /** The version the edits are based on. */
  base: ConfigFile;
  text: string;
}

let savedDraft: Draft | undefined;

/** The edits; follows the file while there are none. */
export function useDraft(file: ConfigFile) {
  const [draft, setDraft] = useState<Draft>(savedDraft ?? { base: file, text: file.text });
  const dirty = draft.text !== draft.base.text;
  const update = (next: Draft) => {
    savedDraft = next.text === next.base.text ? undefined : next;
    setDraft(next);
  };
  const seen = useRef(file);
  useEffect(() => {
    if (dirty || seen.current === file) return;
    seen.current = file;
    setDraft({ base: file, text: file.text });
  }, [file, dirty]);
  useEffect(() => {
    if (!dirty) return;
    const warnUnsaved = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warnUnsaved);
    return () => removeEventListener("beforeunload", warnUnsaved);
  }, [dirty]);
  return { draft, dirty, update, conflict: dirty && file.version !== draft.base.version };
}

export interface CheckedText {
  text: string;
  diagnostics: Diagnostic[];
  problem?: ApiError;
  changed?: ChangeResult;
}

const DEBOUNCE_MS = 350;

/** Validates a text on the gateway, debounced. */
export function useCheck(text: string): CheckedText | undefined {
  const [checked, setChecked] = useState<CheckedText>();
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      check(text, controller.signal).then(setChecked, () => undefined);
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  return checked;
}

async function check(text: string, signal: AbortSignal): Promise<CheckedText> {
  const headers = { "content-type": "application/yaml" };
  try {
    const changed = await call<ChangeResult>("POST", "/api/config/check", {
      text,
      headers,
      signal,
    });
    return { text, changed, diagnostics: changed.report.diagnostics };
  } catch (error) {
    if (signal.aborted) throw error;
    const problem = ApiError.from(error);
    const { errors } = problem.more;
    return Array.isArray(errors)
      ? { text, diagnostics: errors as Diagnostic[] }
      : { text, diagnostics: [], problem };
  }
}
