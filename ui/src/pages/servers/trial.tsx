// Test runs of a server config: the server is started in isolation, and its output streamed here.
import { useEffect, useRef, useState } from "react";
import { ApiError, send } from "../../api/client";
import { readEvents } from "../../api/sse";
import type { TrialReport as Report, ServerConfig } from "../../api/types";
import { StateBadge } from "../../kit/basics";
import { count, ms } from "../../kit/format";
import { ChangeError } from "../../kit/review-change";
import { LogLines } from "./logs";

const MAX_LINES = 500;

export interface TrialState {
  running: boolean;
  lines: string[];
  states: { state: string; reason: string }[];
  report?: Report;
  problem?: ApiError;
}

const NO_TRIAL: TrialState = { running: false, lines: [], states: [] };

export function useTrial() {
  const [trial, setTrial] = useState<TrialState>(NO_TRIAL);
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const start = async (name: string, keys: ServerConfig) => {
    controller.current?.abort();
    const current = new AbortController();
    controller.current = current;
    const add = (change: (before: TrialState) => TrialState) => {
      if (controller.current === current) setTrial(change);
    };
    setTrial({ ...NO_TRIAL, running: true });
    try {
      const response = await send("POST", "/api/servers/try", {
        body: { ...keys, name: name || undefined },
        headers: { accept: "text/event-stream" },
        signal: current.signal,
      });
      for await (const { event, data } of readEvents(response)) {
        if (event === "log") {
          const { line } = JSON.parse(data) as { line: string };
          add((it) => ({ ...it, lines: [...it.lines.slice(1 - MAX_LINES), line] }));
        } else if (event === "state") {
          const state = JSON.parse(data) as TrialState["states"][number];
          add((it) => ({ ...it, states: [...it.states.slice(-9), state] }));
        } else if (event === "report") {
          const report = JSON.parse(data) as Report;
          add((it) => ({ ...it, report }));
        }
      }
    } catch (error) {
      if (!current.signal.aborted) add((it) => ({ ...it, problem: ApiError.from(error) }));
    }
    add((it) => ({ ...it, running: false }));
  };
  const stop = () => {
    controller.current?.abort();
    controller.current = undefined;
    setTrial((it) => ({ ...it, running: false }));
  };
  return { trial, start, stop };
}

export function TrialView(props: { of: TrialState; stop: () => void; retry: () => void }) {
  const { running, lines, states, report, problem } = props.of;
  return (
    <div className="trial">
      <ol className="trial-states">
        {states.map((it, at) => (
          <li key={at}>
            <StateBadge state={it.state} /> {it.reason}
          </li>
        ))}
      </ol>
      {running && (
        <p className="bar" role="status">
          <span className="spinner" aria-hidden="true" />
          Testing, up to 30 seconds…{" "}
          <button type="button" className="small" onClick={props.stop}>
            Stop
          </button>
        </p>
      )}
      {problem && <ChangeError problem={problem} retry={props.retry} />}
      {report && <TrialResult of={report} />}
      {!running && !report && !problem && (
        <p className="quiet" role="status">
          Test stopped.
        </p>
      )}
      {(lines.length > 0 || running) && (
        <LogLines lines={lines} empty="Output on stderr appears here." />
      )}
    </div>
  );
}

function TrialResult(props: { of: Report }) {
  const { ok, message, tools, took_ms, protocol } = props.of;
  if (ok) {
    return (
      <div className="note good" role="status">
        Test passed: {count(tools.length, "tool")} in {ms(took_ms)}
        {protocol && `, protocol ${protocol}`}.
      </div>
    );
  }
  const help = suggestFix(message);
  return (
    <div className="note bad" role="alert">
      <div>
        Test failed: {message}
        {help && <p className="help">{help}</p>}
      </div>
    </div>
  );
}

/** Common fixes for an error. */
function suggestFix(message: string): string | undefined {
  const text = message.toLowerCase();
  if (/no such file|not found|os error 2\b|cannot be started|can not be started/.test(text)) {
    return "Check that the program is installed on the gateway's machine and in its PATH, or use its full path, e.g. /usr/local/bin/npx.";
  }
  if (/401|403|unauthor|forbidden|login/.test(text)) {
    return "The server requires authentication. Set a token or choose “User login (OAuth)”.";
  }
  if (/time|did not answer|no answer|within/.test(text)) {
    return "The server started but did not respond in time. Check that it speaks MCP over stdin and stdout; some need an argument such as `stdio`. npx and uvx download the program on first start, so test again.";
  }
  if (/connect|dns|resolve|refused/.test(text)) {
    return "Check the URL, and that it is reachable from the gateway's machine.";
  }
  return undefined;
}
