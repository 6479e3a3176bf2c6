import { join } from 'node:path';
import { noteGroup } from '../../src/store/chats/groups.ts';
import type { World } from '../stories/story.ts';
import { callsThen } from '../support/app.ts';
import type { LimitedEndpoint } from '../support/limited-endpoint.ts';
import { countsAsShown } from '../support/whatsapp-app.ts';

/**
 * What the owner says to see every command once, and what the phone shows then. The words of `help` are said as `help`
 * writes them.
 */

export interface Guide extends World {
  endpoint: LimitedEndpoint;
  /** a repository on this machine, outside of the workspaces */
  own: string;
}

/** Far above any wait, so that only what is never shown reaches it. */
const PATIENCE_MS = 120_000;

/** What is said, and what is shown: several where several messages come, in any order. */
export type Line = readonly [says: string | ((guide: Guide) => string | Promise<string>), ...sees: RegExp[]];

const calls = (...all: Array<[string, Record<string, unknown>]>): string => callsThen(all);
const task = (goal: string, workspace = 'demo') =>
  callsThen([['task_create', { goal, agent: 'practice', workspace, timeout: 900_000 }]], 'The task is made.');
const server = "node -e \"console.log('here'); require('http').createServer((q, a) => a.end('x')).listen(3000)\"";

