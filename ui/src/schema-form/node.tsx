// One field of a form: label, description, control, constraints and error.
import { useMemo } from "react";
import { escapeHidden, UntrustedText } from "../kit/untrusted";
import { type FieldProps, useFieldError, useFormContext } from "./context";
import type { Draft } from "./draft";
import { FormsGroup, ListGroup, ObjectGroup, UnsetGroup } from "./groups";
import { BooleanLeaf, ChoiceLeaf, displayValue, JsonLeaf, NumberLeaf, TextLeaf } from "./leaves";
import { type Shape, shapeOf } from "./shape";

/** Deeper fields are edited as JSON. */
const MAX_FORM_DEPTH = 10;

/** `inside`: without a label, because the parent already shows one. */
export function SchemaField(field: FieldProps & { bare?: boolean }) {
  const { root } = useFormContext();
  const found = useMemo(() => shapeOf(root, field.schema), [root, field.schema]);
  const { id, error } = useFieldError(field.path);
  if (found.kind.is === "nothing") return null;
  const control = <Control field={field} found={found} id={id} error={error} />;
  if (field.bare) return control;
  const isGroup = ["object", "list", "forms"].includes(found.kind.is) && isOpen(field.draft);
  return (
    <div
      className={`sf-field ${error ? "invalid" : ""} ${isGroup ? "sf-group" : ""}`}
      {...(isGroup && { role: "group", "aria-label": escapeHidden(field.label) })}
    >
      <FieldHead field={field} found={found} id={id} />
      {found.description && (
        <p className="help" id={`${id}-about`}>
          <UntrustedText text={found.description} clip={300} />
        </p>
      )}
      {control}
      <Constraints found={found} />
      {error && (
        <p className="error" role="alert" id={`${id}-error`}>
          {escapeHidden(error)}
        </p>
      )}
    </div>
  );
}

function isOpen(draft: Draft | undefined): boolean {
  return draft?.type === "object" || draft?.type === "list" || draft?.type === "form";
}

function FieldHead(props: { field: FieldProps; found: Shape; id: string }) {
  const { field, found, id } = props;
  const { draft, change } = field;
  const name = escapeHidden(field.label);
  const isLeaf = !["object", "list"].includes(found.kind.is) || draft?.type === "json";
  return (
    <div className="sf-head">
      {isLeaf && draft?.type !== "null" ? (
        <label htmlFor={id}>{name}</label>
      ) : (
        <span className="sf-name">{name}</span>
      )}
      {found.title && found.title !== field.label && (
        <span className="sf-title">
          <UntrustedText text={found.title} clip={80} />
        </span>
      )}
      <span className="sf-type">
        {escapeHidden(found.type)}
        {field.required && <b className="sf-required"> required</b>}
      </span>
      <span className="sf-actions">
        {found.kind.is === "string" && draft === undefined && (
          <button
            type="button"
            className="plain"
            title="Send an empty string"
            aria-label={`Send ${name} as an empty string`}
            onClick={() => change({ type: "string", text: "" })}
          >
            empty
          </button>
        )}
        {found.nullable && draft?.type !== "null" && (
          <button
            type="button"
            className="plain"
            aria-label={`Send ${name} as null`}
            onClick={() => change({ type: "null" })}
          >
            null
          </button>
        )}
        {draft !== undefined && (
          <button
            type="button"
            className="plain"
            aria-label={`Clear ${name}`}
            title="Omit this field"
            onClick={() => change(undefined)}
          >
            clear
          </button>
        )}
      </span>
    </div>
  );
}

function Control(props: {
  field: FieldProps;
  found: Shape;
  id: string;
  error: string | undefined;
}) {
  const { field, found, id } = props;
  const { draft, change } = field;
  const { kind } = found;
  if (draft?.type === "null" && kind.is !== "null") {
    return <p className="sf-null">Sent as null</p>;
  }
  const leaf = {
    id,
    shape: found,
    draft,
    change,
    invalid: props.error !== undefined,
    describedBy: props.error ? `${id}-error` : found.description ? `${id}-about` : undefined,
  };
  if (draft?.type === "json" || field.path.length > MAX_FORM_DEPTH) return <JsonLeaf {...leaf} />;
  const group = { ...field, id };
  switch (kind.is) {
    case "string":
      return <TextLeaf {...leaf} kind={kind} />;
    case "number":
      return <NumberLeaf {...leaf} kind={kind} />;
    case "boolean":
      return <BooleanLeaf {...leaf} kind={kind} />;
    case "choice":
      return <ChoiceLeaf {...leaf} kind={kind} />;
    case "forms":
      return <FormsGroup {...group} kind={kind} />;
    case "object":
      return draft ? <ObjectGroup {...group} kind={kind} /> : <UnsetGroup {...field} />;
    case "list":
      return draft ? <ListGroup {...group} kind={kind} /> : <UnsetGroup {...field} />;
    case "null":
      return draft ? <p className="sf-null">Sent as null</p> : <UnsetGroup {...field} />;
    default:
      return <JsonLeaf {...leaf} />;
  }
}

/** Constraints and default of the schema. */
function Constraints(props: { found: Shape }) {
  const { bounds, defaultValue, problem, kind } = props.found;
  const facts = [...bounds];
  const shown = ["string", "number", "boolean", "choice"].includes(kind.is);
  if (defaultValue) facts.push(`default: ${displayValue(defaultValue)}`);
  if (problem) facts.push(`no form available: ${problem}`);
  if (facts.length === 0 || (facts.length === 1 && defaultValue && shown && bounds.length === 0))
    return null;
  return <p className="help sf-facts">{escapeHidden(facts.join(" · "))}</p>;
}
