// Form fields for single settings of a server; an empty field removes the setting.
import { useState } from "react";
import type { Keys } from "../../api/types";
import { Field } from "../../kit/basics";
import { listed } from "../../kit/glob";
import { at, put, text } from "./keys";

export interface FormProps {
  keys: Keys;
  change: (keys: Keys) => void;
  /** A field lost the focus: secrets in it can be extracted. */
  left?: () => void;
}

type Part = FormProps & { path: readonly string[]; label: string; help?: string };

export function Text(props: Part & { mono?: boolean; keep?: boolean }) {
  const { keys, change, path } = props;
  const set = (value: string) =>
    // An empty field must not remove the section that the user selected.
    change(props.keep && !value ? emptied(keys, path) : put(keys, path, value));
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          className={props.mono ? "mono" : ""}
          spellCheck={false}
          autoComplete="off"
          value={text(keys, ...path)}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Field>
  );
}

function emptied(keys: Keys, path: readonly string[]): Keys {
  const [first = "", ...rest] = path;
  if (rest.length === 0) return { ...keys, [first]: "" };
  return { ...keys, [first]: emptied((keys[first] ?? {}) as Keys, rest) };
}

export function Whole(props: Part) {
  const { keys, change, path } = props;
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          type="number"
          min={1}
          value={text(keys, ...path)}
          onChange={(event) => {
            const { value, valueAsNumber } = event.target;
            change(put(keys, path, value === "" ? undefined : valueAsNumber));
          }}
        />
      )}
    </Field>
  );
}

export function List(props: Part) {
  const { keys, change, path } = props;
  const value = at(keys, ...path);
  const words = Array.isArray(value) ? value.map(String) : [];
  const [typed, setTyped] = useState(words.join(", "));
  // Keep the text as typed, with a trailing comma, as long as it means the same list.
  const isSame = (listed(typed) ?? []).join(" ") === words.join(" ");
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          className="mono"
          spellCheck={false}
          autoComplete="off"
          value={isSame ? typed : words.join(", ")}
          onChange={(event) => {
            setTyped(event.target.value);
            change(put(keys, path, listed(event.target.value)));
          }}
        />
      )}
    </Field>
  );
}

export function Flag(props: Part & { usually: boolean }) {
  const { keys, change, path, usually } = props;
  const value = at(keys, ...path);
  const on = typeof value === "boolean" ? value : usually;
  return (
    <label>
      <input
        type="checkbox"
        checked={on}
        onChange={() => change(put(keys, path, on === usually ? !on : undefined))}
      />
      {props.label}
    </label>
  );
}
