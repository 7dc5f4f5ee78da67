// Small components used by all pages.
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { ApiError } from "../api/client";
import type { ServerState, Tier } from "../api/types";
import { ago, dateTime } from "./format";
import { toneOf } from "./tone";

export function Page(props: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${props.title} · Tollgate`;
  }, [props.title]);
  return (
    <main className="page" id="content" tabIndex={-1}>
      <header className="page-head">
        <div>
          <h1>{props.title}</h1>
          {props.lead && <p className="lead">{props.lead}</p>}
        </div>
        {props.actions && <div className="actions">{props.actions}</div>}
      </header>
      {props.children}
    </main>
  );
}

/** A section with a heading. */
export function Panel(props: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  const id = useId();
  return (
    <section
      className={`panel ${props.className ?? ""}`}
      aria-labelledby={props.title ? id : undefined}
    >
      {props.title && (
        <header className="panel-head">
          <h2 id={id}>{props.title}</h2>
          {props.actions && <div className="actions">{props.actions}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

/** The data of a query, or its loading state or error. */
export function QueryView<T>(props: {
  of: UseQueryResult<T, ApiError>;
  children: (data: T) => ReactNode;
}) {
  const { data, error, isPending, refetch } = props.of;
  return (
    <>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {data !== undefined ? props.children(data) : isPending && !error && <Loading />}
    </>
  );
}

export function Loading() {
  // Fast responses need no loading indicator.
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return late ? <p className="quiet">Loading…</p> : null;
}

export function Failure(props: { error: unknown; retry?: () => void }) {
  const problem = ApiError.from(props.error);
  return (
    <div className="note bad" role="alert">
      <span>{problem.message}</span>
      {problem.code && <code>{problem.code}</code>}
      {props.retry && (
        <button type="button" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty(props: { children: ReactNode }) {
  return <div className="empty">{props.children}</div>;
}

export function TierBadge(props: { tier: Tier | null }) {
  if (!props.tier) return <span className="badge">no budget</span>;
  return <span className={`badge tier-${props.tier}`}>{props.tier}</span>;
}

/** A state as a word; colour alone is not accessible. */
export function StateBadge(props: { state: ServerState | string | null }) {
  const word = (props.state ?? "running").replaceAll("_", " ");
  return <span className={`badge state ${toneOf(props.state)}`}>{word}</span>;
}

/** A relative time that keeps updating. */
export function Ago(props: { time: string | null | undefined }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 5000);
    return () => clearInterval(timer);
  }, []);
  if (!props.time) return <span className="quiet">never</span>;
  return (
    <time dateTime={props.time} title={dateTime(props.time)}>
      {ago(props.time)}
    </time>
  );
}

export function Field(props: {
  label: string;
  help?: ReactNode;
  error?: string;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={props.error ? "field invalid" : "field"}>
      <label htmlFor={id}>{props.label}</label>
      {props.children(id)}
      {props.help && <p className="help">{props.help}</p>}
      {props.error && (
        <p className="error" role="alert">
          {props.error}
        </p>
      )}
    </div>
  );
}

export function Figure(props: {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  href?: string;
  tone?: string;
}) {
  const inner = (
    <>
      <span className="figure-value">{props.value}</span>
      <span className="figure-label">{props.label}</span>
      {props.note && <span className="figure-note">{props.note}</span>}
    </>
  );
  const className = `figure ${props.tone ?? ""}`;
  return props.href ? (
    <a className={className} href={props.href}>
      {inner}
    </a>
  ) : (
    <div className={className}>{inner}</div>
  );
}

export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly { id: T; title: ReactNode }[];
  chosen: T;
  choose: (tab: T) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const at = props.tabs.findIndex((tab) => tab.id === props.chosen);
    const to = (at + by + props.tabs.length) % props.tabs.length;
    const next = props.tabs[to];
    if (!next) return;
    props.choose(next.id);
    // Keep the focus on the selected tab.
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  return (
    <div
      ref={list}
      className="tabs"
      role="tablist"
      aria-label={props.label}
      onKeyDown={(event) => {
        if (event.key === "ArrowRight") move(1);
        if (event.key === "ArrowLeft") move(-1);
      }}
    >
      {props.tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          aria-selected={tab.id === props.chosen}
          tabIndex={tab.id === props.chosen ? 0 : -1}
          onClick={() => props.choose(tab.id)}
        >
          {tab.title}
        </button>
      ))}
    </div>
  );
}
