"""What generateContent of Gemini refuses."""

import json
import re
from typing import Any

from provider.gemini_types import ENUMS, TYPES
from provider.issued import Visit
from provider.words import Refusal

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
# What Google offers for history that comes from elsewhere, as text and in base64.
DUMMIES = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
DATA = ("text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult")
JSON_SCHEMA = {
    "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
    "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
    "propertyOrdering",
}  # fmt: skip
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"


def refuse(message: str, field: str | None = None) -> Refusal:
    violation = {"description": message, **({"field": field} if field else {})}
    return Refusal(400, message, "invalid", details=({"@type": BAD_REQUEST, "fieldViolations": [violation]},))


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def check(body: dict, visit: Visit) -> dict:
    found = read("GenerateContentRequest", body, "")
    if not found.get("contents"):
        raise refuse("* GenerateContentRequest.contents: contents is not specified", "contents")
    check_tools(found, visit)
    check_config(found.get("generationConfig") or {}, visit)
    check_contents(found["contents"])
    check_signatures(found["contents"], visit)
    return {name: value for name, value in found.items() if name != "model"}


# === The form: JSON of protocol buffers, whose names may be written in both ways. ===


def read(kind: str, value: Any, at: str) -> dict:
    """The message with its names in one spelling."""
    if not isinstance(value, dict):
        raise refuse(f"Invalid value at '{at}' ({kind}), {json.dumps(value)}", at)
    fields, found = TYPES[kind], {}
    for name, one in value.items():
        known = camel(name) if "_" in name else name
        if known not in fields:
            where = f" at '{at}'" if at else ""
            message = f'Unknown name "{name}"{where}: Cannot find field.'
            raise refuse(f"Invalid JSON payload received. {message}", at)
        inner = f"{at}.{snake(known)}" if at else snake(known)
        if one is not None:
            found[known] = read_field(fields[known], one, inner)
    return found


def read_field(kind: Any, value: Any, at: str) -> Any:
    if isinstance(kind, list):
        if not isinstance(value, list):
            raise refuse(f"Invalid value at '{at}' (repeated), {json.dumps(value)}", at)
        return [read_field(kind[0], one, f"{at}[{index}]") for index, one in enumerate(value)]
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            raise refuse(f"Invalid value at '{at}' (map), {json.dumps(value)}", at)
        return {name: read_field(kind["*"], one, f"{at}[{name}]") for name, one in value.items()}
    if kind in TYPES:
        return read(kind, value, at)
    if kind in ENUMS:
        if value not in ENUMS[kind]:
            raise refuse(f"Invalid value at '{at}' ({kind}), {json.dumps(value)}", at)
        return value
    fits = {
        "string": isinstance(value, str),
        "bytes": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value),
        "int64": isinstance(value, (int, str)) and not isinstance(value, bool) and str(value).lstrip("-").isdigit(),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        "object": isinstance(value, dict),
        "any": True,
    }
    if kind == "bytes" and fits[kind] and not BASE64.fullmatch(value):
        raise refuse(f"Invalid value at '{at}' (TYPE_BYTES), Base64 decoding failed for {json.dumps(value)}", at)
    if not fits[kind]:
        raise refuse(f"Invalid value at '{at}' (TYPE_{kind.upper()}), {json.dumps(value)}", at)
    return value


# === What the form cannot say. ===


