import type { Config } from '../../config.ts';
import { startOver } from '../../gateway/intake/reconcile/start-over.ts';
import { findGoneHost, forgetHost, loseTask } from '../../store/kennel/gone-host.ts';
import { listHosts } from '../../store/kennel/hosts.ts';
import { withStore } from '../instance/servers/with-store.ts';
import { connectTemporal } from '../roles/connect.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * `fetch kennel forget-host`: removes a host that is gone for good. Tasks that wait for it are lost then, which needs
 * `--yes`; their chats are told.
 */
export const run = (config: Config, name: string, { yes = false }: { yes?: boolean }): Promise<void> =>
  withStore(config, 'fetch-forget-host', async ({ db }) => {
    const gone = await findGoneHost(db, name);
    if (!gone) {
      const known = (await listHosts(db)).map(({ host }) => host);
      throw new Error(
        `There is no kennel host ${name}. ${known.length > 0 ? `Known are: ${known.join(', ')}` : 'None is known.'}`,
      );
    }
    if (gone.alive)
      throw new Error(
        `The host ${name} is there (seen at ${gone.seenAt.toISOString()}). Stop its kennel first, and wait half a minute.`,
      );
    say(`${name} was seen last at ${gone.seenAt.toISOString()}. Workspaces: ${gone.workspaces.join(', ') || 'none'}.`);
    for (const { id, workspace, state } of gone.tasks)
      say(`  task ${id} in ${workspace}: ${state}, waits for this host`);
    if (gone.tasks.length > 0 && !yes)
      throw new Error(
        'These tasks would be lost, and their chats told. Do it: the same with --yes. If the host comes back, they go on by themselves.',
      );
    if (gone.tasks.length > 0) {
      const { temporal, close } = await connectTemporal(config);
      try {
        for (const task of gone.tasks) {
          // the row first: what compares rows with Temporal would begin its workflow again
          await loseTask(db, task);
          await startOver(temporal, task.workflow_id, `its host ${name} was removed for good`);
        }
      } finally {
        await close();
      }
    }
    await forgetHost(db, name);
    say(
      `${name} is removed from the list.${gone.tasks.length > 0 ? ' The chats of its tasks are told within a minute.' : ''}`,
    );
  });
