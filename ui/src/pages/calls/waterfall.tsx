// One turn in time: each call a bar made of its steps, and the ceiling of the turn as a line.
import type { CSSProperties } from "react";
import type { Step } from "../../api/types";
import { StateBadge } from "../../kit/basics";
import { ms } from "../../kit/words";
import { type Line, marks, type Turn } from "./turns";

export const STEPS: readonly { step: string; words: string }[] = [
  { step: "admitted", words: "looked at" },
  { step: "leave", words: "waiting for leave" },
  { step: "queued", words: "queued" },
  { step: "attempt", words: "at its server" },
  { step: "shared", words: "waiting for the same answer" },
  { step: "shaped", words: "shaping" },
  { step: "whole", words: "a program" },
];

export function Legend() {
  return (
    <ul className="legend" aria-label="What the bars are made of">
      {STEPS.map(({ step, words }) => (
        <li key={step}>
          <span className={`swatch step-${step}`} /> {words}
        </li>
      ))}
      <li>
        <span className="swatch ceiling" /> ceiling of the turn
      </li>
      <li>
        <span className="swatch past" /> past it
      </li>
    </ul>
  );
}

export function Waterfall(props: { turn: Turn; chosen?: string; open: (id: string) => void }) {
  const { turn } = props;
  // Some room behind the last end, so that a line at the ceiling can be seen.
  const scale = turn.span * 1.04;
  const at = (moment: number): number => Math.min(100, (moment / scale) * 100);
  return (
    <div className="waterfall">
      <div className="wf-row wf-axis" aria-hidden="true">
        <span />
        <div className="wf-track">
          {marks(scale).map((mark) => (
            <span key={mark} className="wf-mark" style={{ left: `${at(mark)}%` }}>
              {ms(mark)}
            </span>
          ))}
        </div>
        <span />
      </div>
      <ol>
        {turn.lines.map((line) => (
          <li key={line.call.id} className="wf-row">
            <span className="wf-name" style={{ paddingLeft: line.depth * 16 }}>
              {line.depth > 0 && <span aria-hidden="true">↳</span>}
              <button
                type="button"
                className="plain"
                aria-current={line.call.id === props.chosen || undefined}
                title={line.call.name}
                onClick={() => props.open(line.call.id)}
              >
                {line.call.name}
              </button>
            </span>
            <div className="wf-track" title={described(line, turn)}>
              {marks(scale).map((mark) => (
                <span key={mark} className="wf-rule" style={{ left: `${at(mark)}%` }} />
              ))}
              <Bar line={line} turn={turn} at={at} />
              {turn.deadline !== null && (
                <span className="wf-ceiling" style={{ left: `${at(turn.deadline)}%` }} />
              )}
            </div>
            <span className={isLate(line, turn) ? "wf-took late" : "wf-took"}>
              {ms(line.to - line.from)}
              {isLate(line, turn) && <span className="hidden"> past the ceiling</span>}
              {line.call.outcome !== "ok" && <StateBadge state={line.call.outcome} />}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Bar(props: { line: Line; turn: Turn; at: (moment: number) => number }) {
  const { line, turn, at } = props;
  const place = (from: number, to: number): CSSProperties => ({
    left: `${at(from)}%`,
    width: `${Math.max(at(to) - at(from), 0)}%`,
  });
  const steps = line.steps.length > 0 ? line.steps : [whole(line)];
  return (
    <>
      {steps.map((step, index) => (
        <span
          key={index}
          className={`wf-step step-${step.step} ${line.running ? "running" : ""}`}
          style={place(line.from + step.from_ms, line.from + (step.to_ms ?? 0))}
        />
      ))}
      {turn.deadline !== null && isLate(line, turn) && (
        <span className="wf-past" style={place(Math.max(turn.deadline, line.from), line.to)} />
      )}
    </>
  );
}

/** A program is what it calls; what was refused at once has no steps either. */
function whole(line: Line): Step {
  return { step: "whole", from_ms: 0, to_ms: line.to - line.from };
}

export function isLate(line: Line, turn: Turn): boolean {
  return turn.deadline !== null && line.to > turn.deadline;
}

function described(line: Line, turn: Turn): string {
  const words = (step: string) => STEPS.find((it) => it.step === step)?.words ?? step;
  const parts = line.steps.map(
    (step) => `${words(step.step)} ${ms((step.to_ms ?? 0) - step.from_ms)}`,
  );
  const began = `began ${ms(line.from)} into the turn`;
  const late = isLate(line, turn) ? [`${ms(line.to - (turn.deadline ?? 0))} past the ceiling`] : [];
  return [began, ...parts, ...late].join(", ");
}
