"""A fake of a realtime provider as a process of its own, which can be killed: prints its URL. The only argument is
`gemini`, or nothing for OpenAI."""

import sys
import threading

from provider.live_gemini import GeminiLive
from provider.live_openai import OpenAiLive

if __name__ == "__main__":
    fake = GeminiLive if sys.argv[1:] == ["gemini"] else OpenAiLive
    print(fake().url, flush=True)
    threading.Event().wait()
