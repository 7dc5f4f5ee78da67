// Chat with an agent, or with a model alone, showing every tool call.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Page } from "../kit/basics";
import { AsCommand } from "../kit/code";
import { narrow, useRoute } from "../route";
import { type Conversation, type Settings, type State, useConversation } from "./chat/conversation";
import { Choose, type Offered, useModels } from "./chat/settings";
import { Answered, User } from "./chat/shown";
import "../style/chat.css";

export default function ChatPage() {
  const { state, conversation } = useConversation();
  const offered = useModels();
  const { query } = useRoute();
  const [settings, setSettings] = useState<Settings>(() => kept);
  useEffect(() => {
    kept = settings;
  }, [settings]);
  const chosen = withSomebody(settings, query.get("agent") || undefined, offered);
  const change = (next: Settings) => {
    setSettings(next);
    narrow({ agent: next.agent });
  };
  const body = { model: chosen.model ?? chosen.agent, messages: [{ role: "user", content: "…" }] };
  return (
    <Page
      title="Chat"
      lead="Chat through the gateway's API, with streaming and live tool calls. Nothing is stored."
      actions={
        <>
          <button
            type="button"
            disabled={state.items.length === 0}
            onClick={() => conversation.forget()}
          >
            New conversation
          </button>
          <AsCommand
            cli={`tollgate chat ${chosen.agent ?? chosen.model ?? ""}`}
            path="/v1/chat/completions"
            body={body}
          />
        </>
      }
    >
      <div className="chat">
        <div className="chat-talk">
          <Said state={state} settings={chosen} conversation={conversation} />
          <Input state={state} settings={chosen} conversation={conversation} />
        </div>
        <Choose settings={chosen} change={change} offered={offered} />
      </div>
    </Page>
  );
}

/** Kept for the lifetime of the tab, like the conversation. */
let kept: Settings = { variables: [] };

/** The default without a selection: the agent in the URL, or else the first one; none while loading. */
function withSomebody(settings: Settings, named: string | undefined, offered: Offered): Settings {
  if (settings.agent || settings.model) return settings;
  const agent = named ?? offered.agents[0]?.id;
  return { ...settings, agent, model: agent ? undefined : offered.models[0]?.id };
}

const isSomebody = (settings: Settings) => Boolean(settings.agent || settings.model);

function Said(props: { state: State; settings: Settings; conversation: Conversation }) {
  const { state, settings, conversation } = props;
  const list = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever a message changes
  useLayoutEffect(() => {
    const shown = list.current;
    if (shown && atEnd.current) shown.scrollTop = shown.scrollHeight;
  }, [state]);
  if (state.items.length === 0) return <Nothing settings={settings} conversation={conversation} />;
  const hands = {
    run: (call: Parameters<Conversation["run"]>[0]) => void conversation.run(call, settings),
    decline: (call: Parameters<Conversation["run"]>[0]) => conversation.decline(call, settings),
    running: state.running,
  };
  return (
    <ol
      ref={list}
      className="chat-said"
      aria-label="Conversation"
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
      }}
    >
      {state.items.map((item, at) =>
        item.kind === "user" ? (
          <User key={at} text={item.text} />
        ) : (
          <Answered
            key={at}
            item={item}
            hands={{ ...hands, last: at === state.items.length - 1 && !state.busy }}
          />
        ),
      )}
    </ol>
  );
}

const EXAMPLES = ["roll 2d6+3", 'call roll {"expression": "1d20"}', "what can you do?"];

function Nothing(props: { settings: Settings; conversation: Conversation }) {
  return (
    <div className="chat-said empty">
      <p>
        Send a message. With the <code>offline</code> model, <code>call NAME {"{json}"}</code> calls
        that tool directly.
      </p>
      <p className="actions">
        {EXAMPLES.map((text) => (
          <button
            key={text}
            type="button"
            disabled={!isSomebody(props.settings)}
            onClick={() => props.conversation.say(text, props.settings)}
          >
            {text}
          </button>
        ))}
      </p>
    </div>
  );
}

function Input(props: { state: State; settings: Settings; conversation: Conversation }) {
  const { state, settings, conversation } = props;
  const [text, setText] = useState("");
  const free = !state.busy && state.running.size === 0 && isSomebody(settings);
  const ready = free && text.trim() !== "";
  const send = () => {
    if (!ready) return;
    conversation.say(text.trim(), settings);
    setText("");
  };
  return (
    <form
      className="chat-input"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        aria-label="Message"
        rows={3}
        placeholder="Message (Enter to send, Shift+Enter for a new line)"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {state.busy ? (
        <button type="button" className="danger" onClick={() => conversation.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" className="primary" disabled={!ready}>
          Send
        </button>
      )}
    </form>
  );
}
