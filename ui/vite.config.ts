import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";

/** The gateway's build embeds the files below this directory. They are gzipped, and old ones removed. */
const PAGE_DIRECTORY = "../crates/tollgate-server/page";

function gzipOutput(): Plugin {
  const each = (directory: string, file: (path: string) => void) => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) each(path, file);
      else file(path);
    }
  };
  return {
    name: "gzip-output",
    apply: "build",
    closeBundle() {
      rmSync(join(PAGE_DIRECTORY, "built"), { recursive: true, force: true });
      each("dist", (path) => {
        const target = join(PAGE_DIRECTORY, "built", `${relative("dist", path)}.gz`);
        mkdirSync(dirname(target), { recursive: true });
        const level = constants.Z_BEST_COMPRESSION;
        writeFileSync(target, gzipSync(readFileSync(path), { level }));
      });
    },
  };
}

// `npm run dev` proxies to a running gateway: TOLLGATE_URL is its address, TOLLGATE_KEY the key to use.
const gateway = process.env.TOLLGATE_URL ?? "http://127.0.0.1:8655";
const key = process.env.TOLLGATE_KEY;
const headers = key ? { authorization: `Bearer ${key}` } : undefined;
const proxied = { target: gateway, changeOrigin: true, headers };

/** Lists flaky and skipped tests for `scripts/test-report`. */
function flakyReporter(): Reporter {
  return {
    onTestRunEnd(modules) {
      const folder = process.env.TOLLGATE_TEST_REPORT;
      if (!folder) return;
      const flaky: string[] = [];
      const skipped: [string, string][] = [];
      for (const module of modules) {
        for (const test of module.children.allTests()) {
          const name = `${module.relativeModuleId} ${test.fullName}`;
          if (test.diagnostic()?.flaky) flaky.push(name);
          if (test.result().state === "skipped") skipped.push([name, "skipped in vitest"]);
        }
      }
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "vitest.json"), JSON.stringify({ flaky, skipped }));
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [react(), gzipOutput()],
  build: {
    target: "es2023",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 400,
  },
  server: {
    proxy: {
      "/api": proxied,
      "/v1": proxied,
      "/mcp": proxied,
      "/metrics": proxied,
      "/readyz": proxied,
    },
  },
  test: {
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    retry: 1,
    reporters: ["default", flakyReporter()],
  },
});
