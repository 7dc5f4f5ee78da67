// A uPlot chart in the colours of the page. It resizes with its container and follows the theme.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Colours {
  text: string;
  line: string;
  good: string;
  warn: string;
  bad: string;
  accent: string;
}

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: of("--quiet"),
    line: of("--line"),
    good: of("--good"),
    warn: of("--warn"),
    bad: of("--bad"),
    accent: of("--accent"),
  };
}

export function Chart(props: {
  label: string;
  data: uPlot.AlignedData;
  height: number;
  /** Everything but the size; called again when the theme changes. */
  options: (colours: Colours) => Omit<uPlot.Options, "width" | "height">;
}) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const { data, height, options } = props;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const div = container.current;
    if (!div) return;
    const createPlot = () => {
      plot.current?.destroy();
      const width = Math.max(div.clientWidth, 100);
      plot.current = new uPlot({ ...options(colours()), width, height }, latest.current, div);
    };
    createPlot();
    const resizeObserver = new ResizeObserver(() => {
      plot.current?.setSize({ width: Math.max(div.clientWidth, 100), height });
    });
    resizeObserver.observe(div);
    addEventListener("tollgate-theme", createPlot);
    return () => {
      resizeObserver.disconnect();
      removeEventListener("tollgate-theme", createPlot);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [options, height]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);
  return <div ref={container} className="chart" role="img" aria-label={props.label} />;
}

export function axis(colours: Colours, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    stroke: colours.text,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1 },
    font: "12px system-ui",
    ...more,
  };
}

/** A small inline line chart. */
export function Sparkline(props: { values: readonly number[]; label: string }) {
  const { values } = props;
  if (values.length < 2) return <span className="quiet">–</span>;
  const top = Math.max(...values, 1);
  const step = 72 / (values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(19 - (value / top) * 18).toFixed(1)}`,
  );
  return (
    <svg className="sparkline" viewBox="0 0 72 20" role="img" aria-label={props.label}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
