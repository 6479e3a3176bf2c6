import { describe, expect, it } from 'vitest';
import { asAgentBrowser, browserCallOf } from '../../../src/tools/browser/agent-browser.ts';
import { tools } from '../../../src/tools/registry.ts';

describe('a command line of agent-browser', () => {
  const action = (args: object) => ['browser_action', args];
  const read = (args: object = {}) => ['browser_snapshot', args];
  const picture = (form: string) => ['browser_screenshot', { form }];

  it.each([
    ['open https://example.org/a?b=1', ['browser_open', { url: 'https://example.org/a?b=1', waitUntil: 'load' }]],
    ['open example.org', ['browser_open', { url: 'https://example.org/', waitUntil: 'load' }]],
    ['open localhost:3000', ['browser_open', { url: 'http://localhost:3000/', waitUntil: 'load' }]],
    ['back', action({ action: 'back' })],
    ['forward', action({ action: 'forward' })],
    ['reload', action({ action: 'reload' })],
    ['close', action({ action: 'close' })],
    ['snapshot', read()],
    ['snapshot -i', read({ interactive: true })],
    ['snapshot -c', read()],
    ['snapshot -d 3', read({ depth: 3 })],
    ['snapshot -s #main', read({ selector: '#main' })],
    ['snapshot -i -c -d 2 -s main --json', read({ interactive: true, depth: 2, selector: 'main' })],
    ['click @e1', action({ action: 'click', ref: 1 })],
    ['fill @e2 a text', action({ action: 'type', ref: 2, text: 'a text' })],
    ['type e2 more', action({ action: 'append', ref: 2, text: 'more' })],
    ['press Control+a', action({ action: 'press', text: 'Control+a' })],
    ['select @e1 blue', action({ action: 'select', ref: 1, text: 'blue' })],
    ['scroll down 500', action({ action: 'scroll_down', y: 500 })],
    ['scroll up', action({ action: 'scroll_up' })],
    ['get text @e1', read({ get: 'text', ref: 1 })],
    ['get html .item', read({ get: 'html', selector: '.item' })],
    ['get value @e1', read({ get: 'value', ref: 1 })],
    ['get attr @e1 href', read({ get: 'attr', ref: 1, attr: 'href' })],
    ['get title', read()],
    ['get url', read()],
    ['get count .item', read({ get: 'count', selector: '.item' })],
    ['screenshot', picture('window')],
    ['screenshot --full shop.png', picture('page')],
    ['pdf output.pdf', picture('pdf')],
    ['state save auth.json', action({ action: 'save_login', text: 'auth.json' })],
    ['state load /tmp/auth.json', action({ action: 'load_login', text: 'auth.json' })],
    ['state clear auth.json', action({ action: 'drop_login', text: 'auth.json' })],
  ])('%s is a call that its tool takes', (line, expected) => {
    const call = browserCallOf(line.split(' '));
    if (typeof call === 'string') throw new Error(call);
    expect([call.name, tools.get(call.name)!.schema.parse(call.args)]).toEqual(expected);
  });

  it('names the file that goes with it', () => {
    expect(browserCallOf(['upload', '@e1', '/workspace/out/file.pdf'])).toEqual({
      name: 'browser_action',
      args: { action: 'upload', ref: 1 },
      file: 'file.pdf',
    });
  });

  it('says why it is none, and how they are written', () => {
    expect(browserCallOf(['click', '#buy'])).toContain('such as @e1');
    for (const line of [
      '',
      'help',
      'open',
      'eval document.cookie',
      'get cookies',
      'snapshot --profile me',
      'upload @e1',
      'state list',
    ])
      expect(browserCallOf(line.split(' '))).toMatch(/^agent-browser works/);
  });

  it('is never an option of the program that drives the browser', () => {
    for (const line of ['press --help', 'snapshot -s --all', 'get text --all', 'get attr @e1 --x']) {
      const call = browserCallOf(line.split(' '));
      const taken = typeof call !== 'string' && tools.get(call.name)!.schema.safeParse(call.args).success;
      expect([line, taken]).toEqual([line, false]);
    }
  });
});

it('elements have the names by which agent-browser knows them', () => {
  expect(asAgentBrowser('- button "Go" [ref=12]\n- heading "ref=3" [level=1, ref=4]')).toBe(
    '- button "Go" [ref=e12]\n- heading "ref=3" [level=1, ref=e4]',
  );
  expect(asAgentBrowser('No page is open. Open one with browser_open.')).toContain('with agent-browser open.');
});
