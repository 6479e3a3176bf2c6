import { endpointOf } from '../../../adapters/model/endpoint/endpoint.ts';
import type { Config } from '../../../config.ts';
import { helpText, type SetUp } from '../../../domain/chat/words/help.ts';
import { listHosts } from '../../../store/kennel/hosts/hosts.ts';
import type { Db, Tx } from '../../../store/postgres/database.ts';
import type { Command, CommandContext } from './command.ts';

export const helpOf = async ({ tx, config }: CommandContext, commands: readonly Command[]): Promise<string> =>
  helpText(
    await setUpOf(tx.now, config),
    commands.flatMap((each) => each.help),
  );

/** What is set up right now: help mentions only that. */
export async function setUpOf(db: Db | Tx, config: Config): Promise<SetUp> {
  const hosts = await listHosts(db);
  return { practice: endpointOf(config) === null, tasks: hosts.some(({ alive, ready }) => alive && ready) };
}
