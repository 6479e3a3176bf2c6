import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ConfigError,
  childEnvironment,
  configWarnings,
  constantsGiven,
  loadConfig,
  settings,
} from '../../src/config.ts';
import { AGENT_NAMES } from '../../src/contracts/kennel.ts';
import { mayBeInFile } from '../../src/domain/settings/shapes.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-config-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test('defect 22: without any setting every default is there', () => {
  const config = loadConfig({}, { FETCH_HOME: home });
  expect(config).toMatchObject({
    FETCH_RUNTIME_PORT: 7878,
    FETCH_STATUS_PORT: 8765,
    FETCH_TEMPORAL_PORT: 7233,
    FETCH_TEMPORAL_UI_PORT: 8233,
    FETCH_HOST: '127.0.0.1',
  });
});

test('a flag wins over the environment, which wins over the file in the home', () => {
  writeFileSync(join(home, '.env'), 'FETCH_RUNTIME_PORT=1001\nFETCH_STATUS_PORT=1002\nFETCH_TEMPORAL_PORT=1003\n');
  const config = loadConfig(
    { FETCH_RUNTIME_PORT: '3001' },
    { FETCH_HOME: home, FETCH_RUNTIME_PORT: '2001', FETCH_STATUS_PORT: '2002' },
  );
  expect([config.FETCH_RUNTIME_PORT, config.FETCH_STATUS_PORT, config.FETCH_TEMPORAL_PORT]).toEqual([3001, 2002, 1003]);
});

test('every problem is reported at once, by name and by where it was set', () => {
  writeFileSync(join(home, '.env'), 'LOG_LEVEL=loud\n');
  const load = () =>
    loadConfig(
      { FETCH_RUNTIME_PORT: '0' },
      { FETCH_HOME: home, DATABASE_URL: 'mysql://x', FETCH_TIME_ZONE: 'Mars/Base' },
    );
  expect(load).toThrow(ConfigError);
  try {
    load();
  } catch (error) {
    const { problems } = error as ConfigError;
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).toMatch(/FETCH_RUNTIME_PORT \(flag\)/);
    expect(problems.join('\n')).toMatch(/DATABASE_URL \(environment\): must start with postgres/);
    expect(problems.join('\n')).toMatch(/FETCH_TIME_ZONE \(environment\): is not an IANA time zone/);
    expect(problems.join('\n')).toMatch(/LOG_LEVEL \(.*\.env\)/);
  }
});

test.each([
  ['FETCH_TRIGGER', 'yes', 'must not be "yes"'],
  ['FETCH_TRIGGER', '\u200b', 'visible word'],
  // a scheme is missing, and "localhost" would be taken for one
  ['OPENAI_BASE_URL', 'localhost:11434/v1', 'http or https'],
  ['TRANSCRIPTION_BASE_URL', 'ftp://127.0.0.1', 'http or https'],
  // Node's timers and dates end at once, or never, with figures like these
  ['FETCH_MODEL_SILENCE_SECONDS', '3000000', '1000000'],
  ['FETCH_BROWSER_IDLE_MINUTES', '40000', '20000'],
  ['FETCH_QUESTION_EXPIRE_HOURS', '1e300', '8784'],
  ['FETCH_KENNEL_SLOTS', '1e9', '1000'],
])('%s=%s would break something, and is refused where it is set', (name, value, why) => {
  expect(() => loadConfig({}, { FETCH_HOME: home, [name]: value })).toThrow(why);
});

test('a badly written setting gets a sentence that says what it must be', () => {
  const problemsOf = (name: string, value: string): string => {
    try {
      loadConfig({}, { FETCH_HOME: home, [name]: value });
      return '';
    } catch (error) {
      return (error as ConfigError).problems.join('\n');
    }
  };
  expect(problemsOf('FETCH_RUNTIME_PORT', 'abc')).toBe(
    'FETCH_RUNTIME_PORT (environment): must be a whole number from 1 to 65535, and not "abc"',
  );
  expect(problemsOf('LOG_LEVEL', 'loud')).toContain('must be one of trace, debug, info, warn, error, fatal');
  expect(problemsOf('FETCH_RUNTIME_INSECURE', 'maybe')).toContain('must be yes or no');
  expect(problemsOf('FETCH_MAX_STEPS', '0')).toContain('must be a whole number from 1');
  const names = Object.keys(settings).filter((name) => name !== 'FETCH_HOME');
  const isToldWell = (name: string, value: string): void => {
    const told = problemsOf(name, value);
    expect(told, `${name}=${JSON.stringify(value)}`).toMatch(new RegExp(`^(${name} \\(environment\\): |$)`));
    expect(told, `${name}=${JSON.stringify(value)}`).not.toMatch(
      /Invalid|expected|received|Too (big|small)|\bint\b|[\u0000-\u0009\u000b-\u001f]/,
    );
    expect(told.length).toBeLessThan(700);
    if (mayBeInFile(settings[name as keyof typeof settings]) && value.length > 8) expect(told).not.toContain(value);
  };
  const plain = ['abc', '-1', '0', '1.5', '1e300', 'NaN', 'http://', '{}', '[1]', '\u001b[31m', 'x'.repeat(5_000)];
  for (const name of names) for (const value of plain) isToldWell(name, value);
  const junk = fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.double().map(String));
  fc.assert(fc.property(fc.constantFrom(...names), junk, isToldWell), { numRuns: 400 });
});