def check_tools(body: dict, visit: Visit) -> None:
    names = []
    for at, tool in enumerate(body.get("tools") or []):
        for index, one in enumerate(tool.get("functionDeclarations") or []):
            place = f"GenerateContentRequest.tools[{at}].function_declarations[{index}]"
            check_name(one.get("name", ""), f"{place}.name")
            if "parameters" in one and "parametersJsonSchema" in one:
                raise refuse(f"* {place}: only one of parameters and parameters_json_schema may be set")
            check_schema(one.get("parameters"), f"{place}.parameters")
            check_json_schema(one.get("parametersJsonSchema"), visit)
            names.append(one["name"])
    for name in names:
        if names.count(name) > 1:
            raise refuse(f"Duplicate function declaration found: {name}")
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = config.get("allowedFunctionNames")
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        raise refuse("Allowed function names should only be set when the mode is ANY or VALIDATED.")
    if unknown := sorted(set(allowed or []) - set(names)):
        raise refuse(f"allowed_function_names has functions that are not declared: {unknown}")
    if config.get("mode") in ("ANY", "VALIDATED") and not names:
        raise refuse("Function calling config is set without function_declarations.")


def check_name(name: str, at: str) -> None:
    if not NAME.fullmatch(name):
        message = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z,"
        message += " 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
        raise refuse(f"* {at}: [{message}]", at)


def check_schema(schema: dict | None, at: str) -> None:
    """Its keys were read before; these are rules between them."""
    if not schema:
        return
    kind = (schema.get("type") or "").upper()
    if kind == "ARRAY" and "items" not in schema:
        raise refuse(f"* {at}.items: missing field.", f"{at}.items")
    if kind == "OBJECT" and "properties" in schema and not schema["properties"]:
        raise refuse(f"* {at}.properties: should be non-empty for OBJECT type", f"{at}.properties")
    for name in schema.get("required") or []:
        if name not in (schema.get("properties") or {}):
            raise refuse(f"* {at}.required[0]: property is not defined", f"{at}.required")
    for name, inner in (schema.get("properties") or {}).items():
        check_schema(inner, f"{at}.properties[{name}]")
    check_schema(schema.get("items"), f"{at}.items")
    for index, inner in enumerate(schema.get("anyOf") or []):
        check_schema(inner, f"{at}.any_of[{index}]")


def check_config(config: dict, visit: Visit) -> None:
    forms = [name for name in ("responseSchema", "responseJsonSchema") if name in config]
    if len(forms) == 2:
        raise refuse("only one of response_schema and response_json_schema may be set")
    if forms and config.get("responseMimeType") != "application/json":
        message = "response schema is only supported with mime type: application/json"
        raise refuse(f"* GenerateContentRequest.generation_config.response_schema: {message}")
    check_json_schema(config.get("responseJsonSchema"), visit)
    check_schema(config.get("responseSchema"), "GenerateContentRequest.generation_config.response_schema")
    thinking = config.get("thinkingConfig") or {}
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise refuse("You can only set only one of thinking budget and thinking level.")
    if "thinkingBudget" in thinking and not visit.model.budget:
        raise refuse("Thinking budget is not supported for this model.")
    level = thinking.get("thinkingLevel")
    if level and level.upper() not in visit.model.levels:
        raise refuse(f"Thinking level {level} is not supported for this model.")
    if "temperature" in config and not 0 <= config["temperature"] <= 2:
        raise refuse("* GenerateContentRequest.generation_config.temperature: must be in [0.0, 2.0]")


def check_json_schema(schema: Any, visit: Visit) -> None:
    """Of an answer or of parameters. Keys that it does not know are passed over, as far as is known."""
    if not isinstance(schema, dict):
        return
    for name in schema:
        if name not in JSON_SCHEMA and "unconfirmed" in visit.ways:
            raise refuse(f"The key `{name}` of a JSON schema is not supported")
    if "$ref" in schema and any(name[0] != "$" and name not in ("description", "default") for name in schema):
        message = f"$ref '{schema['$ref']}' was set alongside unsupported fields. If a schema node has $ref set, then"
        raise refuse(f"{message} only description and default can be set alongside it.")
    for name in ("properties", "$defs"):
        for inner in (schema.get(name) or {}).values():
            check_json_schema(inner, visit)
    for inner in (schema.get("items"), *schema.get("anyOf", []), *schema.get("oneOf", [])):
        check_json_schema(inner, visit)


