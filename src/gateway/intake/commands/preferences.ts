import { preferencesText } from '../../../domain/chat/preferences.ts';
import { parseSignOff, type SignOrder, signature } from '../../../domain/chat/words/sign-off.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { chosenIn } from '../../../store/chats/preferences.ts';
import { gitIdentity, setSignature, signatureOf } from '../../../store/kennel/workspaces/signatures.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { command, saying } from './command.ts';

/** Shows what was chosen. It is changed by talking, because the ways to say it have no end. */
export const preferences = command({
  topic: 'schedules',
  help: ['helps.preferences'],
  parse: saying('preferences', 'prefs', 'settings', 'show preferences', 'my preferences'),
  mayAnswer: 'question',
  run: async (_, { tx, config, say }) => {
    const { preferences: chosen, autonomy } = await chosenIn(tx.now, tx.chatId);
    return preferencesText(chosen, { autonomy, timeZone: chosen.timeZone ?? config.FETCH_TIME_ZONE }, say);
  },
});

export const signCommand = command({
  topic: 'tasks',
  help: ['helps.sign'],
  parse: parseSignOff,
  run: (order, { tx, owned, shared, say }) => signOff(tx.now, order, { chatId: tx.chatId, owned, shared, say }),
});

/** Returns what the person is told. */
async function signOff(
  tx: Tx,
  order: SignOrder,
  at: { chatId: string; owned: boolean; shared: boolean; say: Say },
): Promise<string> {
  const { say } = at;
  if (order === 'who') {
    const now = await signatureOf(tx, at.chatId);
    return say('sign.who', { name: now ? signature(now) : 'Fetch' });
  }
  if ('problem' in order) return say(order.problem);
  if (at.shared && !at.owned) return say('owner.sign');
  const by = order.as === 'me' ? await ownIdentity(tx, at) : order.as;
  if (typeof by === 'string') return by;
  await setSignature(tx, at.chatId, by);
  return by ? say('sign.by', { name: signature(by) }) : say('sign.fetch');
}

/** What git on the machine says about its owner, or why that does not help. */
async function ownIdentity(tx: Tx, { owned, say }: { owned: boolean; say: Say }) {
  return owned ? ((await gitIdentity(tx)) ?? say('sign.noGit')) : say('sign.unknown');
}
