/** Which settings people are shown: at most eighty. Every other name counts, too, where somebody has set it. */

/**
 * Constants: people have no reason to change them. Tests do, and a line of an older release still counts, which is said
 * at the start.
 */
const CONSTANTS: ReadonlySet<string> = new Set([
  // chats
  'FETCH_READ_SECONDS',
  'FETCH_STOP_SECONDS',
  'FETCH_CATCHUP_HOURS',
  'FETCH_CONTEXT_TOKENS',
  'FETCH_MAX_HISTORY_EVENTS',
  'FETCH_QUESTION_REMIND_HOURS',
  'FETCH_QUESTION_EXPIRE_HOURS',
  'WHATSAPP_PACE_MS',
  'WHATSAPP_PER_MINUTE',
  'WHATSAPP_RATE_LIMIT',
  'WHATSAPP_TEXT_LIMIT',
  // the wait for a model
  'FETCH_MODEL_TELL_SECONDS',
  'FETCH_MODEL_SILENCE_SECONDS',
  'FETCH_MODEL_WAIT_HOURS',
  // of a turn: each level has one budget in money and one in tokens
  'FETCH_MAX_STEPS',
  'FETCH_MAX_TOOL_CALLS',
  'FETCH_MAX_TURN_MINUTES',
  // containers and coding tasks
  'FETCH_BROWSER_IDLE_MINUTES',
  'FETCH_KENNEL_AWAY_SECONDS',
  'FETCH_KENNEL_BUILD_MINUTES',
  'FETCH_KENNEL_DISK_MB',
  'FETCH_KENNEL_FREE_MB',
  'FETCH_KENNEL_PIDS',
  'FETCH_PLAN_ABOVE_CHARS',
  'FETCH_PROGRESS_SECONDS',
  'FETCH_REGISTRY_CACHE_MB',
  'FETCH_SHIP_DAYS',
  'FETCH_SHIP_LOOK_SECONDS',
  'FETCH_SHIP_PASSES',
  'FETCH_SHIP_USD',
  'FETCH_TASK_HOLD_MINUTES',
  'FETCH_TASK_MAX_LOG_LINES',
  'FETCH_TASK_MAX_LOG_MB',
  'FETCH_TASK_SILENCE_MINUTES',
  'FETCH_TASK_WAIT_DAYS',
  'FETCH_BACKUP_AT',
]);

/** Names that a flag, a question, a file of `deploy` or the standard of another program brings. */
const BROUGHT: ReadonlySet<string> = new Set([
  // flags of `fetch serve`
  'FETCH_RUNTIME_HOST',
  'FETCH_RUNTIME_INSECURE',
  'FETCH_MOBILE',
  'DEEPSEEK_RUNTIME_TOKEN',
  // asked once, when a person leaves the chat
  'FETCH_ON_LEAVE',
  // for rare needs, on whose pages they are
  'DATABASE_DIRECT_URL',
  'FETCH_ALLOW_PRIVATE_URLS',
  'FETCH_BACKUP_KEEP',
  'FETCH_BUILD_ID',
  'FETCH_CODEC_ORIGINS',
  'FETCH_KENNEL_BASE',
  'FETCH_MCP_CONFIG',
  'FETCH_PREPARE_STATEMENTS',
  'FETCH_SEPARATE_PROCESSES',
  'FETCH_TELEGRAM_API',
  'FETCH_TEMPORAL_UI_URL',
  'FETCH_WORKSPACE',
  // deploy/ and docker-compose.yml
  'FETCH_COMPOSE_PROFILES',
  'FETCH_HEALTH_FILE',
  'FETCH_METRICS_HOST',
  // a WhatsApp of tests: docs/contributing.md
  'WA_WEB_SOCKET_URL',
  'WA_NOISE_ROOT_KEY',
  'WA_MEDIA_HOST',
  'WA_ALLOW_INSECURE',
  // of the coding agents: docs/coding-tasks.md
  'CLAUDE_MODEL',
  'CODEX_MODEL',
  'GEMINI_MODEL',
  'COPILOT_MODEL',
  'OPENCODE_MODEL',
  'NANOCLAW_MODEL',
  // of Docker, Temporal and OpenTelemetry
  'DOCKER_HOST',
  'TEMPORAL_API_KEY',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_SERVER_NAME',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER_ARG',
]);

export const isConstant = (name: string): boolean => CONSTANTS.has(name);
export const isListed = (name: string): boolean => !CONSTANTS.has(name) && !BROUGHT.has(name);
