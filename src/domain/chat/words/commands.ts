import { isAgent } from '../../../../kennel/agents/registry.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import { SINKS, type Sink } from '../../../contracts/taint.ts';
import { optionOf, reactionAnswer } from '../../consent/reactions.ts';
import { askedTool } from '../../tasks/egress.ts';

/**
 * Words that work without a model, and while the model is down. Only a message that consists of nothing else is a
 * command, so a sentence that contains "stop" is never swallowed.
 */
type Command = 'stop' | 'status' | 'help' | 'new' | 'yes' | 'no';

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
  // a bare "new" may be an answer
  new: ['/new', 'new conversation', 'start a new conversation'],
  yes: ['yes', 'y', 'yes please', 'yep', 'ok', 'okay', 'allow', 'approve', '👍', '✅', '👌'],
  no: ['no', 'n', 'nope', 'no thanks', 'deny', 'reject', '👎', '❌'],
};

/**
 * The same in the other languages of our texts. Each is nothing else when it is a whole message. French
 * `annuler` stops, and does not undo, because it says both.
 */
const wordsElsewhere: Partial<Record<Command, readonly string[]>> = {
  stop: [
    ...['stopp', 'halt an', 'anhalten', 'abbrechen', 'hör auf'],
    ...['para', 'detente', 'detener', 'cancelar', 'cancela'],
    ...['pare', 'parar', 'pára'],
    ...['arrête', 'arrete', 'arrêter', 'annule', 'annuler'],
    ...['रुको', 'रुकिए', 'रोको', 'रोकिए', 'बंद करो'],
  ],
  status: ['was läuft', 'was läuft gerade', 'estado', 'statut', 'état', 'स्थिति'],
  help: ['hilfe', 'ayuda', 'ajuda', 'aide', 'मदद', 'सहायता'],
  yes: [
    ...['ja', 'ja bitte', 'jawohl', 'erlauben'],
    ...['sí', 'si', 'sí por favor', 'sí, por favor', 'vale', 'permitir'],
    ...['sim', 'sim por favor', 'sim, por favor', 'pode'],
    ...['oui', 'oui stp', "d'accord", 'vas-y', 'autoriser'],
    ...['हाँ', 'हां', 'जी', 'जी हाँ', 'जी हां', 'हाँ जी', 'हां जी', 'ठीक है'],
  ],
  no: [
    ...['nein', 'nein danke', 'nein, danke', 'nee', 'ablehnen'],
    ...['no gracias', 'no, gracias'],
    ...['não', 'nao', 'não obrigado', 'não, obrigado', 'não obrigada', 'não, obrigada'],
    ...['non', 'non merci', 'non, merci', 'refuser'],
    ...['नहीं', 'नही', 'जी नहीं', 'ना', 'मत करो'],
  ],
};

const byWord = new Map<string, Command>(
  [words, wordsElsewhere].flatMap((each) =>
    Object.entries(each).flatMap(([command, list]) => list.map((word) => [word, command as Command] as const)),
  ),
);

/** No command is longer. These rules run on every message, before any limit, so a pasted log must not reach them. */
const LONGEST_COMMAND = 200;

export const isTooLong = (text: string): boolean => text.length > LONGEST_COMMAND;

/** Without the punctuation that closes a sentence. */
const withoutFullStop = (text: string): string => text.replace(/(?<![.!।\s])[.!।\s]+$/, '').replace(/^[¡¿]/, '');

/**
 * A message in the form in which it is compared with words: lower case, one blank between words, without a slash before
 * and punctuation behind. Empty when it is too long.
 */
export function plainWords(text: string): string {
  if (isTooLong(text)) return '';
  const words = text.trim().normalize('NFC').toLowerCase().replace(/\s+/g, ' ').replace(/’/g, "'");
  return words.replace(/(?<![.!?,;:।\s])[.!?,;:।\s]+$/, '').replace(/^[/¡¿]/, '');
}

/** The command that a whole message is, or null. Case and closing punctuation do not count. */
export function parseCommand(text: string): Command | null {
  if (isTooLong(text)) return null;
  const plain = text.trim().normalize('NFC').toLowerCase().replace(/\s+/g, ' ').replace(/’/g, "'");
  // an emoji has skin tones and variants that no list covers
  return byWord.get(plain) ?? byWord.get(withoutFullStop(plain)) ?? (plain === '??' ? 'help' : reactionAnswer(plain));
}

/** An order to coding tasks that a whole message is. `taskId`: the id or the number of the one that it names. */
export interface TaskOrder {
  order: 'cancel' | 'pause' | 'resume';
  taskId: string | null;
  /** go on at once, although the model is at its limit: with the same agent, or with this one */
  now?: { agent: AgentName | null };
}

const orderWords: Record<string, TaskOrder['order']> = {
  pause: 'pause',
  '/pause': 'pause',
  hold: 'pause',
  resume: 'resume',
  '/resume': 'resume',
  '/continue': 'resume',
};

