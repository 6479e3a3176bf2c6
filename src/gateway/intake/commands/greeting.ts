import { greetingText } from '../../../domain/chat/words/help.ts';
import { isBlank } from '../../../store/turns/steps/transcript.ts';
import { command, saying } from './command.ts';
import { setUpOf } from './help.ts';

const GREETINGS = ['hi', 'hello', 'hey', 'hallo', 'good morning', 'good afternoon', 'good evening', 'good day'];

/** A greeting gets one back, with what can be tried. In a conversation that has begun, it is for the model. */
export const greeting = command({
  help: [],
  parse: saying(...GREETINGS, ...GREETINGS.flatMap((words) => [`${words} there`, `${words} fetch`, `${words}, fetch`])),
  mayAnswer: true,
  mayContinue: true,
  run: async (_, { tx, config, owned, turnId }) => {
    if (turnId || !(await isBlank(tx.now, tx.threadId))) return null;
    return greetingText(await setUpOf(tx.now, config), owned ? config.FETCH_USER_NAME : undefined);
  },
});
