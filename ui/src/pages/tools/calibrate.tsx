// Measures the latency of one tool with probes.
import { useState } from "react";
import { Problem, send } from "../../api/client";
import { stale } from "../../api/queries";
import { events } from "../../api/stream";
import type { Tool } from "../../api/types";
import { complain, say } from "../../kit/toast";
import { count, ms } from "../../kit/words";

interface Step {
  outcome: string;
  took_ms?: number;
  why?: string;
  done: number;
  total: number;
}

export function Calibrate(props: { tool: Tool }) {
  const [step, setStep] = useState<Step>();
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const body = { tool: props.tool.name };
      const response = await send("POST", "/api/calibrate", { body });
      const steps: Step[] = [];
      for await (const { event, data } of events(response)) {
        if (event !== "step") continue;
        const heard = JSON.parse(data) as Step;
        steps.push(heard);
        setStep(heard);
      }
      tell(steps);
      stale("api/tools", "v1/tools");
    } catch (error) {
      complain(Problem.of(error));
    } finally {
      setBusy(false);
      setStep(undefined);
    }
  };
  return (
    <button
      type="button"
      disabled={busy || !props.tool.online}
      title="Measure latency with a few probe calls"
      onClick={() => void run()}
    >
      {step ? `Calibrating ${step.done} / ${step.total}` : busy ? "Calibrating…" : "Calibrate"}
    </button>
  );
}

function tell(steps: Step[]) {
  const probed = steps.filter((it) => it.took_ms !== undefined);
  const left = steps.find((it) => it.why);
  if (probed.length > 0) {
    const slowest = Math.max(...probed.map((it) => it.took_ms ?? 0));
    say(`${count(probed.length, "probe")}, slowest ${ms(slowest)}`);
  } else if (left?.why) {
    say(`Not probed: ${left.why}`, "bad");
  } else {
    say("No probes could be run", "bad");
  }
}
