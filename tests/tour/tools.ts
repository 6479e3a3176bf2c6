import { noteGroup } from '../../src/store/chats/groups.ts';
import type { World } from '../stories/story.ts';

/** What a person asks for to have every tool called once, and what the phone shows of it. */

export interface Places extends World {
  /** a web site of this machine */
  site: string;
  /** id of a call whose output was long, of a file that was sent, and of a memory */
  id(kind: 'call' | 'att' | 'mem'): Promise<string>;
}

type Args = Record<string, unknown>;

export interface Row {
  /** in the words of a person; the scripted model knows what to call */
  asks: string;
  tool: string;
  args: Args | ((places: Places) => Args | Promise<Args>);
  /** the answer, which ends with the output of the tool */
  shows: RegExp;
  /** messages that come besides, each once */
  besides?: RegExp[];
  /** what the person says to the question that the call is */
  answer?: string;
}

const row = (
  asks: string,
  tool: string,
  args: Row['args'],
  shows: RegExp,
  more: Pick<Row, 'besides' | 'answer'> = {},
): Row => ({
  asks,
  tool,
  args,
  shows,
  ...more,
});

const talk: Row[] = [
  row('Ask me which colour', 'ask_user', { question: 'Which colour?', options: ['red', 'blue'] }, /blue/, {
    besides: [/Which colour\?/],
    answer: '2',
  }),
  row('Tell me how far you are', 'report_progress', { message: 'Half way there', percent: 50 }, /has been told/),
  row('Can you work with my pull requests?', 'open_tools', { family: 'github' }, /The tools of github are offered/),
  row('No messages between 3 and 4', 'preferences', { quietHours: '03:00-04:00' }, /03:00-04:00/),
  row('Remember that I like tea', 'remember', { text: 'likes tea' }, /Remembered as mem_/),
  row('What do I like?', 'recall', { query: 'tea' }, /likes tea/),
  row('Forget that', 'forget', async ({ id }) => ({ id: await id('mem') }), /Forgotten/),
  row('Tell me right now that it begins', 'send_message', { text: 'It begins' }, /Sent here\./, {
    besides: [/^It begins$/],
  }),
  row('When did I ask for that skill?', 'conversation_search', { query: 'that skill' }, /said here: SCRIPT/),
  row(
    'Say nothing in Family any more',
    'register_group',
    async ({ app }) => {
      await noteGroup(app.store.db, { channel: 'whatsapp', address: '120363@g.us', name: 'Family', members: 5 });
      return { group: 'Family', answer: 'off' };
    },
    /I answer in "Family" no longer/,
  ),
  row('Which groups are there?', 'chats', {}, /Family: WhatsApp; 5 members; not answered/),
  row('How do we make a release?', 'skill_read', { skill: 'release' }, /Test first/),
];

const workspaces: Row[] = [
  row(
    'Make a project garden',
    'workspace_create',
    { name: 'garden', template: 'node' },
    /Created garden[\s\S]*Published/,
  ),
  row('Which projects are there?', 'workspace_list', {}, /2 workspaces: garden \(active, JavaScript, main\), shed/),
  row('Use garden', 'workspace_select', { name: 'garden' }, /Switched to garden/),
  row('How is garden?', 'workspace_status', {}, /garden \(JavaScript, npm\) - on main - clean/),
  row(
    'Copy garden from GitHub',
    'workspace_clone',
    ({ github }) => ({ from: `${github.apiUrl.replace('/api', '')}/ann/garden.git`, name: 'second' }),
    /Brought in second/,
    // what its tests say comes by itself, and not any more once it is deleted
    { besides: [/^second is ready: 1 test passes/] },
  ),
  row('Use garden again', 'workspace_select', { name: 'garden' }, /Switched to garden/),
  row('Throw the copy away', 'workspace_delete', { name: 'second' }, /Deleted workspace second/),
];