test('an empty variable means unset', () => {
  expect(loadConfig({}, { FETCH_HOME: home, TEMPORAL_ADDRESS: ' ', OPENAI_API_KEY: '' })).toMatchObject({
    FETCH_RUNTIME_PORT: 7878,
  });
});

test('the runtime token may be set under either of its names', () => {
  expect(loadConfig({}, { FETCH_HOME: home, DEEPSEEK_RUNTIME_TOKEN: 'b' }).runtimeToken).toBe('b');
  expect(loadConfig({}, { FETCH_HOME: home, DEEPSEEK_RUNTIME_TOKEN: 'b', FETCH_RUNTIME_TOKEN: 'a' }).runtimeToken).toBe(
    'a',
  );
});

describe('a secret in a file', () => {
  const load = (env: Record<string, string>) => loadConfig({}, { FETCH_HOME: home, ...env });
  const fileWith = (text: string): string => {
    const file = join(home, 'secret');
    writeFileSync(file, text);
    return file;
  };

  test('counts as the setting, for each secret and for the address of the database, without the end of its line', () => {
    const secrets = Object.keys(settings).filter((name) => mayBeInFile(settings[name as keyof typeof settings]));
    expect(secrets).toEqual(
      expect.arrayContaining([
        'ADMIN_TOKEN',
        'DATABASE_URL',
        'FETCH_ENCRYPTION_KEY',
        'GH_TOKEN',
        'OPENAI_API_KEY',
        'TEMPORAL_API_KEY',
      ]),
    );
    for (const name of secrets) {
      const value = /^DATABASE_(DIRECT_)?URL$/.test(name)
        ? 'postgres://fetch:secret@db/fetch'
        : name.endsWith('_HEADERS')
          ? 'key=value'
          : name.endsWith('_URL')
            ? 'https://ntfy.example.com/topic'
            : 'a'.repeat(64);
      expect(load({ [`${name}_FILE`]: fileWith(`${value}\n`) }), name).toMatchObject({ [name]: value });
    }
  });

  test('may be named in the file of the home, too, and the setting itself goes before it', () => {
    writeFileSync(join(home, '.env'), `GH_TOKEN_FILE=${fileWith('from a file')}\n`);
    expect(load({}).GH_TOKEN).toBe('from a file');
    expect(load({ GH_TOKEN: 'itself' }).GH_TOKEN).toBe('itself');
    expect(load({ ADMIN_TOKEN: 'itself', ADMIN_TOKEN_FILE: fileWith('from a file') }).ADMIN_TOKEN).toBe('itself');
  });

  test('that is missing or empty is an error which says what to do', () => {
    const missing = join(home, 'missing');
    const problems = () => load({ GH_TOKEN_FILE: missing, ADMIN_TOKEN_FILE: fileWith(' \n') });
    expect(problems).toThrow(
      `GH_TOKEN_FILE (environment): ${missing} cannot be read (ENOENT). Put the secret there, readable for this user, or unset GH_TOKEN_FILE`,
    );
    expect(problems).toThrow(
      /ADMIN_TOKEN_FILE \(environment\): .* is empty\. Put the secret into it, or unset ADMIN_TOKEN_FILE/,
    );
  });

  test('has a name that no warning calls unknown, unless the setting is no secret', () => {
    const env = { FETCH_RUNTIME_TOKEN_FILE: '/run/secrets/token', FETCH_RUNTIME_PORT_FILE: '/run/secrets/port' };
    expect(configWarnings(home, env)).toEqual([
      expect.stringContaining('FETCH_RUNTIME_PORT_FILE (environment) is no setting'),
    ]);
  });
});

