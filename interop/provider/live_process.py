"""The fake of OpenAI Realtime as a process of its own, which can be killed: prints its URL."""

import threading

from provider.live_openai import OpenAiLive

if __name__ == "__main__":
    print(OpenAiLive().url, flush=True)
    threading.Event().wait()
