import { differs, type Proof, type Sentence, type Silent, says, shown, toolLines } from './register.ts';

const rest = shown('conformance/contract');
const declared = shown('conformance/tools');
const run = shown('conformance/tools-run');
const workspaces = shown('integration/workspaces/tools');
const github = shown('integration/workspaces/github');
const sync = shown('integration/workspaces/github-sync');
const tasks = shown('integration/tasks/coding-task');
const fetching = shown('unit/adapters/web-fetch');
const searching = shown('unit/adapters/searxng');
const policy = shown('unit/domain/policy');
const browser = shown('integration/browser/actions');
const routines = shown('integration/turns/routines');

const NO_CONFIRM: Proof[] = [
  policy('defect 23: takes no consent from an argument of the model'),
  differs('`confirm` of `workspace_delete`'),
];
const FILES = workspaces('are written, read, searched, listed, edited and deleted');
const IN_PROMPT = shown('integration/turns/workspace-context')(
  'the model knows the active workspace as the store has it',
);
const OBJECTS = differs('results of the `github_*` tools');

const WORKSPACE: Sentence[] = [
  says(226, 'nine tools of workspaces', declared('has as many tools in each family as the contract says')),
  ...toolLines('workspace_list', { heading: 228, does: 230, none: 232, returns: 234, danger: 236 }),
  ...toolLines(
    'workspace_select',
    { heading: 238, does: 240, args: { name: 245 }, returns: 247, danger: 249 },
    IN_PROMPT,
  ),
  ...toolLines('workspace_status', { heading: 251, does: 253, args: { name: 258 }, returns: 260, danger: 262 }),
  ...toolLines(
    'workspace_create',
    {
      heading: 264,
      does: 266,
      args: { name: 271, template: 272, description: 273, initGit: 274 },
      returns: 276,
      danger: 278,
    },
    workspaces('gets a new workspace at once, where a token is configured'),
  ),
  ...toolLines(
    'workspace_delete',
    { heading: 280, does: 282, args: { name: 287, confirm: 288 }, returns: 290, danger: 294 },
    ...NO_CONFIRM,
  ),
  says(
    292,
    'the active workspace cannot be deleted',
    workspaces('are deleted into the trash, but not the active one and not under a task'),
  ),
  ...toolLines(
    'file_delete',
    { heading: 296, does: 298, args: { path: 303, workspace: 304, confirm: 305 }, returns: 307, danger: 309 },
    FILES,
    ...NO_CONFIRM,
  ),
  ...toolLines(
    'folder_delete',
    { heading: 311, does: 313, args: { path: 318, workspace: 319, confirm: 320 }, returns: 322, danger: 324 },
    FILES,
    ...NO_CONFIRM,
  ),
  ...toolLines(
    'workspace_sync',
    { heading: 326, does: 328, args: { name: 333, message: 334 }, returns: 336, danger: 338 },
    workspaces('gets what changed, committed and pushed, and only once'),
    sync('puts our commits on top of those that came to GitHub meanwhile, with their authors and dates'),
    differs('`workspace_sync` when GitHub has other commits'),
    differs('`workspace_sync` and a secret'),
  ),
  ...toolLines('workspace_publish', {
    heading: 340,
    does: 342,
    args: { name: 347, description: 348, isPublic: 349 },
    returns: 351,
    danger: 355,
  }),
  says(
    353,
    'publishing fails where there is a remote',
    workspaces('gets what changed, committed and pushed, and only once'),
  ),
];

const TASKS: Sentence[] = [
  says(357, 'four tools of tasks', declared('has as many tools in each family as the contract says')),
  ...toolLines(
    'task_create',
    {
      heading: 359,
      does: 361,
      args: { goal: 366, agent: 367, workspace: 368, timeout: 369 },
      returns: 371,
      danger: 373,
    },
    tasks(
      'defect 36: works in a container, commits what it changed beside what the person has not committed, and reports once',
    ),
    shown('integration/tasks/words')('is not begun before the person has said which, and then the chat keeps to it'),
    differs('`task_create` with several agents ready and none named'),
    differs('`task_create` without `timeout`'),
  ),
  ...toolLines('task_status', { heading: 375, does: 377, args: { taskId: 382 }, returns: 384, danger: 386 }),
  ...toolLines(
    'task_cancel',
    { heading: 388, does: 390, args: { taskId: 395 }, returns: 397, danger: 399 },
    tasks(
      'defect 35, defect 37: is ended by the word "stop": its container is gone before that is said, and what was done is kept on a branch',
    ),
  ),
  ...toolLines(
    'task_respond',
    { heading: 401, does: 403, args: { response: 408, taskId: 409 }, returns: 411, danger: 413 },
    tasks('defect 27: asks, and goes on with the answer that a person gives in their own words'),
  ),
];

