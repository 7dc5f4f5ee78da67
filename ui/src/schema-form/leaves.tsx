// Fields with a single value.
import { useState } from "react";
import { escapeHidden, truncate } from "../kit/untrusted";
import type { Draft } from "./draft";
import { printJson, type Tree } from "./json";
import type { Kind, Shape } from "./shape";

export interface LeafProps<K extends Kind["is"]> {
  id: string;
  kind: Extract<Kind, { is: K }>;
  shape: Shape;
  draft: Draft | undefined;
  change: (draft: Draft | undefined) => void;
  invalid: boolean;
  describedBy: string | undefined;
}

/** A value for display. */
export function displayValue(tree: Tree): string {
  const text = tree.type === "string" && tree.text.trim() !== "" ? tree.text : printJson(tree);
  return escapeHidden(truncate(text, 160));
}

function unsetLabel(shape: Shape): string {
  return shape.defaultValue ? `Not set (default: ${displayValue(shape.defaultValue)})` : "Not set";
}

function inputProps(leaf: { id: string; invalid: boolean; describedBy: string | undefined }) {
  return {
    id: leaf.id,
    "aria-invalid": leaf.invalid || undefined,
    "aria-describedby": leaf.describedBy,
  };
}

/** A textarea, because a text may have several lines and an input would drop the line breaks. */
export function TextLeaf(leaf: LeafProps<"string">) {
  const { kind, draft, change } = leaf;
  const text = draft?.type === "string" ? draft.text : "";
  const hint = leaf.shape.defaultValue ?? leaf.shape.example;
  const props = {
    ...inputProps(leaf),
    value: text,
    spellCheck: false,
    autoComplete: "off",
    placeholder: draft
      ? "Empty string"
      : hint
        ? `${leaf.shape.defaultValue ? "" : "e.g. "}${displayValue(hint)}`
        : "Not set",
    onChange: (event: { target: { value: string } }) =>
      change(event.target.value === "" ? undefined : { type: "string", text: event.target.value }),
  };
  if (kind.secret) return <input type="password" {...props} />;
  if (kind.format && !text.includes("\n")) return <input type="text" {...props} />;
  return <textarea rows={1} {...props} />;
}

/** Keeps the number as typed: `type="number"` would hide invalid input from us. */
export function NumberLeaf(leaf: LeafProps<"number">) {
  const { draft, change, shape } = leaf;
  return (
    <input
      {...inputProps(leaf)}
      type="text"
      className="sf-number"
      inputMode={leaf.kind.integer ? "numeric" : "decimal"}
      autoComplete="off"
      value={draft?.type === "number" ? draft.text : ""}
      placeholder={shape.defaultValue ? displayValue(shape.defaultValue) : "Not set"}
      onChange={(event) =>
        change(event.target.value === "" ? undefined : { type: "number", text: event.target.value })
      }
    />
  );
}

export function BooleanLeaf(leaf: LeafProps<"boolean">) {
  const { draft, change, shape } = leaf;
  return (
    <select
      {...inputProps(leaf)}
      value={draft?.type === "boolean" ? String(draft.value) : ""}
      onChange={({ target }) =>
        change(
          target.value === "" ? undefined : { type: "boolean", value: target.value === "true" },
        )
      }
    >
      <option value="">{unsetLabel(shape)}</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  );
}

/** More options get a search field instead of a select. */
const MAX_SELECT_OPTIONS = 60;

export function ChoiceLeaf(leaf: LeafProps<"choice">) {
  const { kind, draft, change, shape } = leaf;
  if (kind.options.length > MAX_SELECT_OPTIONS) return <SearchableChoice {...leaf} />;
  const chosen = kind.options.findIndex((it) => isSame(it, draft));
  return (
    <select
      {...inputProps(leaf)}
      value={chosen < 0 ? "" : String(chosen)}
      onChange={({ target }) =>
        change(target.value === "" ? undefined : kind.options[Number(target.value)])
      }
    >
      <option value="">{unsetLabel(shape)}</option>
      {kind.options.map((option, at) => (
        <option key={at} value={at}>
          {displayValue(option)}
        </option>
      ))}
    </select>
  );
}

function isSame(option: Tree, draft: Draft | undefined): boolean {
  if (draft === undefined || draft.type === "json" || draft.type === "form") return false;
  return option.type === draft.type && printJson(option) === printJson(draft as Tree);
}

const MAX_HITS = 40;

function SearchableChoice(leaf: LeafProps<"choice">) {
  const { kind, draft, change, shape, id } = leaf;
  const [search, setSearch] = useState<string>();
  const [at, setAt] = useState(0);
  const chosen = kind.options.find((it) => isSame(it, draft));
  const needle = (search ?? "").toLowerCase();
  const hits: Tree[] = [];
  for (const option of search === undefined ? [] : kind.options) {
    if (hits.length === MAX_HITS) break;
    if (displayValue(option).toLowerCase().includes(needle)) hits.push(option);
  }
  const select = (option: Tree | undefined) => {
    if (option) change(option);
    setSearch(undefined);
    setAt(0);
  };
  return (
    <div className="sf-many">
      <input
        {...inputProps(leaf)}
        type="text"
        role="combobox"
        autoComplete="off"
        aria-expanded={search !== undefined}
        aria-controls={`${id}-options`}
        aria-activedescendant={hits[at] ? `${id}-option-${at}` : undefined}
        value={search ?? (chosen ? displayValue(chosen) : "")}
        placeholder={`${unsetLabel(shape)}; ${kind.options.length.toLocaleString("en")} options`}
        onFocus={() => setSearch("")}
        onBlur={() => select(undefined)}
        onChange={(event) => {
          setSearch(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") select(hits[at]);
          else if (event.key === "Escape") select(undefined);
          else return;
          event.preventDefault();
        }}
      />
      {search !== undefined && (
        <div id={`${id}-options`} role="listbox" aria-label="Options" className="sf-options">
          {hits.map((option, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
            <div
              key={index}
              id={`${id}-option-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => select(option)}
            >
              {displayValue(option)}
            </div>
          ))}
          {hits.length === 0 && <div className="quiet">No matching options.</div>}
          {hits.length === MAX_HITS && <div className="quiet">Keep typing to narrow the list.</div>}
        </div>
      )}
    </div>
  );
}

export function JsonLeaf(leaf: Omit<LeafProps<"any">, "kind" | "shape"> & { hint?: string }) {
  const { draft, change } = leaf;
  return (
    <textarea
      {...inputProps(leaf)}
      rows={2}
      className="mono"
      spellCheck={false}
      placeholder={leaf.hint ?? 'JSON, e.g. {"a": 1} or "text". Leave empty to omit.'}
      value={draft?.type === "json" ? draft.text : ""}
      onChange={(event) =>
        change(
          event.target.value.trim() === "" ? undefined : { type: "json", text: event.target.value },
        )
      }
    />
  );
}
