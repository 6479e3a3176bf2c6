import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { deleteSchedule } from '../../adapters/schedules.ts';
import { deleteRuns } from '../../adapters/workflows.ts';
import type { Config } from '../../config.ts';
import { trustedBySetting } from '../../gateway/intake/commands/trusted.ts';
import { forgetRows } from '../../store/home/forget.ts';
import { atWork, findSubject, type Subject } from '../../store/home/subject.ts';
import type { Db } from '../../store/postgres/database.ts';
import { withStore } from '../instance/servers/with-store.ts';
import { connectTemporal } from '../roles/connect.ts';

/** `fetch forget`: deletes what is stored of a chat or a person. Without `--yes` it only says what it would do. */

const write = (text: string): void => void process.stdout.write(`${text}\n`);

export const run = (config: Config, named: string, { yes = false }: { yes?: boolean }): Promise<void> =>
  withStore(config, 'fetch-forget', async ({ db }) => {
    const subject = await findSubject(db, named);
    if (!subject)
      throw new Error(
        `Nothing is stored of "${named}". Name a chat or thread by its id, or a person by an international number or by the name on Telegram.`,
      );
    const busy = await atWork(db, subject);
    if (busy) throw new Error(`${busy} is at work in it. Say "stop" in its chat first.`);
    const counts = await forgetRows(db, subject, { dryRun: true });
    write(yes ? 'Deleted:' : 'Would be deleted:');
    const done = yes ? await forgetAll(config, db, subject) : { counts, runs: null };
    for (const [table, rows] of Object.entries(done.counts).sort()) write(`  ${rows} in ${table}`);
    write(
      `  ${done.runs === null ? `the runs of ${subject.workflows.length} workflows` : `${done.runs} runs`} and ${subject.crons.length} schedules in Temporal`,
    );
    const folders = taskFolders(config, subject);
    if (folders.length > 0)
      write(`  ${folders.length} folders of coding tasks in ${join(config.FETCH_HOME, 'kennel/runs')}`);
    for (const folder of yes ? folders : []) rmSync(folder, { recursive: true, force: true });
    for (const line of remains(config, subject)) write(line);
    if (!yes) write('Nothing was changed. Do it: the same with --yes');
  });

/**
 * Temporal first, while the rows still name what is there, and once more: a comparison may have brought a workflow back
 * meanwhile.
 */
async function forgetAll(
  config: Config,
  db: Db,
  subject: Subject,
): Promise<{ counts: Record<string, number>; runs: number }> {
  const { temporal, close } = await connectTemporal(config);
  try {
    const before = await forgetInTemporal(temporal, subject);
    const counts = await forgetRows(db, subject, { dryRun: false });
    return { counts, runs: before + (await forgetInTemporal(temporal, subject)) };
  } finally {
    await close();
  }
}

async function forgetInTemporal(temporal: Client, { workflows, crons }: Subject): Promise<number> {
  for (const cron of crons) await deleteSchedule(temporal, cron);
  return await deleteRuns(temporal, workflows);
}

const taskFolders = ({ FETCH_HOME }: Config, { tasks }: Subject): string[] =>
  tasks.map((id) => join(FETCH_HOME, 'kennel/runs', id)).filter((folder) => existsSync(folder));

/** What stays, and why. */
function remains(config: Config, { workspaces, groups, phone, tasks }: Subject): string[] {
  return [
    'Stays:',
    ...(existsSync(join(config.FETCH_HOME, 'nanoclaw'))
      ? [`  what was imported of NanoClaw: delete it in ${join(config.FETCH_HOME, 'nanoclaw')}`]
      : []),
    ...(workspaces.length > 0
      ? [
          `  workspaces ${workspaces.join(', ')} with their git history: others may use them. Say "delete workspace NAME" in a chat.`,
        ]
      : []),
    ...(groups.length > 0
      ? [
          `  answers and summaries in groups that followed what was written there: forget them too, if you like: ${groups.map((id) => `fetch forget ${id}`).join('; ')}`,
        ]
      : []),
    ...(phone && trustedBySetting(config).includes(phone)
      ? ['  the number in TRUSTED_PHONE_NUMBERS: take it out there, or what comes from it is stored again']
      : []),
    ...(tasks.length > 0 ? ['  folders of coding tasks on other kennel hosts, for 30 days'] : []),
    '  memories of the owner, which belong to no chat: fetch memory list',
    '  the audit log: ids, and the last four digits of a number',
    '  log files, which have ids and no texts',
    '  backups from before, and pages of the databases that are not written over yet',
    '  what the other side has: their phone, the provider of the model, and what was pushed with git',
  ];
}
