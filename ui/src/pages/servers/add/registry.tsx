// Search in the MCP registry. Its content is untrusted and shown as plain text.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get, Problem, query } from "../../../api/client";
import type { Registry } from "../../../api/types";
import { Empty, Failure, Loading } from "../../../kit/basics";
import { Foreign, SafeLink } from "../../../kit/foreign";
import { commandLine, text } from "../keys";
import type { Found } from "./draft";

type Entry = Registry["servers"][number];
type Choice = Entry["choices"][number];

export function RegistrySearch(props: { take: (found: Found) => void }) {
  const [typed, setTyped] = useState("");
  const [words, setWords] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWords(typed.trim()), 400);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useInfiniteQuery<Registry, Problem>({
    queryKey: ["api", "registry", words],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam as string | undefined;
      return get<Registry>(`/api/registry${query({ q: words, cursor })}`, signal);
    },
    initialPageParam: undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    retry: false,
    staleTime: 60_000,
  });
  const entries = found.data?.pages.flatMap((page) => page.servers) ?? [];
  return (
    <>
      <div className="bar">
        <input
          type="search"
          className="wide"
          aria-label="Search the registry"
          placeholder="Name or description"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <span className="help">Searched through the gateway. Nothing is installed yet.</span>
      </div>
      {found.error && (
        <>
          <Failure error={Problem.of(found.error)} again={() => void found.refetch()} />
          <p className="help">
            The registry needs internet access. You can still paste a command or URL.
          </p>
        </>
      )}
      {found.isPending && !found.error && <Loading />}
      {found.data && entries.length === 0 && <Empty>No matching servers.</Empty>}
      <ul className="entries">
        {entries.map((it) => (
          <li key={`${it.name} ${it.version}`}>
            <One of={it} take={props.take} />
          </li>
        ))}
      </ul>
      {found.hasNextPage && (
        <button
          type="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {found.isFetchingNextPage ? "Loading…" : "Load more"}
        </button>
      )}
    </>
  );
}

function One(props: { of: Entry; take: (found: Found) => void }) {
  const { of } = props;
  return (
    <>
      <h2>
        <Foreign text={of.title ?? of.name} clip={120} />
      </h2>
      <p className="quiet">
        <code>
          <Foreign text={of.name} clip={160} />
        </code>{" "}
        {of.version}
        {of.website && (
          <>
            {" "}
            · <SafeLink href={of.website} />
          </>
        )}
      </p>
      <p>
        <Foreign text={of.description} clip={300} />
      </p>
      {of.choices.length === 0 && (
        <p className="quiet">Not installable: no package or URL listed.</p>
      )}
      <ul className="choices">
        {of.choices.map((choice, at) => (
          <li key={at}>
            <button
              type="button"
              onClick={() => props.take({ ...taken(of, choice), needs: choice.needs })}
            >
              Set up
            </button>
            <span className="badge">{choice.kind}</span>
            <code className="clip">
              <Foreign text={shown(choice)} clip={160} />
            </code>
            {choice.needs.length > 0 && (
              <span className="quiet">requires {choice.needs.map((it) => it.name).join(", ")}</span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function shown(choice: Choice): string {
  return commandLine(choice.server) || text(choice.server, "url") || choice.label;
}

/** Names `io.github.someone/server-name` `server-name`. */
function taken(of: Entry, choice: Choice): Found {
  const last = of.name.split("/").at(-1) ?? of.name;
  const plain = last.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[^A-Za-z]+|-+$/g, "");
  return { name: plain.slice(0, 64) || "server", keys: choice.server };
}
