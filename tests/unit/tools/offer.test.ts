import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemPrompt } from '../../../src/activities/turn/context/prompt.ts';
import type { Config } from '../../../src/config.ts';
import {
  type ChatSituation,
  FAMILIES,
  type Family,
  openedBy,
  withOpened,
} from '../../../src/domain/chat/tool-families.ts';
import type { StepSubject } from '../../../src/store/turns/steps/step-subject.ts';
import { familiesCalled, type Offer, offeredTools, openingWords, tokensOf } from '../../../src/tools/offer.ts';
import { type AddedTool, tools } from '../../../src/tools/registry.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { CONTRACT } from '../../conformance/contract-tools.ts';
import { requestTokens } from '../../support/request-tokens.ts';

const ALL = Object.keys(FAMILIES) as Family[];
const QUIET: ChatSituation = { onGitHub: false, taskOpen: false, skills: false };
const offer = (more: Partial<Offer> = {}): Offer => ({
  access: { mode: 'agent', allowShell: true },
  added: new Map(),
  opened: [],
  ...more,
});
const names = (...args: Parameters<typeof offeredTools>) => offeredTools(...args).map(({ name }) => name);

/** A server of the owner with this many tools. */
function server(name: string, count: number): Map<string, AddedTool> {
  const each = (at: number): [string, AddedTool] => {
    const tool = {
      ...(tools.get('git_status') as Tool),
      name: `mcp_${name}_t${at}`,
      family: `mcp_${name}` as const,
      schema: z.object({}),
    };
    return [
      tool.name,
      { tool, declaration: { name: tool.name, description: 'x', parameters: { type: 'object', properties: {} } } },
    ];
  };
  return new Map(Array.from({ length: count }, (_, at) => each(at)));
}

describe('the first request of a fresh chat', () => {
  it.each(['whatsapp', 'api', 'console'] as const)('has at most 3,000 tokens on %s', (channel) => {
    const config = { FETCH_TIME_ZONE: 'America/Argentina/Buenos_Aires', FETCH_USER_NAME: 'Alexandra' } as Config;
    for (const autonomy of ['supervised', 'cautious', 'autonomous']) {
      const subject = {
        preferences: {},
        channel,
        group: false,
        autonomy,
        turn: {},
        thread: { system_prompt: null, mode: 'agent', allow_shell: false },
      } as unknown as StepSubject;
      const messages = [
        { role: 'system' as const, content: systemPrompt(config, subject) },
        { role: 'user' as const, content: 'Hello, what can you do for me?' },
      ];
      expect(requestTokens(messages, offeredTools(offer())), autonomy).toBeLessThanOrEqual(3_000);
    }
  });

  it('offers about twenty tools, among them what every chat needs', () => {
    const offered = names(offer());
    expect(offered.length).toBeLessThan(25);
    for (const name of [
      'ask_user',
      'report_progress',
      'open_tools',
      'file_read',
      'file_edit',
      'workspace_select',
      'task_create',
      'web_search',
      'remember',
      'cron_create',
    ])
      expect(offered).toContain(name);
  });
});

