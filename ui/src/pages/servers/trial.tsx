// Test runs of a server config: the server is started in isolation, and its output streamed here.
import { useEffect, useRef, useState } from "react";
import { Problem, send } from "../../api/client";
import { events } from "../../api/stream";
import type { Keys, Trial as Report } from "../../api/types";
import { StateBadge } from "../../kit/basics";
import { Refused } from "../../kit/change";
import { count, ms } from "../../kit/words";
import { LogLines } from "./logs";

const MOST_LINES = 500;

export interface Tried {
  running: boolean;
  lines: string[];
  states: { state: string; reason: string }[];
  report?: Report;
  problem?: Problem;
}

const NOTHING: Tried = { running: false, lines: [], states: [] };

export function useTrial() {
  const [tried, setTried] = useState<Tried>(NOTHING);
  const away = useRef<AbortController>(undefined);
  useEffect(() => () => away.current?.abort(), []);

  const begin = async (name: string, keys: Keys) => {
    away.current?.abort();
    const mine = new AbortController();
    away.current = mine;
    const add = (change: (before: Tried) => Tried) => {
      if (away.current === mine) setTried(change);
    };
    setTried({ ...NOTHING, running: true });
    try {
      const response = await send("POST", "/api/servers/try", {
        body: { ...keys, name: name || undefined },
        headers: { accept: "text/event-stream" },
        signal: mine.signal,
      });
      for await (const { event, data } of events(response)) {
        if (event === "log") {
          const { line } = JSON.parse(data) as { line: string };
          add((it) => ({ ...it, lines: [...it.lines.slice(1 - MOST_LINES), line] }));
        } else if (event === "state") {
          const state = JSON.parse(data) as Tried["states"][number];
          add((it) => ({ ...it, states: [...it.states.slice(-9), state] }));
        } else if (event === "report") {
          const report = JSON.parse(data) as Report;
          add((it) => ({ ...it, report }));
        }
      }
    } catch (error) {
      if (!mine.signal.aborted) add((it) => ({ ...it, problem: Problem.of(error) }));
    }
    add((it) => ({ ...it, running: false }));
  };
  const stop = () => {
    away.current?.abort();
    away.current = undefined;
    setTried((it) => ({ ...it, running: false }));
  };
  return { tried, begin, stop };
}

export function TrialView(props: { of: Tried; stop: () => void; again: () => void }) {
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
      {problem && <Refused problem={problem} again={props.again} />}
      {report && <Verdict of={report} />}
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

function Verdict(props: { of: Report }) {
  const { ok, message, tools, took_ms, protocol } = props.of;
  if (ok) {
    return (
      <div className="note good" role="status">
        Test passed: {count(tools.length, "tool")} in {ms(took_ms)}
        {protocol && `, protocol ${protocol}`}.
      </div>
    );
  }
  const help = advice(message);
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
function advice(message: string): string | undefined {
  const said = message.toLowerCase();
  if (/no such file|not found|os error 2\b|cannot be started|can not be started/.test(said)) {
    return "Check that the program is installed on the gateway's machine and in its PATH, or use its full path, e.g. /usr/local/bin/npx.";
  }
  if (/401|403|unauthor|forbidden|login/.test(said)) {
    return "The server requires authentication. Set a token or choose “User login (OAuth)”.";
  }
  if (/time|did not answer|no answer|within/.test(said)) {
    return "The server started but did not respond in time. Check that it speaks MCP over stdin and stdout; some need an argument such as `stdio`. npx and uvx download the program on first start, so test again.";
  }
  if (/connect|dns|resolve|refused/.test(said)) {
    return "Check the URL, and that it is reachable from the gateway's machine.";
  }
  return undefined;
}
