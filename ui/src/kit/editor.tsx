// A text editor with line numbers and inline diagnostics. It is a native textarea, so undo,
// selection and screen readers work as usual.
import {
  type KeyboardEvent,
  type Ref,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Diagnostic } from "../api/types";

const LINE_HEIGHT = 20;
const PADDING = 10;

export interface Editor {
  go: (line: number, column: number) => void;
}

export function TextEditor(props: {
  label: string;
  text: string;
  change: (text: string) => void;
  diagnostics: readonly Diagnostic[];
  describedBy?: string;
  ref?: Ref<Editor>;
}) {
  const { text } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const marks = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => text.split("\n").length, [text]);
  // The initial height fits the text; afterwards the user may resize it.
  const [height] = useState(() => (Math.min(Math.max(lines + 1, 12), 28) + 1) * LINE_HEIGHT);
  const numbers = useMemo(
    () => Array.from({ length: lines }, (_, at) => at + 1).join("\n"),
    [lines],
  );
  useImperativeHandle(props.ref, () => ({
    go: (line, column) => {
      const textarea = field.current;
      if (!textarea) return;
      const at = offsetOf(textarea.value, line, column);
      textarea.focus();
      textarea.setSelectionRange(at, at);
      textarea.scrollTop = Math.max(0, (line - 6) * LINE_HEIGHT);
    },
  }));
  const syncScroll = () => {
    const top = `translateY(${-(field.current?.scrollTop ?? 0)}px)`;
    for (const layer of [gutter.current, marks.current]) if (layer) layer.style.transform = top;
  };
  return (
    <div className="editor" style={{ height }}>
      <div className="editor-side" aria-hidden="true">
        <div ref={gutter}>
          {numbers}
          {props.diagnostics.map((it, at) =>
            it.line === null ? null : (
              <span
                key={at}
                className={`editor-flag ${it.severity}`}
                style={{ top: (it.line - 1) * LINE_HEIGHT + PADDING }}
              >
                ●
              </span>
            ),
          )}
        </div>
      </div>
      <div className="editor-field">
        <div ref={marks} aria-hidden="true">
          {props.diagnostics.map((it, at) =>
            it.line === null ? null : (
              <div
                key={at}
                className={`editor-mark ${it.severity}`}
                style={{
                  top: (it.line - 1) * LINE_HEIGHT + PADDING,
                  height: Math.max(1, (it.end_line ?? it.line) - it.line + 1) * LINE_HEIGHT,
                }}
              />
            ),
          )}
        </div>
        <textarea
          ref={field}
          aria-label={props.label}
          aria-describedby={props.describedBy}
          aria-invalid={props.diagnostics.some((it) => it.severity === "error")}
          className="mono"
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          value={text}
          onScroll={syncScroll}
          onKeyDown={keepIndent}
          onChange={(event) => props.change(event.target.value)}
        />
      </div>
    </div>
  );
}

/** Auto-indent: a new line starts with the indent of the previous one. */
function keepIndent(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  const { value, selectionStart } = event.currentTarget;
  const begin = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const blanks = /^ */.exec(value.slice(begin, selectionStart))?.[0] ?? "";
  if (!blanks) return;
  event.preventDefault();
  // The only way to insert text that keeps the undo history.
  document.execCommand("insertText", false, `\n${blanks}`);
}

/** The character offset of a line and column. */
export function offsetOf(text: string, line: number, column: number): number {
  let at = 0;
  for (let current = 1; current < line; current += 1) {
    const next = text.indexOf("\n", at);
    if (next < 0) break;
    at = next + 1;
  }
  const end = text.indexOf("\n", at);
  return Math.min(at + Math.max(0, column - 1), end < 0 ? text.length : end);
}
