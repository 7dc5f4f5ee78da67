// Fields with a single value.
import { useState } from "react";
import { clipped, visible } from "../kit/foreign";
import type { Draft } from "./draft";
import { print, type Tree } from "./json";
import type { Kind, Shape } from "./shape";

export interface Leaf<K extends Kind["is"]> {
  id: string;
  kind: Extract<Kind, { is: K }>;
  shape: Shape;
  draft: Draft | undefined;
  change: (draft: Draft | undefined) => void;
  invalid: boolean;
  describedBy: string | undefined;
}

/** A value for display. */
export function nameOf(tree: Tree): string {
  const text = tree.type === "string" && tree.text.trim() !== "" ? tree.text : print(tree);
  return visible(clipped(text, 160));
}

function unset(shape: Shape): string {
  return shape.usual ? `Not set (default: ${nameOf(shape.usual)})` : "Not set";
}

function marks(leaf: { id: string; invalid: boolean; describedBy: string | undefined }) {
  return {
    id: leaf.id,
    "aria-invalid": leaf.invalid || undefined,
    "aria-describedby": leaf.describedBy,
  };
}

/** A textarea, because a text may have several lines and an input would drop the line breaks. */
export function TextLeaf(leaf: Leaf<"string">) {
  const { kind, draft, change } = leaf;
  const text = draft?.type === "string" ? draft.text : "";
  const hint = leaf.shape.usual ?? leaf.shape.example;
  const given = {
    ...marks(leaf),
    value: text,
    spellCheck: false,
    autoComplete: "off",
    placeholder: draft
      ? "Empty string"
      : hint
        ? `${leaf.shape.usual ? "" : "e.g. "}${nameOf(hint)}`
        : "Not set",
    onChange: (event: { target: { value: string } }) =>
      change(event.target.value === "" ? undefined : { type: "string", text: event.target.value }),
  };
  if (kind.secret) return <input type="password" {...given} />;
  if (kind.format && !text.includes("\n")) return <input type="text" {...given} />;
  return <textarea rows={1} {...given} />;
}

/** Keeps the number as typed: `type="number"` would hide invalid input from us. */
export function NumberLeaf(leaf: Leaf<"number">) {
  const { draft, change, shape } = leaf;
  return (
    <input
      {...marks(leaf)}
      type="text"
      className="sf-number"
      inputMode={leaf.kind.whole ? "numeric" : "decimal"}
      autoComplete="off"
      value={draft?.type === "number" ? draft.text : ""}
      placeholder={shape.usual ? nameOf(shape.usual) : "Not set"}
      onChange={(event) =>
        change(event.target.value === "" ? undefined : { type: "number", text: event.target.value })
      }
    />
  );
}

export function BooleanLeaf(leaf: Leaf<"boolean">) {
  const { draft, change, shape } = leaf;
  return (
    <select
      {...marks(leaf)}
      value={draft?.type === "boolean" ? String(draft.value) : ""}
      onChange={({ target }) =>
        change(
          target.value === "" ? undefined : { type: "boolean", value: target.value === "true" },
        )
      }
    >
      <option value="">{unset(shape)}</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  );
}

/** More options get a search field instead of a select. */
const MANY = 60;

export function ChoiceLeaf(leaf: Leaf<"choice">) {
  const { kind, draft, change, shape } = leaf;
  if (kind.options.length > MANY) return <ManyChoice {...leaf} />;
  const chosen = kind.options.findIndex((it) => isSame(it, draft));
  return (
    <select
      {...marks(leaf)}
      value={chosen < 0 ? "" : String(chosen)}
      onChange={({ target }) =>
        change(target.value === "" ? undefined : kind.options[Number(target.value)])
      }
    >
      <option value="">{unset(shape)}</option>
      {kind.options.map((option, at) => (
        <option key={at} value={at}>
          {nameOf(option)}
        </option>
      ))}
    </select>
  );
}

function isSame(option: Tree, draft: Draft | undefined): boolean {
  if (draft === undefined || draft.type === "json" || draft.type === "form") return false;
  return option.type === draft.type && print(option) === print(draft as Tree);
}

const SHOWN = 40;

function ManyChoice(leaf: Leaf<"choice">) {
  const { kind, draft, change, shape, id } = leaf;
  const [search, setSearch] = useState<string>();
  const [at, setAt] = useState(0);
  const chosen = kind.options.find((it) => isSame(it, draft));
  const wanted = (search ?? "").toLowerCase();
  const hits: Tree[] = [];
  for (const option of search === undefined ? [] : kind.options) {
    if (hits.length === SHOWN) break;
    if (nameOf(option).toLowerCase().includes(wanted)) hits.push(option);
  }
  const take = (option: Tree | undefined) => {
    if (option) change(option);
    setSearch(undefined);
    setAt(0);
  };
  return (
    <div className="sf-many">
      <input
        {...marks(leaf)}
        type="text"
        role="combobox"
        autoComplete="off"
        aria-expanded={search !== undefined}
        aria-controls={`${id}-options`}
        aria-activedescendant={hits[at] ? `${id}-option-${at}` : undefined}
        value={search ?? (chosen ? nameOf(chosen) : "")}
        placeholder={`${unset(shape)}; ${kind.options.length.toLocaleString("en")} options`}
        onFocus={() => setSearch("")}
        onBlur={() => take(undefined)}
        onChange={(event) => {
          setSearch(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") take(hits[at]);
          else if (event.key === "Escape") take(undefined);
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
              onClick={() => take(option)}
            >
              {nameOf(option)}
            </div>
          ))}
          {hits.length === 0 && <div className="quiet">No matching options.</div>}
          {hits.length === SHOWN && <div className="quiet">Keep typing to narrow the list.</div>}
        </div>
      )}
    </div>
  );
}

export function JsonLeaf(leaf: Omit<Leaf<"any">, "kind" | "shape"> & { hint?: string }) {
  const { draft, change } = leaf;
  return (
    <textarea
      {...marks(leaf)}
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
