import { preferencesText } from '../../../domain/chat/preferences.ts';
import { parseSignOff, SIGN_FORM, type SignOrder, signature, signText } from '../../../domain/chat/words/sign-off.ts';
import { chosenIn } from '../../../store/chats/preferences.ts';
import { gitIdentity, setSignature, signatureOf } from '../../../store/kennel/workspaces/signatures.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { command, saying } from './command.ts';

/** Shows what was chosen. It is changed by talking, because the ways to say it have no end. */
export const preferences = command({
  topic: 'schedules',
  help: ['helps.preferences'],
  parse: saying('preferences', 'prefs', 'settings', 'show preferences', 'my preferences'),
  mayAnswer: true,
  run: async (_, { tx, config, say }) => {
    const { preferences: chosen, autonomy } = await chosenIn(tx.now, tx.chatId);
    return preferencesText(chosen, { autonomy, timeZone: chosen.timeZone ?? config.FETCH_TIME_ZONE }, say);
  },
});

export const signCommand = command({
  topic: 'tasks',
  help: ['helps.sign'],
  parse: parseSignOff,
  run: (order, { tx, owned, shared }) => signOff(tx.now, order, { chatId: tx.chatId, owned, shared }),
});

/** Returns what the person is told. */
async function signOff(
  tx: Tx,
  order: SignOrder,
  at: { chatId: string; owned: boolean; shared: boolean },
): Promise<string> {
  if (order === 'who') {
    const now = await signatureOf(tx, at.chatId);
    return `Commits are by ${now ? signature(now) : 'Fetch'}. Change it with ${SIGN_FORM}.`;
  }
  if ('problem' in order) return order.problem;
  if (at.shared && !at.owned) return 'In a group only the owner says who the commits are by.';
  const by = order.as === 'me' ? await ownIdentity(tx, at.owned) : order.as;
  if (typeof by === 'string') return by;
  await setSignature(tx, at.chatId, by);
  return signText(by);
}

/** What git on the machine says about its owner, or why that does not help. */
async function ownIdentity(tx: Tx, owned: boolean) {
  if (!owned) return `I do not know your name and address: say ${SIGN_FORM}.`;
  return (await gitIdentity(tx)) ?? `Git on this machine has no name for you: say ${SIGN_FORM}.`;
}
