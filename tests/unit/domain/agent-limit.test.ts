import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { limitInFailure } from '../../../src/domain/model/agent-limit.ts';
import { LONGEST_WAIT_MS } from '../../../src/domain/model/reset-words.ts';
import { holds } from '../../support/property.ts';

/** A Sunday. */
const NOW = Date.UTC(2026, 10, 22, 8);
const hours = (count: number) => count * 3_600_000;

/** `person`, `overload`, a wait in ms, or `later` for a wait without a time. */
function limitOf(sentence: string, zone?: string): string | number | null {
  const limit = limitInFailure(sentence, NOW, zone);
  if (!limit || limit.kind === 'person') return limit?.kind ?? null;
  if (limit.overload) return limit.waitMs === null ? 'overload' : `overload ${limit.waitMs}`;
  return limit.waitMs ?? 'later';
}

const ERROR = "The agent's request failed";

const CLAUDE: Array<[string, string | number | null]> = [
  ["You've hit your 5-hour limit · resets 9:45am (Europe/Berlin) (limit)", hours(0.75)],
  ["You've hit your 5-hour limit · resets 9:45am (Europe/Berlin) · progress saved (limit)", hours(0.75)],
  ["You've hit your 5-hour limit · resets 10am · out of usage credits (limit)", hours(2)],
  ["You've hit your weekly limit · resets Nov 25, 7:05pm (Europe/Berlin) (limit)", hours(82) + 5 * 60_000],
  ["You've hit your session limit · resets 3:45pm (limit)", hours(7.75)],
  ["You've hit your Opus limit · resets Mon 12:00am (limit)", hours(16)],
  ["You've hit your limit · resets 8pm (America/New_York) (limit)", hours(17)],
  ["You've reached your Fable limit for this week. (limit)", 'later'],
  [`${ERROR} (-32603): Internal error: You've hit your 5-hour limit · resets 9:45am (Europe/Berlin)`, hours(0.75)],
  [`${ERROR} (-32603): Internal error: 5-hour limit reached ∙ resets 2am`, hours(18)],
  [`${ERROR} (-32603): Internal error: Claude AI usage limit reached|${NOW / 1_000 + 3_600}`, hours(1)],
  ['Claude usage limit reached. Your limit will reset at 3pm (America/Santiago). (limit)', hours(10)],
  [
    'API Error: Request rejected (429) · this may be a temporary capacity issue. If it persists, check https://status.claude.com. (limit)',
    'later',
  ],
  ['API Error: Server is temporarily limiting requests (not your usage limit) · scripted 429 (limit)', 'later'],
  [
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit."}} (limit)',
    'later',
  ],
  [
    'API Error: Request rejected (429) · Rate limit reached for x in organization org-x. Please try again in 42m11.054s. Visit y. (limit)',
    2_531_054,
  ],
  ['Claude is temporarily rate limited. (limit)', 'later'],
  [`${ERROR} (-32603): Internal error (rate_limit)`, 'later'],
  ['Words of a later version (usage limit)', 'later'],
  [
    'API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment. (service)',
    'overload',
  ],
  ['API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}} (service)', 'overload'],
  [
    'API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. (service)',
    'overload',
  ],
  [
    'API Error: 503 scripted 503. This is a server-side issue, usually temporary — try again in a moment. (service)',
    'overload',
  ],
  ['Opus is experiencing high load, please use /model to switch to Sonnet (service)', 'overload'],
  [`${ERROR} (-32603): Internal error (overloaded)`, 'overload'],
  ['Credit balance is too low (limit)', 'person'],
  ['API Error: Usage credits ran out before the response was finished. (service)', 'person'],
  [
    "Your claude.ai login expired. Claude Code tried an API key instead, but it doesn't have enough credit. (usage limit)",
    'person',
  ],
  [
    "Your account is on hold and can't use Claude Code. View details or appeal: https://example.com (usage limit)",
    'person',
  ],
  ["You've hit your monthly spend limit · raise it at claude.ai/settings/usage (limit)", 'person'],
  ["You've hit your monthly spend limit · resets Dec 1 (limit)", 'person'],
  [
    "You've hit your monthly spend limit · raise it at claude.ai/settings/usage · your weekly limit resets Mon 12:00am (limit)",
    hours(16),
  ],
  ["You've hit your org's monthly usage limit · resets Dec 1 (limit)", 'person'],
  ["You're out of usage credits (limit)", 'person'],
  ["You're out of usage credits · resets 9am (limit)", hours(1)],
  ['Your org is out of usage · contact your admin (limit)', 'person'],
  ["Your seat type doesn't include usage credits (limit)", 'person'],
  ['Fable 5 requires usage credits. (limit)', 'person'],
  [
    'API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC. (request)',
    'person',
  ],
  [`${ERROR} (-32603): Internal error (billing_error)`, 'person'],
  [`${ERROR} (-32000): Authentication required`, 'person'],
  ['Not logged in · Please run /login (access)', 'person'],
  // limits of a session and of its context open by nothing
  ['Reached maximum budget ($5) (limit)', null],
  ['This Claude turn reached its configured limit. (limit)', null],
  [
    'API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. (service)',
    null,
  ],
  ['API Error: Connection to the API was lost (connection)', null],
  [`${ERROR} (-32603): Internal error: Prompt is too long`, null],
];

