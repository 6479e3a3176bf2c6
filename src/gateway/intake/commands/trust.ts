import { parseAskAgain, parseAutonomy, parseJudged } from '../../../domain/chat/words/commands.ts';
import { parsePlanPreference } from '../../../domain/chat/words/plan-words.ts';
import { labelText } from '../../../domain/consent/kinds.ts';
import { planFirst, setPlanFirst } from '../../../store/chats/threads/threads.ts';
import { takeBack, trust } from '../../../store/turns/replies.ts';
import { answersByKind } from '../../../store/turns/steps/kinds.ts';
import { command, saying } from './command.ts';

/** How much is done without asking. */

export const autonomy = command({
  topic: 'trust',
  help: ['helps.autonomy'],
  parse: parseAutonomy,
  mayAnswer: true,
  run: (wanted, { tx, say, shared, owned }) =>
    trust(tx.now, { threadId: tx.threadId, chatId: tx.chatId, autonomy: wanted, shared, owned }, say),
});

export const judged = command({
  topic: 'trust',
  help: ['helps.judged'],
  parse: parseJudged,
  mayAnswer: true,
  run: ({ model }, { tx, say, shared, owned }) =>
    trust(tx.now, { threadId: tx.threadId, chatId: tx.chatId, autonomy: 'judged', model, shared, owned }, say),
});

const KINDS_LISTED = 30;

/** What people said to each kind of question, and which of them are none any more. */
export const rules = command({
  topic: 'trust',
  help: ['helps.rules'],
  parse: saying('rules'),
  mayAnswer: 'question',
  run: async (_, { tx, say }) => {
    const kinds = await answersByKind(tx.now, tx.chatId, KINDS_LISTED);
    if (kinds.length === 0) return say('rules.none');
    const lines = kinds.map(
      ({ label, workspace, yes, no, allowed }) =>
        `- ${say('rules.line', { what: labelText(label, say), workspace, yes, no })}${allowed ? say('rules.allowed') : ''}`,
    );
    return [...lines, ...(kinds.some(({ allowed }) => allowed) ? [say('rules.back')] : [])].join('\n');
  },
});

export const askAgain = command({
  topic: 'trust',
  help: ['helps.askAgain'],
  parse: (text) => {
    const sink = parseAskAgain(text);
    return sink === undefined ? null : { sink };
  },
  run: async ({ sink }, { tx, say }) => {
    const taken = await takeBack(tx.now, tx.chatId, sink);
    return taken.length > 0 ? say('trust.askAgain', { what: taken.join(', ') }) : say('trust.notAllowed');
  },
});

export const plans = command({
  topic: 'tasks',
  help: ['helps.plans'],
  parse: parsePlanPreference,
  ownersOnly: (wanted) => (wanted === 'on' ? null : 'owner.plan'),
  run: async (wanted, { tx, say }) => {
    await setPlanFirst(tx.now, tx.threadId, { on: true, off: false, auto: null }[wanted]);
    return say(`plans.${wanted}`);
  },
});

export const plan = command({
  help: [],
  parse: saying('plan'),
  mayAnswer: true,
  run: async (_, { tx, say }) => {
    const first = await planFirst(tx.now, tx.threadId);
    return say('plans.now', { when: first === null ? 'big' : first ? 'all' : 'none' });
  },
});
