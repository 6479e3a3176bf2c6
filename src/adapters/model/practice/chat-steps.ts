import { withoutIds } from '../../../domain/chat/words/step-words.ts';
import { resultAgain } from '../../../domain/texts/again.ts';
import type { ScriptStep, Use } from './script.ts';
import type { Situation } from './situation.ts';

/** Name of the routine and schedule that practice creates, so that it can also stop them. */
const ROUTINE = 'what is scheduled';
const EVERY_MINUTE = '*/1 * * * *';

/** The input of the rules. `word` is the message in lower case. */
interface RuleInput extends Situation {
  text: string;
  word: string;
}

/** One thing that the practice model knows; null when a message is about something else. */
type Rule = (said: RuleInput, use: Use) => ScriptStep | null;

const ask: Rule = ({ text, word, step, last, say }, use) => {
  if (!/\bask me\b/.test(word)) return null;
  if (step > 0) return { say: say('practice.chose', { answer: clip(answerOf(last), 200) }) };
  const topic =
    /\bask me\s+(?:a question\s*)?(?:about\s+)?(.*)/i.exec(text)?.[1]?.replace(/(?<![.?!])[.?!]+$/, '') ||
    say('practice.colours');
  const [question, options] = /^(?:lunch|dinner|food)$/i.test(topic)
    ? [say('practice.meal'), [say('practice.pizza'), say('practice.salad'), say('practice.noMeal')]]
    : [
        say('practice.like', { topic: clip(topic, 100) }),
        [say('practice.much'), say('practice.little'), say('practice.notAtAll')],
      ];
  return use(
    'ask_user',
    [
      [['question'], question],
      [['options', 'choices'], options],
    ],
    say('practice.asks'),
  );
};

const readPage: Rule = ({ text, step, last, say }, use) => {
  // "open the door" names no page: an address has a scheme, a dot or a port
  const url = /\b(?:fetch|read|open)\s+(https?:\/\/\S+|[\w-]+(?:(?:\.[\w-]+)+(?::\d+)?|:\d+)(?:\/\S*)?)/i.exec(
    text,
  )?.[1];
  if (!url) return null;
  if (step > 0) return { say: say('practice.page', { title: titleOf(last) }) };
  return use('web_fetch', [[['url'], /^https?:\/\//i.test(url) ? url : `https://${url}`]], say('practice.reads'));
};

const stopSchedule: Rule = ({ word, step, last, say }, use) => {
  if (!/\b(stop|delete|remove|end|cancel)\b/.test(word) || !/\b(schedule|cron|routine)/.test(word)) return null;
  if (step > 0) return { say: clip(resultAgain(withoutIds(last), say), 300) };
  return use('cron_delete', [[['cron', 'name', 'cronId', 'cron_id', 'id'], ROUTINE]], say('practice.stops'));
};

const schedule: Rule = ({ word, step, last, say }, use) => {
  if (!/\bevery minute\b|\bschedule\b/.test(word)) return null;
  if (step === 0) {
    return use(
      'workflow_create',
      [
        [['name'], ROUTINE],
        [['description'], say('practice.lists')],
        [['steps'], [{ name: 'list', tool: 'cron_list', args: {} }]],
        [['schedule'], EVERY_MINUTE],
      ],
      say('practice.routine'),
    );
  }
  // tools of another program may take no schedule with the routine
  if (step === 1 && !last.includes('Scheduled "')) {
    return use(
      'cron_create',
      [
        [['workflow', 'workflowName', 'workflow_name', 'workflowId', 'workflow_id', 'routine'], ROUTINE],
        [['schedule', 'cron', 'expression'], EVERY_MINUTE],
        [['name'], ROUTINE],
      ],
      say('practice.schedule'),
    );
  }
  return { say: `${clip(resultAgain(withoutIds(last), say), 300)} ${say('practice.runs')}` };
};

const listSchedules: Rule = ({ word, step, last, say }, use) => {
  if (!/\b(routines|schedules|crons?|list)\b/.test(word)) return null;
  if (step > 0) return { say: clip(resultAgain(withoutIds(last), say), 2_000) };
  return use('cron_list', [], say('practice.looks'));
};

const progress: Rule = ({ word, step, say }, use) => {
  if (!/\bprogress\b/.test(word)) return null;
  if (step > 0) return { say: say('practice.reported') };
  return use(
    'report_progress',
    [
      [['message'], say('practice.half')],
      [['percent'], 50],
    ],
    say('practice.reports'),
  );
};

const count: Rule = ({ word, say }) => {
  const to = /\bcount (?:up )?to (\d+)/.exec(word)?.[1] ?? (/\blong\b/.test(word) ? '300' : undefined);
  if (!to) return null;
  const numbers = Array.from({ length: Math.max(1, Math.min(600, Number(to))) }, (_, at) => at + 1);
  return { say: say('practice.count', { numbers: numbers.join(' ') }), pace: 200 };
};

const help: Rule = ({ word, say }) =>
  /^(help|hi|hello|hey|hallo|hola|oi|olá|bonjour|salut|नमस्ते|good (morning|evening|day)|start|what can you do|who are you|\?)(?![\p{L}\p{M}\d])|^\?/u.test(
    word,
  ) || word === ''
    ? { say: say('practice.help') }
    : null;

/** The first rule that knows a message answers it. */
const RULES: readonly Rule[] = [ask, readPage, stopSchedule, schedule, listSchedules, progress, count, help];

/** A summary was requested; null when it was not. */
export const summaryStep = ({ system, user }: Situation): ScriptStep | null =>
  /^sum up\b|summar|compact/i.test(system)
    ? { say: `Practice summary: ${clip(user.trim().replace(/\s+/g, ' '), 400)}` }
    : null;

/** The answers of the practice model in a chat. */
export function chatStep(situation: Situation, use: Use): ScriptStep {
  const text = situation.user.trim();
  const said: RuleInput = { ...situation, text, word: text.toLowerCase() };
  for (const rule of RULES) {
    const step = rule(said, use);
    if (step) return step;
  }
  return { say: situation.say('practice.unknown', { text: clip(text, 200) }) };
}

const clip = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

const parsed = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};

const answerOf = (result: string): string => String(parsed(result).answer ?? result).trim();

/** The title of a fetched page: from JSON, a `Title:` line, a heading, or the first line. */
function titleOf(result: string): string {
  const title =
    parsed(result).title ??
    /^[ \t]*title:[ \t]*(\S.*)$/im.exec(result)?.[1] ??
    /^#+\s+(.+)$/m.exec(result)?.[1] ??
    result.trim().split('\n')[0] ??
    '';
  return clip(String(title).trim(), 200);
}