def check_contents(contents: list[dict]) -> None:
    calls: list[dict] = []
    for at, content in enumerate(contents):
        role, parts = content.get("role") or "user", content.get("parts")
        if role not in ("user", "model"):
            raise refuse("Please use a valid role: user, model.")
        if not parts:
            place = f"GenerateContentRequest.contents[{at}].parts"
            raise refuse(f"* {place}: contents.parts must not be empty.", place)
        for index, part in enumerate(parts):
            check_part(part, role, f"GenerateContentRequest.contents[{at}].parts[{index}]")
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if answers and not calls:
            message = "Please ensure that function response turn comes immediately after a function call turn."
            raise refuse(message)
        if len(answers) != len(calls):
            message = "Please ensure that the number of function response parts is equal to the number of function call"
            raise refuse(f"{message} parts of the function call turn.")
        check_answers(answers, calls)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if calls:
        message = (
            "Please ensure that function call turn comes immediately after a user turn or after a function response"
        )
        raise refuse(f"{message} turn, and is followed by a function response turn.")


def check_part(part: dict, role: str, at: str) -> None:
    data = [name for name in DATA if name in part]
    if not data:
        raise refuse(f"* {at}.data: required oneof field 'data' must have one initialized field", f"{at}.data")
    if len(data) > 1:
        raise refuse(f"Invalid value at '{at}' (oneof), oneof field 'data' is already set.", at)
    if "functionCall" in part:
        if role != "model":
            raise refuse("Please ensure that function call parts are in content with role model.")
        check_name(part["functionCall"].get("name", ""), f"{at}.function_call.name")
    if "functionResponse" in part:
        if role == "model":
            raise refuse("Please ensure that function response parts are in content with role user.")
        if not part["functionResponse"].get("name"):
            raise refuse(f"* {at}.function_response.name: Name cannot be empty.", f"{at}.function_response.name")
        if "response" not in part["functionResponse"]:
            raise refuse(f"* {at}.function_response.response: missing field.", f"{at}.function_response.response")


def check_answers(answers: list[dict], calls: list[dict]) -> None:
    """An id that was given comes back; without ids, names tell which is which.

    Both are required (content.proto; nextlevelbuilder/goclaw#843); the words of the refusals were not found.
    """
    ids = [call["id"] for call in calls if call.get("id")]
    if ids and sorted(answer.get("id", "") for answer in answers) != sorted(ids):
        raise refuse("Please ensure that function response ids match the ids of the function call turn.")
    if sorted(answer["name"] for answer in answers) != sorted(call["name"] for call in calls):
        raise refuse("Please ensure that function response names match the names of the function call turn.")


def check_signatures(contents: list[dict], visit: Visit) -> None:
    """Only of the current turn: everything behind the last words of the user."""
    begun = max(
        (at for at, one in enumerate(contents) if (one.get("role") or "user") == "user" and not has_answers(one)),
        default=-1,
    )
    position = 0
    for at, content in enumerate(contents):
        first = True
        for part in content["parts"]:
            position += 1
            signature = part.get("thoughtSignature")
            if signature and signature not in DUMMIES and visit.model.signs and at > begun:
                check_signature(part, signature, visit)
            if "functionCall" not in part:
                continue
            if first and not signature and visit.model.signs and at > begun:
                name = part["functionCall"]["name"]
                message = "Function call is missing a thought_signature in functionCall parts. This is required for"
                message += " tools to work correctly, and missing thought_signature may lead to degraded model"
                message += f" performance. Additional data, function call `default_api:{name}` , position {position}."
                raise refuse(message)
            first = False


def check_signature(part: dict, signature: str, visit: Visit) -> None:
    made = visit.issued.sealed.get(signature)
    call = part.get("functionCall")
    if made is None or (call is not None and made.text and made.text != call["name"]):
        raise refuse("Invalid/Corrupted thought signature.")


def has_answers(content: dict) -> bool:
    return any("functionResponse" in part for part in content["parts"])
