// A read-only view of a schema as a tree, and its source.
import { useMemo, useState } from "react";
import type { Schema } from "../api/types";
import { Json } from "../kit/code";
import { count } from "../kit/format";
import { escapeHidden, UntrustedText } from "../kit/untrusted";
import { displayValue } from "./leaves";
import { type Shape, shapeOf } from "./shape";
import "../style/schema-form.css";

export function SchemaView(props: { schema: Schema; root?: Schema; label: string }) {
  const root = props.root ?? props.schema;
  const [raw, setRaw] = useState(false);
  return (
    <div className="sv">
      <SchemaTree root={root} schema={props.schema} depth={0} />
      <button type="button" className="plain" aria-expanded={raw} onClick={() => setRaw(!raw)}>
        {raw ? "Hide JSON schema" : "Show JSON schema"}
      </button>
      {raw && <Json value={props.schema} label={props.label} />}
    </div>
  );
}

/** Levels that are expanded initially. */
const OPEN_DEPTH = 2;
const MAX_FIELDS = 60;

function SchemaTree(props: { root: Schema; schema: Schema; depth: number }) {
  const { root, schema, depth } = props;
  const found = useMemo(() => shapeOf(root, schema), [root, schema]);
  const [all, setAll] = useState(false);
  const parts = partsOf(found);
  if (parts.length === 0) return <p className="quiet">{describeShape(found)}</p>;
  const shown = all ? parts : parts.slice(0, MAX_FIELDS);
  return (
    <ul className="sv-fields">
      {shown.map((part, at) => (
        <TreeNode key={at} {...part} root={root} depth={depth} />
      ))}
      {shown.length < parts.length && (
        <li>
          <button type="button" className="plain" onClick={() => setAll(true)}>
            {count(parts.length - shown.length, "more field")}
          </button>
        </li>
      )}
    </ul>
  );
}

interface TreeNodeProps {
  name: string;
  schema: Schema;
  required: boolean;
}

function TreeNode(props: TreeNodeProps & { root: Schema; depth: number }) {
  const { root, schema, depth } = props;
  const found = useMemo(() => shapeOf(root, schema), [root, schema]);
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const has = partsOf(found).length > 0;
  return (
    <li>
      <div className="sf-head">
        {has ? (
          <button
            type="button"
            className="plain sf-name"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {open ? "▾" : "▸"} {escapeHidden(props.name)}
          </button>
        ) : (
          <span className="sf-name">{escapeHidden(props.name)}</span>
        )}
        {found.title && found.title !== props.name && (
          <span className="sf-title">
            <UntrustedText text={found.title} clip={80} />
          </span>
        )}
        <span className="sf-type">
          {escapeHidden(describeShape(found))}
          {props.required && <b className="sf-required"> required</b>}
        </span>
      </div>
      {found.description && (
        <p className="help">
          <UntrustedText text={found.description} clip={300} />
        </p>
      )}
      {has && open && <SchemaTree root={root} schema={schema} depth={depth + 1} />}
    </li>
  );
}

function partsOf(found: Shape): TreeNodeProps[] {
  const { kind } = found;
  switch (kind.is) {
    case "object": {
      const others = kind.others;
      // Arbitrary values need no row of their own.
      if (others === undefined || others === true) return kind.fields;
      return [...kind.fields, { name: "additional properties", schema: others, required: false }];
    }
    case "list": {
      const first = kind.first.map((schema, at) => ({
        name: `item ${at + 1}`,
        schema,
        required: true,
      }));
      if (kind.items === undefined || kind.items === true) return first;
      return [...first, { name: "items", schema: kind.items, required: false }];
    }
    case "forms":
      return kind.forms.map(({ title, schema }) => ({ name: title, schema, required: false }));
    default:
      return [];
  }
}

const MAX_OPTIONS = 12;

function describeShape(found: Shape): string {
  const { kind } = found;
  const parts = [found.nullable ? `${found.type} or null` : found.type];
  if (kind.is === "choice") {
    const options = kind.options.slice(0, MAX_OPTIONS).map(displayValue).join(", ");
    const more =
      kind.options.length > MAX_OPTIONS ? ` and ${kind.options.length - MAX_OPTIONS} more` : "";
    parts.push(options + more);
  }
  parts.push(...found.bounds);
  if (found.defaultValue) parts.push(`default: ${displayValue(found.defaultValue)}`);
  if (found.problem) parts.push(found.problem);
  return parts.join(" · ");
}
