import { TASK_BEGUN } from '../../texts/task-begun.ts';

/** Tool calls as a person reads them among the steps of a turn. */

/** Calls whose result is a sentence of ours, by what they do. */
const OURS: Record<string, string> = {
  ask_user: 'asking you',
  report_progress: 'telling how far it is',
  open_tools: 'getting more tools',
  file_write: 'writing a file',
  file_edit: 'changing a file',
  file_delete: 'deleting a file',
  folder_delete: 'deleting a folder',
  workspace_select: 'changing to a workspace',
  workspace_create: 'making a workspace',
  workspace_clone: 'copying a project',
  workspace_delete: 'deleting a workspace',
  workspace_sync: 'pushing to GitHub',
  workspace_publish: 'publishing on GitHub',
  task_create: 'starting a coding task',
  task_cancel: 'stopping a coding task',
  task_pause: 'holding a coding task',
  task_respond: 'answering a coding task',
  task_bring: 'bringing the work of tasks together',
  session_take: 'taking over your session',
  session_give: 'packing a session',
  remember: 'remembering',
  forget: 'forgetting something',
  workflow_create: 'saving a routine',
  workflow_update: 'changing a routine',
  workflow_run: 'running a routine',
  workflow_delete: 'deleting a routine',
  cron_create: 'making a schedule',
  cron_update: 'changing a schedule',
  cron_run: 'running a schedule',
  cron_delete: 'deleting a schedule',
  git_commit: 'committing',
  git_branch: 'using branches',
  undo: 'taking something back',
  github_branch_create: 'making a branch on GitHub',
  github_issue_create: 'making an issue on GitHub',
  github_pr_create: 'making a pull request',
  ship: 'watching a pull request',
  send_message: 'writing a message',
  register_group: 'setting up a group',
  preferences: 'noting your wishes',
};

/** Calls whose result is text of files, programs, pages or lists. */
const THEIRS: Record<string, string> = {
  read_output: 'reading on',
  file_list: 'looking into a folder',
  file_read: 'reading a file',
  file_search: 'searching files',
  shell_run: 'running a command',
  app_test: 'running the tests',
  app_run: 'running the app',
  app_control: 'looking after the app',
  workspace_list: 'listing the workspaces',
  workspace_status: 'looking at the workspace',
  task_status: 'looking at a coding task',
  web_search: 'searching the web',
  web_fetch: 'reading a page',
  recall: 'recalling',
  chats: 'looking at the chats',
  conversation_search: 'searching what was said',
  workflow_list: 'listing the routines',
  cron_list: 'listing the schedules',
  git_status: 'looking at what changed',
  git_diff: 'comparing what changed',
  git_log: 'reading the history',
  github_pr_list: 'listing pull requests',
  github_pr_view: 'reading a pull request',
  github_issue_list: 'listing issues',
  github_action_status: 'looking at GitHub Actions',
  github_search_repos: 'searching GitHub',
  browser_open: 'opening a page',
  browser_snapshot: 'reading the page',
  browser_action: 'using the page',
  browser_screenshot: 'taking a picture of the page',
  browser_test: 'checking the page',
  skill_read: 'reading a skill',
};

const wordsOf = (tool: string): string | undefined =>
  Object.hasOwn(OURS, tool) ? OURS[tool] : Object.hasOwn(THEIRS, tool) ? THEIRS[tool] : undefined;

/** What a call does, in words; the name of an added tool, which its owner has chosen. */
export const doingInWords = (tool: string): string => wordsOf(tool) ?? tool.replaceAll('_', ' ');

/** `name started` and `name: result`, as the summary of a call begins. */
const SUMMARY = /^(\w{1,100})(?: started$|: )/;
const OUR_IDS = / \((?:wf|wfr|cron|mem|tsk)_[\w-]{1,100}\)/g;
const NAMES = /\b[a-z]{1,40}(?:_[a-z]{1,40}){1,4}\b/g;

/** The summary of a call without the name of its tool, and without the ids that only a model needs. */
export function stepInWords(summary: string): string {
  const [whole = '', tool] = SUMMARY.exec(summary) ?? [];
  if (tool === undefined) return summary;
  const doing = capital(doingInWords(tool));
  const result = summary
    .slice(whole.length)
    .trim()
    .replace(OUR_IDS, '')
    .replace(NAMES, (word) => wordsOf(word) ?? word);
  if (result === '') return doing;
  if (DENIED.test(result)) return YOU_SAID_NO;
  if (tool === 'task_create') return toldToPerson(summary.slice(whole.length));
  return Object.hasOwn(OURS, tool) ? result : `${doing}: ${result}`;
}

/** What a model is told of a no (`decideQuestion` in src/store/turns/questions/decide.ts); the person knows what it was. */
const DENIED = /^The person said no to "/;
const YOU_SAID_NO = 'You said no. Nothing was run.';

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** How the result of a task ends that began together with others. */
export const BESIDE_OTHERS = 'It works beside the others of this message.';

type Begun = keyof typeof TASK_BEGUN;

const begunInEnglish = (how: Begun, workspace: string): string => TASK_BEGUN[how].replace('{workspace}', workspace);

/**
 * The result of a tool as a person is told it, where no model says it in its own words: without the id of a new task,
 * which only a model needs.
 */
export function toldToPerson(
  result: string,
  begun: (how: Begun, workspace: string) => string = begunInEnglish,
): string {
  if (DENIED.test(result)) return YOU_SAID_NO;
  const [, workspace, planned] =
    /^Created task tsk_\w+: .* → [\w-]+ in ([\w.-]+)\. (It begins with a plan)?/s.exec(result) ?? [];
  if (workspace === undefined) return withoutIds(result);
  if (result.endsWith(BESIDE_OTHERS)) return begun('many', workspace);
  return begun(planned ? 'plan' : 'one', workspace);
}

/** Our own words for a model, without the ids and names of tools that only a model needs. */
export const withoutIds = (text: string): string =>
  text.replace(OUR_IDS, '').replace(NAMES, (name) => (wordsOf(name) ? name.replaceAll('_', ' ') : name));

/**
 * Calls that a model corrects by itself (`prepareCall` in src/tools/registry.ts), and those that a stop came before
 * (`UNFINISHED` in src/store/turns/finish.ts), which the end of the turn tells: nobody else has to know.
 */
const CORRECTED = /^(?:The arguments of \S{1,100} are not |There is no tool "|Not run: the turn was stopped )/;
export const isCorrected = (result: string): boolean => CORRECTED.test(result);
