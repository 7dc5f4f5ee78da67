// A read-only view of a schema as a tree, and its source.
import { useMemo, useState } from "react";
import type { Schema } from "../api/types";
import { Json } from "../kit/code";
import { Foreign, visible } from "../kit/foreign";
import { count } from "../kit/words";
import { nameOf } from "./leaves";
import { type Shape, shape } from "./shape";
import "../style/schema-form.css";

export function SchemaView(props: { schema: Schema; root?: Schema; label: string }) {
  const root = props.root ?? props.schema;
  const [raw, setRaw] = useState(false);
  return (
    <div className="sv">
      <Inner root={root} schema={props.schema} depth={0} />
      <button type="button" className="plain" aria-expanded={raw} onClick={() => setRaw(!raw)}>
        {raw ? "Hide JSON schema" : "Show JSON schema"}
      </button>
      {raw && <Json value={props.schema} label={props.label} />}
    </div>
  );
}

/** Levels that are expanded initially. */
const OPEN = 2;
const MANY = 60;

function Inner(props: { root: Schema; schema: Schema; depth: number }) {
  const { root, schema, depth } = props;
  const found = useMemo(() => shape(root, schema), [root, schema]);
  const [all, setAll] = useState(false);
  const parts = partsOf(found);
  if (parts.length === 0) return <p className="quiet">{words(found)}</p>;
  const shown = all ? parts : parts.slice(0, MANY);
  return (
    <ul className="sv-fields">
      {shown.map((part, at) => (
        <Part key={at} {...part} root={root} depth={depth} />
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

interface PartOf {
  name: string;
  schema: Schema;
  required: boolean;
}

function Part(props: PartOf & { root: Schema; depth: number }) {
  const { root, schema, depth } = props;
  const found = useMemo(() => shape(root, schema), [root, schema]);
  const [open, setOpen] = useState(depth < OPEN);
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
            {open ? "▾" : "▸"} {visible(props.name)}
          </button>
        ) : (
          <span className="sf-name">{visible(props.name)}</span>
        )}
        {found.title && found.title !== props.name && (
          <span className="sf-title">
            <Foreign text={found.title} clip={80} />
          </span>
        )}
        <span className="sf-type">
          {visible(words(found))}
          {props.required && <b className="sf-required"> required</b>}
        </span>
      </div>
      {found.description && (
        <p className="help">
          <Foreign text={found.description} clip={300} />
        </p>
      )}
      {has && open && <Inner root={root} schema={schema} depth={depth + 1} />}
    </li>
  );
}

function partsOf(found: Shape): PartOf[] {
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

const SHOWN = 12;

function words(found: Shape): string {
  const { kind } = found;
  const said = [found.nullable ? `${found.type} or null` : found.type];
  if (kind.is === "choice") {
    const options = kind.options.slice(0, SHOWN).map(nameOf).join(", ");
    const more = kind.options.length > SHOWN ? ` and ${kind.options.length - SHOWN} more` : "";
    said.push(options + more);
  }
  said.push(...found.bounds);
  if (found.usual) said.push(`default: ${nameOf(found.usual)}`);
  if (found.problem) said.push(found.problem);
  return said.join(" · ");
}
