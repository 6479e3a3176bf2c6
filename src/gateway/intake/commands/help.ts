import { endpointOf } from '../../../adapters/model/endpoint/endpoint.ts';
import type { Config } from '../../../config.ts';
import {
  type AskedHelp,
  greetingText,
  type HelpLine,
  helpText,
  type SetUp,
  shortHelp,
} from '../../../domain/chat/words/help.ts';
import { listHosts } from '../../../store/kennel/hosts.ts';
import type { Db, Tx } from '../../../store/postgres/database.ts';
import { isBlank } from '../../../store/turns/steps/transcript.ts';
import { type Command, type CommandContext, command, saying } from './command.ts';

export const helpOf = async (
  about: AskedHelp | null,
  { tx, config, say }: CommandContext,
  commands: readonly Command[],
): Promise<string> =>
  about === null ? shortHelp(await setUpOf(tx.now, config), say) : helpText(about, helpLines(commands), say);

export const helpLines = (commands: readonly Command[]): HelpLine[] =>
  commands.flatMap(({ help, topic }) => help.map((line) => ({ line, topic })));

/** What is set up right now: help mentions only that. */
export async function setUpOf(db: Db | Tx, config: Config): Promise<SetUp> {
  const hosts = await listHosts(db);
  return { practice: endpointOf(config) === null, tasks: hosts.some(({ alive, ready }) => alive && ready) };
}

const GREETINGS = [
  ...['hi', 'hello', 'hey', 'good morning', 'good afternoon', 'good evening', 'good day'],
  ...['hallo', 'moin', 'servus', 'guten morgen', 'guten tag', 'guten abend'],
  ...['hola', 'buenas', 'buenos días', 'buenas tardes', 'buenas noches'],
  ...['oi', 'olá', 'ola', 'bom dia', 'boa tarde', 'boa noite'],
  ...['salut', 'bonjour', 'bonsoir', 'coucou'],
  ...['नमस्ते', 'नमस्कार', 'हैलो'],
];

/** A greeting gets one back, with what can be tried. In a conversation that has begun, it is for the model. */
export const greeting = command({
  help: [],
  parse: saying(...GREETINGS, ...GREETINGS.flatMap((words) => [`${words} there`, `${words} fetch`, `${words}, fetch`])),
  mayAnswer: true,
  mayContinue: true,
  run: async (_, { tx, config, say, owned, turnId }) => {
    if (turnId || !(await isBlank(tx.now, tx.threadId))) return null;
    return greetingText(await setUpOf(tx.now, config), owned ? config.FETCH_USER_NAME : undefined, say);
  },
});