const CODEX: typeof CLAUDE = [
  [
    'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 3:05 PM. (limit)',
    hours(7) + 5 * 60_000,
  ],
  [
    "You've hit your usage limit. To get more access now, send a request to your admin or try again at Nov 24th, 2026 10:03 PM. (limit)",
    hours(62) + 3 * 60_000,
  ],
  [
    "You've hit your usage limit for gpt-5.3-codex. Switch to another model now, or try again at 9:00 AM. (limit)",
    hours(1),
  ],
  ["You've hit your usage limit. Try again later. (limit)", 'later'],
  [
    "You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11 minutes. (limit)",
    hours(142) + 11 * 60_000,
  ],
  ['exceeded retry limit, last status: 429 Too Many Requests (limit)', 'later'],
  ['exceeded retry limit, last status: 429 Too Many Requests, request id: req_1 (connection)', 'later'],
  [
    'stream disconnected before completion: Rate limit reached for gpt-5 in organization org-x. Please try again in 11.054s. (connection)',
    11_054,
  ],
  ['Selected model is at capacity. Please try a different model. (service)', 'overload'],
  [
    'unexpected status 503 Service Unavailable: scripted 503, url: http://127.0.0.1:4010/openai/v1/responses (connection)',
    'overload',
  ],
  [
    'unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1:4010/openai/v1/responses (connection)',
    'overload',
  ],
  ['We’re currently experiencing high demand, which may cause temporary errors. (service)', 'overload'],
  ['Quota exceeded. Check your plan and billing details. (limit)', 'person'],
  ['To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus. (service)', 'person'],
  ['Your workspace is out of credits. Add credits to continue. (limit)', 'person'],
  ['You hit your spend cap set in your workspace. Increase your spend cap to continue. (limit)', 'person'],
  [
    'unexpected status 402 Payment Required: Insufficient Balance, url: http://127.0.0.1:4010/openai/v1/responses (connection)',
    'person',
  ],
  [
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying. (limit)",
    null,
  ],
  ['agent thread limit reached (service)', null],
  ['unexpected status 404 Not Found: no such model, url: http://127.0.0.1:4010/openai/v1/responses (connection)', null],
  ['stream disconnected before completion: stream closed before response.completed (connection)', null],
];

