import { defineConfig } from "@playwright/test";

// Debian's own browser, without the parts for a screen; nothing is downloaded.
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
const report = process.env.TOLLGATE_TEST_REPORT;

export default defineConfig({
  testDir: "tests",
  timeout: 90_000,
  expect: { timeout: 15_000 },
  // On two cores: most of the time a test waits for a page to settle.
  workers: 3,
  fullyParallel: false,
  forbidOnly: true,
  // What passes only the second time is reported as flaky, and named at the end of `make test`.
  retries: 1,
  reporter: report ? [["list"], ["json", { outputFile: `${report}/page.json` }]] : [["list"]],
  outputDir: "test-results",
  use: {
    viewport: { width: 1280, height: 860 },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
    // Half as long again: for whoever can open it afterwards.
    trace: process.env.CI ? "off" : { mode: "retain-on-failure", screenshots: false },
  },
});
