"""Endpoints beside chat, by the official clients: embeddings, token counts, audio, lists of models, stored responses."""

import base64
import struct

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as gemini_errors
from google.genai import types

from harness import models
from provider import side

ADA, BOB = "key-of-ada-0123456789", "key-of-bob-0123456789"
WATCHER, DICER = "key-of-watcher-0123456789", "key-of-dicer-0123456789"
KINDS = ("openai", "anthropic", "gemini")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    keys = [
        {"name": "ada", "key": ADA, "role": "caller", "rights": ["execute", "any_model"]},
        {"name": "bob", "key": BOB, "role": "caller"},
        {"name": "watcher", "key": WATCHER, "rights": ["observe"]},
        {"name": "dicer", "key": DICER, "role": "caller", "agents": ["dicer"]},
    ]
    mine = {kind: {"provider": kind, "id": side.MODEL, "context_window": 100_000} for kind in KINDS}
    more = {"keys": keys, "models": {"small": {"provider": "demo"}, "chat-echo": models.model("chat", "echo"), **mine}}
    more["agents"] = {"dicer": {"tools": ["roll"], "models": ["small"], "prompt": "You roll dice."}}
    with models.started(tmp_path_factory.mktemp("side"), **more) as running:
        yield running


@pytest.fixture
def provider(gateway):
    gateway.provider.forget()
    return gateway.provider


def openai_client(gateway, key: str = ADA) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


def claude(gateway) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=gateway.url, api_key=ADA, max_retries=0)


def gemini(gateway) -> genai.Client:
    return genai.Client(api_key=ADA, http_options={"base_url": gateway.url})


def near(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) < 1e-6 for a, b in zip(one, other, strict=True))


# The openai client asks for base64 if it is not told otherwise.
@pytest.mark.parametrize("model", ["openai", "gemini", f"openai/{side.MODEL}"])
@pytest.mark.parametrize("form", [None, "float", "base64"])
def test_openai_embeds_at_either_provider(gateway, provider, model, form):
    wanted = {} if form is None else {"encoding_format": form}
    given = openai_client(gateway).embeddings.create(model=model, input=["one", "two words"], dimensions=8, **wanted)
    assert [item.index for item in given.data] == [0, 1]
    for item, text in zip(given.data, ["one", "two words"], strict=True):
        numbers = item.embedding
        if form == "base64":
            raw = base64.b64decode(numbers)
            numbers = struct.unpack(f"<{len(raw) // 4}f", raw)
        assert near(list(numbers), side.vector(text, 8))
    assert given.usage.prompt_tokens >= 2
    assert [seen.status for seen in provider.seen] == [200]


def test_many_texts_are_sent_in_as_many_requests_as_the_vendor_takes(gateway, provider):
    texts = [f"text {number}" for number in range(250)]
    given = openai_client(gateway).embeddings.create(model="gemini", input=texts, encoding_format="float")
    assert all(near(item.embedding, side.vector(text, 4)) for item, text in zip(given.data, texts, strict=True))
    assert len(provider.seen) == 3


@pytest.mark.parametrize("model", ["gemini", "openai"])
def test_gemini_embeds_at_either_provider(gateway, provider, model):
    client = gemini(gateway)
    config = types.EmbedContentConfig(task_type="RETRIEVAL_QUERY", output_dimensionality=6)
    given = client.models.embed_content(model=model, contents=["one", "two"], config=config)
    assert [near(item.values, side.vector(text, 6)) for item, text in zip(given.embeddings, ["one", "two"], strict=True)]
    single = httpx2.post(
        f"{gateway.url}/v1beta/models/{model}:embedContent",
        headers={"x-goog-api-key": ADA},
        json={"content": {"parts": [{"text": "one"}]}, "taskType": "RETRIEVAL_QUERY"},
    )
    assert near(single.json()["embedding"]["values"], side.vector("one", 4))
    assert single.headers.get("x-tollgate-lost") == (None if model == "gemini" else "taskType")
    assert {seen.status for seen in provider.seen} == {200}


def test_a_model_without_embeddings_is_refused_in_the_clients_own_words(gateway, provider):
    google = gemini(gateway)
    for model in ("anthropic", "small", "dicer"):
        with pytest.raises(openai.BadRequestError) as raised:
            openai_client(gateway).embeddings.create(model=model, input="x")
        assert raised.value.param == "model"
        with pytest.raises(gemini_errors.ClientError) as refused:
            google.models.embed_content(model=model, contents="x")
        assert (refused.value.code, refused.value.status) == (400, "INVALID_ARGUMENT")
    with pytest.raises(openai.NotFoundError):
        openai_client(gateway).embeddings.create(model="nobody", input="x")
    with pytest.raises(openai.AuthenticationError):
        openai_client(gateway, "not-a-key").embeddings.create(model="openai", input="x")
    assert provider.seen == []
    # What the vendor refuses is told as the vendor tells it.
    with pytest.raises(openai.BadRequestError, match="input"):
        openai_client(gateway).embeddings.create(model="openai", input="")


