// Requests the tier of a text on every change; only the latest response is used.
import { useEffect, useRef, useState } from "react";
import { ApiError, call } from "../../api/client";
import type { Tier } from "../../api/types";

export interface TierInput {
  text: string;
  agent: string;
  /** As typed. */
  queue: string;
  override: Tier | "";
  conversation: string;
}

export interface TierResult {
  tier: Tier | null;
  reason: string;
  agent: string;
  tools: string[];
}

/** `partial`: the text is still being typed, and the turn is not counted. */
export function bodyOf(input: TierInput, mode: "partial" | "said"): Record<string, unknown> {
  const queue = Number(input.queue);
  return {
    text: input.text,
    ...(input.agent && { agent: input.agent }),
    ...(input.queue !== "" && Number.isInteger(queue) && queue >= 0 && { queue_depth: queue }),
    ...(input.override && { override: input.override }),
    ...(input.conversation && { conversation: input.conversation }),
    ...(mode === "partial" && { partial: true }),
  };
}

/** Debounce time. */
const DEBOUNCE_MS = 60;

export function useTier(input: TierInput) {
  const [result, setResult] = useState<TierResult>();
  const [problem, setProblem] = useState<ApiError>();
  const body = JSON.stringify(bodyOf(input, "partial"));
  const latest = useRef(body);
  latest.current = body;
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      fetchTier(body, controller.signal)
        .then((answer) => {
          setResult(answer);
          setProblem(undefined);
        })
        .catch((error: unknown) => {
          if (!controller.signal.aborted) setProblem(ApiError.from(error));
        });
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [body]);
  const submitTurn = async () => {
    try {
      const answer = await fetchTier(JSON.stringify(bodyOf(input, "said")));
      // The user may have typed more meanwhile and got a newer response.
      if (latest.current === body) {
        setResult(answer);
        setProblem(undefined);
      }
      return answer;
    } catch (error) {
      if (latest.current === body) setProblem(ApiError.from(error));
      return undefined;
    }
  };
  return { result, problem, submitTurn };
}

export function fetchTier(body: string, signal?: AbortSignal): Promise<TierResult> {
  const headers = { "content-type": "application/json" };
  return call<TierResult>("POST", "/v1/tier", { text: body, headers, signal });
}
