import { english, type Say } from '../texts/say.ts';
import { type Amount, endsSoon, type Mark, most, usd } from './spending.ts';

/** What the person is told and asked about a budget. */

const figure = (value: number, unit: keyof Amount, say: Say): string =>
  unit === 'microUsd' ? usd(value) : value.toLocaleString(say === english ? 'en-US' : say.locale);

/** `I have spent $5 of $5 today.` */
export function spentText({ budget, unit }: Mark, say: Say = english): string {
  const { level, name } = budget;
  const amounts = { used: figure(budget.used[unit], unit, say), most: figure(most(budget, unit), unit, say) };
  const isMoney = unit === 'microUsd';
  const money = (budget.used.unpriced ?? 0) > 0 ? 'budget.atMost' : 'budget.money';
  const figures = say(isMoney ? money : 'budget.tokens', amounts);
  const values = { unit: isMoney ? 'money' : 'tokens', figures };
  return level === 'schedule' ? say('budget.schedule', { ...values, name }) : say(`budget.${level}`, values);
}

const unknownPrice = ({ budget, unit }: Mark, say: Say): string[] =>
  unit === 'microUsd' && (budget.used.unpriced ?? 0) > 0 ? [say('budget.price')] : [];

/** The question at a limit. */
export const askForMore = (mark: Mark, say: Say = english): string =>
  `${spentText(mark, say)} ${say('budget.ask', { more: figure(mark.budget.limit[mark.unit], mark.unit, say) })}`;

/** The note beside the question. `begun`: work waits for the answer. `once`: a schedule that fires only now. */
export function aboutQuestion(mark: Mark, now: number, work: 'begun' | 'once' | 'repeats', say: Say = english): string {
  const soon = endsSoon(mark, now);
  const otherwise = {
    begun: say(soon ? 'budget.resumes' : 'budget.ends'),
    once: say(soon ? 'budget.onceSoon' : 'budget.onceLate'),
    repeats: say('budget.repeats', { period: mark.budget.level === 'month' ? 'month' : 'day' }),
  }[work];
  return [otherwise, ...unknownPrice(mark, say)].join(' ');
}

/** The message when most of a budget is used. */
export function nearText(mark: Mark, say: Say = english): string {
  const count = figure(most(mark.budget, mark.unit), mark.unit, say);
  const limit = mark.unit === 'tokens' ? say('budget.limit', { count }) : count;
  return [spentText(mark, say), say('budget.near', { limit }), ...unknownPrice(mark, say)].join(' ');
}

/** The answer of a turn whose person wants no more spent. */
export const endedText = (known: string | null, say: Say = english): string =>
  [say('budget.ended'), known ? `${say('budget.soFar')}\n${known}` : ''].filter(Boolean).join('\n\n');