const INTERACTION: Sentence[] = [
  says(415, 'two tools of interaction', declared('has as many tools in each family as the contract says')),
  ...toolLines(
    'ask_user',
    { heading: 417, does: 419, args: { question: 424, options: 425 }, returns: 427, danger: 431 },
    routines('defect 28: keeps an open question over a restart of the whole instance, and goes on with its answer'),
  ),
  says(
    429,
    'questions that look like confirmations',
    policy('defect 29: decides by the class of a tool alone'),
    differs('`ask_user` in a cautious or autonomous chat'),
  ),
  ...toolLines('report_progress', {
    heading: 433,
    does: 435,
    args: { message: 440, percent: 441 },
    returns: 443,
    danger: 445,
  }),
];

const GITHUB: Sentence[] = [
  says(447, 'eight tools of GitHub', declared('has as many tools in each family as the contract says')),
  ...toolLines(
    'github_pr_create',
    {
      heading: 449,
      does: 451,
      args: { title: 456, body: 457, base: 458, draft: 459, workspace: 460 },
      returns: 462,
      danger: 464,
    },
    github('is made from the current branch, which is pushed first, and shown whole before'),
    differs('`github_pr_create` on a branch that is not on GitHub'),
    differs('`github_pr_create` on a branch with an open pull request'),
    OBJECTS,
  ),
  ...toolLines(
    'github_pr_list',
    { heading: 466, does: 468, args: { state: 473, repo: 474, limit: 475, workspace: 476 }, returns: 478, danger: 480 },
    github('is listed, and read with its reviews and comments, with nothing in them that looks like ours'),
    differs('`github_pr_list`, `github_pr_view` with `repo`'),
  ),
  ...toolLines(
    'github_pr_view',
    { heading: 482, does: 484, args: { number: 489, repo: 490, workspace: 491 }, returns: 493, danger: 495 },
    github('is listed, and read with its reviews and comments, with nothing in them that looks like ours'),
  ),
  ...toolLines(
    'github_issue_create',
    {
      heading: 497,
      does: 499,
      args: { title: 504, body: 505, labels: 506, workspace: 507 },
      returns: 509,
      danger: 511,
    },
    github('is made with its labels, and shown whole before'),
  ),
  ...toolLines(
    'github_issue_list',
    {
      heading: 513,
      does: 515,
      args: { state: 520, assignee: 521, labels: 522, workspace: 523 },
      returns: 525,
      danger: 527,
    },
    github('is listed by state, labels and assignee, without the pull requests that GitHub counts among them'),
    differs('`github_issue_list`'),
  ),
  ...toolLines(
    'github_branch_create',
    { heading: 529, does: 531, args: { name: 536, from: 537, workspace: 538 }, returns: 540, danger: 542 },
    github('is made, checked out and pushed'),
    differs('`from` of `github_branch_create`'),
  ),
  ...toolLines(
    'github_action_status',
    { heading: 544, does: 546, args: { workspace: 551 }, returns: 553, danger: 555 },
    github('shows the runs of the current branch first, with their links'),
    differs('`github_action_status`'),
  ),
  ...toolLines('github_search_repos', {
    heading: 557,
    does: 559,
    args: { query: 564, limit: 565 },
    returns: 567,
    danger: 569,
  }),
];

const WEB: Sentence[] = [
  says(571, 'two tools of the web', declared('has as many tools in each family as the contract says')),
  ...toolLines(
    'web_fetch',
    { heading: 573, does: 575, args: { url: 580, selector: 581 }, returns: 583, danger: 587 },
    fetching('an article is read as markdown with absolute links and without scripts'),
    fetching('a selector picks one element, and a wrong one says so'),
    differs('results of `web_fetch`'),
  ),
  says(
    585,
    'private addresses are refused, 50,000 characters, 30 seconds',
    rest('web_fetch refuses every private address that the contract names: %s'),
    rest('web_fetch stores at most 50,000 characters of a page, and says that it is cut'),
    fetching('a redirect to a private address is not followed'),
    fetching('a body that never ends meets the time limit'),
  ),
  ...toolLines(
    'web_search',
    { heading: 589, does: 591, args: { query: 596, count: 597, category: 598 }, returns: 600, danger: 604 },
    searching('a search asks the instance for JSON in the category, and returns as many results as were asked for'),
  ),
  says(
    602,
    'a search needs an instance, and takes at most 15 seconds',
    searching('without an instance the way out is said'),
    searching('an answer that never ends meets the time limit, and an abort ends with its own reason'),
    rest('web_search waits for 15 seconds'),
  ),
];

