// The config file and the unsaved edits. Edits survive navigation to other pages and changes of the
// file by others.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { call, get, Problem, send } from "../../api/client";
import type { Changed, Mistake } from "../../api/types";

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
  return useQuery<ConfigFile, Problem>({
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

let kept: Draft | undefined;

/** The edits; follows the file while there are none. */
export function useDraft(file: ConfigFile) {
  const [draft, setDraft] = useState<Draft>(kept ?? { base: file, text: file.text });
  const dirty = draft.text !== draft.base.text;
  const put = (next: Draft) => {
    kept = next.text === next.base.text ? undefined : next;
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
    const leaving = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, [dirty]);
  return { draft, dirty, put, conflict: dirty && file.version !== draft.base.version };
}

export interface Checked {
  text: string;
  mistakes: Mistake[];
  problem?: Problem;
  changed?: Changed;
}

const PAUSE = 350;

/** Validates a text on the gateway, debounced. */
export function useChecked(text: string): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  useEffect(() => {
    const away = new AbortController();
    const timer = setTimeout(() => {
      check(text, away.signal).then(setChecked, () => undefined);
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      away.abort();
    };
  }, [text]);
  return checked;
}

async function check(text: string, signal: AbortSignal): Promise<Checked> {
  const headers = { "content-type": "application/yaml" };
  try {
    const changed = await call<Changed>("POST", "/api/config/check", { text, headers, signal });
    return { text, changed, mistakes: changed.report.diagnostics };
  } catch (error) {
    if (signal.aborted) throw error;
    const problem = Problem.of(error);
    const { errors } = problem.more;
    return Array.isArray(errors)
      ? { text, mistakes: errors as Mistake[] }
      : { text, mistakes: [], problem };
  }
}
