// Waterfall of a turn: each call is a bar of its steps, and the turn's ceiling is a line.
import type { CSSProperties } from "react";
import type { Step } from "../../api/types";
import { StateBadge } from "../../kit/basics";
import { ms } from "../../kit/format";
import { axisTicks, type Line, type Turn } from "./turns";

export const STEPS: readonly { step: string; label: string }[] = [
  { step: "admitted", label: "admission" },
  { step: "leave", label: "awaiting approval" },
  { step: "queued", label: "queued" },
  { step: "attempt", label: "on server" },
  { step: "shared", label: "shared with an identical call" },
  { step: "shaped", label: "formatting result" },
  { step: "whole", label: "program (code mode)" },
];

export function Legend() {
  return (
    <ul className="legend" aria-label="Legend">
      {STEPS.map(({ step, label }) => (
        <li key={step}>
          <span className={`swatch step-${step}`} /> {label}
        </li>
      ))}
      <li>
        <span className="swatch ceiling" /> turn ceiling
      </li>
      <li>
        <span className="swatch past" /> over ceiling
      </li>
    </ul>
  );
}

export function Waterfall(props: { turn: Turn; chosen?: string; open: (id: string) => void }) {
  const { turn } = props;
  // Leave some room at the right, so that a line at the ceiling is visible.
  const scale = turn.span * 1.04;
  const at = (moment: number): number => Math.min(100, (moment / scale) * 100);
  return (
    <div className="waterfall">
      <div className="wf-row wf-axis" aria-hidden="true">
        <span />
        <div className="wf-track">
          {axisTicks(scale).map((mark) => (
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
            <div className="wf-track" title={describeLine(line, turn)}>
              {axisTicks(scale).map((mark) => (
                <span key={mark} className="wf-rule" style={{ left: `${at(mark)}%` }} />
              ))}
              <Bar line={line} turn={turn} at={at} />
              {turn.deadline !== null && (
                <span className="wf-ceiling" style={{ left: `${at(turn.deadline)}%` }} />
              )}
            </div>
            <span className={isLate(line, turn) ? "wf-took late" : "wf-took"}>
              {ms(line.to - line.from)}
              {isLate(line, turn) && <span className="hidden"> over ceiling</span>}
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
  const position = (from: number, to: number): CSSProperties => ({
    left: `${at(from)}%`,
    width: `${Math.max(at(to) - at(from), 0)}%`,
  });
  const steps = line.steps.length > 0 ? line.steps : [wholeCallStep(line)];
  return (
    <>
      {steps.map((step, index) => (
        <span
          key={index}
          className={`wf-step step-${step.step} ${line.running ? "running" : ""}`}
          style={position(line.from + step.from_ms, line.from + (step.to_ms ?? 0))}
        />
      ))}
      {turn.deadline !== null && isLate(line, turn) && (
        <span className="wf-past" style={position(Math.max(turn.deadline, line.from), line.to)} />
      )}
    </>
  );
}

/** Programs have no steps of their own, and neither have calls that were rejected at once. */
function wholeCallStep(line: Line): Step {
  return { step: "whole", from_ms: 0, to_ms: line.to - line.from };
}

export function isLate(line: Line, turn: Turn): boolean {
  return turn.deadline !== null && line.to > turn.deadline;
}

function describeLine(line: Line, turn: Turn): string {
  const labelOf = (step: string) => STEPS.find((it) => it.step === step)?.label ?? step;
  const parts = line.steps.map(
    (step) => `${labelOf(step.step)} ${ms((step.to_ms ?? 0) - step.from_ms)}`,
  );
  const began = `started ${ms(line.from)} into the turn`;
  const late = isLate(line, turn) ? [`${ms(line.to - (turn.deadline ?? 0))} over ceiling`] : [];
  return [began, ...parts, ...late].join(", ");
}
