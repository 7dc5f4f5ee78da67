// Server-sent events from a fetch response, for requests that EventSource cannot make.

export interface SseEvent {
  event: string;
  data: string;
  /** An SSE comment; the gateway reports tool calls in them. */
  comment?: string;
}

/** Yields each event of the response until it ends. */
export async function* readEvents(response: Response): AsyncGenerator<SseEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = "message";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += value ?? "";
      const lines = rest.split(/\r\n|\n|\r/);
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event, data: data.join("\n") };
          event = "message";
          data = [];
        } else if (line.startsWith(":")) {
          yield { event: "comment", data: "", comment: line.slice(1).trim() };
        } else {
          const at = line.indexOf(":");
          const name = at < 0 ? line : line.slice(0, at);
          const field = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
          if (name === "event") event = field;
          if (name === "data") data.push(field);
        }
      }
      if (done) return;
    }
  } finally {
    reader.releaseLock();
  }
}
