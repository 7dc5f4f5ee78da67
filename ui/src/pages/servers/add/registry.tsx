// Search in the MCP registry. Its content is untrusted and shown as plain text.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, get, query } from "../../../api/client";
import type { RegistryPage } from "../../../api/types";
import { Empty, Failure, Loading } from "../../../kit/basics";
import { SafeLink, UntrustedText } from "../../../kit/untrusted";
import { commandLine, textAt } from "../config";
import type { Candidate } from "./draft";

type Entry = RegistryPage["servers"][number];
type Choice = Entry["choices"][number];

export function RegistrySearch(props: { configure: (found: Candidate) => void }) {
  const [typed, setTyped] = useState("");
  const [words, setWords] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWords(typed.trim()), 400);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useInfiniteQuery<RegistryPage, ApiError>({
    queryKey: ["api", "registry", words],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam as string | undefined;
      return get<RegistryPage>(`/api/registry${query({ q: words, cursor })}`, signal);
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
          <Failure error={ApiError.from(found.error)} retry={() => void found.refetch()} />
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
            <RegistryEntry of={it} configure={props.configure} />
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

function RegistryEntry(props: { of: Entry; configure: (found: Candidate) => void }) {
  const { of } = props;
  return (
    <>
      <h2>
        <UntrustedText text={of.title ?? of.name} clip={120} />
      </h2>
      <p className="quiet">
        <code>
          <UntrustedText text={of.name} clip={160} />
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
        <UntrustedText text={of.description} clip={300} />
      </p>
      {of.choices.length === 0 && (
        <p className="quiet">Not installable: no package or URL listed.</p>
      )}
      <ul className="choices">
        {of.choices.map((choice, at) => (
          <li key={at}>
            <button
              type="button"
              onClick={() => props.configure({ ...candidateOf(of, choice), needs: choice.needs })}
            >
              Set up
            </button>
            <span className="badge">{choice.kind}</span>
            <code className="clip">
              <UntrustedText text={describeChoice(choice)} clip={160} />
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

function describeChoice(choice: Choice): string {
  return commandLine(choice.server) || textAt(choice.server, "url") || choice.label;
}

/** Names `io.github.someone/server-name` `server-name`. */
function candidateOf(of: Entry, choice: Choice): Candidate {
  const last = of.name.split("/").at(-1) ?? of.name;
  const plain = last.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[^A-Za-z]+|-+$/g, "");
  return { name: plain.slice(0, 64) || "server", keys: choice.server };
}
