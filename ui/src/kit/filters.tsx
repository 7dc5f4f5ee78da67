// List filters. Their values are in the URL, so that a filtered view can be shared.
import { useEffect, useId, useState } from "react";
import "../style/filters.css";

/** A filter with fixed options. */
export function SelectFilter(props: {
  label: string;
  value: string | undefined;
  options: readonly string[];
  choose: (value: string | undefined) => void;
}) {
  const { value, options } = props;
  // Keep a value from the URL even if it is not among the options.
  const all = value && !options.includes(value) ? [value, ...options] : options;
  return (
    <label className={value ? "filter set" : "filter"}>
      <span>{props.label}</span>
      <select
        value={value ?? ""}
        onChange={(event) => props.choose(event.target.value || undefined)}
      >
        <option value="">Any</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {option.replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A free-text filter; applied on blur, on Enter, or after a pause in typing. */
export function TextFilter(props: {
  label: string;
  value: string | undefined;
  choose: (value: string | undefined) => void;
  placeholder?: string;
  options?: readonly string[];
}) {
  const { value, choose } = props;
  const id = useId();
  const [text, setText] = useState(value ?? "");
  // The value is trimmed, but a trailing blank stays while the user is typing.
  useEffect(() => setText((now) => (now.trim() === (value ?? "") ? now : (value ?? ""))), [value]);
  const isDirty = text.trim() !== (value ?? "");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `choose` only writes to the URL
  useEffect(() => {
    if (!isDirty) return;
    const timer = setTimeout(() => choose(text.trim() || undefined), 500);
    return () => clearTimeout(timer);
  }, [text, isDirty]);
  const commit = () => isDirty && choose(text.trim() || undefined);
  return (
    <label className={value ? "filter set" : "filter"}>
      <span>{props.label}</span>
      <input
        value={text}
        placeholder={props.placeholder ?? "Any"}
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
