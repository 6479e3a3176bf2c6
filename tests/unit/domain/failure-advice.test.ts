import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { MODEL_AGENT_NAMES } from '../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../src/contracts/kennel.ts';
import { failureForPeople, withoutInside } from '../../../src/domain/tasks/agents/failure-advice.ts';
import { holds } from '../../support/property.ts';
import { machineWordsIn } from '../../support/transcript.ts';

const SETTINGS = {
  ANTHROPIC_API_KEY: 'k',
  ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
  GEMINI_API_KEY: 'k',
  GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com',
  OPENAI_API_KEY: 'k',
  OPENAI_BASE_URL: 'https://models.example.com/v1',
  AGENT_MODEL: 'big',
};

const ERROR = "The agent's request failed";
const GATE = 'http://127.0.0.1:4010/openai/v1';

/**
 * What each agent said in its container when its provider answered with this status, and when the provider did not run.
 */
const SAID: ReadonlyArray<readonly [AgentName, 401 | 402 | 403 | 404 | 'refused', string]> = [
  ['claude', 401, `${ERROR} (-32000): Authentication required`],
  ['claude', 402, 'API Error: 402 scripted 402 (service)'],
  ['claude', 403, `${ERROR} (-32000): Authentication required`],
  [
    'claude',
    404,
    "There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. (request)",
  ],
  [
    'claude',
    'refused',
    'API Error: 502 The model endpoint cannot be reached (ECONNREFUSED). This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:4010). (service)',
  ],
  ['codex', 401, `${ERROR} (-32000): Authentication required`],
  ['codex', 402, `unexpected status 402 Payment Required: scripted 402, url: ${GATE}/responses (connection)`],
  ['codex', 403, `unexpected status 403 Forbidden: scripted 403, url: ${GATE}/responses (connection)`],
  ['codex', 404, `unexpected status 404 Not Found: scripted 404, url: ${GATE}/responses (connection)`],
  [
    'codex',
    'refused',
    `unexpected status 502 Bad Gateway: The model endpoint cannot be reached (ECONNREFUSED)., url: ${GATE}/responses (connection)`,
  ],
  ['gemini', 401, `${ERROR} (401): {"error":{"code":401,"message":"scripted 401","status":"UNAUTHENTICATED"}}`],
  ['gemini', 402, `${ERROR} (402): {"error":{"code":402,"message":"scripted 402","status":"INTERNAL"}}`],
  ['gemini', 403, `${ERROR} (403): {"error":{"code":403,"message":"scripted 403","status":"INTERNAL"}}`],
  [
    'gemini',
    404,
    `${ERROR} (500): models/x is not found for API version v1beta, or is not supported for generateContent.`,
  ],
  [
    'gemini',
    'refused',
    `${ERROR} (502): {"error":{"code":502,"message":"The model endpoint cannot be reached (ECONNREFUSED).","status":"INTERNAL"}}`,
  ],
  [
    'copilot',
    401,
    `Authentication failed with provider at ${GATE} (HTTP 401). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN. (401)`,
  ],
  ['copilot', 402, '402 scripted 402 (402)'],
  [
    'copilot',
    403,
    `Authentication failed with provider at ${GATE} (HTTP 403). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN. (403)`,
  ],
  [
    'copilot',
    404,
    `Model 'scripted' not found on provider at ${GATE} (HTTP 404). Check that the model is available on your provider. (404)`,
  ],
  [
    'copilot',
    'refused',
    `Could not connect to local model provider at ${GATE}. Check that the service is running and the port is correct. (502)`,
  ],
  // it passes on the message of the provider without the status: these are providers' own
  ['opencode', 401, `${ERROR} (-32603): Internal error: Incorrect API key provided: [hidden].`],
  ['opencode', 402, `${ERROR} (-32603): Internal error: Insufficient Balance`],
  ['opencode', 403, `${ERROR} (-32603): Internal error: Forbidden`],
  [
    'opencode',
    404,
    `${ERROR} (-32603): Internal error: The model \`big\` does not exist or you do not have access to it.`,
  ],
  ['opencode', 'refused', `${ERROR} (-32603): Internal error: The model endpoint cannot be reached (ECONNREFUSED).`],
];

const LABEL: Partial<Record<AgentName, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  copilot: 'Copilot CLI',
  opencode: 'OpenCode',
};
const INSIDE = /127\.0\.0\.1|localhost|4010|4011|\/run\/fetch|\/opt\/agent|\/workspace|sk-fetch|COPILOT_PROVIDER/;

