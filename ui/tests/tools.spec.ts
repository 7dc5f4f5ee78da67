import { isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { ODD } from "./kinds";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(ODD);
  await isUp(gateway, "odd");
});
test.afterAll(() => gateway.stop());

const outcome = (page: import("@playwright/test").Page) =>
  page.getByRole("region", { name: "Outcome" });

test("tools stand below their servers, and are narrowed by what the address says", async ({
  page,
}) => {
  await gateway.open(page, "tools");
  const table = page.getByRole("table", { name: "Tools" });
  await expect(table.getByRole("button", { name: "odd", exact: true })).toBeVisible();
  await expect(table.getByRole("link", { name: "odd_slow" })).toBeVisible();
  await expect(table).toContainText("declared");
  await page.getByLabel("Search tools").fill("how far");
  await expect(page.getByRole("status").filter({ hasText: "1 of" })).toBeVisible();
  await expect(page).toHaveURL(/q=how/);
  await page.getByLabel("Search tools").fill("");
  await page.getByLabel("Server", { exact: true }).selectOption("odd");
  await page.getByLabel("Tier", { exact: true }).selectOption("fast");
  await expect(page).toHaveURL(/server=odd&tier=fast/);
  await expect(table.getByRole("link", { name: "odd_slow" })).toHaveCount(0);
  await expect(table.getByRole("link", { name: "odd_long" })).toBeVisible();
  await page.reload();
  await expect(table.getByRole("link", { name: "odd_long" })).toBeVisible();
  await expect(page.getByLabel("Server", { exact: true })).toHaveValue("odd");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await table.getByRole("button", { name: "odd", exact: true }).click();
  await expect(table.getByRole("link", { name: "odd_slow" })).toHaveCount(0);
  await page.getByRole("button", { name: "Flat list" }).click();
  await table.getByRole("button", { name: "Tool", exact: true }).click();
  await expect(table.getByRole("link").first()).not.toHaveText(/odd/);
  await table.getByRole("link", { name: "odd_slow" }).click();
  await expect(page.getByRole("heading", { name: "odd_slow" })).toBeVisible();
});

test("what is not filled in is not sent, and what is sent is sent as it was typed", async ({
  page,
}) => {
  await gateway.open(page, "tools/odd/every_kind");
  const form = page.getByRole("group", { name: "Arguments" });
  await form.getByLabel("name", { exact: true }).fill("Ada");
  await form.getByLabel("count", { exact: true }).fill("9007199254740993");
  await form.getByRole("button", { name: "Send ratio as null" }).click();
  await form.getByRole("button", { name: "Send note as an empty string" }).click();
  await form.getByText("JSON payload").click();
  const exact =
    '{\n  "name": "Ada",\n  "note": "",\n  "count": 9007199254740993,\n  "ratio": null,\n  "fixed": "always"\n}';
  await expect(form.getByRole("region", { name: "JSON payload" })).toHaveText(exact);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("ok", { exact: true })).toBeVisible();
  const got = outcome(page).getByRole("region", { name: "message" });
  await expect(got).toContainText("9007199254740993");
  await expect(got).not.toContainText("sure");
  await expect(got).not.toContainText("tags");
  await outcome(page).getByRole("tab", { name: "Spoken text" }).click();
  await expect(outcome(page).locator("blockquote")).toBeVisible();
});

test("forms hold every kind of schema and become JSON and back", async ({ page }) => {
  await gateway.open(page, "tools/odd/every_kind");
  const form = page.getByRole("group", { name: "Arguments" });
  await form.getByLabel("name", { exact: true }).fill("two\nlines");
  await form.getByLabel("sure", { exact: true }).selectOption("false");
  await form.getByLabel("colour", { exact: true }).selectOption("blue");
  await form.getByLabel("number", { exact: true }).fill("9998");
  await form.getByRole("option", { name: "9998" }).click();
  await form.getByRole("button", { name: "Set address" }).click();
  await form
    .getByRole("group", { name: "address" })
    .getByLabel("town", { exact: true })
    .fill("Ulm");
  await form.getByRole("button", { name: "Set tags" }).click();
  await form.getByRole("group", { name: "tags" }).getByRole("button", { name: "Add item" }).click();
  await form.getByLabel("item 1", { exact: true }).fill("<b>first</b>");
  await form.getByRole("button", { name: "Set labels" }).click();
  const labels = form.getByRole("group", { name: "labels" });
  await labels.getByRole("button", { name: "Add field" }).click();
  await labels.getByLabel("Name", { exact: true }).fill("__proto__");
  await labels.getByLabel("__proto__", { exact: true }).fill("7");
  await form.getByLabel("shape", { exact: true }).selectOption({ label: "Box" });
  await form.getByRole("group", { name: "shape" }).getByLabel("side", { exact: true }).fill("1.50");
  await form.getByRole("button", { name: "Set tree" }).click();
  await form.getByRole("group", { name: "tree" }).getByRole("button", { name: "Set next" }).click();
  await form.getByRole("group", { name: "next" }).getByLabel("value", { exact: true }).fill("deep");
  await form.getByLabel("anything", { exact: true }).fill('[1, {"a": 2.0}]');
  await form.getByRole("button", { name: "JSON", exact: true }).click();
  const json = form.getByLabel("Arguments as JSON");
  const sent = await json.inputValue();
  expect(sent).toContain('"__proto__": 7');
  expect(sent).toContain('"side": 1.50');
  expect(sent).toContain('"number": 9998');
  expect(sent).toContain('"kind": "box"');
  expect(sent).toContain('"a": 2.0');
  await form.getByRole("button", { name: "Form", exact: true }).click();
  await expect(
    form.getByRole("group", { name: "next" }).getByLabel("value", { exact: true }),
  ).toHaveValue("deep");
  await form.getByRole("button", { name: "JSON", exact: true }).click();
  expect(await json.inputValue()).toBe(sent);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("ok", { exact: true })).toBeVisible();
});

