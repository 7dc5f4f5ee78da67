// The prompt of an agent, as a template and rendered.
import { useEffect, useMemo, useState } from "react";
import { ApiError, path, post } from "../../api/client";
import type { Agent } from "../../api/types";
import { Failure, Field, Panel } from "../../kit/basics";
import { Code, ShowAsCli } from "../../kit/code";
import { escapeHidden } from "../../kit/untrusted";

interface RenderedPrompt {
  prompt: string | null;
  greeting: string | null;
}

/** Placeholder names in braces, in order of appearance. */
export function findPlaceholders(texts: (string | null)[]): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const [, name] of (text ?? "").matchAll(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g)) {
      if (name) found.add(name);
    }
  }
  return [...found];
}

export function Prompt(props: { agent: Agent }) {
  const { agent } = props;
  const names = useMemo(() => findPlaceholders([agent.prompt, agent.greeting]), [agent]);
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const [rendered, setRendered] = useState<RenderedPrompt>();
  const [problem, setProblem] = useState<ApiError>();
  const address = `/api/agents${path(agent.name)}/render`;
  const body = useMemo(
    () => ({ variables: Object.fromEntries([...values].filter(([, it]) => it !== "")) }),
    [values],
  );
  useEffect(() => {
    let latest = true;
    const timer = setTimeout(() => {
      post<RenderedPrompt>(address, body)
        .then((it) => {
          if (!latest) return;
          setRendered(it);
          setProblem(undefined);
        })
        .catch((error: unknown) => latest && setProblem(ApiError.from(error)));
    }, 150);
    return () => {
      latest = false;
      clearTimeout(timer);
    };
  }, [address, body]);
  if (!agent.prompt && !agent.greeting) {
    return <Panel title="Prompt">No prompt or greeting configured.</Panel>;
  }
  return (
    <div className="columns">
      <Panel title="Template">
        <Texts prompt={agent.prompt} greeting={agent.greeting} variant="template" />
        {names.length > 0 && <h3>Placeholders</h3>}
        {names.map((name) => (
          <Field key={name} label={name}>
            {(id) => (
              <input
                id={id}
                type="text"
                autoComplete="off"
                placeholder={agent.variables[name] ?? "Built-in value, if any"}
                value={values.get(name) ?? ""}
                onChange={(event) => setValues(new Map(values).set(name, event.target.value))}
              />
            )}
          </Field>
        ))}
      </Panel>
      <Panel title="Rendered" actions={<ShowAsCli method="POST" path={address} body={body} />}>
        {problem && <Failure error={problem} />}
        {rendered && (
          <Texts prompt={rendered.prompt} greeting={rendered.greeting} variant="rendered" />
        )}
      </Panel>
    </div>
  );
}

function Texts(props: RenderedPrompt & { variant: string }) {
  return (
    <>
      {props.prompt !== null && (
        <Code text={escapeHidden(props.prompt)} label={`prompt ${props.variant}`} wrap />
      )}
      {props.greeting !== null && (
        <>
          <h3>Greeting</h3>
          <Code text={escapeHidden(props.greeting)} label={`greeting ${props.variant}`} wrap />
        </>
      )}
    </>
  );
}