def requests(client: openai.OpenAI):
    """One for every endpoint of OpenAI's that costs something."""
    sound = ("a.wav", side.WAV, "audio/wav")
    yield lambda: client.embeddings.create(model="openai", input="x")
    yield lambda: client.audio.speech.create(model="openai", voice="coral", input="x")
    yield lambda: client.audio.transcriptions.create(model="openai", file=sound)


def test_a_key_reaches_no_more_here_than_in_chats(gateway, provider):
    for key in (WATCHER, DICER):
        for request in requests(openai_client(gateway, key)):
            with pytest.raises(openai.PermissionDeniedError):
                request()
        for path, body in [
            ("/v1/messages/count_tokens", {"model": "anthropic", "messages": [{"role": "user", "content": "x"}]}),
            ("/v1beta/models/gemini:countTokens", {"contents": [{"parts": [{"text": "x"}]}]}),
            ("/v1beta/models/gemini:embedContent", {"content": {"parts": [{"text": "x"}]}}),
        ]:
            refused = httpx2.post(gateway.url + path, headers={"x-api-key": key}, json=body)
            assert refused.status_code == 403, f"{path}: {refused.text}"
    assert httpx2.get(f"{gateway.url}/v1/responses/resp_1", headers={"x-api-key": WATCHER}).status_code == 403
    names = [model["name"] for model in httpx2.get(f"{gateway.url}/v1beta/models", headers={"x-api-key": DICER}).json()["models"]]
    assert names == ["models/dicer"]
    assert provider.seen == []


def test_anthropic_counts_itself_and_the_gateway_for_all_others(gateway, provider):
    asked = {"messages": [{"role": "user", "content": "How many tokens are these words?"}]}
    client = claude(gateway)
    raw = client.messages.with_raw_response.count_tokens(model="anthropic", **asked)
    assert raw.parse().input_tokens > 1000
    assert "x-tollgate-token-count" not in raw.headers
    assert len(provider.seen) == 1
    found = {}
    for model in ("openai", "gemini", "small", "dicer"):
        raw = client.messages.with_raw_response.count_tokens(model=model, **asked)
        assert raw.headers["x-tollgate-token-count"] == "estimated"
        found[model] = raw.parse().input_tokens
    assert found["openai"] == found["gemini"] == found["small"] == 11
    assert found["dicer"] > found["small"] + 30, "an agent has a prompt and tools"
    assert len(provider.seen) == 1
    with pytest.raises(anthropic.BadRequestError):
        client.messages.count_tokens(model="small", messages=[])
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model="nobody", **asked)


def test_gemini_counts_tokens(gateway, provider):
    client = gemini(gateway)
    assert client.models.count_tokens(model="gemini", contents="one two three").total_tokens > 2000
    assert client.models.count_tokens(model="openai", contents="one two three").total_tokens < 20
    assert len(provider.seen) == 1
    whole = {"generateContentRequest": {"model": "models/gemini", "contents": [{"parts": [{"text": "one"}]}]}}
    for model in ("gemini", "small"):
        url = f"{gateway.url}/v1beta/models/{model}:countTokens"
        assert httpx2.post(url, headers={"x-goog-api-key": ADA}, json=whole).json()["totalTokens"] > 0


def test_gemini_lists_agents_and_models(gateway):
    client = gemini(gateway)
    listed = {model.name: model for model in client.models.list(config={"page_size": 2})}
    assert {"models/dicer", "models/small", "models/openai", "models/gemini"} <= set(listed)
    assert "embedContent" in listed["models/gemini"].supported_actions
    assert "embedContent" not in listed["models/anthropic"].supported_actions
    assert listed["models/openai"].input_token_limit == 100_000
    assert client.models.get(model="dicer").name == "models/dicer"
    with pytest.raises(gemini_errors.ClientError) as refused:
        client.models.get(model="nobody")
    assert refused.value.code == 404
    wrong = httpx2.get(f"{gateway.url}/v1beta/models?pageToken=nowhere", headers={"x-goog-api-key": ADA})
    assert wrong.status_code == 400


def test_speech_is_passed_on_as_it_comes(gateway, provider):
    client = openai_client(gateway)
    with client.audio.speech.with_streaming_response.create(
        model="openai", voice="coral", input="Grüß dich", response_format="wav"
    ) as spoken:
        assert spoken.headers["content-type"] == "audio/wav"
        assert spoken.read() == side.WAV + "Grüß dich".encode()
    with pytest.raises(openai.BadRequestError, match="voice"):
        client.audio.speech.create(model="openai", voice="nobody", input="x")
    for model in ("gemini", "small", "dicer"):
        with pytest.raises(openai.BadRequestError):
            client.audio.speech.create(model=model, voice="coral", input="x")
    assert [seen.status for seen in provider.seen] == [200, 400]


