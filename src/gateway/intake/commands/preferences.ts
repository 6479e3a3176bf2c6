import { preferencesText } from '../../../domain/chat/preferences.ts';
import { chosenIn } from '../../../store/chats/preferences.ts';
import { command, saying } from './command.ts';

/** Shows what was chosen. It is changed by talking, because the ways to say it have no end. */
export const preferences = command({
  help: [
    '`preferences` shows brevity, language, time zone, notifications and quiet hours of this chat; just say what should change, such as "no messages between 22 and 7"',
  ],
  parse: saying('preferences', 'prefs', 'settings', 'show preferences', 'my preferences'),
  mayAnswer: true,
  run: async (_, { tx, config }) => {
    const { preferences: chosen, autonomy } = await chosenIn(tx.now, tx.chatId);
    return preferencesText(chosen, { autonomy, timeZone: chosen.timeZone ?? config.FETCH_TIME_ZONE });
  },
});
