// What narrows a list. Values live in the address, so that a view can be sent to somebody.
import { useEffect, useId, useState } from "react";
import "../style/filters.css";

/** One of a few. */
export function Choice(props: {
  label: string;
  value: string | undefined;
  options: readonly string[];
  choose: (value: string | undefined) => void;
}) {
  const { value, options } = props;
  // What the address says stays, also when nothing of it was seen.
  const all = value && !options.includes(value) ? [value, ...options] : options;
  return (
    <label className={value ? "filter set" : "filter"}>
      <span>{props.label}</span>
      <select
        value={value ?? ""}
        onChange={(event) => props.choose(event.target.value || undefined)}
      >
        <option value="">any</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {option.replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Anything; counts when the field is left, or after a moment without typing. */
export function Typed(props: {
  label: string;
  value: string | undefined;
  choose: (value: string | undefined) => void;
  placeholder?: string;
  options?: readonly string[];
}) {
  const { value, choose } = props;
  const id = useId();
  const [text, setText] = useState(value ?? "");
  // What counts is trimmed; a blank behind which somebody types on stays.
  useEffect(() => setText((now) => (now.trim() === (value ?? "") ? now : (value ?? ""))), [value]);
  const changed = text.trim() !== (value ?? "");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `choose` only writes into the address
  useEffect(() => {
    if (!changed) return;
    const timer = setTimeout(() => choose(text.trim() || undefined), 500);
    return () => clearTimeout(timer);
  }, [text, changed]);
  const commit = () => changed && choose(text.trim() || undefined);
  return (
    <label className={value ? "filter set" : "filter"}>
      <span>{props.label}</span>
      <input
        value={text}
        placeholder={props.placeholder ?? "any"}
        list={props.options ? id : undefined}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        onBlur={commit}
        onKeyDown={(event) => event.key === "Enter" && commit()}
      />
      {props.options && (
        <datalist id={id}>
          {props.options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
}
