import { expect, Gateway, test } from "./gateway";

const COUNT = 200;
const rows = Array.from(
  { length: COUNT },
  (_, at) => `  s${String(at).padStart(3, "0")}: { command: "true ${at}", enabled: false }`,
);

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(`servers:\n${rows.join("\n")}\n`);
});
test.afterAll(async () => gateway.stop());

test("two hundred servers are one page, of which only those in sight are made", async ({
  page,
}) => {
  await gateway.open(page, "servers");
  const table = page.getByRole("table", { name: "Servers" });
  await expect(table).toHaveAttribute("aria-rowcount", String(COUNT + 5));
  expect(await page.getByRole("row").count()).toBeLessThan(80);
  await page.mouse.wheel(0, 100_000);
  await expect(page.getByRole("link", { name: "s199" })).toBeVisible();
  await page.getByRole("searchbox", { name: "Filter servers" }).fill("s1");
  await expect(table).toHaveAttribute("aria-rowcount", "100");
  await page.getByRole("searchbox", { name: "Filter servers" }).fill("s123");
  await page.getByRole("link", { name: "s123" }).click();
  await expect(page.getByRole("heading", { name: "s123" })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("searchbox", { name: "Filter servers" })).toHaveValue("s123");
});
