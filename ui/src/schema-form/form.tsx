// Input for a JSON Schema: either as a form or as JSON. The JSON shown is sent byte by byte.
import { useId, useState } from "react";
import type { Schema } from "../api/types";
import { count } from "../kit/format";
import { escapeHidden } from "../kit/untrusted";
import { FormContext } from "./context";
import {
  type Draft,
  describeJsonError,
  draftFromJson,
  initialDraft,
  openDraft,
  serializeDraft,
} from "./draft";
import { parseJson } from "./json";
import { SchemaField } from "./node";
import { type ErrorsByPath, groupErrors } from "./paths";
import { shapeOf } from "./shape";
import "../style/schema-form.css";

export interface Edit {
  mode: "form" | "json";
  draft: Draft | undefined;
  text: string;
}

/** The exact JSON to send, or the errors that prevent it. */
export interface Payload {
  text: string | undefined;
  errors: ErrorsByPath;
}

export function initialEdit(schema: Schema, root: Schema = schema): Edit {
  return { mode: "form", draft: initialDraft(root, schema) ?? undefined, text: "" };
}

/** Starts from an existing value, given as JSON. */
export function editOf(text: string, schema: Schema, root: Schema = schema): Edit {
  return toFormMode({ mode: "json", draft: undefined, text }, schema, root);
}

export function payloadOf(edit: Edit): Payload {
  if (edit.mode === "form") {
    const { text, errors } = serializeDraft(edit.draft);
    return { text, errors: groupErrors(errors) };
  }
  if (edit.text.trim() === "") return { text: undefined, errors: new Map() };
  try {
    parseJson(edit.text);
    return { text: edit.text, errors: new Map() };
  } catch (error) {
    return { text: undefined, errors: new Map([["", describeJsonError(error)]]) };
  }
}

function toFormMode(edit: Edit, schema: Schema, root: Schema): Edit {
  if (edit.text.trim() === "") return { mode: "form", draft: undefined, text: "" };
  return { mode: "form", draft: draftFromJson(root, schema, parseJson(edit.text)), text: "" };
}

/** `undefined` if the form has errors. */
function toJsonMode(edit: Edit): Edit | undefined {
  const { text, errors } = serializeDraft(edit.draft);
  return errors.length > 0 ? undefined : { mode: "json", draft: undefined, text: text ?? "" };
}

export function SchemaForm(props: {
  schema: Schema;
  /** The document that references are resolved against; by default the schema itself. */
  root?: Schema;
  edit: Edit;
  change: (edit: Edit) => void;
  /** Validation errors of the gateway. */
  gatewayErrors?: ErrorsByPath;
  label: string;
  /** `fields`: no JSON view, because the input is not sent as a JSON body. */
  shows?: "fields";
}) {
  const { schema, edit, change } = props;
  const root = props.root ?? schema;
  const id = useId();
  const [switchError, setSwitchError] = useState<string>();
  const { text, errors } = payloadOf(edit);
  const choose = (mode: Edit["mode"]) => {
    setSwitchError(undefined);
    if (mode === edit.mode) return;
    try {
      const next = mode === "form" ? toFormMode(edit, schema, root) : toJsonMode(edit);
      if (next) change(next);
      else setSwitchError("Some fields are invalid. Fix the marked fields to switch to JSON.");
    } catch {
      setSwitchError("Invalid JSON. Fix it to switch to the form.");
    }
  };
  const allErrors: ErrorsByPath = new Map([...(props.gatewayErrors ?? []), ...errors]);
  return (
    <div className="sf" role="group" aria-label={props.label}>
      {props.shows !== "fields" && (
        <div className="switch sf-modes">
          <ModeButton mode="form" now={edit.mode} choose={choose}>
            Form
          </ModeButton>
          <ModeButton mode="json" now={edit.mode} choose={choose}>
            JSON
          </ModeButton>
        </div>
      )}
      {switchError && (
        <p className="error" role="alert">
          {switchError}
        </p>
      )}
      {edit.mode === "form" ? (
        <FormContext value={{ root, errors: allErrors, id }}>
          <RootField schema={schema} root={root} edit={edit} change={change} errors={allErrors} />
          {props.shows !== "fields" && <PayloadPreview text={text} />}
        </FormContext>
      ) : (
        <JsonEditor id={id} label={props.label} edit={edit} change={change} errors={allErrors} />
      )}
    </div>
  );
}

function ModeButton(props: {
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

function RootField(props: {
  schema: Schema;
  root: Schema;
  edit: Edit;
  change: (edit: Edit) => void;
  errors: ErrorsByPath;
}) {
  const { schema, root, edit, change } = props;
  const isObject = shapeOf(root, schema).kind.is === "object";
  const set = (draft: Draft | undefined) => change({ mode: "form", draft, text: "" });
  const error = props.errors.get("");
  return (
    <>
      <SchemaField
        schema={schema}
        required={false}
        label="value"
        path={[]}
        bare={isObject}
        draft={isObject ? (edit.draft ?? openDraft(root, schema)) : edit.draft}
        change={set}
      />
      {error && isObject && (
        <p className="error" role="alert">
          {escapeHidden(error)}
        </p>
      )}
    </>
  );
}

function PayloadPreview(props: { text: string | undefined }) {
  if (props.text === undefined) return null;
  const size = new TextEncoder().encode(props.text).length;
  return (
    <details className="sf-payload">
      <summary>JSON payload ({count(size, "byte")})</summary>
      <pre tabIndex={0} role="region" aria-label="JSON payload">
        {props.text}
      </pre>
    </details>
  );
}

function JsonEditor(props: {
  id: string;
  label: string;
  edit: Edit;
  change: (edit: Edit) => void;
  errors: ErrorsByPath;
}) {
  const messages = [...props.errors].map(([path, message]) =>
    path ? `${path}: ${message}` : message,
  );
  return (
    <div className="sf-field">
      <textarea
        className="mono"
        rows={10}
        spellCheck={false}
        aria-label={`${props.label} as JSON`}
        aria-invalid={messages.length > 0 || undefined}
        aria-describedby={messages.length > 0 ? `${props.id}-error` : undefined}
        value={props.edit.text}
        onChange={(event) =>
          props.change({ mode: "json", draft: undefined, text: event.target.value })
        }
      />
      {messages.length > 0 && (
        <p className="error" role="alert" id={`${props.id}-error`}>
          {escapeHidden(messages.join("; "))}
        </p>
      )}
    </div>
  );
}
