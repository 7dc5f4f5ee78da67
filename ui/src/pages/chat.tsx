// Chat with an agent, or with a model alone, showing every tool call.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Page } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { setQuery, useRoute } from "../route";
import { type Conversation, type Settings, type State, useConversation } from "./chat/conversation";
import { AnswerMessage, UserMessage } from "./chat/messages";
import { ChatSettings, type ModelChoices, useModels } from "./chat/settings";
import "../style/chat.css";

export default function ChatPage() {
  const { state, conversation } = useConversation();
  const choices = useModels();
  const { query } = useRoute();
  const [settings, setSettings] = useState<Settings>(() => savedSettings);
  useEffect(() => {
    savedSettings = settings;
  }, [settings]);
  const chosen = withDefaults(settings, query.get("agent") || undefined, choices);
  const change = (next: Settings) => {
    setSettings(next);
    setQuery({ agent: next.agent });
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
          <ShowAsCli
            cli={`tollgate chat ${chosen.agent ?? chosen.model ?? ""}`}
            path="/v1/chat/completions"
            body={body}
          />
        </>
      }
    >
      <div className="chat">
        <div className="chat-main">
          <Messages state={state} settings={chosen} conversation={conversation} />
          <MessageInput state={state} settings={chosen} conversation={conversation} />
        </div>
        <ChatSettings settings={chosen} change={change} choices={choices} />
      </div>
    </Page>
  );
}

/** Kept for the lifetime of the tab, like the conversation. */
let savedSettings: Settings = { variables: [] };

/** The default without a selection: the agent in the URL, or else the first one; none while loading. */
function withDefaults(
  settings: Settings,
  fromUrl: string | undefined,
  offered: ModelChoices,
): Settings {
  if (settings.agent || settings.model) return settings;
  const agent = fromUrl ?? offered.agents[0]?.id;
  return { ...settings, agent, model: agent ? undefined : offered.models[0]?.id };
}

const hasTarget = (settings: Settings) => Boolean(settings.agent || settings.model);

function Messages(props: { state: State; settings: Settings; conversation: Conversation }) {
  const { state, settings, conversation } = props;
  const list = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever a message changes
  useLayoutEffect(() => {
    const element = list.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [state]);
  if (state.items.length === 0)
    return <NoMessages settings={settings} conversation={conversation} />;
  const actions = {
    run: (call: Parameters<Conversation["run"]>[0]) => void conversation.run(call, settings),
    decline: (call: Parameters<Conversation["run"]>[0]) => conversation.decline(call, settings),
    running: state.running,
  };
  return (
    <ol
      ref={list}
      className="chat-messages"
      aria-label="Conversation"
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
      }}
    >
      {state.items.map((item, at) =>
        item.kind === "user" ? (
          <UserMessage key={at} text={item.text} />
        ) : (
          <AnswerMessage
            key={at}
            item={item}
            actions={{ ...actions, last: at === state.items.length - 1 && !state.busy }}
          />
        ),
      )}
    </ol>
  );
}

const EXAMPLES = ["roll 2d6+3", 'call roll {"expression": "1d20"}', "what can you do?"];

function NoMessages(props: { settings: Settings; conversation: Conversation }) {
  return (
    <div className="chat-messages empty">
      <p>
        Send a message. With the <code>offline</code> model, <code>call NAME {"{json}"}</code> calls
        that tool directly.
      </p>
      <p className="actions">
        {EXAMPLES.map((text) => (
          <button
            key={text}
            type="button"
            disabled={!hasTarget(props.settings)}
            onClick={() => props.conversation.send(text, props.settings)}
          >
            {text}
          </button>
        ))}
      </p>
    </div>
  );
}

function MessageInput(props: { state: State; settings: Settings; conversation: Conversation }) {
  const { state, settings, conversation } = props;
  const [text, setText] = useState("");
  const idle = !state.busy && state.running.size === 0 && hasTarget(settings);
  const ready = idle && text.trim() !== "";
  const send = () => {
    if (!ready) return;
    conversation.send(text.trim(), settings);
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
