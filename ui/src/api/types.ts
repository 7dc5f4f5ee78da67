// Response types of the gateway, as described by `/api/openapi.json`.

export type Tier = "fast" | "standard" | "deep";
export const TIERS: readonly Tier[] = ["fast", "standard", "deep"];

export interface Login {
  principal: string;
  rights: string[];
  agents: string[] | null;
  csrf: string | null;
  expires: string | null;
}

export type ServerState = "starting" | "ready" | "degraded" | "offline" | "failed" | "disabled";

export interface Server {
  id: string;
  transport: string;
  state: ServerState;
  reason: string;
  since: string;
  restarts: number;
  late_answers: number;
  protocol: string | null;
  tools: number;
  last_error: string | null;
  pid: number | null;
  enabled: boolean;
  category: string | null;
  trusted: boolean;
  last_ok: string | null;
  needs_login: boolean;
}

export type ServerConfig = Record<string, unknown>;

export interface ServerDetail extends Server {
  config: ServerConfig | null;
  yaml: string | null;
  history: { at: string; state: ServerState; reason: string }[];
  version: string | null;
  writable: boolean | null;
}

export interface ChangeResult {
  applied: boolean;
  version: string;
  diff: string;
  servers: { added: string[]; removed: string[]; restarted: string[]; kept: string[] };
  needs_restart: string[];
  report: CheckReport;
}

/** As `tollgate check --json` prints it. */
export interface CheckReport {
  file: string;
  ok: boolean;
  diagnostics: Diagnostic[];
}

/** One reload of the config file. */
export interface ReloadAttempt {
  at: string;
  by: string;
  outcome: "applied" | "unchanged" | "refused";
  error?: string;
  servers?: ChangeResult["servers"];
  needs_restart?: string[];
  report: CheckReport;
}

export interface TrialReport {
  ok: boolean;
  message: string;
  protocol: string | null;
  took_ms: number;
  tools: { name: string; title: string | null; description: string | null }[];
}

export interface Key {
  name: string;
  origin: "config" | "made";
  role: "admin" | "operator" | "caller";
  agents: string[] | null;
  rights: string[];
  tools: string[] | null;
  rate_limit: string | null;
  concurrent: number | null;
  tenant: string | null;
  made: string | null;
  expires: string | null;
  last_used: string | null;
  former_until: string | null;
  revoked: string | null;
}

export interface Diagnostic {
  severity: "error" | "warning";
  message: string;
  key: string | null;
  help: string[];
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
}

export interface LatencyStats {
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  calls: number;
  error_rate: number;
}

export interface Finding {
  kind: string;
  at: string;
  excerpt: string | null;
  text: string;
}

export interface Tool {
  name: string;
  server: string;
  tool: string;
  /** `away`: its server is unavailable, and no definition is known. */
  verdict: "served" | "flagged" | "withheld" | "away";
  reason: string | null;
  why: string | null;
  hash: string | null;
  pin: { hash: string | null; by: string | null; rejected: string[] } | null;
  findings: Finding[];
  title: string | null;
  description: string | null;
  category: string | null;
  online: boolean;
  tier: Tier;
  tier_reason: string;
  health: "healthy" | "failing" | "overrunning";
  bimodal: boolean;
  badge: string | null;
  measured: LatencyStats | null;
  recent: number[];
  read_only: boolean | null;
  destructive: boolean | null;
}

export interface ToolDetail extends Tool {
  offered: Definition | null;
  trusted: Definition | null;
  changes: { at: string; before: string | null; after: string | null }[] | null;
  history: {
    hash: string;
    state: string;
    first_seen: number;
    decided_at: number | null;
    decided_by: string | null;
  }[];
  ceilings: { fast_ms: number; standard_ms: number; deep_ms: number };
  samples: { took_ms: number; ok: boolean; at?: string | null }[];
  declared: {
    estimated_duration_ms: number | null;
    max_duration_ms: number | null;
    idempotent: boolean | null;
    cacheable_seconds: number | null;
  } | null;
  agents: { agent: string; tiers: Record<Tier, boolean | string> }[];
}

export interface Definition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Schema;
  outputSchema?: Schema;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** A JSON Schema as written by a server; untrusted. */
export type Schema = Record<string, unknown> | boolean;

export interface Outcome {
  status: string;
  message: string;
  data: unknown;
  content?: unknown[];
  warning?: string;
  retryable: boolean;
  retry_hint?: string;
  truncated?: boolean;
  handle?: string;
  duration_ms: number;
  cached: boolean;
  also?: Record<string, Outcome>;
}

export interface Agent {
  name: string;
  description: string | null;
  default: boolean;
  prompt: string | null;
  greeting: string | null;
  models: string[];
  engine: string;
  tools: string[];
  auto_execute: string[];
  budget_tier: Tier | null;
  max_depth: number;
  max_calls: number;
  max_tools: number;
  code_mode: boolean | string;
  opener_model: string | null;
  concurrent: number | null;
  pinned_tools: string[];
  tool_search: string;
  mixed_response: string;
  memory: { namespace: string; record: string; recall: boolean };
  variables: Record<string, string>;
}