describe('why a task has failed, for people', () => {
  test.each(SAID)('%s, %s: says what is wrong and what to do, without names of settings', (agent, status, reason) => {
    const label = LABEL[agent];
    const own = agent === 'claude' || agent === 'gemini';
    const refused = `The model provider of ${label} refused the key${own ? '' : ', which chats use, too'}: `;
    const begins = {
      401: refused,
      402: `The account of ${label} at its model provider has no credit left. `,
      403: refused,
      404: own ? `The provider of ${label} does not have ` : `${label} was to use the model big, `,
      refused: `The model endpoint of ${label} cannot be reached: `,
    }[status];
    const told = failureForPeople(reason, agent, SETTINGS);
    expect(told.startsWith(begins), told).toBe(true);
    expect(told).not.toMatch(INSIDE);
    expect(told.split(' (It said: ')[0]).toMatch(/[Ss]ettings/);
    expect(machineWordsIn(told.split(' (It said: ')[0]!)).toEqual([]);
  });

  it('reads as two sentences and what the agent said', () => {
    expect(
      failureForPeople(
        `unexpected status 402 Payment Required: Insufficient Balance, url: ${GATE}/responses (connection)`,
        'codex',
        SETTINGS,
      ),
    ).toBe(
      'The account of Codex at its model provider has no credit left. Add some there, or put in the key of another account on my page, under Settings. (It said: Insufficient Balance)',
    );
    expect(failureForPeople(`${ERROR} (-32000): Authentication required`, 'claude', SETTINGS)).toBe(
      'The model provider of Claude Code refused the key: it is wrong, has expired or may not use this model. Put in another one on my page, under Settings.',
    );
  });

  it('tells a wrong key from a missing one', () => {
    const reason = `${ERROR} (-32000): Authentication required`;
    const told = (settings: Parameters<typeof failureForPeople>[2]) => failureForPeople(reason, 'codex', settings);
    const OPENROUTER_API_KEY = 'k';
    expect(told({ OPENROUTER_API_KEY })).toMatch(/refused the key/);
    expect(told({ OPENROUTER_API_KEY, OPENAI_BASE_URL: 'https://openrouter.ai/api/v1' })).toMatch(/refused the key/);
    expect(told({ OPENROUTER_API_KEY, OPENAI_BASE_URL: 'http://10.0.0.1:8000/v1' })).toMatch(
      /wants a key\. Put one in/,
    );
  });

  it('names the log-in where the agent has one', () => {
    const settings = { ...SETTINGS, FETCH_KENNEL_LOGINS: 'claude=/home/ada/.claude/.credentials.json' };
    const told = (reason: string) => failureForPeople(reason, 'claude', settings);
    expect(told('The agent did not start: Authentication required (-32000).')).toMatch(
      /^The log-in of Claude Code is not valid any more\. Log in again/,
    );
    expect(told('Login expired · Please run /login (request)')).toMatch(/^The log-in of Claude Code/);
    expect(told('API Error: 402 x (service)')).not.toContain('key');
  });

  it('says where a missing key is put in', () => {
    const why = 'No key for this model provider is configured: set ANTHROPIC_API_KEY, and restart.';
    expect(failureForPeople(`API Error: 503 ${why} This is a server-side issue. (service)`, 'claude', {})).toBe(
      'Claude Code has no model to work with. Put in a key on my page, under Settings.',
    );
  });

  it.each([
    'The agent stopped at the limit of tokens of its model.',
    'API Error: 402 The budget for this task is used up: 1 of 1 calls. Stop here; what was done so far is kept. (raise it) (service)',
    'The container ran out of memory: it may have 4096 MB.',
    "You've hit your 5-hour limit · resets 9:45am (Europe/Berlin) (limit)",
    'The tests failed (429)',
    '',
  ])('leaves "%s" as it is', (reason) => {
    for (const agent of MODEL_AGENT_NAMES) expect(failureForPeople(reason, agent, SETTINGS)).toBe(reason);
  });

  it('leaves nothing of the inside of a container, whatever stands around it', () => {
    const inside = fc.constantFrom(
      'http://127.0.0.1:4010/anthropic/v1/messages',
      '127.0.0.1:4010',
      'http://localhost:4010',
      'http://127.0.0.1:4011',
      'http://127.0.0.1:41234/mcp',
      '/run/fetch/home/.codex/config.toml',
      '/run/fetch/gate/model.sock',
      '/run/fetch-login',
      '/opt/agent/cli/node_modules/x.js:12',
      '/workspace/src/app.ts',
      '/workspace',
      'sk-fetch-0123456789abcdef',
    );
    const forms = fc.constantFrom(...SAID.map(([, , reason]) => reason), 'The runner failed: EACCES', 'Cannot open');
    const between = fc.constantFrom(' ', ' (', ', url: ', ': ', ' "', ' at ');
    holds(
      fc.property(
        forms,
        fc.array(fc.tuple(between, inside), { maxLength: 4 }),
        fc.constantFrom(...MODEL_AGENT_NAMES),
        (form, more, agent) => {
          const reason = `${form}${more.flat().join('')}`;
          expect(failureForPeople(reason, agent, SETTINGS)).not.toMatch(INSIDE);
        },
      ),
      { runs: 500 },
    );
  });

  it('says where a file of the workspace is from the workspace', () => {
    expect(withoutInside('Cannot open /workspace/src/app.ts in /workspace.')).toBe(
      'Cannot open src/app.ts in the workspace.',
    );
  });
});
