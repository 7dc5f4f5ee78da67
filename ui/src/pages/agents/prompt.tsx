// The prompt of an agent, as a template and rendered.
import { useEffect, useMemo, useState } from "react";
import { Problem, path, post } from "../../api/client";
import type { Agent } from "../../api/types";
import { Failure, Field, Panel } from "../../kit/basics";
import { AsCommand, Code } from "../../kit/code";
import { visible } from "../../kit/foreign";

interface Rendered {
  prompt: string | null;
  greeting: string | null;
}

/** Placeholder names in braces, in order of appearance. */
export function placeholders(texts: (string | null)[]): string[] {
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
  const names = useMemo(() => placeholders([agent.prompt, agent.greeting]), [agent]);
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const [rendered, setRendered] = useState<Rendered>();
  const [problem, setProblem] = useState<Problem>();
  const address = `/api/agents${path(agent.name)}/render`;
  const body = useMemo(
    () => ({ variables: Object.fromEntries([...values].filter(([, it]) => it !== "")) }),
    [values],
  );
  useEffect(() => {
    let latest = true;
    const timer = setTimeout(() => {
      post<Rendered>(address, body)
        .then((it) => {
          if (!latest) return;
          setRendered(it);
          setProblem(undefined);
        })
        .catch((error: unknown) => latest && setProblem(Problem.of(error)));
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
        <Texts prompt={agent.prompt} greeting={agent.greeting} how="template" />
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
      <Panel title="Rendered" actions={<AsCommand method="POST" path={address} body={body} />}>
        {problem && <Failure error={problem} />}
        {rendered && <Texts prompt={rendered.prompt} greeting={rendered.greeting} how="rendered" />}
      </Panel>
    </div>
  );
}

function Texts(props: Rendered & { how: string }) {
  return (
    <>
      {props.prompt !== null && (
        <Code text={visible(props.prompt)} label={`prompt ${props.how}`} wrap />
      )}
      {props.greeting !== null && (
        <>
          <h3>Greeting</h3>
          <Code text={visible(props.greeting)} label={`greeting ${props.how}`} wrap />
        </>
      )}
    </>
  );
}
