import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { until } from '../../support/until.ts';
import { type Story, step } from '../story.ts';

/** The clock of the quiet hours is UTC, as the settings say by default. */
const clock = (at: number): string => new Date(at).toISOString().slice(11, 16);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Soon enough for a test, late enough for what is said before it. */
const NIGHT_IN_MS = 40_000;
/** A cron fires at a full minute; then two projects are tested at once, on a machine that may be busy. */
const NIGHT_MS = NIGHT_IN_MS + MINUTE_MS + 180_000;

/** Tests of every night: quiet hours hold back that all is well, and a failure is told in the night. */
export const night: Story = {
  title: 'a nightly routine of tests, whose failure is told in quiet hours, while its success waits for the morning',
  settings: { FETCH_AUTONOMY: 'autonomous' },
  tell: ({ ann, app, folder }) => {
    const quiet = `${clock(Date.now() - HOUR_MS)}-${clock(Date.now() + 2 * HOUR_MS)}`;
    const tests = (workspace: string) => [{ tool: 'app_test', name: 'Tests', args: { workspace } }];
    return [
      step('Ann wants no messages in these hours', () =>
        ann.asks([['preferences', { quietHours: quiet }]], 'Quiet now.'),
      ),
      step('the phone says so', () => ann.sees(/Quiet now/)),
      step('Ann asks for two projects with tests', () =>
        ann.asks(
          [
            ['workspace_create', { name: 'well', template: 'node' }],
            ['workspace_create', { name: 'ill', template: 'node' }],
            ['workflow_create', { name: 'Well', steps: tests('well') }],
            ['workflow_create', { name: 'Ill', steps: tests('ill') }],
          ],
          'Both have tests.',
        ),
      ),
      step('the phone says that they have', () => ann.sees(/Both have tests/)),
      step('Ann wants both tested every night', () => {
        const due = new Date(Math.ceil((Date.now() + NIGHT_IN_MS) / MINUTE_MS) * MINUTE_MS);
        const schedule = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
        return ann.asks(
          [
            ['cron_create', { workflow: 'Well', schedule }],
            ['cron_create', { workflow: 'Ill', schedule }],
          ],
          'Both are tested every night.',
        );
      }),
      step('the phone says that they are', () => ann.sees(/Both are tested every night/)),
      step('a change breaks the tests of one', async () => {
        writeFileSync(join(folder('ill'), 'src/greeting.js'), 'export const greeting = () => "Good night";\n');
      }),
      step('the phone shows in the night what has failed', () => ann.sees(/^Ill did not work[\s\S]*Tests/, NIGHT_MS)),
      step('the other result is there, and waits', () =>
        until('it is stored', () =>
          app.store.db.selectFrom('outbox').select('id').where('body', 'like', 'Well:%').executeTakeFirst(),
        ),
      ),
      step('Ann asks for the status', () => ann.says('status')),
      step('the phone says that one message waits', () => ann.sees(/Quiet hours: 1 message waits until/)),
      step('Ann wants messages again', () => ann.asks([['preferences', { quietHours: 'default' }]], 'No quiet hours.')),
      step('the phone says so', () => ann.sees(/No quiet hours/)),
      step('the phone shows what was held back', () => ann.sees(/^Well:/)),
      step('Ann ends the one that fails', () => ann.says('schedules remove Ill')),
      step('the phone says that it is ended, because her words are the action', () =>
        ann.sees(/The schedule "Ill" is gone/),
      ),
    ];
  },
  end: async ({ app, onGitHub }) => {
    expect(await app.store.db.selectFrom('crons').select('name').execute()).toEqual([{ name: 'Well' }]);
    const results = await app.store.db
      .selectFrom('outbox')
      .select(['body', 'state'])
      .where('kind', '=', 'result')
      .orderBy('body')
      .execute();
    expect(results).toMatchObject([
      { body: expect.stringMatching(/^Ill did not work/), state: 'sent' },
      { body: expect.stringMatching(/^Well:/), state: 'sent' },
    ]);
    expect(onGitHub('ill', 'rev-list', '--count', 'main')).toBe('1');
  },
};