const beginning: Line[] = [
  ['Hi', /^Hello[\s\S]*Three things to try[\s\S]*`help`/],
  ['help', /Write what you need/],
  ['help tasks', /`undo` takes back/],
  ['help schedules', /`remind me/],
  ['help trust', /`ask again`/],
  ['help all', /Words that need no model/, /Good to know/],
  ['status', /^Nothing is running\./],
  ['stop', /nothing to stop/],
  ['projects', /There is no project yet/],
  ['tasks', /No coding task is under way/],
  ['schedules', /Nothing runs by itself/],
  ['egress', /no workspace yet/],
  ['tools', /brought nothing along/],
  ['memories', /I remember nothing here/],
  ['shares', /No workspace is shared/],
  ['apps', /No app is running/],
  ['undo', /There is no workspace yet/],
  ['ship status', /No pull request is being watched/],
];

const projects: Line[] = [
  [calls(['workspace_create', { name: 'demo', template: 'node' }]), /Created demo/],
  ['projects', /- demo \(active/],
  [
    ({ github }) => `clone ${github.apiUrl.replace('/api', '')}/ann/demo.git as copy`,
    /Brought in copy/,
    /copy is ready/,
  ],
  [({ own }) => `open ${own}`, /Copy the repository/],
  ['yes', /Brought in own/],
  ['project demo', /demo is the active project now[\s\S]*tested by/],
  ['demo is tested by make check', /From now on, demo is tested by `make check`/],
  ['forget how demo is tested', /That is forgotten\. Its files say/],
  ['check demo', /I check demo on a copy/, /demo is ready/],
  ['egress', /demo: nobody was asked/],
  ['egress remove example.com', /no rule about example\.com/],
];

const tasks: Line[] = [
  [task('wait 300'), /The task is made/],
  ['tasks', /1: practice in demo: wait 300 \(at work for /],
  ['pause', /is paused/],
  ['resume', /goes on\./],
  ['tell 1: write told.txt told', /hears that as soon as it is done/],
  ['status', /demo is running/],
  ['stop 1', /^Stopped in/],
  [
    ({ endpoint }) => {
      endpoint.refuse({ status: 429, headers: { 'retry-after': '3600' }, forMs: 3_600_000 });
      return task('run node ask.mjs; write after.txt after');
    },
    /The task is made/,
    /is at its limit until/,
  ],
  ['now codex', /Codex is not allowed here/],
  [
    ({ endpoint }) => {
      endpoint.refuse(null);
      return 'now';
    },
    /tries again now/,
    /Done in [\s\S]*after\.txt/,
  ],
  ['undo', /^Undone: /],
  ['redo', /^Redone: /],
  ['undo 2', /^Undone: /],
  ['redo', /^Redone: /],
  ['undo all', /^Undone(?: \(\d+ tasks\))?: /],
  ['plan', /Big coding tasks here begin with a plan/],
  ['plan on', /each coding task here begins with a plan/],
  ['plan auto', /when it is big/],
  ['plan off', /coding tasks here begin at once/],
  ['plan: write plan.md x', /makes a plan first/, /has a plan\. Nothing is changed before your yes/],
  ['no', /You said no to its plan, so nothing was changed/],
];

const together: Line[] = [
  [
    'race 3: write raced.txt raced',
    /The agents are working in demo/,
    /Attempt \d of 3 in demo is over/,
    /Attempt \d of 3 in demo is over/,
    /All 3 attempts in demo are over[\s\S]*Answer with a number/,
  ],
  ['race claude, codex: write raced.txt raced', /is not allowed here/],
  [
    'split: write one.txt 1; write two.txt 2',
    /The agents are working in demo/,
    /Part \d of 2 in demo is over/,
    /All 2 parts in demo are over[\s\S]*Say "merge"/,
  ],
  ['merge', /Part 1 is in[\s\S]*Part 2 is in/],
  ['ship', /I make the pull request/, /is open\. I watch its checks/],
  ['ship status', /is watched|waits for/],
  ['ship and merge when green', /Make a pull request in demo/],
  ['no', /You said no\. Nothing was run/],
  ['ship merge', /Merge the pull request/],
  ['no', /You said no\. Nothing was run/],
  ['ship stop', /I watch the pull request #1 .* no longer/, /I watch #1 .* no longer/],
  ['take', /No session has come to this chat/],
  // without a file these are words like all others
  ['take: go on', /I know only a few sentences/],
  ['give', /Only sessions of Claude Code and Codex can be given|No task of Claude Code or Codex/],
  ['give 2', /Only sessions of Claude Code and Codex can be given/],
];

const consent: Line[] = [
  ['supervised', /I ask before everything/],
  [calls(['workflow_create', { name: 'first', steps: ['workflow_list'] }]), /Save the routine "first"\?/],
  ['skip', /^Skipped by the person/],
  [
    calls(['file_write', { workspace: 'demo', path: 'long.txt', content: 'a line of text\n'.repeat(900) }]),
    /Say "more" to read on/,
  ],
  ['more', /a line of text/],
  ['no', /The person said no/],
  [calls(['workflow_create', { name: 'second', steps: ['workflow_list'] }]), /Save the routine "second"\?/],
  ['yes all', /Saved the routine "second"/],
  ['supervised', /I ask before everything/],
  [calls(['workflow_create', { name: 'third', steps: ['workflow_list'] }]), /Save the routine "third"\?/],
  ['always', /Saved the routine "third"/],
  ['judged', /I ask before what is dangerous/],
  [calls(['shell_run', { workspace: 'demo', command: 'npm test' }]), /Run this/],
  ['always for this project', /From now on I do `npm test` in demo without asking/, /succeeded with exit code 0/],
  ['cautious', /I ask before what is dangerous/],
  [
    ({ fixture }) =>
      calls(
        ['file_read', { workspace: 'demo', path: 'README.md' }],
        ['web_fetch', { url: `http://${fixture.media.host}/nothing` }],
      ).replace('nothing', 'no\\u0074hing'),
    /Read this page\?[\s\S]*Careful: I have just read/,
  ],
  ['yes always for fetch', /closed the connection/],
  ['ask again', /From now on I ask again before: .*fetch/],
  ['ask again for push', /Nothing of that was allowed/],
  ['ask again for schedule', /Nothing of that was allowed/],
  ['judged', /I ask before what is dangerous/],
  ['judged by other-model', /other-model decides whether/],
  ['rules', /in demo: \d+ yes|not asked here/],
  ['/autonomous', /I do everything without asking/],
];

const several: Line[] = [
  ['supervised', /I ask before everything/],
  [task('allow? echo one'), /Let practice work in demo\?/],
  ['yes', /The task is made/, /May practice do this in demo\?/],
  [task('allow? echo two', 'copy'), /2\. Let practice work in copy\?/],
  ['yes', /Which one do you mean\?/],
  ['yes 2', /The task is made/, /May practice do this in copy\?/],
  ['yes 1', /Done in demo/],
  ['yes', /Done in copy/],
  ['autonomous', /I do everything without asking/],
];

