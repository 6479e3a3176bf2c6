import { parseGroupOrder } from '../../../domain/chat/groups.ts';
import { listGroups } from '../../../store/chats/groups.ts';
import { listedGroups, namedPlaces } from '../../../store/owner/places.ts';
import { command, saying } from './command.ts';
import { toolTurn } from './tools.ts';

/** In which groups I answer. */

const OWN = 'Say that in our own chat, and not in a group.';

export const groups = command({
  topic: 'trust',
  help: [
    '`groups` lists the groups that I am in; `answer in Family` has me answer there, `stop answering in Family` ends it',
  ],
  parse: saying('groups', 'list groups', 'show groups', 'my groups'),
  mayAnswer: true,
  ownersOnly: () => 'Only the owner sees my groups.',
  run: async (_, { tx, config, shared }) => {
    if (shared) return OWN;
    const found = await listedGroups(tx.now, config);
    if (found.length === 0) return 'I am in no group yet. Add me to one, and I tell you here.';
    return found.map(({ line }) => line).join('\n');
  },
});

export const answerIn = command({
  help: [],
  parse: parseGroupOrder,
  // "answer in German, please" goes on
  mayContinue: true,
  mayAnswer: true,
  run: async ({ group }, context) => {
    const { tx, text, owned, shared } = context;
    const known = namedPlaces(await listGroups(tx.now), group);
    if (known.length === 0) return null;
    if (!owned) return 'Only the owner says where I answer.';
    return shared ? OWN : toolTurn(context, text.trim().startsWith('/') ? text.trim() : `/${text.trim()}`);
  },
});