export function parseTaskOrder(text: string): TaskOrder | null {
  if (isTooLong(text)) return null;
  const plain = withoutFullStop(text.trim().toLowerCase()).replace(/\s+/g, ' ');
  const [, words = '', taskId = null] =
    /^([^ ]+(?: [^ ]+){0,3}?)(?: (?:task )?(tsk_[a-z0-9]+|\d{1,5}))?$/.exec(plain) ?? [];
  const [isNow, agent = ''] = /^\/?now(?: (?:with )?([a-z]+))?$/.exec(words) ?? [];
  if (isNow)
    return agent === '' || isAgent(agent)
      ? { order: 'resume', taskId, now: { agent: agent === '' ? null : agent } }
      : null;
  const order = orderWords[words] ?? (parseCommand(words) === 'stop' ? ('cancel' as const) : null);
  return order && { order, taskId };
}

/** Something that a whole message says to a coding task. */
interface Telling {
  /** id or number of the task; null for the only one, or the only one of this agent */
  taskId: string | null;
  agent: AgentName | null;
  words: string;
}

/** `tell 2: use npm`, `tell the agent: …`, `tell claude: …`. The colon tells it from words to the model. */
export function parseTell(text: string): Telling | null {
  const [, whom = '', words = ''] = /^\s{0,9}\/?tell ([a-z0-9_ ]{1,40}):([\s\S]+)$/i.exec(text) ?? [];
  const said = whom.trim().toLowerCase().replace(/^the /, '').split(/ +/);
  const taskId = /^(?:tsk_[a-z0-9]+|\d{1,5})$/.test(said.at(-1)!) ? said.pop()! : null;
  const name = said.join(' ');
  const agent = isAgent(name) ? name : null;
  const isMeant = agent !== null || name === 'agent' || name === 'task' || (name === '' && taskId !== null);
  return isMeant && words.trim() !== '' ? { taskId, agent, words: words.trim() } : null;
}

/** How much the chat trusts the agent from now on, when the whole message says it. */
export function parseAutonomy(text: string): 'supervised' | 'cautious' | 'autonomous' | null {
  if (isTooLong(text)) return null;
  const word = /^(?:\/|be |mode )?(supervised|cautious|autonomous|auto)[.!]*$/.exec(text.trim().toLowerCase())?.[1];
  return word === 'auto' ? 'autonomous' : ((word as 'supervised' | 'cautious' | 'autonomous' | undefined) ?? null);
}

/** Who judges in the chat from now on, when the whole message says it: a model, or rules alone (null). */
export function parseJudged(text: string): { model: string | null } | null {
  if (isTooLong(text)) return null;
  const [said, model] =
    /^\/?(?:be |mode )?judged(?: by ([\w:/@+-][\w.:/@+-]{0,120}))?$/i.exec(withoutFullStop(text.trim())) ?? [];
  return said === undefined ? null : { model: model === undefined || /^rules$/i.test(model) ? null : model };
}

/** The digits of an international phone number; null when it is none. */
export function phoneIn(text: string): string | null {
  const digits = text.replace(/\D/g, '');
  return /^[1-9]\d{6,14}$/.test(digits) ? digits : null;
}

/**
 * Which workspace the owner shares with somebody, when the whole message says it. `person`: the digits of a phone
 * number.
 */
export type ShareOrder = { what: 'share' | 'unshare'; workspace: string; person: string } | { what: 'list' };

export function parseShare(text: string): ShareOrder | null {
  if (isTooLong(text)) return null;
  const plain = text.trim();
  if (/^\/?shares[.!]*$/i.test(plain)) return { what: 'list' };
  const [, word, workspace, number] =
    /^\/?(share|unshare) ([\w.-]{1,64}) (?:with|from) (\+?[\d ()./-]{7,30})$/i.exec(plain) ?? [];
  const person = number === undefined ? null : phoneIn(number);
  if (!word || !workspace || person === null) return null;
  return { what: word.toLowerCase() as 'share' | 'unshare', workspace, person };
}

/** What is asked of the list of hosts that tasks may reach, when the whole message says it. `port` null: every port. */
type EgressOrder = { what: 'list' } | { what: 'remove'; host: string; port: number | null };