const rest: Line[] = [
  // reports of agents were read
  [calls(['app_run', { workspace: 'demo', command: server, keep: true }]), /Run this until it is stopped/],
  ['yes always for command', /It runs until/],
  ['apps', /^1: .* in demo, http/],
  ['diff', /^ask\.mjs/],
  ['app log', /^node -e [\s\S]*\nhere/],
  ['preview', /opens the app in demo on one device in your network, once|this machine is in no network/],
  ['app stop', /Stopped node -e/],
  [calls(['app_run', { workspace: 'demo', command: server, keep: true }]), /It runs until/],
  ['app stop 1', /Stopped node -e/],
  ['remind me to stretch in 20 minutes', /I will remind you .*: stretch/],
  ['remind me at 9:00 tomorrow to call Ann', /I will remind you .*: call Ann/],
  ['schedules', /1\. reminder: stretch[\s\S]*2\. reminder: call Ann/],
  ['schedules remove 2', /I will not remind you of this: call Ann/],
  ['preferences', /quiet/i],
  [calls(['remember', { text: 'deploys on Fridays' }], ['remember', { text: 'likes tea' }]), /Remembered as mem_/],
  ['memories', /likes tea/],
  ['forget 2', /Forgotten: deploys on Fridays/],
  ['forget all memories', /Forgotten: /],
  ['trust add +49 170 1234567', /\+491701234567 may write to me/],
  ['share demo with +49 170 1234567', /demo is shared with \+491701234567/],
  ['shares', /demo: \+491701234567/],
  ['unshare demo with +49 170 1234567', /no longer shared/],
  ['trust list', /\+491701234567/],
  ['telegram', /Telegram is not set up/],
  ['trust add telegram', /Telegram is not set up/],
  ['trust remove telegram Ana', /Nobody on Telegram whom you trust is called Ana/],
  ['trust remove +49 170 1234567', /ignored from now on/],
  ['groups', /I am in no group yet/],
  [
    async ({ app }) => {
      await noteGroup(app.store.db, { channel: 'whatsapp', address: '120363@g.us', name: 'Family', members: 5 });
      return 'answer in Family';
    },
    /Answer in the group "Family"\?[\s\S]*folder: family/,
  ],
  ['yes', /I answer in "Family" from now on/],
  ['export this chat', /Here it is/, /conversation\.md/],
  ['export Family', /Here it is/, /conversation\.md/],
  ['stop answering in Family', /I answer in "Family" no longer/],
  ['sign as Ada Lovelace <ada@example.com>', /Commits from now on are by Ada Lovelace/],
  ['sign as me', /Git on this machine has no name for you/],
  ['usage', /This chat, today: [\d.]+[kM]? tokens/],
  ['model', /scripted of 127\.0\.0\.1/],
  ['model practice', /practice answers in this chat/],
  ['model default', /scripted answers in this chat again/],
  ['version', /^Fetch \d+\.\d+\.\d+, on Node/],
  ['/tasks', /Over:/],
  ['clear', /A new conversation/],
  ['/new', /A new conversation/],
];

export const TOUR: readonly Line[] = [
  ...beginning,
  ...projects,
  ...tasks,
  ...together,
  ...consent,
  ...several,
  ...rest,
];

/** A file that the tour needs in the project `demo`. */
export const askingProgram = ({ folder }: World): string => join(folder('demo'), 'ask.mjs');

/** The words of `help` that are to be said, as patterns: what a person puts in is anything. */
export function wordsOf(help: string): Array<{ words: string; like: RegExp }> {
  const lines = help.split('\n').filter((line) => !/^\d+\. /.test(line));
  const words = new Set(lines.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, said]) => said!)));
  // what begins with `fetch` is typed in a shell
  const inChat = [...words].filter((said) => !said.startsWith('fetch '));
  return inChat.map((said) => {
    const any = said
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace('https://', 'https?://')
      .replace('/path/of/a/folder', '/\\S+')
      .replace(/…/g, '.+')
      .replace('one; two', '.+; .+')
      .replace(/\b(?:NAME|MODEL)\b/g, '\\S+');
    return { words: said, like: new RegExp(`(?:^|\\s)${any}$`, 'i') };
  });
}

/**
 * Says a line and waits for what it shows; gives the text that was said. What is not shown in time is told, and the
 * tour goes on.
 */
export async function walk(
  guide: Guide,
  [says, ...sees]: Line,
  shown: (text: string) => void,
  missed: (what: string) => void,
): Promise<string> {
  const text = typeof says === 'string' ? says : await says(guide);
  await guide.ann.says(text);
  for (const like of sees) {
    const message = await guide.ann.sees(like, PATIENCE_MS).catch((error: Error) => {
      missed(`${text}: ${error.message}`);
      guide.ann.forgets();
      return null;
    });
    if (!message) continue;
    shown(message.shown.text);
    await countsAsShown(guide.app, message);
  }
  return text;
}