const GEMINI: typeof CLAUDE = [
  [`${ERROR} (429): Rate limit exceeded. Try again later.`, 'later'],
  [`${ERROR} (429): You have exhausted your daily quota on this model.`, hours(24)],
  [
    `${ERROR} (429): You have exhausted your capacity on this model. Your quota will reset after 22h7m37s.`,
    hours(22) + 457_000,
  ],
  [
    `${ERROR} (429): You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s.`,
    34_070,
  ],
  [`${ERROR} (429): Resource has been exhausted. Suggested retry after 26s.`, 26_000],
  [`${ERROR} (429): scripted 429`, 'later'],
  [`${ERROR} (529): {"error":{"code":529,"message":"Overloaded","status":"INTERNAL"}}`, 'overload'],
  [`${ERROR} (503): The model is overloaded. Please try again later.`, 'overload'],
  [`${ERROR} (503): scripted 503 Please retry in 20s`, 'overload 20000'],
  [`${ERROR} (503): scripted 503 Please retry in 2h`, 'overload'],
  [
    `${ERROR} (429): You exceeded your current quota, please check your plan. * Quota exceeded for metric: requests, limit: 0, model: gemini-2.5-pro`,
    'person',
  ],
  [`${ERROR} (403): Verify your account to continue.`, 'person'],
  [`${ERROR} (401): API key not valid.`, 'person'],
  [`${ERROR} (500): Unknown stream execution error.`, null],
];

const COPILOT: typeof CLAUDE = [
  ['429 scripted 429 (429)', 'later'],
  [
    "You've hit your rate limit. Please wait for your limit to reset in 2 hours 5 minutes or switch to auto model to continue. (429)",
    hours(2) + 300_000,
  ],
  ["You've hit the rate limit for this model. Please switch models or wait for your limit to reset. (429)", 'later'],
  ["You've hit your session rate limit. Please try again in 15 hours 23 minutes.", hours(15) + 23 * 60_000],
  ["You've reached your weekly rate limit. Please try again in 58 hours. (429)", hours(58)],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 5.64 seconds) Last error: 429 scripted 429 (429)',
    'later',
  ],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 5.64 seconds) Last error: 503 scripted 503 (503)',
    'overload',
  ],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 5.66 seconds) Last error: 529 Overloaded (529)',
    'overload',
  ],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 57.50 seconds) Last error: 429 Rate limit reached for x. Please try again in 42m11.054s. (429)',
    2_531_054,
  ],
  ['402 You have no quota (402)', 'person'],
  [
    "You've run out of your included AI credits for the month. Manage budget: https://github.com/settings/copilot/features",
    'person',
  ],
  [
    "You've reached your additional usage limit for your plan. Go to https://github.com/settings/copilot/features for more details.",
    'person',
  ],
  ['Authentication failed with provider (401)', 'person'],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 5.64 seconds) Last error: 500 scripted 500 (500)',
    null,
  ],
  ['The agent ended its turn without a model call.', null],
];

const OPENCODE: typeof CLAUDE = [
  [
    `${ERROR} (-32603): Internal error: Rate limit reached for gpt-5 in organization org-x on tokens per min. Please try again in 42m11.054s.`,
    2_531_054,
  ],
  [`${ERROR} (-32603): Internal error: Too Many Requests`, 'later'],
  [
    `${ERROR} (-32603): Internal error: Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more`,
    hours(16),
  ],
  [
    `${ERROR} (-32603): Internal error: 5-hour usage limit reached. It will reset in 2 hours 5 minutes. To continue, enable usage`,
    hours(2) + 300_000,
  ],
  [`${ERROR} (-32603): Internal error: Free usage exceeded, subscribe to Go`, 'later'],
  [`${ERROR} (-32603): Internal error: Overloaded`, 'overload'],
  [`${ERROR} (-32603): Internal error: Provider is overloaded`, 'overload'],
  [`${ERROR} (-32603): Internal error: Our servers are currently overloaded. Please try again later.`, 'overload'],
  [`${ERROR} (-32603): Internal error: server busy, please try again.  maximum pending requests exceeded`, 'overload'],
  [
    `${ERROR} (-32603): Internal error: You exceeded your current quota, please check your plan and billing details.`,
    'person',
  ],
  [`${ERROR} (-32603): Internal error: Your credit balance is too low to access the Anthropic API.`, 'person'],
  [`${ERROR} (-32603): Internal error: Insufficient Balance`, 'person'],
  [`${ERROR} (-32603): Internal error: scripted 500`, null],
];

