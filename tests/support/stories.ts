/** A hundred ordinary things that people ask of a coding assistant, with what a model does for them. */

export interface Story {
  /** turns: what the person says, then the calls; a third part is what the call gave */
  turns: Array<[says: string, ...calls: Array<[tool: string, args: Record<string, unknown>, output?: string]>]>;
  /** questions that taint adds in a new chat */
  adds?: number;
}

const read = (path: string): [string, Record<string, unknown>, string] => [
  'file_read',
  { path },
  `contents of ${path}`,
];
const edit = (path: string): [string, Record<string, unknown>, string] => [
  'file_edit',
  { path, find: 'a', replace: 'b' },
  'Edited.',
];
const run = (command: string): [string, Record<string, unknown>, string] => ['shell_run', { command }, 'ok'];
const page = (url: string, links = ''): [string, Record<string, unknown>, string] => [
  'web_fetch',
  { url },
  `A page\n${url}\n\nSome text. ${links}`,
];
const test: [string, Record<string, unknown>, string] = ['app_test', {}, '12 passed'];
/** What a careful assistant runs after a change of code. */
const checked = [run('npx tsc --noEmit'), run('npm run build')];
const one = (says: string, ...calls: Array<[string, Record<string, unknown>, string?]>): Story => ({
  turns: [[says, ...calls]],
});