describe('families', () => {
  it('hold every tool once, and a model is told of each that it can open', () => {
    const offered = names(offer({ opened: ALL }));
    expect(offered.toSorted()).toEqual([...tools.keys()].toSorted());
    const { parameters } = offeredTools(offer()).find(({ name }) => name === 'open_tools')!;
    const inCore = new Set(names(offer()));
    const openable = (parameters as { properties: { family: { enum: string[] } } }).properties.family.enum;
    for (const name of Object.keys(CONTRACT))
      expect([name, inCore.has(name) || openable.includes(tools.get(name)!.family)]).toEqual([name, true]);
  });

  it('come behind what was offered before, in the order in which they were opened, whatever opens them', () => {
    const family = fc.constantFrom(...ALL);
    fc.assert(
      fc.property(fc.uniqueArray(family), fc.array(family), (before, now) => {
        const all = withOpened(before, now);
        expect(all.slice(0, before.length)).toEqual(before);
        const [first, later] = [offeredTools(offer({ opened: before })), offeredTools(offer({ opened: all }))];
        expect(later.slice(0, first.length)).toEqual(first);
        for (const [at, tool] of first.entries()) expect(later[at]).toBe(tool);
      }),
    );
  });

  it('defect 9: show only what the turn may use, and no word of a message takes a tool away', () => {
    const offered = offeredTools(offer({ access: { mode: 'plan', allowShell: false }, opened: ALL }));
    for (const { name } of offered) expect([name, tools.get(name)!.danger]).toEqual([name, 'SAFE']);
    expect(names(offer({ access: { mode: 'agent', allowShell: false }, opened: ALL }))).not.toContain('shell_run');
    const before = offeredTools(offer());
    const after = offeredTools(offer({ opened: openedBy(['Only answer. Use no tool, and no browser.'], QUIET) }));
    expect(after.slice(0, before.length)).toEqual(before);
  });

  it('of a server are opened by its name, and of the owner’s commands by a name of theirs', () => {
    const added = server('news', 3);
    const told = offeredTools(offer({ added })).find(({ name }) => name === 'open_tools')!;
    expect(JSON.stringify(told)).toContain('mcp_news: tools of an MCP server (t0, t1, t2)');
    expect(openedBy(['What is new in the News?'], QUIET, openingWords(added))).toEqual(['mcp_news']);
    expect(openedBy(['newsletters, t0'], QUIET, openingWords(added))).toEqual([]);
    expect(names(offer({ added, opened: ['mcp_news'] })).slice(-3)).toEqual([
      'mcp_news_t0',
      'mcp_news_t1',
      'mcp_news_t2',
    ]);
  });
});

describe('a family opens by itself', () => {
  it.each<[string, Family]>([
    ['Open a pull request for this', 'github'],
    ['Any new PRs?', 'github'],
    ['Take a screenshot of example.com', 'browser'],
    ['Tell me the weather every morning', 'routines'],
    ['Remind me each second Friday', 'routines'],
    ['clone https://example.com/a.git', 'workspaces'],
    ['Please create a new project called demo', 'workspaces'],
    ['Undo that', 'git'],
    ['Run the tests', 'apps'],
    ['Cancel the task', 'tasks'],
    ['Forget what I said about Ann', 'settings'],
  ])('by the words "%s": %s', (said, family) => {
    expect(openedBy([said], QUIET)).toContain(family);
  });

  it.each([
    'Hello',
    'What is the capital of France?',
    'Thanks, that helps a lot',
    'Read the file and tell me what it does',
  ])('and not by "%s"', (said) => {
    expect(openedBy([said], QUIET)).toEqual([]);
  });

  it('by the state of the chat', () => {
    expect(openedBy([], { onGitHub: true, taskOpen: true, skills: true })).toEqual([
      'skills',
      'tasks',
      'github',
      'git',
    ]);
  });

  it('by a call of one of its tools, also a wrong one, and by open_tools', () => {
    const calls = [
      { name: 'github_pr_list', args: {} },
      { name: 'file_read', args: {} },
      { name: 'open_tools', args: { family: 'browser' } },
      { name: 'open_tools', args: { family: 'nonsense' } },
      { name: 'no_such_tool', args: {} },
    ];
    expect(familiesCalled(calls, offer())).toEqual(['github', 'browser']);
  });
});

describe('where there is little room', () => {
  it('no request has more than 128 tools, and the newest family is whole', () => {
    const added = new Map([...server('one', 64), ...server('two', 64)]);
    const offered = names(offer({ added, opened: ['github', 'mcp_one', 'mcp_two'] }));
    expect(offered).toHaveLength(128);
    expect(offered.filter((name) => name.startsWith('mcp_two_'))).toHaveLength(64);
    expect(offered).toContain('open_tools');
  });

  it('an endpoint that takes fewer tools gets fewer', () => {
    expect(names(offer({ opened: ['github'] }), { tools: 16, tokens: Number.POSITIVE_INFINITY })).toHaveLength(16);
  });

  it('the declarations stay within their tokens, and the most important ones are left', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000 }), fc.uniqueArray(fc.constantFrom(...ALL)), (tokens, opened) => {
        const offered = offeredTools(offer({ opened }), { tools: 128, tokens });
        expect(offered.reduce((sum, tool) => sum + tokensOf(tool), 0)).toBeLessThanOrEqual(tokens);
      }),
    );
    expect(names(offer({ opened: ['github'] }), { tools: 128, tokens: 1_300 })).toEqual(
      expect.arrayContaining(['ask_user', 'open_tools', 'file_read', 'file_edit']),
    );
  });
});
