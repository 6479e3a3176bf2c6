import type { ModelAgentName } from '../../../kennel/agents/registry.ts';

/** The limits that agents meet, in the headers and words of the services that they use. */

export const WINDOWS = ['header', 'five hours', 'week', 'overload', 'no hint'] as const;
export type LimitWindow = (typeof WINDOWS)[number];

/** A limit that a script tells of: its first request opens a window of `forMs`, and all within it are refused. */
export interface ScriptedLimit {
  of: ModelAgentName;
  window: LimitWindow;
  forMs: number;
}

export interface RefusedAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Times are epoch milliseconds. */
interface Span {
  now: number;
  opensAt: number;
}

/**
 * The answer to a request at its limit. Windows of hours and days are short here; services name their ends by a clock
 * or a duration.
 */
export function refusedAnswer({ of, window }: ScriptedLimit, span: Span): RefusedAnswer {
  return refusals[of][window](span);
}

const seconds = ({ now, opensAt }: Span): number => Math.ceil((opensAt - now) / 1_000);
const epoch = ({ opensAt }: Span): number => Math.ceil(opensAt / 1_000);
/** "1 minute 15 seconds" */
const inWords = (span: Span): string => `${Math.floor(seconds(span) / 60)} minutes ${seconds(span) % 60} seconds`;
const limited = (body: unknown, headers: RefusedAnswer['headers'] = {}): RefusedAnswer => ({
  status: 429,
  headers,
  body,
});
const retryAfter = (span: Span): RefusedAnswer['headers'] => ({ 'retry-after': String(seconds(span)) });

type Refusals = Record<LimitWindow, (span: Span) => RefusedAnswer>;

const anthropicError = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_scripted',
});
const claudeLimit = anthropicError(
  'rate_limit_error',
  "This request would exceed your account's rate limit. Please try again later.",
);
/** A subscription: the window that is full is named in headers. */
const claudeWindow =
  (claim: 'five_hour' | 'seven_day') =>
  (span: Span): RefusedAnswer =>
    limited(claudeLimit, {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(epoch(span)),
      'anthropic-ratelimit-unified-representative-claim': claim,
      [`anthropic-ratelimit-unified-${claim === 'five_hour' ? '5h' : '7d'}-status`]: 'rejected',
      [`anthropic-ratelimit-unified-${claim === 'five_hour' ? '5h' : '7d'}-reset`]: String(epoch(span)),
    });

const claude: Refusals = {
  header: (span) => limited(claudeLimit, retryAfter(span)),
  'five hours': claudeWindow('five_hour'),
  week: claudeWindow('seven_day'),
  overload: () => ({ status: 529, headers: {}, body: anthropicError('overloaded_error', 'Overloaded') }),
  'no hint': () => limited(claudeLimit),
};

const openaiError = (code: string, message: string) => ({ error: { message, type: code, param: null, code } });
const openaiOverload = (): RefusedAnswer => ({
  status: 503,
  headers: {},
  body: openaiError('server_is_overloaded', 'Our servers are currently overloaded. Please try again later.'),
});

/** A ChatGPT plan: the end is in the body, and beside it in headers of the window. */
const codexWindow =
  (window: 'primary' | 'secondary', minutes: number) =>
  (span: Span): RefusedAnswer =>
    limited(
      {
        error: {
          type: 'usage_limit_reached',
          message: 'The usage limit has been reached',
          plan_type: 'plus',
          resets_at: epoch(span),
          resets_in_seconds: seconds(span),
        },
      },
      {
        [`x-codex-${window}-used-percent`]: '100',
        [`x-codex-${window}-window-minutes`]: String(minutes),
        [`x-codex-${window}-reset-after-seconds`]: String(seconds(span)),
        [`x-codex-${window}-reset-at`]: String(epoch(span)),
      },
    );

const codex: Refusals = {
  header: (span) => limited(openaiError('rate_limit_exceeded', 'Rate limit reached for requests'), retryAfter(span)),
  'five hours': codexWindow('primary', 300),
  week: codexWindow('secondary', 10_080),
  overload: openaiOverload,
  'no hint': () =>
    limited({ error: { type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus' } }),
};

const geminiError = (code: number, status: string, message: string, details: unknown[] = []) => ({
  error: { code, status, message, details },
});
const exhausted = (message: string, details: unknown[] = []) =>
  geminiError(429, 'RESOURCE_EXHAUSTED', message, details);
const quota = (quotaId: string) => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaId }],
});

const gemini: Refusals = {
  header: (span) => limited(exhausted('Resource has been exhausted (e.g. check quota).'), retryAfter(span)),
  // the longest window with a delay; Gemini has none of five hours
  'five hours': (span) =>
    limited(
      exhausted(`You exceeded your current quota. Please retry in ${seconds(span)}.5s.`, [
        quota('GenerateContentInputTokensPerModelPerHour'),
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds(span)}.5s` },
      ]),
    ),
  // Gemini has no week: its day ends at midnight in California by the service's clock, and the delay beside it must not
  // be believed
  week: (span) =>
    limited(
      exhausted('You exceeded your current quota.', [
        quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'),
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' },
      ]),
      { date: new Date(CALIFORNIA_MIDNIGHT - (span.opensAt - span.now)).toUTCString() },
    ),
  overload: () => ({
    status: 503,
    headers: {},
    body: geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  }),
  'no hint': () => limited(exhausted('Resource has been exhausted (e.g. check quota).')),
};
const CALIFORNIA_MIDNIGHT = Date.parse('2026-11-24T08:00:00Z');

const copilot: Refusals = {
  header: (span) => limited(openaiError('rate_limited', 'Too many requests'), retryAfter(span)),
  'five hours': (span) =>
    limited(
      openaiError('rate_limited', `Sorry, you've exceeded your rate limit. Please try again in ${inWords(span)}.`),
    ),
  week: (span) =>
    limited(
      openaiError(
        'user_weekly_rate_limited',
        `You've reached your weekly rate limit. Please try again in ${inWords(span)}.`,
      ),
    ),
  overload: openaiOverload,
  'no hint': () => limited(openaiError('rate_limited', 'Too many requests')),
};

const opencode: Refusals = {
  header: (span) => limited(openaiError('rate_limit_exceeded', 'Rate limit reached for requests'), retryAfter(span)),
  'five hours': (span) =>
    limited(
      openaiError(
        'usage_limit_reached',
        `5-hour usage limit reached. It will reset in ${inWords(span)}. To continue, enable usage.`,
      ),
    ),
  // OpenRouter repeats headers in its body: milliseconds, as a text
  week: ({ opensAt }) =>
    limited({
      error: {
        code: 429,
        message: 'Rate limit exceeded: free-models-per-week. ',
        metadata: {
          limit_source: 'openrouter_free_tier_weekly',
          headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(opensAt) },
        },
      },
    }),
  overload: openaiOverload,
  'no hint': () =>
    limited({
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: { limit_source: 'openrouter_shared_capacity' },
      },
    }),
};

const refusals: Record<ModelAgentName, Refusals> = { claude, codex, gemini, copilot, opencode, nanoclaw: claude };
