"""What Chat Completions of OpenAI refuses."""

import json

from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionDeveloperMessageParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from provider.issued import Visit
from provider.strict_openai import (
    check_effort,
    check_form,
    check_function,
    check_length,
    check_metadata,
    check_schema,
    refuse,
)
from provider.typed import hints

ROLES = {
    "assistant": ChatCompletionAssistantMessageParam,
    "developer": ChatCompletionDeveloperMessageParam,
    "system": ChatCompletionSystemMessageParam,
    "tool": ChatCompletionToolMessageParam,
    "user": ChatCompletionUserMessageParam,
}
# Nothing says how long an id may be; others have seen this limit.
UNCONFIRMED_ID = 40


def check(body: dict, visit: Visit) -> dict:
    check_form(CompletionCreateParamsNonStreaming, body if "unconfirmed" in visit.ways else without_strange(body))
    if not body["messages"]:
        message = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array."
        raise refuse(message, "messages", "empty_array")
    check_tools(body, visit)
    check_options(body, visit)
    check_messages(body["messages"], visit)
    check_metadata(body.get("metadata"))
    return body


def without_strange(body: dict) -> dict:
    """Whether a message may have fields that are not its own is not known."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    found = [
        {
            name: value
            for name, value in one.items()
            if one.get("role") not in ROLES or name in hints(ROLES[one["role"]])
        }
        if isinstance(one, dict)
        else one
        for one in messages
    ]
    return {**body, "messages": found}


def check_tools(body: dict, visit: Visit) -> None:
    tools = body.get("tools")
    for name in ("tool_choice", "parallel_tool_calls"):
        if not tools and name in body:
            raise refuse(f"'{name}' is only allowed when 'tools' are specified.", name)
    if tools is not None and not tools:
        message = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array."
        raise refuse(message, "tools", "empty_array")
    if not tools:
        return
    functions = []
    for at, tool in enumerate(tools):
        if tool["type"] == "function":
            one = tool["function"]
            check_function(one["name"], one.get("parameters"), one.get("strict"), f"tools[{at}].function")
            functions.append(one["name"])
    if visit.model.chat_tools == "none":
        message = f"Tools are not supported for {visit.model.name} in /v1/chat/completions."
        raise refuse(f"{message} Please use /v1/responses instead.", "tools", "unsupported_parameter")
    effort = body.get("reasoning_effort")
    if functions and visit.model.chat_tools == "without effort" and effort not in (None, "none"):
        message = f"Function tools with reasoning_effort are not supported for {visit.model.name}"
        raise refuse(f"{message} in /v1/chat/completions. Please use /v1/responses instead.", "reasoning_effort")
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["type"] == "function" and choice["function"]["name"] not in functions:
        raise refuse("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def check_options(body: dict, visit: Visit) -> None:
    check_effort(body.get("reasoning_effort"), visit, "reasoning_effort")
    if body.get("stream_options") is not None and not body.get("stream"):
        raise refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        raise refuse("'top_logprobs' requires 'logprobs' to be true.", "top_logprobs")
    if isinstance(body.get("stop"), list) and len(body["stop"]) > 4:
        message = "Invalid 'stop': array too long. Expected an array with maximum length 4."
        raise refuse(message, "stop", "array_above_max_length")
    if visit.model.efforts and body.get("max_tokens") is not None:
        message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        raise refuse(f"Unsupported parameter: {message}", "max_tokens", "unsupported_parameter")
    if visit.model.thinks(body.get("reasoning_effort")):
        for name, only in (("temperature", 1), ("top_p", 1)):
            if body.get(name, only) not in (only, None):
                message = f"'{name}' does not support {body[name]} with this model. Only the default (1) value is"
                raise refuse(f"Unsupported value: {message} supported.", name, "unsupported_value")
        for name in ("logprobs", "top_logprobs"):
            if body.get(name):
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                raise refuse(message, name, "unsupported_parameter")
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema" and form["json_schema"].get("strict"):
        one = form["json_schema"]
        check_schema(one.get("schema"), f"response_format '{one['name']}'", "response_format", "invalid_json_schema")
    if form.get("type") == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        message = (
            # mem0ai/mem0#3559, meta-llama/PurpleLlama#94.
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        )
        raise refuse(message, "messages")


def check_messages(messages: list[dict], visit: Visit) -> None:
    pending: list[str] = []
    answered: dict[str, int] = {}
    parent = 0
    for at, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if (first := answered.get(message["tool_call_id"])) is not None:
                # agno-agi/agno#5116, fatwang2/search2ai#30.
                text = f"Duplicate value for 'tool_call_id' of '{message['tool_call_id']}', in"
                text = f"Invalid parameter: {text} messages[{first}] and messages[{at}]."
                raise refuse(text, f"messages.[{at}].tool_call_id")
            if message["tool_call_id"] not in pending:
                text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                raise refuse(f"Invalid parameter: {text}", f"messages.[{at}].role")
            pending.remove(message["tool_call_id"])
            answered[message["tool_call_id"]] = at
            continue
        check_answered(pending, parent)
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls is not None and not calls:
                text = "empty array. Expected an array with minimum length 1, but got an empty array instead."
                raise refuse(
                    f"Invalid 'messages[{at}].tool_calls': {text}", f"messages[{at}].tool_calls", "empty_array"
                )
            if not calls and message.get("content") is None and not message.get("refusal"):
                text = "Invalid value for 'content': expected a string, got null."
                raise refuse(text, f"messages.[{at}].content")
            for index, call in enumerate(calls or []):
                if "unconfirmed" in visit.ways:
                    check_length(call["id"], f"messages[{at}].tool_calls[{index}].id", UNCONFIRMED_ID)
            pending, parent = [call["id"] for call in calls or []], at
            answered = {}
    check_answered(pending, parent)


def check_answered(pending: list[str], parent: int) -> None:
    if pending:
        text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        names = ", ".join(pending)
        text += f" 'tool_call_id'. The following tool_call_ids did not have response messages: {names}"
        raise refuse(text, f"messages.[{parent}].role")
