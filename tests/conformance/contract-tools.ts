/** What the contract says about each of its tools: arguments with their limits and defaults, and danger. */

export interface Promised {
  danger: 'SAFE' | 'MODERATE' | 'DANGEROUS';
  /** a smallest call that is right */
  call: Record<string, unknown>;
  /** values of arguments that are accepted and refused, added to the smallest call */
  accepts?: Array<Record<string, unknown>>;
  refuses?: Array<Record<string, unknown>>;
  /** arguments that a call may not leave out */
  needs?: string[];
  /** what an argument is when it is left out */
  defaults?: Record<string, unknown>;
}

const text = (length: number): string => 'x'.repeat(length);
const list = (length: number, each = 'x'): string[] => Array.from({ length }, (_, index) => `${each}${index}`);

export const CONTRACT: Record<string, Promised> = {
  workspace_list: { danger: 'SAFE', call: {} },
  workspace_select: { danger: 'SAFE', call: { name: 'shop' }, needs: ['name'] },
  workspace_status: { danger: 'SAFE', call: {}, accepts: [{ name: 'shop' }] },
  workspace_create: {
    danger: 'MODERATE',
    call: { name: 'my-app_1' },
    needs: ['name'],
    defaults: { template: 'empty', description: '', initGit: true },
    accepts: [
      { name: text(64) },
      { description: text(256) },
      ...['empty', 'node', 'python', 'rust', 'go', 'react', 'next'].map((template) => ({ template })),
    ],
    refuses: [{ name: text(65) }, { name: 'a b' }, { name: '../a' }, { template: 'cobol' }, { description: text(257) }],
  },
  workspace_delete: { danger: 'DANGEROUS', call: { name: 'shop' }, needs: ['name'], accepts: [{ confirm: true }] },
  file_delete: {
    danger: 'DANGEROUS',
    call: { path: 'src/temp.txt' },
    needs: ['path'],
    accepts: [{ workspace: 'shop', confirm: true }],
    refuses: [{ path: '../x' }, { path: '/etc/passwd' }, { path: '' }],
  },
  folder_delete: {
    danger: 'DANGEROUS',
    call: { path: 'src/generated' },
    needs: ['path'],
    accepts: [{ workspace: 'shop', confirm: true }],
    refuses: [{ path: '../x' }, { path: '.' }, { path: '/' }],
  },
  workspace_sync: {
    danger: 'MODERATE',
    call: {},
    accepts: [{ name: 'shop', message: text(256) }],
    refuses: [{ message: text(257) }],
  },
  workspace_publish: {
    danger: 'MODERATE',
    call: {},
    defaults: { isPublic: false },
    accepts: [{ name: 'shop', description: text(256) }],
    refuses: [{ description: text(257) }],
  },
  task_create: {
    danger: 'MODERATE',
    call: { goal: 'Add error handling' },
    needs: ['goal'],
    defaults: { agent: 'auto' },
    accepts: [
      { goal: text(2000) },
      { timeout: 1_000 },
      { timeout: 1_800_000 },
      { workspace: 'shop' },
      ...['copilot', 'gemini', 'claude', 'opencode', 'codex', 'auto'].map((agent) => ({ agent })),
    ],
    refuses: [{ goal: '' }, { agent: 'eliza' }, { timeout: 999 }],
  },
  task_status: { danger: 'SAFE', call: {}, accepts: [{ taskId: 'tsk_1234567890' }] },
  task_cancel: { danger: 'MODERATE', call: { taskId: 'tsk_1234567890' }, needs: ['taskId'] },
  task_respond: {
    danger: 'SAFE',
    call: { response: 'yes' },
    needs: ['response'],
    accepts: [{ response: text(1000), taskId: 'tsk_1234567890' }],
    refuses: [{ response: '' }],
  },
  ask_user: {
    danger: 'SAFE',
    call: { question: 'Which one?' },
    needs: ['question'],
    accepts: [{ question: text(500) }, { options: list(10) }, { options: [text(100)] }],
    refuses: [{ question: text(501) }, { options: list(11) }, { options: [text(101)] }],
  },
  report_progress: {
    danger: 'SAFE',
    call: { message: 'half way' },
    needs: ['message'],
    accepts: [{ percent: 0 }, { percent: 100 }, { message: text(500) }],
    refuses: [{ percent: -1 }, { percent: 101 }, { message: text(501) }],
  },
  github_pr_create: {
    danger: 'MODERATE',
    call: { title: 'Add auth' },
    needs: ['title'],
    defaults: { base: 'main', draft: true },
    accepts: [{ title: text(256), body: text(4000), base: text(100), workspace: 'shop' }],
    refuses: [{ title: text(257) }, { body: text(4001) }, { base: text(101) }],
  },
  github_pr_list: {
    danger: 'SAFE',
    call: {},
    defaults: { state: 'open', limit: 10 },
    accepts: [
      { state: 'closed' },
      { state: 'all' },
      { repo: 'facebook/react' },
      { limit: 1 },
      { limit: 100 },
      { workspace: 'shop' },
    ],
    refuses: [{ state: 'merged' }, { repo: 'react' }, { limit: 0 }, { limit: 101 }],
  },
  github_pr_view: {
    danger: 'SAFE',
    call: { number: 7 },
    needs: ['number'],
    accepts: [{ repo: 'facebook/react', workspace: 'shop' }],
    refuses: [{ number: 0 }],
  },
  github_issue_create: {
    danger: 'MODERATE',
    call: { title: 'Crash' },
    needs: ['title'],
    accepts: [{ title: text(256), body: text(4000), labels: list(10), workspace: 'shop' }, { labels: [text(50)] }],
    refuses: [{ title: text(257) }, { body: text(4001) }, { labels: list(11) }, { labels: [text(51)] }],
  },
  github_issue_list: {
    danger: 'SAFE',
    call: {},
    defaults: { state: 'open' },
    accepts: [{ state: 'all', assignee: text(39), labels: list(10), workspace: 'shop' }],
    refuses: [{ state: 'new' }, { assignee: text(40) }, { labels: list(11) }],
  },
  github_branch_create: {
    danger: 'MODERATE',
    call: { name: 'feature/a-1.2' },
    needs: ['name'],
    accepts: [{ name: text(100), from: 'main', workspace: 'shop' }],
    refuses: [{ name: text(101) }, { name: 'a b' }, { from: '--upload-pack=x' }],
  },
  github_action_status: { danger: 'SAFE', call: {}, accepts: [{ workspace: 'shop' }] },
  github_search_repos: {
    danger: 'SAFE',
    call: { query: 'cats' },
    needs: ['query'],
    defaults: { limit: 5 },
    accepts: [{ query: text(256) }, { limit: 1 }, { limit: 20 }],
    refuses: [{ query: text(257) }, { limit: 0 }, { limit: 21 }],
  },
  web_fetch: {
    danger: 'SAFE',
    call: { url: 'https://example.com' },
    needs: ['url'],
    accepts: [{ selector: text(200) }],
    refuses: [{ url: 'ftp://example.com' }, { url: 'nowhere' }, { selector: text(201) }],
  },
  web_search: {
    danger: 'SAFE',
    call: { query: 'cats' },
    needs: ['query'],
    defaults: { count: 5, category: 'general' },
    accepts: [
      { query: text(400) },
      { count: 1 },
      { count: 20 },
      ...['general', 'images', 'news', 'science', 'it'].map((category) => ({ category })),
    ],
    refuses: [{ query: '' }, { query: text(401) }, { count: 0 }, { count: 21 }, { category: 'maps' }],
  },
  browser_open: {
    danger: 'MODERATE',
    call: { url: 'https://example.com' },
    needs: ['url'],
    defaults: { waitUntil: 'load' },
    accepts: [
      { url: 'http://example.com/a?b=c#d' },
      ...['load', 'domcontentloaded', 'networkidle'].map((waitUntil) => ({ waitUntil })),
    ],
    refuses: [
      ...[
        'nowhere',
        '',
        'file:///etc/passwd',
        'chrome://settings',
        'javascript:alert(1)',
        'data:text/html,x',
        'https://ann:secret@example.com',
      ].map((url) => ({
        url,
      })),
      { waitUntil: 'commit' },
    ],
  },
  browser_snapshot: { danger: 'SAFE', call: {} },
  browser_action: {
    danger: 'MODERATE',
    call: { action: 'scroll_down' },
    needs: ['action'],
    accepts: [
      ...['scroll_down', 'scroll_up', 'back', 'forward'].map((action) => ({ action })),
      { action: 'click', ref: 12 },
      { action: 'click', x: 10, y: 20 },
      { action: 'type', ref: 12, text: text(2000) },
    ],
    refuses: [
      { action: 'scroll', direction: 'down' },
      { action: 'click' },
      { action: 'click', x: 10 },
      { action: 'type', text: 'Ada' },
      { action: 'type', ref: 12 },
      { action: 'type', ref: 12, text: ' ' },
      { action: 'type', ref: 12, text: text(2001) },
      { action: 'click', ref: 0 },
      { action: 'click', ref: 1.5 },
      { action: 'click', x: -1, y: 0 },
    ],
  },
  browser_screenshot: { danger: 'SAFE', call: {} },
  workflow_create: {
    danger: 'MODERATE',
    call: { name: 'nightly', steps: ['workflow_list'] },
    needs: ['name', 'steps'],
    accepts: [
      { name: text(80) },
      { description: text(300) },
      { workspace: 'shop' },
      { steps: list(30) },
      { steps: [{ tool: 'app_test', name: text(80), args: {} }] },
    ],
    refuses: [
      { name: text(81) },
      { description: text(301) },
      { steps: [] },
      { steps: list(31) },
      { steps: [{ tool: 'No Tool' }] },
    ],
  },
  workflow_list: {
    danger: 'SAFE',
    call: {},
    defaults: { includeRuns: false, runLimit: 10 },
    accepts: [{ includeRuns: true, runLimit: 1 }, { runLimit: 50 }],
    refuses: [{ runLimit: 0 }, { runLimit: 51 }],
  },
  workflow_run: { danger: 'MODERATE', call: { workflow: 'nightly' }, needs: ['workflow'] },
  workflow_delete: { danger: 'MODERATE', call: { workflow: 'nightly' }, needs: ['workflow'] },
  cron_create: {
    danger: 'MODERATE',
    call: { workflow: 'nightly', schedule: '0 3 * * *' },
    // a prompt may stand in place of the workflow
    needs: ['schedule'],
    defaults: { timezone: undefined },
  },
  cron_list: { danger: 'SAFE', call: {} },
  cron_run: { danger: 'MODERATE', call: { cron: 'nightly' }, needs: ['cron'] },
  cron_delete: { danger: 'MODERATE', call: { cron: 'nightly' }, needs: ['cron'] },
  app_run: {
    danger: 'DANGEROUS',
    call: { command: 'npm run build' },
    defaults: { timeoutMs: 120_000, keep: false },
    accepts: [{ command: text(4000) }, { timeoutMs: 1_000 }, { timeoutMs: 1_800_000 }, { workspace: 'shop' }],
    refuses: [{ command: ' ' }, { command: text(4001) }, { timeoutMs: 999 }, { timeoutMs: 1_800_001 }],
  },
  app_test: {
    danger: 'MODERATE',
    call: {},
    defaults: { timeoutMs: 300_000 },
    accepts: [{ command: 'npm test' }, { timeoutMs: 1_000 }, { workspace: 'shop' }],
    refuses: [{ timeoutMs: 1_800_001 }],
  },
  browser_test: {
    danger: 'MODERATE',
    call: { url: 'https://example.com' },
    needs: ['url'],
    defaults: { waitUntil: 'load', mustInclude: [], screenshot: false },
    accepts: [{ mustInclude: list(30) }, { screenshot: true }],
    refuses: [{ mustInclude: list(31) }, { mustInclude: [' '] }, { url: 'file:///etc/passwd' }],
  },
};