export interface ToolVisibility {
  name: string;
  server: string;
  tool: string;
  visible: boolean;
  level?: string;
  reason?: string;
}

/** The outcomes of a call. */
export const OUTCOMES = [
  "ok",
  "no_results",
  "error",
  "timeout",
  "offline",
  "denied",
  "invalid_arguments",
  "rate_limited",
  "pending",
  "answered",
  "input_required",
  "task",
  "refused",
  "failed",
  "cancelled",
  "revoked",
] as const;

export interface Step {
  step: string;
  from_ms: number;
  /** `null` while the step is running. */
  to_ms: number | null;
  note?: string | null;
}

export interface Call {
  id: string;
  turn: string;
  within: string | null;
  at: string;
  principal: string;
  agent: string;
  probe: boolean;
  method: string;
  name: string;
  server: string | null;
  tool: string | null;
  tier: Tier;
  outcome: string | null;
  detail: string | null;
  cached: boolean;
  duration_ms: number;
  result_bytes: number;
  turn_began: string;
  deadline_ms: number | null;
  steps: Step[];
}

export interface AuditRow {
  sequence: number;
  at: string;
  kind: string;
  principal: string;
  agent?: string;
  method?: string;
  name?: string;
  server?: string;
  tool?: string;
  outcome: string;
  detail?: string;
  duration_ms?: number;
  bytes?: number;
  cached?: boolean;
  tier?: Tier;
  catalog_version?: number;
  arguments_hash?: string;
  arguments?: unknown;
  call?: string;
  within?: string;
  hash: string;
}

export interface AuditPage {
  rows: AuditRow[];
  next: number | null;
  last: number;
}

export interface VerifyResult {
  ok: boolean;
  rows: number;
  removed: number;
  last: number;
  head: string;
  broken: { sequence: number; problem: string } | null;
  losses?: { found: string | null; kind: string; problem: string }[];
}

export interface Overview {
  version: string;
  uptime_s: number;
  environment: string;
  listen: string;
  config: { file: string | null; writable: boolean; good: boolean };
  servers: Record<ServerState, number>;
  tools: { served: number; withheld: number; flagged: number; away: number };
  approvals: number;
  sessions: number;
  calls: {
    minutes: { at: string; calls: number; errors: number; misses: number }[];
    tiers: {
      tier: Tier;
      calls: number;
      errors: number;
      misses: number;
      p50_ms: number | null;
      p95_ms: number | null;
      p99_ms: number | null;
    }[];
  };
  slowest: { server: string; tool: string; name: string; tier: Tier; p99_ms: number }[];
  attention: { kind: string; text: string; link: string }[];
}

export interface Approval {
  id: string;
  principal: string;
  agent: string;
  name: string;
  server: string;
  tool: string;
  arguments: unknown;
  arguments_bytes: number;
  beginning?: string;
  why: string;
  reason: string;
  since: string;
  until: string;
}

export interface Session {
  id: string;
  principal: string;
  agent: string;
  dialect: string;
  model: string;
  tier: Tier | null;
  tier_reason: string;
  tools: number;
  since: string;
  turns: number;
  calls: number;
  usage: SessionUsage;
}

/** What models were used for, of live sessions. */
export interface SpeechUsage {
  audio_input_tokens: number;
  audio_output_tokens: number;
  cached_audio_input_tokens: number;
  audio_input_seconds: number;
  audio_output_seconds: number;
  live_seconds: number;
}

export interface SessionUsage extends SpeechUsage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cost_usd: number;
  unpriced_requests: number;
}

export interface SessionDetail extends Session {
  silences: Silence[];
}

export type SilencePart = "model" | "tool" | "network" | "gateway";

export interface Silence {
  at: string;
  turn: number;
  silence_ms: number;
  model_ms: number;
  tool_ms: number;
  network_ms: number;
  gateway_ms: number;
  hangover_ms: number | null;
  segments: { part: SilencePart; from_ms: number; to_ms: number }[];
}

export interface ImportResult {
  format: string;
  servers: { name: string; server: ServerConfig; clash: boolean; notes: string[] }[];
  dropped: { what: string; why: string }[];
  /** Plain values of the source that were replaced by references. */
  given?: Record<string, string>;
}

export interface ConnectInfo {
  clients: {
    id: string;
    name: string;
    file: string | null;
    language: string;
    text: string;
    link: string | null;
    note: string | null;
  }[];
  url: string;
  needs_key: boolean;
}

export interface RegistryPage {
  servers: {
    name: string;
    title: string | null;
    description: string;
    version: string;
    website: string | null;
    choices: {
      kind: string;
      label: string;
      server: ServerConfig;
      needs: { name: string; description: string | null; secret: boolean }[];
    }[];
  }[];
  next: string | null;
}