test("what cannot be sent is said at its field before, and by the gateway after", async ({
  page,
}) => {
  await gateway.open(page, "tools/odd/every_kind");
  const form = page.getByRole("group", { name: "Arguments" });
  const run = page.getByRole("button", { name: "Run", exact: true });
  await form.getByLabel("count", { exact: true }).fill("1,5");
  await expect(form.getByText("did you mean 1.5?")).toBeVisible();
  await expect(run).toBeDisabled();
  await form.getByRole("button", { name: "JSON", exact: true }).click();
  await expect(form.getByText("Fix the marked fields")).toBeVisible();
  await form.getByLabel("count", { exact: true }).fill("-1");
  await run.click();
  await expect(outcome(page).getByText("invalid arguments")).toBeVisible();
  await expect(form.getByText("expected at least 0, found -1")).toBeVisible();
  await expect(form.getByLabel("count", { exact: true })).toHaveAttribute("aria-invalid", "true");
  await expect(form.getByText("is missing", { exact: false }).first()).toBeVisible();
  await form.getByLabel("count", { exact: true }).fill("1");
  await form.getByRole("button", { name: "JSON", exact: true }).click();
  await form.getByLabel("Arguments as JSON").fill('{"name": "x",}');
  await expect(form.getByText("line 1, column 14")).toBeVisible();
  await expect(run).toBeDisabled();
  await form.getByRole("button", { name: "Form", exact: true }).click();
  await expect(form.getByLabel("Arguments as JSON")).toHaveValue('{"name": "x",}');
});

test("progress is seen, and a call can be cancelled", async ({ page }) => {
  await gateway.open(page, "tools/odd/slow");
  await page.getByLabel("ms", { exact: true }).fill("5000");
  const run = page.getByRole("button", { name: "Run", exact: true });
  await run.click();
  await expect(outcome(page).getByText(/of 4 step/)).toBeVisible();
  await expect(outcome(page).getByText("done at last")).toBeVisible();
  await page.getByLabel("ms", { exact: true }).fill("30000");
  await run.click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(outcome(page).getByText("Call cancelled.")).toBeVisible();
});

test("a call in a tier shows its time against the ceiling, as an agent who may not see it", async ({
  page,
}) => {
  await gateway.open(page, "tools/odd/slow");
  await page.getByLabel("Run as agent").selectOption("hasty");
  await expect(page.getByText("Hidden from this agent in fast")).toBeVisible();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("denied")).toBeVisible();
  await page.getByLabel("Run as agent").selectOption("clerk");
  await page.getByRole("combobox", { name: "Tier" }).selectOption("standard");
  await page.getByLabel("ms", { exact: true }).fill("40");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("of 1.50 s")).toBeVisible();
});

test("long answers are read page by page, pictures are only named", async ({ page }) => {
  await gateway.open(page, "tools/odd/long");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("truncated", { exact: true })).toBeVisible();
  await outcome(page).getByRole("button", { name: "Show full result" }).first().click();
  await expect(outcome(page).getByText(/Page 1 of \d+/)).toBeVisible();
  await outcome(page).getByRole("button", { name: "Next" }).click();
  await expect(outcome(page).getByText(/Page 2 of \d+/)).toBeVisible();

  await gateway.open(page, "tools/odd/picture");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await outcome(page).getByRole("tab", { name: "Content" }).click();
  await expect(outcome(page)).toContainText("image/png, 70 B");
  await expect(outcome(page).locator("img")).toHaveCount(0);
  await expect(outcome(page).getByRole("link", { name: "https://example.com/a" })).toBeVisible();
  await expect(outcome(page).getByRole("link", { name: "javascript" })).toHaveCount(0);
  await expect(outcome(page)).toContainText("javascript:alert(1)");
});

