// The configure step: name, required settings and connection. Secrets stay out of the config unless
// the user stores them there.
import { useState } from "react";
import type { Imported } from "../../../api/types";
import { Field, Panel } from "../../../kit/basics";
import { Foreign } from "../../../kit/foreign";
import { KeysEditor, type Typed, written } from "../edit";
import { badName, commandLine, kindOf, text } from "../keys";
import { Dropped } from "./choose";
import { type Draft, lift, missing, type Place, variables } from "./draft";
import { Exports } from "./exports";

export function Fill(props: {
  draft: Draft;
  taken: readonly string[];
  dropped: Imported["dropped"];
  change: (draft: Draft) => void;
  back: () => void;
  next: () => void;
}) {
  const { draft, change } = props;
  const [typed, setTyped] = useState<Typed>(() => written(draft.keys));
  const [tab, setTab] = useState<"form" | "json">("form");
  const put = (next: Draft) => {
    change(next);
    if (next.keys !== typed.keys) setTyped(written(next.keys));
  };
  const wrong =
    badName(draft.name) ??
    (props.taken.includes(draft.name) ? "A server with this name already exists" : undefined);
  const reach = kindOf(draft.keys) === "url" ? text(draft.keys, "url") : commandLine(draft.keys);
  const unknown = missing(draft);
  const ready = !wrong && reach.trim() !== "" && unknown.length === 0 && !typed.mistake;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        put(lift(draft));
        if (ready) props.next();
      }}
    >
      <Panel title="Name">
        {draft.notes.map((note) => (
          <div key={note} className="note">
            <Foreign text={note} clip={400} />
          </div>
        ))}
        <Field
          label="Name"
          error={wrong}
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
      <Secrets draft={draft} change={change} />
      <Panel title="Connection">
        <KeysEditor
          typed={typed}
          tab={tab}
          choose={setTab}
          change={(next) => {
            setTyped(next);
            if (!next.mistake) change({ ...draft, keys: next.keys });
          }}
          left={() => put(lift(draft))}
        />
      </Panel>
      <Dropped of={props.dropped} />
      <div className="bar">
        <button type="button" onClick={props.back}>
          Back
        </button>
        <button type="submit" className="primary" disabled={!ready}>
          Test
        </button>
        {unknown.length > 0 && <span className="quiet">Missing: {unknown.join(", ")}</span>}
      </div>
    </form>
  );
}

function Secrets(props: { draft: Draft; change: (draft: Draft) => void }) {
  const { draft, change } = props;
  const all = variables(draft);
  if (all.length === 0) return null;
  const outside = all.some((it) => it.place === "environment");
  return (
    <Panel title="Required settings">
      {all.map((it) => (
        <div key={it.name} className="secret">
          <Field
            label={it.name}
            help={it.description && <Foreign text={it.description} clip={300} />}
          >
            {(id) => (
              <input
                id={id}
                className="mono"
                type={it.secret ? "password" : "text"}
                autoComplete="off"
                spellCheck={false}
                placeholder={
                  it.place === "environment" ? "Empty: use the gateway's environment" : ""
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
                value={it.place}
                onChange={(event) => {
                  const place = event.target.value as Place;
                  change({ ...draft, places: { ...draft.places, [it.name]: place } });
                }}
              >
                <option value="environment">Gateway environment</option>
                <option value="config">Config file</option>
              </select>
            )}
          </Field>
        </div>
      ))}
      {outside && (
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
