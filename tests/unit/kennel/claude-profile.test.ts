import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProfileContext, profileOf } from '../../../kennel/runner/profile/profile.ts';
import type { AgentName } from '../../../src/contracts/kennel.ts';

/** How an agent is started in a project with these settings of its own for Claude Code. */
async function started(settings: unknown, name: AgentName = 'claude') {
  const workspace = mkdtempSync(join(tmpdir(), 'claude-'));
  mkdirSync(join(workspace, '.claude'));
  const text = typeof settings === 'string' ? settings : JSON.stringify(settings);
  writeFileSync(join(workspace, '.claude/settings.json'), text);
  const context: ProfileContext = {
    home: '/run/fetch/home',
    workspace,
    model: null,
    login: false,
    dummyKey: 'none',
    modelBase: 'http://127.0.0.1:4010',
    egressProxy: 'http://127.0.0.1:4011',
    mcp: { name: 'fetch', url: '', token: '' },
    servers: [],
    chat: null,
    permissions: 'run',
    resuming: false,
    root: false,
    env: {},
  };
  const { env, files } = (await profileOf(name)).command(context);
  const own = JSON.parse(files.find(({ path }) => path === '.claude/settings.json')!.content);
  return { env, own, memory: join(workspace, '.claude/memory') };
}

describe('Claude Code', () => {
  it.each([{}, { env: {} }, { env: { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '0' } }, '{"env":', 'null', '{"env":null}'])(
    'has neither agent teams nor a memory of its project by %j',
    async (settings) => {
      const { env, own } = await started(settings);
      expect([env.CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS, own]).toEqual([null, { useAutoModeDuringPlan: false }]);
    },
  );

  it('has agent teams where its project switches them on', async () => {
    const { env } = await started({ env: { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' } });
    expect(env.CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS).toBe('1');
    const { own } = await started({}, 'nanoclaw');
    expect(own.env).toMatchObject({ CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' });
  });

  it('keeps its memory in the folder of its project where that has one for it', async () => {
    const { own, memory } = await started({ env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0' } });
    expect(own).toMatchObject({ autoMemoryEnabled: true, autoMemoryDirectory: memory });
    const ofNanoclaw = await started({}, 'nanoclaw');
    expect(ofNanoclaw.own).toMatchObject({ autoMemoryDirectory: ofNanoclaw.memory });
  });
});
