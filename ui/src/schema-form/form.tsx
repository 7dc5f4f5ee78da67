// Input for a JSON Schema: either as a form or as JSON. The JSON shown is sent byte by byte.
import { useId, useState } from "react";
import type { Schema } from "../api/types";
import { visible } from "../kit/foreign";
import { count } from "../kit/words";
import { Surroundings } from "./context";
import { begin, type Draft, drafted, opened, whyNot, written } from "./draft";
import { parse } from "./json";
import { Node } from "./node";
import { type Placed, placed } from "./places";
import { shape } from "./shape";
import "../style/schema-form.css";

export interface Edit {
  mode: "form" | "json";
  draft: Draft | undefined;
  text: string;
}

/** The exact JSON to send, or the errors that prevent it. */
export interface Sendable {
  text: string | undefined;
  said: Placed;
}

export function beginEdit(schema: Schema, root: Schema = schema): Edit {
  return { mode: "form", draft: begin(root, schema) ?? undefined, text: "" };
}

/** Starts from an existing value, given as JSON. */
export function editOf(text: string, schema: Schema, root: Schema = schema): Edit {
  return inForm({ mode: "json", draft: undefined, text }, schema, root);
}

export function sendable(edit: Edit): Sendable {
  if (edit.mode === "form") {
    const { text, wrong } = written(edit.draft);
    return { text, said: placed(wrong) };
  }
  if (edit.text.trim() === "") return { text: undefined, said: new Map() };
  try {
    parse(edit.text);
    return { text: edit.text, said: new Map() };
  } catch (error) {
    return { text: undefined, said: new Map([["", whyNot(error)]]) };
  }
}

function inForm(edit: Edit, schema: Schema, root: Schema): Edit {
  if (edit.text.trim() === "") return { mode: "form", draft: undefined, text: "" };
  return { mode: "form", draft: drafted(root, schema, parse(edit.text)), text: "" };
}

/** `undefined` if the form has errors. */
function inJson(edit: Edit): Edit | undefined {
  const { text, wrong } = written(edit.draft);
  return wrong.length > 0 ? undefined : { mode: "json", draft: undefined, text: text ?? "" };
}

export function SchemaForm(props: {
  schema: Schema;
  /** The document that references are resolved against; by default the schema itself. */
  root?: Schema;
  edit: Edit;
  change: (edit: Edit) => void;
  /** Validation errors of the gateway. */
  said?: Placed;
  label: string;
  /** `fields`: no JSON view, because the input is not sent as a JSON body. */
  shows?: "fields";
}) {
  const { schema, edit, change } = props;
  const root = props.root ?? schema;
  const id = useId();
  const [stuck, setStuck] = useState<string>();
  const { text, said } = sendable(edit);
  const choose = (mode: Edit["mode"]) => {
    setStuck(undefined);
    if (mode === edit.mode) return;
    try {
      const next = mode === "form" ? inForm(edit, schema, root) : inJson(edit);
      if (next) change(next);
      else setStuck("Some fields are invalid. Fix the marked fields to switch to JSON.");
    } catch {
      setStuck("Invalid JSON. Fix it to switch to the form.");
    }
  };
  const words: Placed = new Map([...(props.said ?? []), ...said]);
  return (
    <div className="sf" role="group" aria-label={props.label}>
      {props.shows !== "fields" && (
        <div className="switch sf-modes">
          <Mode mode="form" now={edit.mode} choose={choose}>
            Form
          </Mode>
          <Mode mode="json" now={edit.mode} choose={choose}>
            JSON
          </Mode>
        </div>
      )}
      {stuck && (
        <p className="error" role="alert">
          {stuck}
        </p>
      )}
      {edit.mode === "form" ? (
        <Surroundings value={{ root, said: words, id }}>
          <Whole schema={schema} root={root} edit={edit} change={change} said={words} />
          {props.shows !== "fields" && <Bytes text={text} />}
        </Surroundings>
      ) : (
        <ByHand id={id} label={props.label} edit={edit} change={change} said={words} />
      )}
    </div>
  );
}

function Mode(props: {
  mode: Edit["mode"];
  now: Edit["mode"];
  choose: (mode: Edit["mode"]) => void;
  children: string;
}) {
  return (
    <button
      type="button"
      className="small"
      aria-pressed={props.mode === props.now}
      onClick={() => props.choose(props.mode)}
    >
      {props.children}
    </button>
  );
}

function Whole(props: {
  schema: Schema;
  root: Schema;
  edit: Edit;
  change: (edit: Edit) => void;
  said: Placed;
}) {
  const { schema, root, edit, change } = props;
  const isObject = shape(root, schema).kind.is === "object";
  const set = (draft: Draft | undefined) => change({ mode: "form", draft, text: "" });
  const error = props.said.get("");
  return (
    <>
      <Node
        schema={schema}
        required={false}
        label="value"
        path={[]}
        inside={isObject}
        draft={isObject ? (edit.draft ?? opened(root, schema)) : edit.draft}
        change={set}
      />
      {error && isObject && (
        <p className="error" role="alert">
          {visible(error)}
        </p>
      )}
    </>
  );
}

function Bytes(props: { text: string | undefined }) {
  if (props.text === undefined) return null;
  const size = new TextEncoder().encode(props.text).length;
  return (
    <details className="sf-bytes">
      <summary>JSON payload ({count(size, "byte")})</summary>
      <pre tabIndex={0} role="region" aria-label="JSON payload">
        {props.text}
      </pre>
    </details>
  );
}

function ByHand(props: {
  id: string;
  label: string;
  edit: Edit;
  change: (edit: Edit) => void;
  said: Placed;
}) {
  const words = [...props.said].map(([place, said]) => (place ? `${place}: ${said}` : said));
  return (
    <div className="sf-place">
      <textarea
        className="mono"
        rows={10}
        spellCheck={false}
        aria-label={`${props.label} as JSON`}
        aria-invalid={words.length > 0 || undefined}
        aria-describedby={words.length > 0 ? `${props.id}-wrong` : undefined}
        value={props.edit.text}
        onChange={(event) =>
          props.change({ mode: "json", draft: undefined, text: event.target.value })
        }
      />
      {words.length > 0 && (
        <p className="error" role="alert" id={`${props.id}-wrong`}>
          {visible(words.join("; "))}
        </p>
      )}
    </div>
  );
}
