// Composite fields: objects and maps, lists, and alternatives.
import { type ReactNode, useState } from "react";
import { count } from "../kit/format";
import { escapeHidden } from "../kit/untrusted";
import { type FieldProps, useFormContext } from "./context";
import { type Draft, initialDraft, openDraft } from "./draft";
import { SchemaField } from "./node";
import type { Kind } from "./shape";

type Fields = [string, Draft | undefined][];

type GroupProps<K extends Kind["is"]> = FieldProps & { kind: Extract<Kind, { is: K }>; id: string };

/** More fields are shown on demand. */
const MAX_FIELDS = 60;

export function ObjectGroup(group: GroupProps<"object">) {
  const { kind, draft, change, path, id } = group;
  const [all, setAll] = useState(false);
  const fields: Fields = draft?.type === "object" ? draft.fields : [];
  const known = new Set(kind.fields.map((it) => it.name));
  const write = (next: Fields) => change({ type: "object", fields: next });
  const set = (name: string, value: Draft | undefined) => {
    const others = fields.filter(([it]) => it !== name);
    const now: Fields = value === undefined ? others : [...others, [name, value]];
    // Keep the order of the schema, not the order of input.
    const values = new Map(now);
    const first = kind.fields.filter((it) => values.has(it.name));
    const rest = now.filter(([it]) => !known.has(it));
    write([
      ...first.map((it): [string, Draft | undefined] => [it.name, values.get(it.name)]),
      ...rest,
    ]);
  };
  const shown = all ? kind.fields : kind.fields.slice(0, MAX_FIELDS);
  return (
    <div className="sf-fields">
      {shown.map((field) => (
        <SchemaField
          key={field.name}
          schema={field.schema}
          required={field.required}
          label={field.name}
          path={[...path, field.name]}
          draft={fields.find(([name]) => name === field.name)?.[1]}
          change={(value) => set(field.name, value)}
        />
      ))}
      {shown.length < kind.fields.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show {count(kind.fields.length - shown.length, "more field")}
        </button>
      )}
      {fields.map(([name, value], at) =>
        known.has(name) ? null : (
          <ExtraField
            key={at}
            id={`${id}/entry-${at}`}
            name={name}
            rename={(next) => write(fields.map((it, index) => (index === at ? [next, it[1]] : it)))}
            remove={() => write(fields.filter((_, index) => index !== at))}
          >
            <SchemaField
              schema={kind.others ?? true}
              required
              label={name === "" ? "value" : name}
              path={[...path, name]}
              draft={value}
              change={(next) =>
                write(fields.map((it, index) => (index === at ? [it[0], next] : it)))
              }
            />
          </ExtraField>
        ),
      )}
      {kind.others !== undefined && <AddField add={() => write([...fields, ["", undefined]])} />}
      {kind.fields.length === 0 && kind.others === undefined && (
        <p className="quiet">No arguments.</p>
      )}
    </div>
  );
}

function AddField(props: { add: () => void }) {
  return (
    <button type="button" className="small" onClick={props.add}>
      Add field
    </button>
  );
}

function ExtraField(props: {
  id: string;
  name: string;
  rename: (name: string) => void;
  remove: () => void;
  children: ReactNode;
}) {
  return (
    <div className="sf-entry">
      <div className="sf-head">
        <label htmlFor={props.id}>Name</label>
        <input
          id={props.id}
          type="text"
          className="mono"
          autoComplete="off"
          value={props.name}
          onChange={(event) => props.rename(event.target.value)}
        />
        <button
          type="button"
          className="small"
          aria-label={`Remove ${escapeHidden(props.name) || "this field"}`}
          onClick={props.remove}
        >
          Remove
        </button>
      </div>
      {props.children}
    </div>
  );
}

/** Further items are edited as JSON. */
const MAX_ITEMS = 100;

export function ListGroup(group: GroupProps<"list">) {
  const { kind, draft, change, path } = group;
  const { root } = useFormContext();
  const items = draft?.type === "list" ? draft.items : [];
  const write = (next: (Draft | undefined)[]) => change({ type: "list", items: next });
  const schemaAt = (at: number) => kind.first[at] ?? kind.items;
  const next = schemaAt(items.length);
  return (
    <div className="sf-fields">
      {items.slice(0, MAX_ITEMS).map((item, at) => (
        <div key={at} className="sf-item">
          <SchemaField
            schema={schemaAt(at) ?? true}
            required
            label={`item ${at + 1}`}
            path={[...path, at]}
            draft={item}
            change={(value) => write(items.map((it, index) => (index === at ? value : it)))}
          />
          <button
            type="button"
            className="small"
            aria-label={`Remove item ${at + 1}`}
            onClick={() => write(items.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </div>
      ))}
      {items.length > MAX_ITEMS && (
        <p className="quiet">{count(items.length - MAX_ITEMS, "more item")}. Edit them as JSON.</p>
      )}
      {next !== undefined && (
        <button
          type="button"
          className="small"
          onClick={() => write([...items, initialDraft(root, next)])}
        >
          Add item
        </button>
      )}
    </div>
  );
}

export function FormsGroup(group: GroupProps<"forms">) {
  const { kind, draft, change, path, id } = group;
  const { root } = useFormContext();
  const chosen = draft?.type === "form" ? draft.at : undefined;
  const form = chosen === undefined ? undefined : kind.forms[chosen];
  return (
    <>
      <select
        id={id}
        value={chosen ?? ""}
        onChange={({ target }) => {
          const at = Number(target.value);
          const schema = kind.forms[at]?.schema;
          if (target.value === "" || schema === undefined) change(undefined);
          else change({ type: "form", at, of: initialDraft(root, schema) });
        }}
      >
        <option value="">Not set</option>
        {kind.forms.map((it, at) => (
          <option key={at} value={at}>
            {escapeHidden(it.title)}
          </option>
        ))}
      </select>
      {draft?.type === "form" && form && (
        <div className="sf-form">
          <SchemaField
            schema={form.schema}
            required
            label={form.title}
            path={path}
            bare
            draft={draft.of}
            change={(value) => change({ ...draft, of: value })}
          />
        </div>
      )}
    </>
  );
}

/** A composite field that is not set yet. */
export function UnsetGroup(props: FieldProps) {
  const { root } = useFormContext();
  return (
    <button
      type="button"
      className="small"
      onClick={() => props.change(openDraft(root, props.schema))}
    >
      Set {escapeHidden(props.label)}
    </button>
  );
}
