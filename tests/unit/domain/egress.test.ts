import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEgress } from '../../../src/domain/chat/words/commands.ts';
import {
  askedTool,
  egressAnswer,
  egressOptions,
  egressQuestion,
  egressVerdict,
  shownHost,
  toolName,
} from '../../../src/domain/tasks/egress.ts';
import { mirrorEnvironment, mirrorsOf, mirrorsProblem } from '../../../src/domain/tasks/registries/mirrors.ts';
import { CATALOGUE, sayIn } from '../../../src/domain/texts/say.ts';
import { holds } from '../../support/property.ts';

const about = { taskId: 'tsk_12', workspace: 'demo', more: 0, tools: ['npm'], warnings: [] };

describe('a question about hosts', () => {
  it('names one host in a sentence and several in a list, with the port where it is unusual', () => {
    expect(egressQuestion({ ...about, hosts: [{ host: 'packages.example.com', port: 443 }] })).toBe(
      'npm in demo wants packages.example.com.',
    );
    const hosts = [
      { host: 'a.example', port: 443 },
      { host: '2001:db8::1', port: 8443 },
    ];
    expect(
      egressQuestion({ ...about, hosts, more: 40, tools: ['npm', 'git'], warnings: ['It may be their wish.'] }),
    ).toBe(
      'npm and git in demo want 2 hosts:\n- a.example\n- [2001:db8::1]:8443\nIt also asked for 40 more, which stay refused.\n2001:db8::1 is a number and no name: nothing says whose it is.\nPort 8443 is an unusual one.\nIt may be their wish.',
    );
  });

  it('names a tool of an MCP server as what it is, says what a yes to it means, and is taken back by its name', () => {
    const tool = askedTool('tickets', 'create_Ticket');
    expect(egressQuestion({ ...about, hosts: [tool], tools: ['The agent'] })).toBe(
      'The agent in demo wants the MCP tool tickets/create_Ticket.\nA yes to an MCP tool holds for every call of it, and what it is called with is not shown.',
    );
    expect(egressQuestion({ ...about, hosts: [{ host: 'a.example', port: 443 }, tool] })).toContain(
      'wants 2 things:\n- a.example\n- the MCP tool tickets/create_Ticket\n',
    );
    for (const words of ['tickets/create_Ticket', 'mcp tickets/create_Ticket', `${shownHost(tool)}.`])
      expect(parseEgress(`egress remove ${words}`)).toEqual({ what: 'remove', ...tool });
    expect(parseEgress('egress remove example.com/create')).toBeNull();
  });

  it('says which of them are without encryption', () => {
    const [plain, other] = [
      { host: 'deb.example', port: 80 },
      { host: 'a.example', port: 443 },
    ];
    expect(egressQuestion({ ...about, hosts: [plain] })).toMatch(
      /wants http:\/\/deb\.example\.\nThat is without encryption: /,
    );
    expect(egressQuestion({ ...about, hosts: [other, plain] })).toMatch(
      /\n- a\.example\n- http:\/\/deb\.example\nhttp:\/\/ is without encryption: /,
    );
  });

  it('says how much of a long name is left out, shows whose it is, and warns', () => {
    const host = `${'a1b2c3'.repeat(10)}.${'d4e5f6'.repeat(10)}.evil.example`;
    const text = egressQuestion({ ...about, hosts: [{ host, port: 443 }] });
    expect(text).toMatch(/\[\d+ more characters\].*\.evil\.example\.\n.*carry data out/);
  });

  it('shows every name whole or with what is cut, on one line', () => {
    holds(
      fc.property(fc.stringMatching(/^[a-z0-9_.-]{1,253}$/), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        const shown = shownHost({ host, port })
          .replace(/^http:\/\//, '')
          .replace(/:\d+$/, '');
        const cut = Number(/\[(\d+) more characters\]/.exec(shown)?.[1] ?? 0);
        expect(shown.replace(/\[\d+ more characters\]/, '').length + cut).toBe(host.length);
        expect(shown).not.toContain('\n');
        expect(shown.length).toBeLessThan(110);
      }),
    );
  });

  it('takes a word for the name of a program, and nothing else that a container writes', () => {
    expect([toolName('npm/11.2.0 node/v24 linux'), toolName('pip'), toolName('Go-http-client/1.1')]).toEqual([
      'npm',
      'pip',
      'go-http-client',
    ]);
    expect(toolName('Debian APT-HTTP/1.3 (2.6.1)')).toBe('apt');
    expect([toolName(undefined), toolName(''), toolName('{"installer":1}'), toolName('a'.repeat(40))]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    holds(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(toolName(text) ?? 'none').toMatch(/^[a-z][a-z0-9+_-]{0,23}$/);
      }),
    );
  });
});