export function parseEgress(text: string): EgressOrder | null {
  if (isTooLong(text)) return null;
  const plain = withoutFullStop(text.trim().toLowerCase());
  if (/^\/?egress$/.test(plain)) return { what: 'list' };
  const tool =
    /^\/?egress (?:remove|revoke|forget) (?:the )?(?:mcp )?(?:tool )?([a-z0-9-]{1,64})\/([\w-]{1,64})$/i.exec(
      withoutFullStop(text.trim()),
    );
  if (tool) return { what: 'remove', ...askedTool(tool[1]!, tool[2]!) };
  const [, scheme, host, port] =
    /^\/?egress (?:remove|revoke|forget) (https?:\/\/)?([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?\/?$/.exec(
      plain,
    ) ?? [];
  if (host === undefined) return null;
  const usual = scheme === undefined ? null : scheme === 'https://' ? 443 : 80;
  return { what: 'remove', host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) };
}

/**
 * The decision about an approval that a whole message is. `remember`: further requests of this thread are allowed as
 * well.
 */
export interface ApprovalAnswer {
  decision: 'allow' | 'deny';
  remember: boolean;
  /** pass over this call and go on with the work: weaker than a no to the request */
  skip: boolean;
  /** what this chat may do from now on, even after it has read text of others; `asked`: what this question is about */
  always?: Sink | 'asked';
  /** its kind of action in its project, where a judge finds that it fits */
  inProject?: true;
}

const isSink = (word: string): word is Sink => (SINKS as readonly string[]).includes(word);

/**
 * Takes back a permanent permission: one sink, or all of them with null. Undefined when the message says nothing of the
 * kind.
 */
export function parseAskAgain(text: string): Sink | null | undefined {
  if (isTooLong(text)) return undefined;
  const [matches, sink] = /^\/?ask again(?: for (?:the )?([a-z]+))?[.!]*$/.exec(text.trim().toLowerCase()) ?? [];
  if (matches === undefined) return undefined;
  return sink === undefined ? null : isSink(sink) ? sink : undefined;
}

const alwaysWords = ['always', 'immer', 'siempre', 'sempre', 'toujours', 'हमेशा'];
const yesAll = ['yes all', 'yes to all', 'allow all', 'approve all', 'yes always', 'y all', 'all yes'];
const skips = [
  ...['skip', 'skip it', 'skip this', 'skip that', 'skip this one', 'pass', '⏭'],
  ...['überspringen', 'omitir', 'pular', 'passer', 'छोड़ो', 'छोड़ दो'],
];

/** The decision that a whole reply to an approval is, or null: "yes, but not the tests" decides nothing. */
export function parseApproval(text: string): ApprovalAnswer | null {
  if (isTooLong(text)) return null;
  const command = parseCommand(text);
  if (command === 'yes' || command === 'no')
    return { decision: command === 'yes' ? 'allow' : 'deny', remember: false, skip: false };
  const plain = text
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/\ufe0f/g, '')
    .replace(/,\s*|\s+/g, ' ');
  const words = withoutFullStop(plain);
  const sink = /^(?:yes|allow) always for (?:the )?([a-z]+)$/.exec(words)?.[1];
  if (sink !== undefined)
    return isSink(sink) ? { decision: 'allow', remember: false, skip: false, always: sink } : null;
  if (/^(?:(?:yes|allow) )?always (?:for|in) this project$/.test(words))
    return { decision: 'allow', remember: false, skip: false, inProject: true };
  if (alwaysWords.includes(words)) return { decision: 'allow', remember: false, skip: false, always: 'asked' };
  if (yesAll.includes(words) || /^👍\p{Emoji_Modifier}? all$/u.test(words))
    return { decision: 'allow', remember: true, skip: false };
  return skips.includes(words) ? { decision: 'deny', remember: false, skip: true } : null;
}

/** Words that begin an answer of a person who does not know how to answer. */
const ANSWERING =
  /^(?:yes|yeah|yep|yup|sure|ok|okay|fine|no|nope|nah|never|do it|don't|do not|go ahead|go on|allow|approved?|deny|reject|accept|skip|maybe|later|wait|both|neither|none|ja|jep|klar|nein|nee|später|warte|sí|claro|vale|luego|espera|sim|não|depois|oui|ouais|non|attends|हाँ|हां|जी|नहीं|रुको)(?![\p{L}\p{M}\p{N}_])/iu;
const WORDS_OF_AN_ANSWER = 5;

/**
 * Whether a message that decides nothing looks like an attempt to decide: "yes, but not the tests". A longer message is
 * something new.
 */
export const looksLikeAnswer = (text: string): boolean =>
  !isTooLong(text) &&
  text.trim().split(/\s+/).length <= WORDS_OF_AN_ANSWER &&
  ANSWERING.test(text.trim().replace(/’/g, "'"));

/** The number that a whole reply is, a keycap such as 2️⃣ included. */
export function numberIn(reply: string): number | null {
  const digits = /^\(?#?(\d{1,2})(?:[.)]|\ufe0f?\u20e3)?$/.exec(reply.trim())?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * Which option a reply means: by number, by the whole word, by an unambiguous beginning, or by a thumb. Otherwise the
 * reply itself is the answer.
 */
export function chooseOption(options: readonly string[], reply: string): string {
  if (isTooLong(reply)) return reply.trim();
  const text = reply.trim();
  const numbered = options[(numberIn(text) ?? 0) - 1];
  if (numbered !== undefined) return numbered;
  const lower = withoutFullStop(text.toLowerCase());
  const exact = options.find((option) => option.toLowerCase() === lower);
  if (exact !== undefined) return exact;
  const beginnings = lower.length >= 2 ? options.filter((option) => option.toLowerCase().startsWith(lower)) : [];
  if (beginnings.length === 1) return beginnings[0]!;
  const answer = reactionAnswer(text);
  return (answer && optionOf(answer, options)) ?? text;
}

/** True when a reply is a number that no option has. It is better to ask again than to take "7" for an answer. */
export function isStrayNumber(options: readonly string[], reply: string): boolean {
  if (isTooLong(reply)) return false;
  const number = numberIn(reply);
  return options.length > 0 && number !== null && options[number - 1] === undefined && !options.includes(reply.trim());
}
