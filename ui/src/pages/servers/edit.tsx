// Edits the config of a server as a form or as JSON. It can be tested, and is reviewed before saving.
import { useMemo, useState } from "react";
import { path } from "../../api/client";
import type { Diagnostic, ServerConfig, ServerDetail } from "../../api/types";
import { Tabs } from "../../kit/basics";
import { Dialog } from "../../kit/dialog";
import { TextEditor } from "../../kit/editor";
import { type ConfigChange, Diagnostics, ReviewChange } from "../../kit/review-change";
import { normalize } from "./config";
import { ServerForm } from "./form";
import { TrialView, useTrial } from "./trial";

type Tab = "form" | "json";

export function EditServer(props: { of: ServerDetail; close: () => void }) {
  const { of } = props;
  const [input, setInput] = useState<ConfigInput>(() => inputOf(of.config ?? {}));
  const [tab, setTab] = useState<Tab>("form");
  const [reviewing, setReviewing] = useState<ServerConfig>();
  const { trial, start: begin, stop } = useTrial();
  const change = useMemo<ConfigChange>(
    () => ({ method: "PUT", path: path("api", "servers", of.id), body: reviewing }),
    [of.id, reviewing],
  );
  const keys = normalize(input.keys);
  const startTrial = () => void begin(of.id, keys);
  const unchanged = JSON.stringify(keys) === JSON.stringify(of.config);
  return (
    <>
      <Dialog
        placement="side"
        title={`Edit ${of.id}`}
        close={props.close}
        actions={
          <>
            <button type="button" onClick={props.close}>
              Cancel
            </button>
            <button type="button" disabled={trial.running || !!input.error} onClick={startTrial}>
              Test
            </button>
            <button
              type="button"
              className="primary"
              disabled={unchanged || !!input.error}
              onClick={() => setReviewing(keys)}
            >
              Review changes…
            </button>
          </>
        }
      >
        <ConfigEditor input={input} change={setInput} tab={tab} choose={setTab} />
        <p className="help">
          Secrets are masked as <code>"***…"</code>. Leave them unchanged to keep their values.
        </p>
        {(trial.running || trial.report || trial.problem) && (
          <TrialView of={trial} stop={stop} retry={startTrial} />
        )}
      </Dialog>
      {reviewing && (
        <ReviewChange
          title={`Changes to ${of.id}`}
          action="Save"
          change={change}
          version={of.version}
          original={of}
          close={() => setReviewing(undefined)}
          onSaved={props.close}
        />
      )}
    </>
  );
}

export interface ConfigInput {
  keys: ServerConfig;
  /** The JSON as typed; it may be invalid. */
  json: string;
  error?: Diagnostic;
}

export function inputOf(keys: ServerConfig): ConfigInput {
  return { keys, json: JSON.stringify(keys, null, 2) };
}

/** Parses the typed JSON; an error has its position. */
export function parseInput(before: ConfigInput, json: string): ConfigInput {
  try {
    const keys: unknown = JSON.parse(json);
    if (typeof keys === "object" && keys !== null && !Array.isArray(keys)) {
      return { keys: keys as ServerConfig, json };
    }
    return { ...before, json, error: syntaxError('expected an object: { "command": … }', 1, 1) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const position = Number(/position (\d+)/.exec(message)?.[1] ?? json.length);
    const linesBefore = json.slice(0, position).split("\n");
    const reason = message.replace(/ at position.*| \(line.*/s, "").replace(/^JSON\.parse: /, "");
    return {
      ...before,
      json,
      error: syntaxError(
        `invalid JSON: ${reason}`,
        linesBefore.length,
        (linesBefore.at(-1)?.length ?? 0) + 1,
      ),
    };
  }
}

function syntaxError(message: string, line: number, column: number): Diagnostic {
  const range = { line, column, end_line: line, end_column: column };
  return { severity: "error", message, key: null, help: [], ...range };
}

/** Two tabs for the same config: form and JSON. */
export function ConfigEditor(props: {
  input: ConfigInput;
  change: (typed: ConfigInput) => void;
  tab: Tab;
  choose: (tab: Tab) => void;
  /** A field lost the focus. */
  onBlur?: () => void;
}) {
  const { input, change, tab } = props;
  return (
    <>
      <Tabs
        label="Editor"
        tabs={[
          { id: "form", title: "Form" },
          { id: "json", title: "JSON" },
        ]}
        chosen={tab}
        choose={props.choose}
      />
      {tab === "form" && input.error && (
        <div className="note warn">The JSON is invalid. The form shows the last valid version.</div>
      )}
      {tab === "form" ? (
        <ServerForm
          keys={input.keys}
          change={(keys) => change(inputOf(keys))}
          onBlur={props.onBlur}
        />
      ) : (
        <>
          <TextEditor
            label="Server config as JSON"
            text={input.json}
            change={(json) => change(parseInput(input, json))}
            diagnostics={input.error ? [input.error] : []}
          />
          <Diagnostics of={input.error ? [input.error] : []} />
        </>
      )}
    </>
  );
}
