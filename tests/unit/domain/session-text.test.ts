import { describe, expect, it } from 'vitest';
import { factsOfSession, isWithin, linesOfSession, movedSession } from '../../../src/domain/tasks/session-text.ts';
import { CLAUDE_ID, CODEX_ID, claudeSession, codexSession } from '../../support/session-files.ts';

const FROM = '/Users/ada/shop';
const TO = '/workspace/.git/fetch-worktrees/tsk_1';
const KEY = `ghp_${'a1B2'.repeat(9)}`;

const sessions = { claude: claudeSession, codex: codexSession };

describe.each(['claude', 'codex'] as const)('a session of %s that moves', (agent) => {
  const text = sessions[agent](FROM);

  it('says its id, its folder and how it began', () => {
    const id = agent === 'claude' ? CLAUDE_ID : CODEX_ID;
    expect(factsOfSession(agent, text)).toEqual({
      id,
      folder: FROM,
      startedAt: '2026-11-20T09:15:30.000Z',
      title: 'Make the app two',
    });
    expect(factsOfSession(agent === 'claude' ? 'codex' : 'claude', text)).toBeNull();
    expect(factsOfSession(agent, '')).toBeNull();
  });

  it('names the paths of the other machine, and loses no turn', () => {
    const moved = movedSession(text, { from: FROM, to: TO });
    expect(moved.secrets).toBe(0);
    expect(factsOfSession(agent, moved.text)).toMatchObject({ folder: TO, title: 'Make the app two' });
    expect(moved.text).toContain(`${TO}/src/app.js: ok`);
    expect(moved.text).toContain('It is two now.');
    // and back again
    expect(factsOfSession(agent, movedSession(moved.text, { from: TO, to: FROM }).text)?.folder).toBe(FROM);
  });

  it('loses what looks like a key', () => {
    const moved = movedSession(sessions[agent](FROM, `TOKEN=${KEY}`), { from: FROM, to: FROM });
    expect(moved.secrets).toBe(1);
    expect(moved.text).not.toContain(KEY);
    expect(moved.text).toContain('TOKEN=[a key was here]');
    expect(movedSession(text, { from: FROM, to: FROM, own: ['It is two now.'] }).secrets).toBeGreaterThan(0);
  });
});

it('signed thoughts stay as they are, because a signature holds for these words', () => {
  const { text } = movedSession(claudeSession(FROM), { from: FROM, to: TO });
  expect(text).toContain(`"thinking":"It is in ${FROM}/src/app.js.","signature":"c2lnbmVk"`);
  expect(text).not.toContain('file-history-snapshot');
});

it('a signed thought with a key goes whole', () => {
  const { text, secrets } = movedSession(claudeSession(FROM).replace('It is in', `It is ${KEY} in`), {
    from: FROM,
    to: TO,
  });
  expect(secrets).toBe(1);
  expect(text).not.toContain('"thinking"');
  expect(text).toContain('tool_use');
});

it('encrypted thoughts and the provider of one account stay behind', () => {
  const { text } = movedSession(codexSession(FROM), { from: FROM, to: TO });
  expect(text).not.toMatch(/encrypted_content|model_provider/);
  expect(linesOfSession(text)).toHaveLength(linesOfSession(codexSession(FROM)).length - 1);
});

it.each([
  ['/Users/ada/shop-2/a', '/Users/ada/shop-2/a'],
  ['/Users/ada/shop.old', '/Users/ada/shop.old'],
  ['/Users/ada/shop.', `${TO}.`],
  ['file:///Users/ada/shop/a', `file://${TO}/a`],
  ['cd /Users/ada/shop && ls', `cd ${TO} && ls`],
  ['/mnt/Users/ada/shop', '/mnt/Users/ada/shop'],
  ['$& /Users/ada/shop', `$& ${TO}`],
])('%s becomes %s', (before, after) => {
  const line = { type: 'user', sessionId: CLAUDE_ID, cwd: FROM, message: { role: 'user', content: before } };
  const [moved] = linesOfSession(movedSession(JSON.stringify(line), { from: FROM, to: TO }).text);
  expect((moved!.message as { content: string }).content).toBe(after);
});

it('of a private key nothing is left', () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----`;
  const of = (says: string) => movedSession(codexSession(FROM, says), { from: FROM, to: FROM });
  expect(of(`a ${key} b ${key}`)).toMatchObject({
    secrets: 2,
    text: expect.stringContaining('a [a key was here] b ['),
  });
  expect(of(`a ${key.slice(0, 40)} abc`).text).not.toContain('abc');
});

it('half a line, what is no object, and what is nested too deeply are skipped', () => {
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  const text = `${claudeSession(FROM)}[1]\n${deep}\n{"type":"us`;
  expect(linesOfSession(text)).toHaveLength(linesOfSession(claudeSession(FROM)).length);
});

it('a folder lies in itself and in those above it', () => {
  expect([isWithin('/a/b', '/a/b'), isWithin('/a/b/c', '/a/b'), isWithin('/a/bc', '/a/b')]).toEqual([
    true,
    true,
    false,
  ]);
});
