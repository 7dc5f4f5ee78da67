// Measures the latency of one tool with probes.
import { useState } from "react";
import { ApiError, send } from "../../api/client";
import { invalidate } from "../../api/queries";
import { readEvents } from "../../api/sse";
import type { Tool } from "../../api/types";
import { count, ms } from "../../kit/format";
import { showError, showToast } from "../../kit/toast";

interface CalibrationStep {
  outcome: string;
  took_ms?: number;
  why?: string;
  done: number;
  total: number;
}

export function Calibrate(props: { tool: Tool }) {
  const [step, setStep] = useState<CalibrationStep>();
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const body = { tool: props.tool.name };
      const response = await send("POST", "/api/calibrate", { body });
      const steps: CalibrationStep[] = [];
      for await (const { event, data } of readEvents(response)) {
        if (event !== "step") continue;
        const step = JSON.parse(data) as CalibrationStep;
        steps.push(step);
        setStep(step);
      }
      reportResult(steps);
      invalidate("api/tools", "v1/tools");
    } catch (error) {
      showError(ApiError.from(error));
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

function reportResult(steps: CalibrationStep[]) {
  const probed = steps.filter((it) => it.took_ms !== undefined);
  const skipped = steps.find((it) => it.why);
  if (probed.length > 0) {
    const slowest = Math.max(...probed.map((it) => it.took_ms ?? 0));
    showToast(`${count(probed.length, "probe")}, slowest ${ms(slowest)}`);
  } else if (skipped?.why) {
    showToast(`Not probed: ${skipped.why}`, "bad");
  } else {
    showToast("No probes could be run", "bad");
  }
}