def test_a_recording_is_transcribed_in_every_form(gateway, provider):
    client = openai_client(gateway)
    sound = ("my recording.wav", side.WAV + bytes(100_000), "audio/wav")
    said = f"{len(sound[1])} bytes of sound"
    assert client.audio.transcriptions.create(model="openai", file=sound, language="de").text == said
    assert client.audio.transcriptions.create(model="openai", file=sound, response_format="text").strip() == said
    events = list(client.audio.transcriptions.create(model="openai", file=sound, stream=True))
    assert [event.type for event in events] == ["transcript.text.delta", "transcript.text.done"]
    with pytest.raises(openai.BadRequestError, match="file format"):
        client.audio.transcriptions.create(model="openai", file=("a.txt", b"text", "text/plain"))
    for model in ("gemini", "small", "dicer"):
        with pytest.raises(openai.BadRequestError):
            client.audio.transcriptions.create(model=model, file=sound)
    with pytest.raises(openai.NotFoundError):
        client.audio.transcriptions.create(model="nobody", file=sound)
    assert [seen.status for seen in provider.seen] == [200, 200, 200, 400]


def test_forms_that_are_none_or_too_large_are_refused(gateway, provider):
    url, key = f"{gateway.url}/v1/audio/transcriptions", {"authorization": f"Bearer {ADA}"}
    assert httpx2.post(url, headers=key, json={"model": "openai"}).status_code == 415
    odd = httpx2.post(url, headers={**key, "content-type": "multipart/form-data; boundary=x"}, content=b"--x\r\nhalf")
    assert (odd.status_code, odd.json()["error"]["code"]) == (400, "bad_form")
    twice = [("model", (None, "openai")), ("model", (None, "gemini")), ("file", ("a.wav", side.WAV, "audio/wav"))]
    refused = httpx2.post(url, headers=key, files=twice)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "model")
    large = {"file": ("a.wav", side.WAV + bytes(17 << 20), "audio/wav"), "model": (None, "openai")}
    assert httpx2.post(url, headers=key, files=large).status_code == 413
    assert provider.seen == []


def test_a_stored_response_belongs_to_whoever_asked(gateway):
    ada, bob = openai_client(gateway), openai_client(gateway, BOB)
    made = ada.responses.create(model="chat-echo", input="hello from ada", instructions="Be short.")
    found = ada.responses.retrieve(made.id)
    assert (found.id, found.output_text, found.created_at) == (made.id, made.output_text, made.created_at)
    assert found.model_dump() == made.model_dump()
    [item] = ada.responses.input_items.list(made.id).data
    assert (item.role, item.content[0].text) == ("user", "hello from ada")
    for attempt in (bob.responses.retrieve, bob.responses.delete, bob.responses.input_items.list):
        with pytest.raises(openai.NotFoundError) as refused:
            attempt(made.id)
        assert "ada" not in str(refused.value)
    assert ada.responses.retrieve(made.id).id == made.id, "bob's DELETE did nothing"
    ada.responses.delete(made.id)
    for attempt in (ada.responses.retrieve, ada.responses.delete):
        with pytest.raises(openai.NotFoundError):
            attempt(made.id)
    with pytest.raises(openai.BadRequestError):
        ada.responses.create(model="chat-echo", input="and on", previous_response_id=made.id)


def test_a_streamed_response_is_stored_as_it_ended_and_others_are_not(gateway):
    ada = openai_client(gateway)
    with ada.responses.stream(model="chat-echo", input=[{"role": "user", "content": "in pieces"}]) as stream:
        made = stream.get_final_response()
    found = ada.responses.retrieve(made.id)
    assert (found.status, found.output_text) == ("completed", made.output_text)
    assert [item.content[0].text for item in ada.responses.input_items.list(made.id).data] == ["in pieces"]
    unstored = ada.responses.create(model="chat-echo", input="forget it", store=False)
    with pytest.raises(openai.NotFoundError):
        ada.responses.retrieve(unstored.id)


def test_input_items_come_in_pages_and_both_orders(gateway):
    ada = openai_client(gateway)
    said = [{"role": "user", "content": f"line {number}"} for number in range(5)]
    made = ada.responses.create(model="chat-echo", input=said)
    texts = [item.content[0].text for item in ada.responses.input_items.list(made.id, limit=2)]
    assert texts == [f"line {number}" for number in (4, 3, 2, 1, 0)]
    first = ada.responses.input_items.list(made.id, limit=2, order="asc")
    assert [item.content[0].text for item in first.data] == ["line 0", "line 1"]
    assert first.has_more