const files: Row[] = [
  row('Which files are there?', 'file_list', { path: '.' }, /package\.json/),
  row('Read the README', 'file_read', { path: 'README.md' }, /# garden/),
  row('Where is greeting?', 'file_search', { pattern: 'greeting' }, /src\/greeting\.js/),
  row(
    'Write notes',
    'file_write',
    { path: 'notes/a.txt', content: `${'a line\n'.repeat(3_000)}the end\n` },
    /notes\/a\.txt/,
  ),
  row('Read the notes', 'file_read', { path: 'notes/a.txt', lines: 5000 }, /a line/, {
    besides: [/cut at 8000 of \d+ characters/],
  }),
  row(
    'Go on reading',
    'read_output',
    async ({ id }) => ({ callId: await id('call'), offset: 9_000, limit: 50 }),
    /a line/,
  ),
  row(
    'Change a word',
    'file_edit',
    { path: 'src/greeting.js', find: 'Hello', replace: 'Hi' },
    /Changed src\/greeting\.js/,
  ),
  row('Take that back', 'undo', {}, /Undone: /),
  row('Delete the notes', 'file_delete', { path: 'notes/a.txt' }, /Deleted file notes\/a\.txt/),
  row('Make a folder', 'file_write', { path: 'old/b.txt', content: 'b\n' }, /old\/b\.txt/),
  row('Take the folder away', 'folder_delete', { path: 'old' }, /Deleted folder old/),
  row('What was in the letter?', 'read_output', async ({ id }) => ({ callId: await id('att') }), /Dear Ann/),
];

const work: Row[] = [
  row('Run ls', 'shell_run', { command: 'ls src' }, /greeting\.js/),
  row('Run the tests', 'app_test', {}, /pass/),
  row(
    'Start it and leave it running',
    'app_run',
    { command: 'node -e "require(\'http\').createServer().listen(3000)"', keep: true },
    /It runs until/,
  ),
  row('Stop it', 'app_control', { action: 'stop' }, /Stopped .* in garden\./),
  row('Make a branch', 'github_branch_create', { name: 'spring' }, /Made the branch spring/),
  row(
    'Say Hi again',
    'file_edit',
    { path: 'src/greeting.js', find: 'Hello', replace: 'Hi' },
    /Changed src\/greeting\.js/,
  ),
  row('What is changed?', 'git_status', {}, /src\/greeting\.js/),
  row('Show me', 'git_diff', {}, /diff --git[\s\S]*Hello[\s\S]*Hi/),
  row('Commit it', 'git_commit', { message: 'Spring' }, /Committed [0-9a-f]+ on spring/),
  row('What was committed?', 'git_log', {}, /Spring/),
  row('Which branches are there?', 'git_branch', {}, /spring/),
  row('Push it', 'workspace_sync', { name: 'garden' }, /pushed to origin\/spring/),
  row('Put the other one on GitHub', 'workspace_publish', { name: 'shed' }, /Published shed/),
];

const github: Row[] = [
  row('Make a pull request', 'github_pr_create', { title: 'Spring', body: 'It is spring.' }, /Made #1 "Spring"/),
  row('Is a pull request watched?', 'ship', { action: 'status' }, /No pull request is being watched/),
  row('Which pull requests are there?', 'github_pr_list', {}, /#1 "Spring"/),
  row('Show me the first', 'github_pr_view', { number: 1 }, /It is spring/),
  row('Make an issue', 'github_issue_create', { title: 'It rains' }, /Made #\d+ "It rains"/),
  row('Which issues are there?', 'github_issue_list', {}, /#\d+ "It rains"/),
  row('Are the checks green?', 'github_action_status', {}, /no runs/),
  row('Find repositories about doors', 'github_search_repos', { query: 'doors' }, /No repository matches/),
];

const tasks: Row[] = [
  row(
    'Have a line written',
    'task_create',
    { goal: 'wait 200', agent: 'practice', workspace: 'garden' },
    /Created task/,
  ),
  row('How is it?', 'task_status', {}, /practice in garden/),
  row('Which hosts may it reach?', 'workspace_status', {}, /garden: nobody was asked about a host yet/),
  row('Wait with it', 'task_pause', {}, /Paused/),
  row('Go on', 'task_pause', { resume: true }, /Resumed/),
  row('Tell it blue', 'task_respond', { response: 'blue' }, /hears it as soon as it is done/),
  row('Go on with my session', 'session_take', {}, /No session has come to this chat/),
  row('Give it to me', 'session_give', {}, /No task of Claude Code or Codex was in this chat/),
  row(
    'End it',
    'task_cancel',
    async ({ app }) => ({ taskId: (await app.store.db.selectFrom('tasks').select('id').executeTakeFirstOrThrow()).id }),
    /Cancelled task/,
    {
      besides: [/^Stopped in/],
    },
  ),
  row(
    'Have another one written beside it',
    'task_create',
    { goal: 'write beside.txt b', agent: 'practice', workspace: 'garden', worktree: true },
    /Created task/,
    { besides: [/^Done in garden/] },
  ),
  row('Bring it in', 'task_bring', { tasks: ['2'], workspace: 'garden' }, /is in/),
];

const routines: Row[] = [
  row('Make a routine', 'workflow_create', { name: 'look', steps: ['workflow_list'] }, /Saved the routine "look"/),
  row('Which routines are there?', 'workflow_list', { includeRuns: true }, /look/),
  row('Run it', 'workflow_run', { workflow: 'look' }, /Started the routine "look"/, {
    besides: [/^look:/],
  }),
  row('Call it glance', 'workflow_update', { workflow: 'look', name: 'glance' }, /Changed the routine "glance"/),
  row('Every morning', 'cron_create', { workflow: 'glance', schedule: '0 9 * * *' }, /Scheduled "glance"/),
  row('What runs by itself?', 'cron_list', {}, /glance/),
  row('Later, please', 'cron_update', { cron: 'glance', schedule: '0 10 * * *' }, /The schedule "glance" is now/),
  row('Not for now', 'cron_update', { cron: 'glance', enabled: false }, /is switched off/),
  row('Now, once', 'cron_run', { cron: 'glance' }, /Started the routine "glance"/, {
    besides: [/^glance:/],
  }),
  row('Never again', 'cron_delete', { cron: 'glance' }, /The schedule "glance" is gone/),
  row('And no routine', 'workflow_delete', { workflow: 'glance' }, /Deleted the routine "glance"/),
];

const web: Row[] = [
  row('Search for doors', 'web_search', { query: 'doors' }, /Doors of the world/),
  row('Read that page', 'web_fetch', ({ site }) => ({ url: `${site}/doors` }), /Oak and iron/),
  row('Open it in the browser', 'browser_open', ({ site }) => ({ url: `${site}/doors` }), /Oak/),
  row('What is on it?', 'browser_snapshot', {}, /Oak/),
  row('Scroll down', 'browser_action', { action: 'scroll_down' }, /Oak/),
  row('Take a picture', 'browser_screenshot', {}, /A picture of the page/),
  row(
    'Does it say Oak?',
    'browser_test',
    ({ site }) => ({ url: `${site}/doors`, mustInclude: ['Oak'] }),
    /PASS: all 2 checks/,
  ),
];

export const ROWS: readonly Row[] = [
  ...talk,
  ...workspaces,
  ...files,
  ...work,
  ...github,
  ...tasks,
  ...routines,
  ...web,
];