/** Failures of other kinds, some with the words of limits. */
const OTHERS = [
  '',
  'The tests failed: rate limiter broken',
  'The tests failed (429)',
  'The agent could not read 429.txt.',
  'The agent stopped at the limit of tokens of its model.',
  'The agent stopped at its limit of model calls in one turn.',
  'The agent refused to go on.',
  'The agent ended with exit code 1 before its turn was over.',
  'No room is left on the disk of this task (limit reached).',
  `${ERROR} (-32603): Internal error: the test "usage limit reached, resets 3pm" fails`,
  `${ERROR} (-32603): Internal error: Cannot open /workspace/429.txt`,
  `${ERROR} (-32603): Internal error: The rate limit exceeded handler threw`,
  `${ERROR} (-32603): Internal error: 429 files were not found`,
  `${ERROR} (-32602): Invalid params: overloaded`,
  `${ERROR} (-32603): Internal error: the test got {"error":{"message":"Rate limit exceeded"}}`,
  // the task's own budget, told by the gate
  'unexpected status 402 Payment Required: The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept. (raise it), url: http://127.0.0.1:4010/openai/v1/responses (connection)',
  `${ERROR} (402): {"error":{"code":402,"message":"The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept."}}`,
  'API Error: 402 The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept. (raise it) (service)',
  '402 The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept. (raise it) (402)',
  `${ERROR} (-32603): Internal error: The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept. (raise it)`,
];

describe('the limit in a failure', () => {
  describe.each([
    ['Claude Code', CLAUDE],
    ['Codex', CODEX],
    ['Gemini CLI', GEMINI],
    ['Copilot CLI', COPILOT],
    ['OpenCode', OPENCODE],
  ] as const)('of %s', (_, table) => {
    test.each(table)('"%s" is %s', (sentence, limit) => {
      expect(limitOf(sentence)).toBe(limit);
    });
  });

  test.each(OTHERS)('is none in "%s"', (sentence) => {
    expect(limitOf(sentence)).toBeNull();
  });

  it('is timed by the zone of the agent where the sentence names none', () => {
    expect(limitOf("You've hit your usage limit. Visit x or try again at 11:00 AM. (limit)", 'Europe/Berlin')).toBe(
      hours(2),
    );
  });

  const forms = fc.constantFrom(...[CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE].flat().map(([sentence]) => sentence));

  it('names a wait within a month, whatever follows a known form', () => {
    holds(
      fc.property(
        forms,
        fc.string(),
        fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) }),
        (form, more, now) => {
          const limit = limitInFailure(`${form}${more}`, now);
          if (limit?.kind === 'wait' && limit.waitMs !== null)
            expect(limit.waitMs > 0 && limit.waitMs <= LONGEST_WAIT_MS).toBe(true);
          if (limit?.kind === 'wait' && limit.waitMs !== null && limit.overload)
            expect(limit.waitMs).toBeLessThanOrEqual(15 * 60_000);
        },
      ),
      { runs: 500 },
    );
  });

  it('is none where a form stands in the middle of other words', () => {
    holds(
      fc.property(fc.stringMatching(/^[A-Z][a-z ]{3,60}$/), forms, (before, form) => {
        expect(limitInFailure(`The tests failed: ${before}: ${form.replace(/ \([a-z_ ]+\)$/, '')}`, NOW)).toBeNull();
      }),
    );
  });

  it.each([
    "You've hit your ",
    'resets 3pm ',
    `${ERROR} (429): `,
    'API Error: 429 ',
    '"message":"',
    ' (limit)',
    '· your a ',
    '(',
    ' ',
    'a',
    '1 ',
  ])('is looked for in 100 kB of "%s" without delay', (piece) => {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const started = performance.now();
    limitInFailure(text, NOW);
    limitInFailure(`You've hit your limit ${text}`, NOW);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