describe('an answer about hosts', () => {
  it.each([
    ['once', 'once'],
    ['This task', 'task'],
    ['yes', 'task'],
    ['👍🏽', 'task'],
    ['this project.', 'project'],
    ['no', 'no'],
    ['👎', 'no'],
    ['never', 'never'],
    ['Nie!', 'never'],
    ['कभी नहीं।', 'never'],
    ['ja', 'task'],
    ['nein', 'no'],
    ['ja, aber nicht das zweite', null],
    ['yes, but not the second one', null],
    ['this', null],
    ['❤️', null],
  ])('"%s" means %s', (answer, verdict) => expect(egressVerdict(answer)).toBe(verdict));

  it('can be each of the choices, and is none where there are more words', () => {
    for (const language of Object.keys(CATALOGUE))
      expect(egressOptions(sayIn(language)).map(egressVerdict)).toEqual(['once', 'task', 'project', 'no']);
    holds(
      fc.property(fc.string({ minLength: 1 }), (words) => {
        expect(egressVerdict(`once ${words}x`)).toBeNull();
      }),
    );
  });

  it('is told to the agent that resumes', () => {
    const hosts = [{ host: 'a.example', port: 443 }];
    expect(egressAnswer(hosts, 'project')).toContain('has allowed it for this project');
    expect(egressAnswer(hosts, 'never')).toContain('said no');
  });
});

describe('the word "egress"', () => {
  it('lists, removes a host with or without its port, and leaves other sentences alone', () => {
    expect(parseEgress('/egress')).toEqual({ what: 'list' });
    expect(parseEgress('Egress remove Example.com.')).toEqual({ what: 'remove', host: 'example.com', port: null });
    expect(parseEgress('egress remove http://deb.example.com/')).toEqual({
      what: 'remove',
      host: 'deb.example.com',
      port: 80,
    });
    expect(parseEgress('egress remove [2001:db8::1]:8443')).toEqual({
      what: 'remove',
      host: '2001:db8::1',
      port: 8443,
    });
    expect([
      parseEgress('egress of the building'),
      parseEgress('what is egress'),
      parseEgress('egress remove a b'),
    ]).toEqual([null, null, null]);
  });
});

describe('mirrors', () => {
  it('name a host and port, and tell package managers by their environment', () => {
    const setting = 'npm=http://10.0.0.5:4873, pip=https://pypi.example.com/simple,go=http://[fd00::1]/go';
    expect(mirrorsOf(setting).map(({ host, port, plain }) => [host, port, plain])).toEqual([
      ['10.0.0.5', 4873, true],
      ['pypi.example.com', 443, false],
      ['fd00::1', 80, true],
    ]);
    expect(mirrorEnvironment(setting)).toMatchObject({
      npm_config_registry: 'http://10.0.0.5:4873/',
      PIP_INDEX_URL: 'https://pypi.example.com/simple',
    });
    expect(mirrorEnvironment('')).toEqual({});
  });

  it.each([
    'npm',
    'npm=10.0.0.5',
    'yarn=https://a.example',
    'npm=ftp://a.example',
    'npm=https://me:secret@a.example',
    'npm=https://a.example,npm=https://b.example',
  ])('are refused as %s, with an example', (setting) =>
    expect(mirrorsProblem(setting)).toContain('npm=http://10.0.0.5:4873'),
  );
});
