// One field of a form: label, description, control, constraints and error.
import { useMemo } from "react";
import { Foreign, visible } from "../kit/foreign";
import { type Place, useAround, useSaid } from "./context";
import type { Draft } from "./draft";
import { Closed, FormsGroup, ListGroup, ObjectGroup } from "./groups";
import { BooleanLeaf, ChoiceLeaf, JsonLeaf, NumberLeaf, nameOf, TextLeaf } from "./leaves";
import { type Shape, shape } from "./shape";

/** Deeper fields are edited as JSON. */
const DEEPEST = 10;

/** `inside`: without a label, because the parent already shows one. */
export function Node(place: Place & { inside?: boolean }) {
  const { root } = useAround();
  const found = useMemo(() => shape(root, place.schema), [root, place.schema]);
  const { id, error } = useSaid(place.path);
  if (found.kind.is === "nothing") return null;
  const control = <Control place={place} found={found} id={id} error={error} />;
  if (place.inside) return control;
  const isGroup = ["object", "list", "forms"].includes(found.kind.is) && isOpen(place.draft);
  return (
    <div
      className={`sf-place ${error ? "wrong" : ""} ${isGroup ? "sf-group" : ""}`}
      {...(isGroup && { role: "group", "aria-label": visible(place.label) })}
    >
      <Head place={place} found={found} id={id} />
      {found.description && (
        <p className="help" id={`${id}-about`}>
          <Foreign text={found.description} clip={300} />
        </p>
      )}
      {control}
      <Facts found={found} />
      {error && (
        <p className="error" role="alert" id={`${id}-wrong`}>
          {visible(error)}
        </p>
      )}
    </div>
  );
}

function isOpen(draft: Draft | undefined): boolean {
  return draft?.type === "object" || draft?.type === "list" || draft?.type === "form";
}

function Head(props: { place: Place; found: Shape; id: string }) {
  const { place, found, id } = props;
  const { draft, change } = place;
  const name = visible(place.label);
  const isLeaf = !["object", "list"].includes(found.kind.is) || draft?.type === "json";
  return (
    <div className="sf-head">
      {isLeaf && draft?.type !== "null" ? (
        <label htmlFor={id}>{name}</label>
      ) : (
        <span className="sf-name">{name}</span>
      )}
      {found.title && found.title !== place.label && (
        <span className="sf-title">
          <Foreign text={found.title} clip={80} />
        </span>
      )}
      <span className="sf-type">
        {visible(found.type)}
        {place.required && <b className="sf-required"> required</b>}
      </span>
      <span className="sf-ways">
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

function Control(props: { place: Place; found: Shape; id: string; error: string | undefined }) {
  const { place, found, id } = props;
  const { draft, change } = place;
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
    describedBy: props.error ? `${id}-wrong` : found.description ? `${id}-about` : undefined,
  };
  if (draft?.type === "json" || place.path.length > DEEPEST) return <JsonLeaf {...leaf} />;
  const group = { ...place, id };
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
      return draft ? <ObjectGroup {...group} kind={kind} /> : <Closed {...place} />;
    case "list":
      return draft ? <ListGroup {...group} kind={kind} /> : <Closed {...place} />;
    case "null":
      return draft ? <p className="sf-null">Sent as null</p> : <Closed {...place} />;
    default:
      return <JsonLeaf {...leaf} />;
  }
}

/** Constraints and default of the schema. */
function Facts(props: { found: Shape }) {
  const { bounds, usual, problem, kind } = props.found;
  const facts = [...bounds];
  const shown = ["string", "number", "boolean", "choice"].includes(kind.is);
  if (usual) facts.push(`default: ${nameOf(usual)}`);
  if (problem) facts.push(`no form available: ${problem}`);
  if (facts.length === 0 || (facts.length === 1 && usual && shown && bounds.length === 0))
    return null;
  return <p className="help sf-facts">{visible(facts.join(" · "))}</p>;
}