describe('variables of the original Fetch', () => {
  const load = (env: Record<string, string>) => loadConfig({}, { FETCH_HOME: home, ...env });

  test('count under their own names, in their own units', () => {
    const original = {
      WORKSPACE_ROOT: '/work',
      FETCH_RATE_LIMIT_MAX: '7',
      FETCH_WA_MAX_LENGTH: '2000',
      FETCH_PROGRESS_THROTTLE: '3000',
      FETCH_TASK_TIMEOUT: '300000',
    };
    const meant = {
      FETCH_WORKSPACES: '/work',
      WHATSAPP_RATE_LIMIT: 7,
      WHATSAPP_TEXT_LIMIT: 2000,
      FETCH_PROGRESS_SECONDS: 3,
      FETCH_TASK_HOURS: 1 / 12,
    };
    expect(load(original)).toMatchObject(meant);
    writeFileSync(
      join(home, '.env'),
      Object.entries(original)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    expect(load({})).toMatchObject(meant);
    expect(configWarnings(home, {})).toEqual([]);
  });

  test('give way to ours in the same place, and the file to the environment', () => {
    writeFileSync(join(home, '.env'), 'WHATSAPP_RATE_LIMIT=5\nFETCH_RATE_LIMIT_MAX=7\n');
    expect(load({}).WHATSAPP_RATE_LIMIT).toBe(5);
    expect(load({ FETCH_RATE_LIMIT_MAX: '9' }).WHATSAPP_RATE_LIMIT).toBe(9);
  });

  test('switches of agents make the list: one that is set turns off those that are not', () => {
    expect(load({ ENABLE_CODEX: 'yes', ENABLE_CLAUDE: 'true', ENABLE_GEMINI: 'off' }).FETCH_KENNEL_AGENTS).toBe(
      'claude,codex,practice',
    );
    expect(load({ ENABLE_CODEX: 'false' }).FETCH_KENNEL_AGENTS).toBe('practice');
    expect(load({ ENABLE_CODEX: 'true', FETCH_KENNEL_AGENTS: 'gemini' }).FETCH_KENNEL_AGENTS).toBe('gemini');
    expect(load({ ENABLE_BROWSER: 'true' }).FETCH_KENNEL_AGENTS).toBe(AGENT_NAMES.join(','));
  });

  test('are refused as the setting that they stand for', () => {
    expect(() => load({ FETCH_TASK_TIMEOUT: 'soon' })).toThrow(/FETCH_TASK_HOURS \(environment\)/);
  });
});

test('a child gets the environment without what npm put there', () => {
  expect(childEnvironment({ A: '1' }, { PATH: '/bin', npm_config_registry: 'x' })).toEqual({
    PATH: '/bin',
    TZ: 'UTC',
    A: '1',
  });
});

describe('what nothing reads', () => {
  const written = (text: string): string[] => {
    writeFileSync(join(home, '.env'), text);
    return configWarnings(home, { FETCH_AUTONMY: 'supervised', PATH: '/bin', OTHER_TOKEN: 'x' }).map((warning) =>
      warning.replaceAll(home, ''),
    );
  };

  test('is told, with the nearest right name', () => {
    const [file, environment] = written('FETCH_MAX_DAY_US=3\nSOMETHING_ELSE=1\n');
    expect(file).toBe('FETCH_MAX_DAY_US (/.env) is no setting and is ignored. Did you mean FETCH_MAX_DAY_USD?');
    expect(environment).toMatch(
      /^FETCH_AUTONMY \(environment\) is no setting and is ignored\. Did you mean FETCH_AUTONOMY/,
    );
  });

  test('is no constant that was a setting: it counts, and the start says so once', () => {
    writeFileSync(join(home, '.env'), 'FETCH_MAX_STEPS=7\nFETCH_MAX_DAY_USD=1\n');
    const env = { FETCH_HOME: home, FETCH_READ_SECONDS: '4', FETCH_KENNEL_PIDS: '' };
    expect(loadConfig({}, env)).toMatchObject({ FETCH_MAX_STEPS: 7, FETCH_READ_SECONDS: 4, FETCH_KENNEL_PIDS: 512 });
    expect(configWarnings(home, env)).toEqual([]);
    expect(constantsGiven(home, env).map((said) => said.replaceAll(home, ''))).toEqual([
      'FETCH_MAX_STEPS (/.env) is no setting any more. Its value still counts; without it, 25 does.',
      'FETCH_READ_SECONDS (environment) is no setting any more. Its value still counts; without it, 2 does.',
    ]);
  });

  test('is a line that assigns nothing, and no line of a value that spans several', () => {
    const lines = written(
      '# mine\n\nAGENT_MODEL\nexport LOG_LEVEL=info\nFETCH_USER_NAME="Ada\nof London"\nnot this: either\n',
    ).filter((warning) => warning.startsWith('Line'));
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['3', '7']);
  });
});

