// A virtualized list of turns, newest first, each with its waterfall.
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState } from "react";
import { TierBadge } from "../../kit/basics";
import { count, ms, timeOfDay } from "../../kit/format";
import { to } from "../../route";
import type { Turn } from "./turns";
import { Legend, Waterfall } from "./waterfall";

export function TurnList(props: { turns: readonly Turn[]; open: (id: string) => void }) {
  const { turns } = props;
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: turns.length,
    // Matches the CSS: a header, an axis, and a row per call.
    estimateSize: (at) => 92 + (turns[at]?.lines.length ?? 1) * 28,
    getItemKey: (at) => turns[at]?.id ?? at,
    overscan: 4,
    scrollMargin: top,
  });
  return (
    <>
      <Legend />
      <ul
        ref={list}
        className="turns"
        aria-label="Turns"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map((item) => {
          const turn = turns[item.index];
          if (!turn) return null;
          return (
            <li
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              style={{ transform: `translateY(${item.start - top}px)` }}
            >
              <section className="panel turn" aria-label={`Turn at ${timeOfDay(turn.began)}`}>
                <TurnHead turn={turn} />
                <Waterfall turn={turn} open={props.open} />
              </section>
            </li>
          );
        })}
      </ul>
    </>
  );
}

export function TurnHead(props: { turn: Turn }) {
  const { turn } = props;
  const end = Math.max(...turn.lines.map((line) => line.to));
  return (
    <header className="turn-head">
      <a href={`${to("calls")}?tab=turns&turn=${encodeURIComponent(turn.id)}`}>
        {timeOfDay(turn.began)}
      </a>
      <TierBadge tier={turn.deadline === null ? null : turn.tier} />
      <span>{turn.agent}</span>
      <span className="quiet">by {turn.principal}</span>
      <span className="quiet">{count(turn.lines.length, "call")}</span>
      <span className="turn-span">
        {ms(end)}
        {turn.deadline !== null && (
          <span className={turn.late > 0 ? "late" : "quiet"}> of {ms(turn.deadline)}</span>
        )}
        {turn.late > 0 && <span className="badge bad">{turn.late} over ceiling</span>}
      </span>
    </header>
  );
}
