// What became of calls that waited, and who said so.
import { Ago, StateBadge } from "../../kit/basics";

export interface Decided {
  id: string;
  name: string;
  principal: string;
  agent: string;
  outcome: "approved" | "denied" | "expired" | "withdrawn";
  by: string | null;
  /** When we heard of it. */
  at: string;
}

export function Decisions(props: { of: readonly Decided[] }) {
  return (
    <ul className="decisions" aria-label="Decided">
      {props.of.map((it) => (
        <li key={it.id}>
          <StateBadge state={it.outcome} />
          <strong>{it.name}</strong>
          <span>{words(it)}</span>
          <span className="quiet">
            <Ago time={it.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function words(it: Pick<Decided, "outcome" | "by" | "principal">): string {
  switch (it.outcome) {
    case "approved":
      return `for ${it.principal}, by ${it.by ?? "somebody"}`;
    case "denied":
      return `to ${it.principal}, by ${it.by ?? "somebody"}`;
    case "expired":
      return "nobody decided in time; the caller was told so";
    case "withdrawn":
      return `${it.principal} went away before anybody decided`;
  }
}
