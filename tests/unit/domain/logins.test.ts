import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loginProblem } from '../../../src/adapters/kennel/login.ts';
import { ConfigError, loadConfig } from '../../../src/config.ts';
import { AGENT_NAMES } from '../../../src/contracts/kennel.ts';
import { loginsOf } from '../../../src/domain/tasks/agents/agent-settings.ts';
import { missingFor, modelOf } from '../../../src/domain/tasks/agents/agents.ts';

const folder = mkdtempSync(join(tmpdir(), 'fetch-logins-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the setting FETCH_KENNEL_LOGINS', () => {
  it('names one file for an agent, and nothing where it is not set', () => {
    const of = (text: string) => [
      ...loginsOf(loadConfig({ FETCH_HOME: folder, FETCH_KENNEL_LOGINS: text }, {}).FETCH_KENNEL_LOGINS),
    ];
    expect(of(' claude=/a/.claude/.credentials.json ,codex = /b/x=y.json,')).toEqual([
      ['claude', '/a/.claude/.credentials.json'],
      ['codex', '/b/x=y.json'],
    ]);
    expect(of('')).toEqual([]);
  });

  it.each([
    ['cursor=/a', /"cursor" is not an agent/],
    ['claude=~/.claude/.credentials.json', /the path for claude must be absolute/],
    ['claude=', /the path for claude must be absolute/],
    ['claude=/a,claude=/b', /claude is there twice/],
    ['/home/ada/.claude/.credentials.json', /must be an agent and the file of its log-in/],
    ['toString=/a', /"toString" is not an agent/],
  ])('does not take %s', (text, problem) => {
    const load = () => loadConfig({ FETCH_HOME: folder, FETCH_KENNEL_LOGINS: text }, {});
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(/FETCH_KENNEL_LOGINS \(flag\)/);
    expect(load).toThrow(problem);
  });
});

describe('an agent with a log-in', () => {
  const settings = {
    FETCH_KENNEL_LOGINS: AGENT_NAMES.map((name) => `${name}=/x/${name}`).join(','),
    AGENT_MODEL: 'llama',
    COPILOT_MODEL: 'own',
  };

  it('lacks nothing, where it would lack a key', () => {
    expect(AGENT_NAMES.map((name) => missingFor(name, settings))).toEqual(AGENT_NAMES.map(() => null));
    expect(
      missingFor('claude', {
        ...settings,
        FETCH_KENNEL_LOGINS: 'codex=/x',
        ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
      }),
    ).toMatch(/a key of Anthropic/);
  });

  it('is not given the model of the chats, which its provider does not have, but its own', () => {
    expect(modelOf('codex', settings)).toBeNull();
    expect(modelOf('copilot', settings)).toBe('own');
    expect(modelOf('codex', { ...settings, FETCH_KENNEL_LOGINS: '' })).toBe('llama');
  });
});

describe('the file of a log-in', () => {
  const user = { uid: 54321, gid: 54321 };
  const file = (name: string, mode: number, content = '{}'): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };

  it('can be used when the user of the containers can read it', () => {
    expect(loginProblem('claude', file('own', 0o600), { uid: process.getuid!(), gid: process.getgid!() })).toBeNull();
    expect(loginProblem('claude', file('open', 0o644), user)).toBeNull();
    symlinkSync(join(folder, 'open'), join(folder, 'link'));
    expect(loginProblem('claude', join(folder, 'link'), user)).toBeNull();
  });

  it.each([
    ['does not exist', () => join(folder, 'none'), /does not exist on this host/],
    ['is below a file', () => join(file('below', 0o644), 'x'), /does not exist on this host/],
    ['is a folder', () => folder, /is not a file/],
    ['is empty', () => file('empty', 0o644, ''), /is empty/],
    ['is huge', () => file('huge', 0o644, 'x'.repeat(2 ** 20 + 1)), /larger than 1 MB/],
    ['is for somebody else', () => file('closed', 0o600), /cannot be read by user 54321/],
  ])('that %s is told of in a sentence with agent, setting and path', (_, path, why) => {
    const problem = loginProblem('gemini', path(), user);
    expect(problem).toMatch(why);
    expect(problem).toMatch(/^The log-in of Gemini CLI \(FETCH_KENNEL_LOGINS\) cannot be used: \/.*\.$/);
  });
});
