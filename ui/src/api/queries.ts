// Cached reads of the API. Query keys are paths, so that an event invalidates every view that shows
// the resource.
import { QueryClient, useQuery } from "@tanstack/react-query";
import { batchPaths } from "./batch";
import { ApiError, get } from "./client";
import { useEvents } from "./events";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: true,
      retry: (count, error) => ApiError.from(error).status === 0 && count < 2,
    },
  },
});

type PollInterval = number | undefined;

/** A GET of the API, cached by its path. `every` polls with this interval in ms; a function decides by
 * the last data whether to go on. */
export function useRead<T>(
  path: string | undefined,
  every?: PollInterval | ((last?: T) => PollInterval),
) {
  return useQuery<T, ApiError>({
    queryKey: [...((path ?? "").split("?")[0] ?? "").split("/").filter(Boolean), path],
    queryFn: ({ signal }) => get<T>(path ?? "", signal),
    enabled: path !== undefined,
    refetchInterval: typeof every === "function" ? (read) => every(read.state.data) : every,
    placeholderData: (before) => before,
  });
}

/** Invalidates everything below these paths, such as `api/servers`. */
export function invalidate(...paths: string[]) {
  void invalidatePaths(paths);
}

function invalidatePaths(paths: string[]): Promise<unknown> {
  return Promise.all(
    paths.map((path) => queries.invalidateQueries({ queryKey: path.split("/").filter(Boolean) })),
  );
}

const invalidateSoon = batchPaths(invalidatePaths);

const PATHS_BY_EVENT: Record<string, string[]> = {
  server_changed: ["api/servers", "api/overview", "api/tools"],
  reloaded: ["api", "v1"],
  moved: ["api/tools", "api/overview", "v1/tools"],
  doubted: ["api/tools", "api/overview", "v1/tools"],
  judged: ["api/tools", "api/overview", "v1/tools"],
  approval_requested: ["api/approvals", "api/overview"],
  approval_decided: ["api/approvals", "api/overview"],
  session_opened: ["api/sessions", "api/overview"],
  session_tier: ["api/sessions"],
  session_turn: ["api/sessions"],
  session_closed: ["api/sessions", "api/overview"],
  missed: ["api"],
};

/** Invalidates queries when events arrive. Used once, by the shell. */
export function useLiveUpdates() {
  useEvents([...Object.keys(PATHS_BY_EVENT), "opened"], (_, name) => {
    // Anything may have changed while disconnected. Queries that are loading right now are not
    // read twice.
    if (name === "opened") invalidate("api", "v1");
    else invalidateSoon(...(PATHS_BY_EVENT[name] ?? []));
  });
}
