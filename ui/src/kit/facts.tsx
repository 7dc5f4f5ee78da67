// A list of names and values.
import type { ReactNode } from "react";
import "../style/facts.css";

export function Facts(props: { children: ReactNode }) {
  return <dl className="facts">{props.children}</dl>;
}

/** Renders nothing without a value. */
export function Fact(props: { name: string; children?: ReactNode }) {
  const { children } = props;
  if (children === undefined || children === null || children === false || children === "") {
    return null;
  }
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
