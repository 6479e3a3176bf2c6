import { describe, expect, it } from 'vitest';
import type { AgentName } from '../../../src/contracts/kennel.ts';
import {
  chooseAgent,
  type ModelSettings,
  missingFor,
  modelOf,
  type Readiness,
} from '../../../src/domain/tasks/agents/agents.ts';

describe('what a coding agent lacks', () => {
  const official = {
    ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
    GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com/',
  };
  it.each<[name: AgentName, settings: ModelSettings, why: string | null]>([
    ['practice', {}, null],
    ['claude', official, 'Claude Code needs a key of Anthropic.'],
    ['claude', { ...official, ANTHROPIC_API_KEY: 'k' }, null],
    ['claude', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9000' }, null],
    ['gemini', official, 'Gemini CLI needs a key of Gemini.'],
    ['gemini', { ...official, GEMINI_API_KEY: 'k' }, null],
    ['codex', official, 'Codex needs a model: a key of OpenAI or OpenRouter, or another endpoint.'],
    ['codex', { OPENAI_API_KEY: 'k' }, null],
    ['codex', { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'https://api.openai.com/v1' }, null],
    ['codex', { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' }, 'Codex needs the name of a model.'],
    ['codex', { OPENROUTER_API_KEY: 'k' }, 'Codex needs the name of a model.'],
    ['codex', { OPENROUTER_API_KEY: 'k', CODEX_MODEL: 'a/b' }, null],
    ['copilot', { OPENAI_API_KEY: 'k' }, 'Copilot CLI needs the name of a model.'],
    ['opencode', { OPENAI_API_KEY: 'k', AGENT_MODEL: 'gpt-5-mini' }, null],
    [
      'opencode',
      { OPENAI_API_KEY: 'k', AGENT_MODEL: 'practice' },
      'OpenCode needs a real model, and the practice model is set.',
    ],
  ])('%s with %j lacks: %j', (name, settings, why) => expect(missingFor(name, settings)).toBe(why));

  it('lets the own model of an agent go before the one of the chat', () => {
    const settings = { AGENT_MODEL: 'chat', CODEX_MODEL: 'own', CLAUDE_MODEL: '' };
    const models: Array<[AgentName, string | null]> = [
      ['claude', null],
      ['codex', 'own'],
      ['gemini', null],
      ['copilot', 'chat'],
      ['opencode', 'chat'],
      ['practice', null],
    ];
    expect(models.map(([name]) => [name, modelOf(name, settings)])).toEqual(models);
  });
});

describe('the choice of a coding agent', () => {
  const ready: Readiness[] = [
    { name: 'claude', ready: false, why: 'Claude Code needs a key of Anthropic.' },
    { name: 'codex', ready: true, why: null },
    { name: 'opencode', ready: true, why: null },
    { name: 'practice', ready: true, why: null },
  ];

  it('is the one that is wanted, when it is allowed and ready', () => {
    expect(chooseAgent({ wanted: 'opencode', allowed: ['codex', 'opencode'], ready })).toEqual({
      ok: true,
      agent: 'opencode',
    });
  });

  it('says what is missing when the wanted one is not ready', () => {
    expect(chooseAgent({ wanted: 'claude', allowed: ['claude'], ready })).toEqual({
      ok: false,
      why: 'Claude Code needs a key of Anthropic.',
    });
    expect(chooseAgent({ wanted: 'gemini', allowed: ['gemini'], ready })).toEqual({
      ok: false,
      why: 'Gemini CLI is not ready on this host.',
    });
  });

  it('does not take one that the owner has not allowed', () => {
    expect(chooseAgent({ wanted: 'codex', allowed: ['claude', 'practice'], ready })).toEqual({
      ok: false,
      why: 'Codex is not allowed here. Allowed are: claude, practice.',
    });
  });

  it('is the person’s when several are ready and none was named, with all of them to choose from', () => {
    expect(chooseAgent({ wanted: 'auto', allowed: ['claude', 'opencode', 'codex', 'practice'], ready })).toEqual({
      ok: false,
      choices: ['opencode', 'codex'],
      why: expect.stringMatching(
        /^Several coding agents are ready: OpenCode \(opencode\), Codex \(codex\)\. Ask the person with ask_user/,
      ),
    });
  });

  it('is the one that the person named before in this chat, while it is ready', () => {
    const again = { wanted: 'auto', allowed: ['claude', 'opencode', 'codex'], ready } as const;
    expect(chooseAgent({ ...again, named: 'codex' })).toEqual({ ok: true, agent: 'codex' });
    expect(chooseAgent({ ...again, named: 'claude' })).toMatchObject({ ok: false, choices: ['opencode', 'codex'] });
  });

  it('is the first of the preferred ones that is ready when nobody can be asked', () => {
    expect(chooseAgent({ wanted: 'auto', allowed: ['claude', 'opencode', 'codex'], ready, unattended: true })).toEqual({
      ok: true,
      agent: 'opencode',
    });
  });

  it('is the practice agent only when no other one is ready', () => {
    expect(chooseAgent({ wanted: 'auto', allowed: ['practice', 'codex'], ready })).toEqual({
      ok: true,
      agent: 'codex',
    });
    expect(chooseAgent({ wanted: 'auto', allowed: ['practice', 'claude'], ready })).toEqual({
      ok: true,
      agent: 'practice',
    });
  });

  it('says of each allowed one what is missing when none is ready', () => {
    expect(chooseAgent({ wanted: 'auto', allowed: ['claude', 'nonsense'], ready })).toEqual({
      ok: false,
      why: 'No coding agent is ready. Claude Code needs a key of Anthropic.',
    });
  });
});