const BROWSER: Sentence[] = [
  says(606, 'four tools of the browser', declared('has as many tools in each family as the contract says')),
  ...toolLines(
    'browser_open',
    { heading: 608, does: 610, args: { url: 615, waitUntil: 616 }, returns: 618, danger: 620 },
    shown('integration/browser/open')('opens a page and says what is on it, with a number for each element'),
    differs('`browser_open`, `browser_test`: `url`'),
  ),
  ...toolLines('browser_snapshot', { heading: 622, does: 624, none: 626, returns: 628, danger: 630 }),
  ...toolLines(
    'browser_action',
    { heading: 632, does: 634, args: { action: 639, ref: 640, text: 641, x: 642, y: 643 }, returns: 645, danger: 649 },
    browser('types, clicks, goes back and forward, and shows the page after each'),
    differs('`browser_action` after text of others was read'),
    differs('`browser_action` on an element of an earlier page'),
  ),
  says(
    647,
    'scrolling is two actions',
    { declares: 'browser_action', argument: 'action' },
    browser('scrolls, and clicks at a place'),
  ),
  ...toolLines(
    'browser_screenshot',
    { heading: 651, does: 653, none: 655, returns: 657, danger: 659 },
    differs('`browser_screenshot`'),
  ),
  says(
    661,
    'ENABLE_BROWSER, state between calls, time limit',
    rest('ENABLE_BROWSER=false turns the browser off, and the tools say so'),
    shown('integration/browser/chat')(
      'keeps two chats apart, and goes on in the same browser when the kennel worker is killed between two calls',
    ),
    differs('browser tools with `ENABLE_BROWSER` unset'),
    differs('browser tools'),
  ),
];

const EXECUTION: Sentence[] = [
  says(
    664,
    'eleven tools of workflows and execution',
    declared('has as many tools in each family as the contract says'),
  ),
  says(
    [666, 672],
    'three layers: tasks, research, execution; workflows are for the third',
    declared('steps of a workflow cannot be tools that orchestrate or ask'),
    differs('a step of `task_create`'),
  ),
  says(
    674,
    'four tools of workflows',
    ...['workflow_create', 'workflow_list', 'workflow_run', 'workflow_delete'].map((declares) => ({ declares })),
  ),
  says(
    676,
    'an ordered list of calls with a workspace; steps are checked when it is made; tools that orchestrate or ask are no steps',
    routines('runs its steps in order and delivers its result to the chat once'),
    routines('refuses steps that could not run, and says why for each'),
    shown('unit/tools/tools')('steps that name no workspace work in that of their workflow'),
    declared('steps of a workflow cannot be tools that orchestrate or ask'),
    ...['workflow_create', 'workflow_list', 'workflow_run', 'workflow_delete'].map((returns) => ({ returns })),
    differs('a step of a workflow'),
    differs('`workflow_update`, `cron_update`'),
  ),
  says(
    678,
    'four tools of crons',
    ...['cron_create', 'cron_list', 'cron_delete', 'cron_run'].map((declares) => ({ declares })),
  ),
  says(
    680,
    'schedules of five fields, in UTC',
    rest('a schedule has five fields: minute, hour, day of month, month, weekday'),
    routines('refuses schedules that are wrong, and says what is wrong'),
    ...['cron_create', 'cron_list', 'cron_delete', 'cron_run'].map((returns) => ({ returns })),
    differs('`cron_create` without `timezone`'),
  ),
  says(682, 'two tools that run commands', { declares: 'app_run' }, { declares: 'app_test' }),
  says(
    684,
    'commands in the workspace; the usual test command is found',
    { returns: 'app_run' },
    { returns: 'app_test' },
    rest('app_test knows the usual command of a project: %s'),
    workspaces('test a project by its own command, or by a given one'),
    differs('`app_run`'),
    differs('`app_run` without a command'),
  ),
  says(686, 'browser_test exists', { declares: 'browser_test' }),
  says(
    688,
    'a check of a page: texts, a picture',
    { returns: 'browser_test' },
    browser('checks a page and says which check failed'),
    differs('`browser_test`'),
  ),
];

export const TOOLS: Sentence[] = [
  says(
    187,
    'tools are registered with schemas that are checked',
    declared('refuses an argument that the contract does not know'),
  ),
  says(189, 'prose as output, data as metadata', run('says in words what it did, and never only in JSON')),
  ...WORKSPACE,
  ...TASKS,
  ...INTERACTION,
  ...GITHUB,
  ...WEB,
  ...BROWSER,
  ...EXECUTION,
];

const HEADS = [
  242, 244, 255, 257, 268, 270, 284, 286, 300, 302, 315, 317, 330, 332, 344, 346, 363, 365, 379, 381, 392, 394, 405,
  407, 421, 423, 437, 439,
];
const MORE_HEADS = [
  453, 455, 470, 472, 486, 488, 501, 503, 517, 519, 533, 535, 548, 550, 561, 563, 577, 579, 593, 595, 612, 614, 636,
  638,
];

export const TOOLS_SILENT: Silent[] = [
  { from: 185, to: 185, why: 'heading' },
  { from: 191, to: 224, why: 'files of the original' },
  ...[...HEADS, ...MORE_HEADS].map((line) => ({ from: line, to: line, why: 'head of a table' })),
];
