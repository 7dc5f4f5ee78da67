// The example page of docs/how-to/browser.md: a call over WebRTC whose agent's tools run at the gateway.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import type { BrowserContext } from "@playwright/test";
import { CallProvider, type Event } from "./call-provider";
import { expect, Gateway, test } from "./gateway";

// A microphone that is none, and candidates on loopback with their addresses.
test.use({
  launchOptions: {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--no-sandbox",
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      "--allow-loopback-in-peer-connection",
      "--disable-features=WebRtcHideLocalIpsWithMdns",
    ],
  },
});

const KEY = "key-of-the-shop-0123456789";
const PAGE = readFileSync(resolve("../examples/browser/call.html"), "utf8");

let provider: CallProvider;
let gateway: Gateway;
let shop: Server;
let origin: string;
let answer: (offer: string) => Promise<string>;

test.beforeAll(async () => {
  shop = createServer();
  shop.listen(0, "127.0.0.1");
  await once(shop, "listening");
  origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  provider = await CallProvider.start((offer) => answer(offer));
  gateway = await Gateway.start(`
origins: ["${origin}"]
providers:
  speech: { kind: openai, base_url: "${provider.url}", api_key: "${provider.key}" }
models:
  voice: { provider: speech, api: realtime }
agents:
  barkeep:
    prompt: "You keep a tavern."
    models: [voice]
    tools: ["*"]
    auto_execute: ["*"]
keys:
  - { name: shop, key: "${KEY}", role: caller }
`);
  // The page's own server, which has the key.
  shop.on("request", async (request, response) => {
    if (request.url !== "/session") return response.end(request.url === "/" ? PAGE : "");
    const made = await fetch(`${gateway.url}/v1/realtime/client_secrets`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ session: { type: "realtime", model: "voice" }, max_uses: 1 }),
    });
    const { value } = (await made.json()) as { value: string };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ gateway: gateway.url, secret: value }));
  });
});
test.afterAll(async () => {
  await gateway.stop();
  provider.stop();
  shop.closeAllConnections();
  shop.close();
});

/** The provider's end of the media: another page of the browser. */
async function answerIn(context: BrowserContext) {
  const far = await context.newPage();
  await far.goto(`${origin}/empty`);
  answer = (offer) =>
    far.evaluate(async (sdp) => {
      const peer = new RTCPeerConnection();
      const ends = window as unknown as { peer: RTCPeerConnection; channel: RTCDataChannel };
      ends.peer = peer;
      peer.ondatachannel = ({ channel }) => {
        ends.channel = channel;
      };
      await peer.setRemoteDescription({ type: "offer", sdp });
      await peer.setLocalDescription();
      if (peer.iceGatheringState !== "complete") {
        await new Promise<void>((done) => {
          peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done();
        });
      }
      return peer.localDescription?.sdp ?? "";
    }, offer);
  return far;
}

/** A response in which the model calls a tool. */
function toolCall(name: string, args: object): Event[] {
  const item = {
    id: "item_1",
    type: "function_call",
    status: "completed",
    call_id: "call_1",
    name,
    arguments: JSON.stringify(args),
  };
  const response = (status: string, output: object[]) => ({
    response: { id: "resp_1", status, output, conversation_id: "conv_1" },
  });
  const place = { response_id: "resp_1", output_index: 0, item };
  return [
    { type: "response.created", ...response("in_progress", []) },
    { type: "response.output_item.added", ...place },
    { type: "response.output_item.done", ...place },
    { type: "response.done", ...response("completed", [item]) },
  ];
}

test("a page calls over WebRTC, and the agent's tools run without it", async ({ page }) => {
  const far = await answerIn(page.context());
  await page.goto(origin);
  await page.getByRole("button", { name: "Call" }).click();
  const state = page.getByRole("status");
  await expect(state).toHaveText("connected");
  await expect(state).toHaveAttribute("data-call", "rtc_u0_1");
  const [session] = provider.sessions;
  expect(session).toMatchObject({ type: "realtime", instructions: "You keep a tavern." });
  // The gateway attaches by itself, and runs what the model calls.
  await expect
    .poll(() => gateway.ask<{ sessions: object[] }>("GET", "/api/sessions"))
    .toMatchObject({ sessions: [{ agent: "barkeep", principal: "key:shop" }] });
  const tools = session?.tools as { name: string }[];
  const roll = tools.find((tool) => tool.name.endsWith("roll"))?.name ?? "no roll";
  for (const event of toolCall(roll, { expression: "2d6" })) provider.say(event);
  const output = () => provider.received.find((event) => event.type === "conversation.item.create");
  await expect.poll(output).toMatchObject({
    item: {
      type: "function_call_output",
      call_id: "call_1",
      output: expect.stringContaining("ok"),
    },
  });
  await expect.poll(() => provider.received.at(-1)?.type).toBe("response.create");
  // The page hears the model on its own channel.
  await far.evaluate(() => {
    const { channel } = window as unknown as { channel: RTCDataChannel };
    if (channel.label !== "oai-events") throw new Error(channel.label);
    const said = { type: "response.output_audio_transcript.done", transcript: "A seven!" };
    channel.send(JSON.stringify(said));
  });
  await expect(page.getByRole("listitem")).toHaveText("A seven!");
  await page.getByRole("button", { name: "Hang up" }).click();
  await expect(state).toHaveText("not connected");
  provider.endSideband();
  await expect.poll(() => provider.requests).toContain("/v1/realtime/calls/rtc_u0_1/hangup");
  await expect
    .poll(() => gateway.ask<{ sessions: object[] }>("GET", "/api/sessions"))
    .toMatchObject({ sessions: [] });
});

test("a page reads why it is refused", async ({ page }) => {
  await page.route("**/session", (route) =>
    route.fulfill({ json: { gateway: gateway.url, secret: "ek_tg_forged" } }),
  );
  await page.goto(origin);
  await page.getByRole("button", { name: "Call" }).click();
  await expect(page.getByRole("status")).toContainText("this client secret is malformed");
  await expect(page.getByRole("button", { name: "Call" })).toBeEnabled();
});
