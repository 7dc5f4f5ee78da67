"""The messages of generateContent, as JSON of protocol buffers: name of a field -> its type.

`[x]` is a list, `{"*": x}` a map; the other names are of `TYPES`, `ENUMS` or scalars.
"""

SCHEMA = {
    "type": "Type", "format": "string", "title": "string", "description": "string", "nullable": "bool",
    "enum": ["string"], "items": "Schema", "maxItems": "int64", "minItems": "int64", "properties": {"*": "Schema"},
    "required": ["string"], "minProperties": "int64", "maxProperties": "int64", "minimum": "float", "maximum": "float",
    "minLength": "int64", "maxLength": "int64", "pattern": "string", "example": "any", "anyOf": ["Schema"],
    "propertyOrdering": ["string"], "default": "any",
}  # fmt: skip

TYPES: dict[str, dict] = {
    "GenerateContentRequest": {
        "model": "string", "contents": ["Content"], "systemInstruction": "Content", "tools": ["Tool"],
        "toolConfig": "ToolConfig", "safetySettings": ["SafetySetting"], "generationConfig": "GenerationConfig",
        "cachedContent": "string", "serviceTier": "string", "store": "bool",
    },
    "Content": {"parts": ["Part"], "role": "string"},
    "Part": {
        "text": "string", "inlineData": "Blob", "functionCall": "FunctionCall", "functionResponse": "FunctionResponse",
        "fileData": "FileData", "executableCode": "ExecutableCode", "codeExecutionResult": "CodeExecutionResult",
        "thought": "bool", "thoughtSignature": "bytes", "videoMetadata": "VideoMetadata", "partMetadata": "object",
        "mediaResolution": "object",
    },
    "Blob": {"mimeType": "string", "data": "bytes", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "VideoMetadata": {"startOffset": "string", "endOffset": "string", "fps": "float"},
    "FunctionCall": {"id": "string", "name": "string", "args": "object"},
    "FunctionResponse": {
        "id": "string", "name": "string", "response": "object", "parts": ["FunctionResponsePart"],
        "willContinue": "bool", "scheduling": "string",
    },
    "FunctionResponsePart": {"inlineData": "Blob"},
    "ExecutableCode": {"language": "string", "code": "string", "id": "string"},
    "CodeExecutionResult": {"outcome": "string", "output": "string", "id": "string"},
    "Tool": {
        "functionDeclarations": ["FunctionDeclaration"], "googleSearchRetrieval": "object", "codeExecution": "object",
        "googleSearch": "object", "urlContext": "object", "computerUse": "object", "googleMaps": "object",
        "fileSearch": "object", "mcpServers": ["object"],
    },
    "FunctionDeclaration": {
        "name": "string", "description": "string", "behavior": "string", "parameters": "Schema",
        "parametersJsonSchema": "any", "response": "Schema", "responseJsonSchema": "any",
    },
    "Schema": SCHEMA,
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig", "retrievalConfig": "object",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {"mode": "FunctionCallingMode", "allowedFunctionNames": ["string"]},
    "SafetySetting": {"category": "string", "threshold": "string"},
    "GenerationConfig": {
        "candidateCount": "int", "stopSequences": ["string"], "maxOutputTokens": "int", "temperature": "float",
        "topP": "float", "topK": "int", "seed": "int", "responseMimeType": "string", "responseSchema": "Schema",
        "responseJsonSchema": "any", "presencePenalty": "float", "frequencyPenalty": "float",
        "responseLogprobs": "bool", "logprobs": "int", "enableEnhancedCivicAnswers": "bool", "responseModalities": ["string"],
        "speechConfig": "object", "thinkingConfig": "ThinkingConfig", "imageConfig": "object",
        "mediaResolution": "string",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int", "thinkingLevel": "ThinkingLevel"},
}  # fmt: skip

KINDS = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
ENUMS: dict[str, tuple[str, ...]] = {
    # The API reads small letters too.
    "Type": ("TYPE_UNSPECIFIED", *KINDS, *(kind.lower() for kind in KINDS)),
    "FunctionCallingMode": ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
    "ThinkingLevel": (
        "THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "minimal", "low", "medium", "high",
    ),
}  # fmt: skip
