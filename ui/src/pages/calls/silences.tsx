// Silences before the last answers of a live session: each is a bar of its parts.
import type { Silence, SilencePart } from "../../api/types";
import { ms, timeOfDay } from "../../kit/format";
import { axisTicks } from "./turns";

const PARTS: readonly { part: SilencePart; label: string }[] = [
  { part: "model", label: "model" },
  { part: "tool", label: "tool" },
  { part: "network", label: "provider connection" },
  { part: "gateway", label: "held by the gateway" },
];

export function Silences(props: { of: readonly Silence[] }) {
  const { of: silences } = props;
  if (silences.length === 0) {
    return <p className="quiet">No answer was heard yet.</p>;
  }
  const scale = Math.max(...silences.map((it) => it.silence_ms), 1) * 1.04;
  const at = (moment: number): number => Math.min(100, (moment / scale) * 100);
  return (
    <>
      <ul className="legend" aria-label="Parts of a silence">
        {PARTS.map(({ part, label }) => (
          <li key={part}>
            <span className={`swatch part-${part}`} /> {label}
          </li>
        ))}
      </ul>
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
        <ol aria-label="Silences">
          {[...silences].reverse().map((silence) => (
            <li key={silence.at} className="wf-row">
              <span className="wf-name">
                {timeOfDay(silence.at)} <span className="quiet">turn {silence.turn}</span>
              </span>
              <div className="wf-track" title={describeSilence(silence)}>
                {axisTicks(scale).map((mark) => (
                  <span key={mark} className="wf-rule" style={{ left: `${at(mark)}%` }} />
                ))}
                {silence.segments.map((segment) => (
                  <span
                    key={segment.from_ms}
                    className={`wf-step part-${segment.part}`}
                    style={{
                      left: `${at(segment.from_ms)}%`,
                      width: `${at(segment.to_ms) - at(segment.from_ms)}%`,
                    }}
                  />
                ))}
              </div>
              <span className="wf-took">
                {ms(silence.silence_ms)}
                <span className="hidden"> {describeSilence(silence)}</span>
              </span>
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}

export function describeSilence(silence: Silence): string {
  const times: Record<SilencePart, number> = {
    model: silence.model_ms,
    tool: silence.tool_ms,
    network: silence.network_ms,
    gateway: silence.gateway_ms,
  };
  const parts = PARTS.filter(({ part }) => times[part] > 0).map(
    ({ part, label }) => `${label} ${ms(times[part])}`,
  );
  const waited =
    silence.hangover_ms === null ? [] : [`end of speech after ${ms(silence.hangover_ms)}`];
  return [...parts, ...waited].join(", ");
}