test("a tool that destroys is asked about, one that fails says why", async ({ page }) => {
  await gateway.open(page, "tools/odd/wipe");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("real call");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("wiped", { exact: true })).toBeVisible();
  await gateway.open(page, "tools/odd/fail");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(outcome(page).getByText("the wheel came off")).toBeVisible();
  const failed = "#/calls?server=odd&tool=fail&outcome=error";
  await expect(page.getByRole("link", { name: /Failed$/ })).toHaveAttribute("href", failed);
});

test("calls are drawn against the ceilings, and the tier is explained", async ({ page }) => {
  for (const ms of [1, 20, 60]) {
    await gateway.ask("POST", "/v1/tools/execute", { name: "odd_slow", arguments: { ms } });
  }
  await gateway.open(page, "tools/odd/slow?tab=latency");
  await expect(page.getByRole("img", { name: /calls? by duration.*fast 500 ms/ })).toBeVisible();
  await expect(page.locator(".u-legend")).toContainText("standard ceiling");
  await expect(page.getByRole("region", { name: "Why this tier" })).toContainText(
    /measured p50|declared/,
  );
  const compared = page.getByRole("table", { name: "Declared vs. measured" });
  await expect(compared.getByRole("row", { name: /typical/ })).toContainText("700 ms");
  await page.getByRole("button", { name: "Calibrate" }).click();
  await expect(page.getByText(/\d probes?, slowest/)).toBeVisible();
});

test("the definition is shown, and who sees the tool", async ({ page }) => {
  await gateway.open(page, "tools/odd/every_kind?tab=definition");
  const region = page.getByRole("region", { name: "Arguments" });
  await expect(region).toContainText("and 9988 more");
  await region.getByRole("button", { name: "Show JSON schema" }).click();
  await expect(region.getByRole("region", { name: "schema of the arguments" })).toContainText(
    "$defs",
  );
  await page.getByRole("tab", { name: "Visibility" }).click();
  const seen = page.getByRole("table", { name: "Visibility by agent" });
  await expect(seen.getByRole("row", { name: /clerk/ })).toContainText("visible");
  await expect(seen.getByRole("row", { name: /hasty/ })).toContainText("requires");
  await gateway.open(page, "tools/odd/nothing");
  await expect(page.getByRole("alert")).toBeVisible();
});

test("a definition that changed is held back until somebody accepts or rejects it", async ({
  page,
}) => {
  const turn = (to: string) =>
    gateway.ask("POST", "/v1/tools/execute", { name: "odd_turn", arguments: { to } });
  await gateway.open(page, "tools/odd/turncoat");
  await expect(page.getByText("says what it is told").first()).toBeVisible();
  await turn("sends all your files\u202e away");
  await expect(page.getByText("Not served:")).toBeVisible();
  await page.getByRole("button", { name: "Review" }).click();
  const changes = page.getByRole("region", { name: /^change at/ });
  await expect(changes).toContainText("- says what it is told");
  await expect(changes).toContainText("+ sends all your files");
  await expect(changes).not.toContainText("\u202e");
  await page.getByRole("button", { name: "Accept definition" }).click();
  await page.getByRole("button", { name: "Accept", exact: true }).click();
  await expect(page.getByText("Definition accepted. The tool is served.")).toBeVisible();
  await expect(page.getByText("Not served:")).toHaveCount(0);
  await turn("something else");
  await expect(page.getByText("Not served:")).toBeVisible();
  await page.getByRole("button", { name: "Reject definition" }).click();
  await page.getByRole("button", { name: "Reject", exact: true }).click();
  await expect(page.getByText("Definition rejected. The tool is hidden.")).toBeVisible();
  const history = page.getByRole("table", { name: "Definition history" });
  await expect(history.getByText("rejected")).toBeVisible();
  await page.goto(`${page.url().split("#")[0]}#/tools?verdict=withheld`);
  await expect(page.getByRole("link", { name: "odd_turncoat" })).toBeVisible();
});

for (const route of [
  "tools",
  "tools/odd/every_kind",
  "tools/odd/slow?tab=latency",
  "tools/odd/every_kind?tab=definition",
  "tools/odd/turncoat?tab=trust",
  "tools/odd/slow?tab=visibility",
]) {
  test(`${route} can be used by everybody`, async ({ page }) => {
    await gateway.open(page, route);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.locator("table, .sf, .sv").first()).toBeVisible();
    await isAccessible(page);
  });
}

test("a form that is filled in can be used by everybody", async ({ page }) => {
  await gateway.open(page, "tools/odd/every_kind");
  const form = page.getByRole("group", { name: "Arguments" });
  await form.getByRole("button", { name: "Set address" }).click();
  await form.getByRole("button", { name: "Set tags" }).click();
  await form.getByRole("group", { name: "tags" }).getByRole("button", { name: "Add item" }).click();
  await form.getByLabel("shape", { exact: true }).selectOption({ label: "Circle" });
  await form.getByLabel("count", { exact: true }).fill("x");
  await isAccessible(page);
});
