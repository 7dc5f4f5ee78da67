// Decided calls, and who decided.
import { Ago, StateBadge } from "../../kit/basics";

export interface Decision {
  id: string;
  name: string;
  principal: string;
  agent: string;
  outcome: "approved" | "denied" | "expired" | "withdrawn";
  by: string | null;
  /** When the event arrived. */
  at: string;
}

export function Decisions(props: { of: readonly Decision[] }) {
  return (
    <ul className="decisions" aria-label="Decisions">
      {props.of.map((it) => (
        <li key={it.id}>
          <StateBadge state={it.outcome} />
          <strong>{it.name}</strong>
          <span>{describeDecision(it)}</span>
          <span className="quiet">
            <Ago time={it.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function describeDecision(it: Pick<Decision, "outcome" | "by" | "principal">): string {
  switch (it.outcome) {
    case "approved":
      return `for ${it.principal}, by ${it.by ?? "unknown"}`;
    case "denied":
      return `for ${it.principal}, by ${it.by ?? "unknown"}`;
    case "expired":
      return `for ${it.principal}, no decision in time`;
    case "withdrawn":
      return `${it.principal} disconnected before a decision`;
  }
}