export const stories: Story[] = [
  // talk that needs no tool, and work with git for which there is no tool
  one('What is the difference between a mutex and a semaphore?'),
  one('Write me a regular expression for ISO dates.'),
  one('How do I undo the last commit?'),
  one('Run the tests in the browser', run('npx playwright test')),
  one('Merge the branch experiment into main', run('git merge experiment'), run('npm test')),
  one(
    'Rebase my branch on main',
    run('git rebase main'),
    read('src/a.ts'),
    edit('src/a.ts'),
    run('git rebase --continue'),
  ),
  one(
    'Squash the last three commits',
    run('git log -4 --oneline'),
    run('git reset --soft HEAD~3'),
    run('git commit -m "One"'),
  ),
  one('Put my changes aside and look at the release branch', run('git stash'), run('git switch release')),
  one('Fill the database with examples', run('node scripts/seed.js'), run('node scripts/count.js')),
  one('Give me a commit message for a change of the log level'),
  // pages
  one('What does https://example.org/changelog say about 2.0?', page('https://example.org/changelog')),
  one('Summarise example.org/blog/streams for me', page('https://example.org/blog/streams')),
  one('Is the API of example.com up? Try https://status.example.com/api', page('https://status.example.com/api')),
  one('Find the newest version of left-pad', page('https://registry.npmjs.org/left-pad/latest')),
  one(
    'What does the MDN page on fetch say about keepalive?',
    page('https://developer.mozilla.org/en-US/docs/Web/API/fetch'),
  ),
  one(
    'Read https://example.org/docs and the chapter on streams that it links',
    page('https://example.org/docs', '[Streams](https://example.org/docs/streams?v=2)'),
    page('https://example.org/docs/streams?v=2'),
  ),
  one(
    'Compare https://a.example/pricing with https://b.example/pricing',
    page('https://a.example/pricing'),
    page('https://b.example/pricing'),
  ),
  {
    turns: [
      ['Read https://example.org/a', page('https://example.org/a')],
      ['And now https://example.org/b?lang=en', page('https://example.org/b?lang=en')],
      ['What do they have in common?'],
    ],
  },
  {
    turns: [
      [
        'What is on https://news.example/',
        page('https://news.example/', '[First](https://news.example/1) [Second](https://news.example/2)'),
      ],
      ['Open the second one', page('https://news.example/2')],
    ],
  },
  // the model knows a page that nobody named: one question
  {
    turns: [
      [
        'Does https://example.org/lib work with Node 24? Check its issues, too',
        page('https://example.org/lib'),
        page('https://github.com/example/lib/issues?q=node+24'),
      ],
    ],
    adds: 1,
  },
  one(
    'Look at https://example.org/spec and tell me the size limit',
    page('https://example.org/spec'),
    page('https://example.org/spec#limits'),
  ),
  one('Is there a newer release of zod?', page('https://registry.npmjs.org/zod/latest')),
  // reading a project
  one('What is in the demo project?', ['workspace_list', {}, '1 workspace: demo'], ['file_list', { path: '.' }, 'src']),
  one('Where is the port set?', ['file_search', { pattern: 'PORT' }, 'src/config.ts:3'], read('src/config.ts')),
  one('Explain src/app.ts', read('src/app.ts')),
  one('What changed since yesterday?', ['git_log', {}, 'abc Fix'], ['git_diff', {}, '+ x']),
  one('Is anything not committed?', ['git_status', {}, 'clean']),
  one('Who calls parse()?', ['file_search', { pattern: 'parse\\(' }, 'src/a.ts'], read('src/a.ts'), read('src/b.ts')),
  one('Switch to the shop project', ['workspace_select', { name: 'shop' }, 'Switched to shop']),
  one('Which branch am I on?', ['git_status', {}, 'main']),
  one('Read the README and tell me how to start it', read('README.md')),
  one('How large is the project?', ['file_list', { path: '.', depth: 3 }, '40 files']),
  one('Find all TODOs', ['file_search', { pattern: 'TODO' }, '3 matches']),
  one('What does the Dockerfile do?', read('Dockerfile')),
  // small changes
  one('Fix the typo in the README: teh', read('README.md'), edit('README.md')),
  one('Rename the variable x to count in src/a.ts', read('src/a.ts'), edit('src/a.ts'), test, ...checked),
  one('Add a line to .gitignore for dist', ['file_write', { path: '.gitignore', content: 'dist\n' }, 'Wrote.']),
  one(
    'Bump the version to 1.3.0 and commit',
    read('package.json'),
    edit('package.json'),
    ['git_commit', { message: 'Version 1.3.0' }, 'Committed'],
    ...checked,
  ),
  one(
    'Write a test for sum()',
    read('src/sum.ts'),
    ['file_write', { path: 'src/sum.test.ts', content: 'test' }, 'Wrote.'],
    test,
    ...checked,
  ),
  one('Run the tests', test),
  one('Run the tests again', test),
  one('Make a branch called experiment', ['git_branch', { action: 'create', name: 'experiment' }, 'Switched']),
  one('Commit everything as "Tidy up"', ['git_commit', { message: 'Tidy up' }, 'Committed']),
  one('Undo what the last task did', ['undo', {}, 'Undone']),
  one('Bring it back', ['undo', { what: 'redo' }, 'Redone']),
  one('Add a licence file, MIT', ['file_write', { path: 'LICENSE', content: 'MIT' }, 'Wrote.']),
  one('Sort the imports in src/app.ts', read('src/app.ts'), edit('src/app.ts'), ...checked),
  one(
    'Change the colour of the button to green',
    ['file_search', { pattern: 'button' }, 'src/a.css'],
    edit('src/a.css'),
    ...checked,
  ),
  one(
    'Turn the script into TypeScript',
    read('a.js'),
    ['file_write', { path: 'a.ts', content: 'x' }, 'Wrote.'],
    ['file_delete', { path: 'a.js' }, 'Deleted'],
    ...checked,
  ),
  one('Add a health endpoint', read('src/server.ts'), edit('src/server.ts'), test, ...checked),
  one(
    'Make the error message in login friendlier',
    ['file_search', { pattern: 'login' }, 'src/login.ts'],
    edit('src/login.ts'),
    ...checked,
  ),
  one('Update the copyright year', ['file_search', { pattern: '2025' }, 'LICENSE'], edit('LICENSE')),
  // commands and deletions, which are asked for anyway
  one('Run npm run build', run('npm run build')),
  one('What does node --version say?', run('node --version')),
  one('Format everything with prettier', run('npx prettier --write .'), run('npx prettier --check .')),
  one('Show the disk usage of the workspace', run('du -sh .')),
  one('Count the lines of code', run('wc -l src/*'), run('wc -l tests/*')),
  one(
    'Run the linter and fix what it finds',
    run('npm run lint'),
    read('src/a.ts'),
    edit('src/a.ts'),
    run('npm run lint'),
    ...checked,
  ),
  one('Delete src/old.ts', ['file_delete', { path: 'src/old.ts' }, 'Deleted']),
  one('Remove the folder tmp', ['folder_delete', { path: 'tmp' }, 'Deleted']),
  one('Delete the workspace playground', ['workspace_delete', { name: 'playground' }, 'Deleted']),
  one(
    'Does it compile? If not, repair it',
    run('npx tsc --noEmit'),
    read('src/app.ts'),
    edit('src/app.ts'),
    ...checked,
  ),
  one('Why does the build fail? Repair it', run('npm run build'), read('src/app.ts'), edit('src/app.ts'), ...checked),
  one(
    'Start the migration script',
    run('node scripts/migrate.js --dry-run'),
    run('node scripts/migrate.js'),
    run('node scripts/migrate.js --status'),
  ),
  one('Check which packages are outdated', read('package.json'), run('npm outdated'), run('npm audit --offline')),
  one(
    'Compress the images in assets',
    run('du -sh assets'),
    run('for f in assets/*; do gzip $f; done'),
    run('du -sh assets'),
  ),
  one('Rename all .jpeg files to .jpg', run('ls *.jpeg'), run('rename .jpeg .jpg *'), run('ls *.jpg')),
  one('Run the benchmark three times', run('npm run bench'), run('npm run bench'), run('npm run bench')),
  one('Kill the build cache and build again', ['folder_delete', { path: 'build' }, 'Deleted'], run('npm run build')),
  one('Generate the docs', run('npm run docs'), run('ls docs')),
  one('Which node versions does CI use?', read('.github/workflows/ci.yml')),
  one(
    'Check the types, then run the tests, and repair what fails',
    run('npx tsc --noEmit'),
    test,
    edit('src/a.ts'),
    run('npx tsc --noEmit'),
    test,
  ),
  one(
    'Replace moment by dayjs',
    ['file_search', { pattern: 'moment' }, 'src/d.ts'],
    edit('src/d.ts'),
    run('npm test'),
    ...checked,
  ),
  one(
    'Find out why it is slow',
    run('node --prof src/app.ts'),
    run('node --prof-process isolate.log'),
    read('prof.txt'),
    edit('src/app.ts'),
    run('node --prof src/app.ts'),
  ),
  // coding tasks
  one('Let an agent refactor the parser into modules', [
    'task_create',
    { goal: 'Refactor the parser into modules' },
    'Created task',
  ]),
  one('Have Claude write integration tests for the API', [
    'task_create',
    { goal: 'Write integration tests for the API', agent: 'auto' },
    'Created task',
  ]),
  one('Add dark mode to the site, that is a bigger thing', [
    'task_create',
    { goal: 'Add dark mode to the site' },
    'Created task',
  ]),
  one('How far is the task?', ['task_status', {}, 'running']),
  one('Pause it for now', ['task_pause', {}, 'Paused']),
  one('Cancel task tsk_a', ['task_cancel', { taskId: 'tsk_a' }, 'Cancelled']),
  {
    turns: [
      ['Is the task done?', ['task_status', {}, 'completed. 3 files changed']],
      ['Good. Now add tests for the parser', ['task_create', { goal: 'add tests for the parser' }, 'Created task']],
    ],
  },
  {
    turns: [
      ['How is the task?', ['task_status', {}, 'waits: which database?']],
      ['Tell it: use PostgreSQL', ['task_respond', { response: 'use PostgreSQL' }, 'Sent']],
    ],
  },
  // the model adds what it has read to the goal: one question
  {
    turns: [
      [
        'Look at the failing test and let an agent fix it',
        test,
        read('src/sum.ts'),
        ['task_create', { goal: 'Fix sum() in src/sum.ts, which fails for negative numbers' }, 'Created'],
      ],
    ],
    adds: 1,
  },
  // schedules and workflows
  one('Make a workflow that runs the tests and call it nightly', [
    'workflow_create',
    { name: 'nightly', steps: ['app_test'] },
    'Created',
  ]),
  one('Run it every night at 2', ['cron_create', { workflow: 'nightly', schedule: '0 2 * * *' }, 'Scheduled']),
  one('Which crons are there?', ['cron_list', {}, '1 cron']),
  one('Switch the nightly cron off', ['cron_update', { cron: 'nightly', enabled: false }, 'Disabled']),
  one('Run the nightly workflow now', ['workflow_run', { workflow: 'nightly' }, 'Started']),
  one('Delete the cron nightly', ['cron_delete', { cron: 'nightly' }, 'Deleted']),
  {
    turns: [
      [
        'Read package.json and make a cron that runs its checks on Mondays',
        read('package.json'),
        ['workflow_create', { name: 'checks', steps: ['app_test'] }, 'Created'],
      ],
    ],
    adds: 1,
  },
  // GitHub
  one('Push my work', ['workspace_sync', {}, 'pushed']),
  one('Push the shop project with the message "Spring"', [
    'workspace_sync',
    { name: 'shop', message: 'Spring' },
    'pushed',
  ]),
  one('Publish demo as a private repository', ['workspace_publish', { name: 'demo' }, 'Published']),
  one('Make a new project called garden from the node template', [
    'workspace_create',
    { name: 'garden', template: 'node' },
    'Created',
  ]),
  {
    turns: [
      [
        'Fix the typo in the README and push it',
        read('README.md'),
        edit('README.md'),
        ['workspace_sync', {}, 'pushed'],
      ],
    ],
    adds: 1,
  },
  {
    turns: [
      ['Run the tests', test],
      ['Good, make a new workspace called orchard', ['workspace_create', { name: 'orchard' }, 'Created']],
    ],
  },
  // questions of the model
  one('Deploy it', ['ask_user', { question: 'Where to?', options: ['staging', 'live'] }, 'staging']),
  one(
    'Make the chart nicer',
    ['ask_user', { question: 'Which one?' }, 'the one on the start page'],
    read('src/chart.ts'),
    edit('src/chart.ts'),
  ),
  one(
    'Read that page for me',
    ['ask_user', { question: 'Which page?' }, 'https://example.org/which'],
    page('https://example.org/which'),
  ),
  one(
    'Clean up',
    ['ask_user', { question: 'May everything in tmp go?' }, 'yes'],
    ['folder_delete', { path: 'tmp' }, 'Deleted'],
  ),
];
