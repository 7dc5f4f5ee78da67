// Form fields for single settings of a server; an empty field removes the setting.
import { useState } from "react";
import type { ServerConfig } from "../../api/types";
import { Field } from "../../kit/basics";
import { parseList } from "../../kit/glob";
import { getAt, setAt, textAt } from "./config";

export interface FormProps {
  keys: ServerConfig;
  change: (keys: ServerConfig) => void;
  /** A field lost the focus: secrets in it can be extracted. */
  onBlur?: () => void;
}

type FieldProps = FormProps & { path: readonly string[]; label: string; help?: string };

export function TextField(props: FieldProps & { mono?: boolean; keepEmpty?: boolean }) {
  const { keys, change, path } = props;
  const set = (value: string) =>
    // An empty field must not remove the section that the user selected.
    change(props.keepEmpty && !value ? setEmpty(keys, path) : setAt(keys, path, value));
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          className={props.mono ? "mono" : ""}
          spellCheck={false}
          autoComplete="off"
          value={textAt(keys, ...path)}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Field>
  );
}

function setEmpty(keys: ServerConfig, path: readonly string[]): ServerConfig {
  const [first = "", ...rest] = path;
  if (rest.length === 0) return { ...keys, [first]: "" };
  return { ...keys, [first]: setEmpty((keys[first] ?? {}) as ServerConfig, rest) };
}

export function NumberField(props: FieldProps) {
  const { keys, change, path } = props;
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          type="number"
          min={1}
          value={textAt(keys, ...path)}
          onChange={(event) => {
            const { value, valueAsNumber } = event.target;
            change(setAt(keys, path, value === "" ? undefined : valueAsNumber));
          }}
        />
      )}
    </Field>
  );
}

export function ListField(props: FieldProps) {
  const { keys, change, path } = props;
  const value = getAt(keys, ...path);
  const words = Array.isArray(value) ? value.map(String) : [];
  const [text, setText] = useState(words.join(", "));
  // Keep the text as typed, with a trailing comma, as long as it means the same list.
  const isSame = (parseList(text) ?? []).join(" ") === words.join(" ");
  return (
    <Field label={props.label} help={props.help}>
      {(id) => (
        <input
          id={id}
          className="mono"
          spellCheck={false}
          autoComplete="off"
          value={isSame ? text : words.join(", ")}
          onChange={(event) => {
            setText(event.target.value);
            change(setAt(keys, path, parseList(event.target.value)));
          }}
        />
      )}
    </Field>
  );
}

export function CheckboxField(props: FieldProps & { defaultValue: boolean }) {
  const { keys, change, path, defaultValue } = props;
  const value = getAt(keys, ...path);
  const on = typeof value === "boolean" ? value : defaultValue;
  return (
    <label>
      <input
        type="checkbox"
        checked={on}
        onChange={() => change(setAt(keys, path, on === defaultValue ? !on : undefined))}
      />
      {props.label}
    </label>
  );
}
