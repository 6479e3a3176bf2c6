import { optionOf, reactionAnswer } from './whatsapp/reactions.ts';

/**
 * Words that work without a model, and while the model is down. Only a message that consists of nothing else is a
 * command, so a sentence that contains "stop" is never swallowed.
 */
export type Command = 'stop' | 'status' | 'help' | 'yes' | 'no';

const words: Record<Command, readonly string[]> = {
  stop: [
    'stop',
    'cancel',
    'abort',
    'halt',
    'stop it',
    'stop now',
    'stop that',
    'please stop',
    'cancel it',
    'cancel that',
    'abort it',
    '/stop',
    '/cancel',
    '🛑',
    '⏹️',
  ],
  status: ['status', '/status', '/st', "what's running", 'what is running', 'are you busy'],
  help: ['help', '/help', '/h', '/?', '?', 'what can you do'],
  yes: ['yes', 'y', 'yes please', 'yep', 'ok', 'okay', 'allow', 'approve', '👍', '✅', '👌'],
  no: ['no', 'n', 'nope', 'no thanks', 'deny', 'reject', '👎', '❌'],
};

const byWord = new Map<string, Command>(Object.entries(words).flatMap(([command, list]) => list.map((word) => [word, command as Command])));

/** The command that a whole message is, or null. Case and closing punctuation do not matter. */
export function parseCommand(text: string): Command | null {
  const plain = text.trim().toLowerCase().replace(/\s+/g, ' ').replace(/’/g, "'");
  // an emoji comes in skin tones and presentations that no list has
  return byWord.get(plain) ?? byWord.get(plain.replace(/[.!\s]+$/, '')) ?? (plain === '??' ? 'help' : reactionAnswer(plain));
}

/** The number that a whole reply is, a keycap such as 2️⃣ included. */
function numberIn(reply: string): number | null {
  const digits = /^\(?#?(\d{1,2})(?:[.)]|\ufe0f?\u20e3)?$/.exec(reply.trim())?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Which option a reply means: by number, by the whole word, by an unambiguous beginning, or by a thumb; else the reply itself is the answer. */
export function chooseOption(options: readonly string[], reply: string): string {
  const text = reply.trim();
  const numbered = options[(numberIn(text) ?? 0) - 1];
  if (numbered !== undefined) return numbered;
  const lower = text.toLowerCase().replace(/[.!]+$/, '');
  const exact = options.find((option) => option.toLowerCase() === lower);
  if (exact !== undefined) return exact;
  const beginnings = lower.length >= 2 ? options.filter((option) => option.toLowerCase().startsWith(lower)) : [];
  if (beginnings.length === 1) return beginnings[0]!;
  const answer = reactionAnswer(text);
  return (answer && optionOf(answer, options)) ?? text;
}

/** True when a reply is a number that no option has: worth asking again instead of taking "7" for an answer. */
export function isStrayNumber(options: readonly string[], reply: string): boolean {
  const number = numberIn(reply);
  return options.length > 0 && number !== null && options[number - 1] === undefined && !options.includes(reply.trim());
}

export const helpText = [
  'Write what you need in your own words. I think in steps, use tools, and ask when I need you.',
  '',
  '- `stop` interrupts what is running; what was done is kept',
  '- `status` says what is running, what it waits for and what it has used',
  '- a message while I work steers me at the next step',
  '- a question is answered by its number, by a word, or in your own words; it waits for you',
  '- an approval is answered with `yes` or `no`',
].join('\n');
