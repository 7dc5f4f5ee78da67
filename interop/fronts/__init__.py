"""The official clients of model APIs, each with the same few verbs, so that one test can be told in all of them."""

from fronts.anthropic_py import AnthropicPy
from fronts.gemini_py import GeminiPy
from fronts.openai_js import OpenAiJsChat, OpenAiJsResponses
from fronts.openai_py import OpenAiPyChat, OpenAiPyResponses

FRONTS = {
    front.name: front
    for front in (OpenAiPyChat, OpenAiPyResponses, AnthropicPy, GeminiPy, OpenAiJsChat, OpenAiJsResponses)
}
# One for each dialect.
DIALECTS = {front.dialect: front for front in (OpenAiPyChat, OpenAiPyResponses, AnthropicPy, GeminiPy)}
