// Requests the tier of a text on every change; only the latest response is used.
import { useEffect, useRef, useState } from "react";
import { call, Problem } from "../../api/client";
import type { Tier } from "../../api/types";

export interface Asked {
  text: string;
  agent: string;
  /** As typed. */
  queue: string;
  override: Tier | "";
  conversation: string;
}

export interface Chosen {
  tier: Tier | null;
  reason: string;
  agent: string;
  tools: string[];
}

/** `partial`: the text is still being typed, and the turn is not counted. */
export function bodyOf(asked: Asked, how: "partial" | "said"): Record<string, unknown> {
  const queue = Number(asked.queue);
  return {
    text: asked.text,
    ...(asked.agent && { agent: asked.agent }),
    ...(asked.queue !== "" && Number.isInteger(queue) && queue >= 0 && { queue_depth: queue }),
    ...(asked.override && { override: asked.override }),
    ...(asked.conversation && { conversation: asked.conversation }),
    ...(how === "partial" && { partial: true }),
  };
}

/** Debounce time. */
const PAUSE_MS = 60;

export function useTier(asked: Asked) {
  const [chosen, setChosen] = useState<Chosen>();
  const [problem, setProblem] = useState<Problem>();
  const body = JSON.stringify(bodyOf(asked, "partial"));
  const latest = useRef(body);
  latest.current = body;
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      ask(body, controller.signal)
        .then((answer) => {
          setChosen(answer);
          setProblem(undefined);
        })
        .catch((error: unknown) => {
          if (!controller.signal.aborted) setProblem(Problem.of(error));
        });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [body]);
  const say = async () => {
    try {
      const answer = await ask(JSON.stringify(bodyOf(asked, "said")));
      // The user may have typed more meanwhile and got a newer response.
      if (latest.current === body) {
        setChosen(answer);
        setProblem(undefined);
      }
      return answer;
    } catch (error) {
      if (latest.current === body) setProblem(Problem.of(error));
      return undefined;
    }
  };
  return { chosen, problem, say };
}

export function ask(body: string, signal?: AbortSignal): Promise<Chosen> {
  const headers = { "content-type": "application/json" };
  return call<Chosen>("POST", "/v1/tier", { text: body, headers, signal });
}