describe('a member of a list that is none', () => {
  const told = (name: string, value: string): string[] =>
    configWarnings(home, { [name]: value }).map((warning) => warning.replace(`${name} (environment): `, ''));

  test.each([
    [
      'FETCH_KENNEL_AGENTS',
      'cluade,codex',
      `"cluade" is not one of ${AGENT_NAMES.join(', ')}; it is left out. Did you mean claude?`,
    ],
    [
      'FETCH_KENNEL_AGENTS',
      'Codex',
      `"Codex" is not one of ${AGENT_NAMES.join(', ')}; it is left out. Did you mean codex?`,
    ],
    [
      'DEEPSEEK_CORS_ORIGINS',
      'app.example.com',
      /^"app\.example\.com" is not an origin .* Did you mean https:\/\/app\.example\.com\?$/,
    ],
    ['DEEPSEEK_CORS_ORIGINS', 'http://app.example.com:8080/', /Did you mean http:\/\/app\.example\.com:8080\?$/],
    ['DEEPSEEK_CORS_ORIGINS', '*', /^"\*" is not an origin .*; it is left out\.$/],
    [
      'FETCH_ALLOWED_HOSTS',
      'https://fetch.example.com:8080/',
      /^"https.* is not a name .* Did you mean fetch\.example\.com\?$/,
    ],
    ['FETCH_ALLOWED_HOSTS', '*.example.com', /Did you mean example\.com\?$/],
  ])('of %s (%s) is told, with what was probably meant', (name, value, text) => {
    expect(told(name, value)).toEqual([typeof text === 'string' ? text : expect.stringMatching(text)]);
  });

  test('is looked for where the setting counts, and right ones are not told', () => {
    writeFileSync(
      join(home, '.env'),
      'FETCH_KENNEL_AGENTS=cluade\nDEEPSEEK_CORS_ORIGINS= https://a.example , tauri://localhost,\nFETCH_ALLOWED_HOSTS=fetch.example.com\n',
    );
    expect(configWarnings(home, {})).toEqual([expect.stringContaining(`FETCH_KENNEL_AGENTS (${join(home, '.env')})`)]);
    expect(configWarnings(home, { FETCH_KENNEL_AGENTS: 'codex, practice' })).toEqual([]);
  });

  test.each([
    [
      'FETCH_KENNEL_EGRESS',
      'packages.example.com,https://files.example.com/simple',
      /"https.*simple" is not a host .*; did you mean files\.example\.com\?/,
    ],
    ['FETCH_KENNEL_EGRESS', 'a b', /"a b" is not a host such as/],
    ['FETCH_KENNEL_LOGINS', 'cluade=/a', /"cluade" is not an agent \(did you mean claude\?\)/],
    [
      'TRUSTED_PHONE_NUMBERS',
      '+49 170 1234567, 0170 1234567',
      /international form, such as .*; "01701234567" is not one/,
    ],
    [
      'FETCH_TIME_ZONE',
      'Europe/Berln',
      /is not an IANA time zone such as Europe\/Berlin; did you mean Europe\/Berlin\?/,
    ],
    ['FETCH_MODEL_PRICE', 'cheap', /"cheap" must be the price of input, output/],
  ])('of %s (%s) is a problem that names it', (name, value, text) => {
    expect(() => loadConfig({ [name]: value }, { FETCH_HOME: home })).toThrow(text);
  });

  test('right lists are taken as they are', () => {
    const set = {
      FETCH_KENNEL_EGRESS: ' packages.example.com , *.example.com,example.org:8443,',
      TRUSTED_PHONE_NUMBERS: '+49 170 1234567',
      FETCH_MODEL_PRICE: '1,2;m=0,0',
    };
    expect(loadConfig(set, { FETCH_HOME: home })).toMatchObject({
      TRUSTED_PHONE_NUMBERS: '491701234567',
      FETCH_KENNEL_EGRESS: set.FETCH_KENNEL_EGRESS,
    });
  });
});
