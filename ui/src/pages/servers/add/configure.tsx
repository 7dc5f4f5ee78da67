// The configure step: name, required settings and connection. Secrets stay out of the config unless
// the user stores them there.
import { useState } from "react";
import type { ImportResult } from "../../../api/types";
import { Field, Panel } from "../../../kit/basics";
import { UntrustedText } from "../../../kit/untrusted";
import { commandLine, kindOf, textAt, validateName } from "../config";
import { ConfigEditor, type ConfigInput, inputOf } from "../edit";
import { NotImported } from "./choose";
import {
  extractDraftSecrets,
  missingValues,
  type SecretStorage,
  type ServerDraft,
  variables,
} from "./draft";
import { Exports } from "./exports";

export function ConfigureServer(props: {
  draft: ServerDraft;
  takenNames: readonly string[];
  dropped: ImportResult["dropped"];
  change: (draft: ServerDraft) => void;
  back: () => void;
  next: () => void;
}) {
  const { draft, change } = props;
  const [input, setInput] = useState<ConfigInput>(() => inputOf(draft.keys));
  const [tab, setTab] = useState<"form" | "json">("form");
  const update = (next: ServerDraft) => {
    change(next);
    if (next.keys !== input.keys) setInput(inputOf(next.keys));
  };
  const nameError =
    validateName(draft.name) ??
    (props.takenNames.includes(draft.name) ? "A server with this name already exists" : undefined);
  const target = kindOf(draft.keys) === "url" ? textAt(draft.keys, "url") : commandLine(draft.keys);
  const missing = missingValues(draft);
  const ready = !nameError && target.trim() !== "" && missing.length === 0 && !input.error;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        update(extractDraftSecrets(draft));
        if (ready) props.next();
      }}
    >
      <Panel title="Name">
        {draft.notes.map((note) => (
          <div key={note} className="note">
            <UntrustedText text={note} clip={400} />
          </div>
        ))}
        <Field
          label="Name"
          error={nameError}
          help="Prefix of its tools, e.g. files_read. Keep it short."
        >
          {(id) => (
            <input
              id={id}
              className="mono"
              value={draft.name}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => change({ ...draft, name: event.target.value })}
            />
          )}
        </Field>
      </Panel>
      <RequiredSettings draft={draft} change={change} />
      <Panel title="Connection">
        <ConfigEditor
          input={input}
          tab={tab}
          choose={setTab}
          change={(next) => {
            setInput(next);
            if (!next.error) change({ ...draft, keys: next.keys });
          }}
          onBlur={() => update(extractDraftSecrets(draft))}
        />
      </Panel>
      <NotImported of={props.dropped} />
      <div className="bar">
        <button type="button" onClick={props.back}>
          Back
        </button>
        <button type="submit" className="primary" disabled={!ready}>
          Test
        </button>
        {missing.length > 0 && <span className="quiet">Missing: {missing.join(", ")}</span>}
      </div>
    </form>
  );
}

function RequiredSettings(props: { draft: ServerDraft; change: (draft: ServerDraft) => void }) {
  const { draft, change } = props;
  const all = variables(draft);
  if (all.length === 0) return null;
  const hasEnvironment = all.some((it) => it.storedIn === "environment");
  return (
    <Panel title="Required settings">
      {all.map((it) => (
        <div key={it.name} className="secret">
          <Field
            label={it.name}
            help={it.description && <UntrustedText text={it.description} clip={300} />}
          >
            {(id) => (
              <input
                id={id}
                className="mono"
                type={it.secret ? "password" : "text"}
                autoComplete="off"
                spellCheck={false}
                placeholder={
                  it.storedIn === "environment" ? "Empty: use the gateway's environment" : ""
                }
                value={draft.values[it.name] ?? ""}
                onChange={(event) =>
                  change({ ...draft, values: { ...draft.values, [it.name]: event.target.value } })
                }
              />
            )}
          </Field>
          <Field label={`Store ${it.name} in`}>
            {(id) => (
              <select
                id={id}
                value={it.storedIn}
                onChange={(event) => {
                  const storage = event.target.value as SecretStorage;
                  change({ ...draft, storage: { ...draft.storage, [it.name]: storage } });
                }}
              >
                <option value="environment">Gateway environment</option>
                <option value="config">Config file</option>
              </select>
            )}
          </Field>
        </div>
      ))}
      {hasEnvironment && (
        <>
          <p className="help">
            The config only references {all.length === 1 ? "this variable" : "these variables"}. Set{" "}
            {all.length === 1 ? "it" : "them"} in the environment that the gateway is started from:
          </p>
          <Exports of={draft} />
        </>
      )}
    </Panel>
  );
}
