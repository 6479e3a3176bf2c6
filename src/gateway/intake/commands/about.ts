import { moneyText, tokensText } from '../../../domain/model/price-book.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { VERSION } from '../../../installation.ts';
import type { Spent } from '../../../store/turns/steps/spending.ts';
import { cachedToday, usageTotals } from '../../../store/turns/steps/usage.ts';
import { command, saying } from './command.ts';

/** The release of this program, and the cost of its model. */

export const usage = command({
  help: ['helps.usage'],
  parse: saying('usage', '/u', 'show usage'),
  mayAnswer: 'question',
  run: async (_, { tx, config, say, owned, shared }) => {
    const { FETCH_TIME_ZONE: zone } = config;
    const here = await usageTotals(tx.now, tx.chatId, zone);
    // others read along in a group
    const all = owned && !shared ? await usageTotals(tx.now, null, zone) : null;
    const { cached, input } = await cachedToday(tx.now, tx.chatId, zone);
    const today = ({ turns, tasks }: Totals) => spentText(sumOf(turns.today, tasks.today), tasks.today, say);
    const ever = ({ turns, tasks }: Totals) => spentText(sumOf(turns.ever, tasks.ever), tasks.ever, say);
    // on the first day, and with a single chat, the figures are the same ones
    const lines = [
      { key: 'usage.hereToday', spent: today(here), said: [] },
      { key: 'usage.hereEver', spent: ever(here), said: [today(here)] },
      ...(all
        ? [
            { key: 'usage.allToday', spent: today(all), said: [today(here)] } as const,
            { key: 'usage.allEver', spent: ever(all), said: [ever(here), today(all)] } as const,
          ]
        : []),
    ] as const;
    return [
      ...lines.flatMap(({ key, spent, said }) => (said.some((each) => each === spent) ? [] : [say(key, { spent })])),
      ...(cached > 0 ? [say('usage.cached', { cached: tokensText(cached), input: tokensText(input) })] : []),
      zone === 'UTC' ? say('usage.dayUtc') : say('usage.day', { zone }),
    ].join('\n');
  },
});

type Totals = Awaited<ReturnType<typeof usageTotals>>;

function spentText(all: Spent, tasks: Spent, say: Say): string {
  const spent = say('usage.spent', { tokens: tokensText(all.tokens), money: moneyText(all, say) });
  return tasks.tokens > 0 ? say('usage.withTasks', { spent, tokens: tokensText(tasks.tokens) }) : spent;
}

const sumOf = (one: Spent, other: Spent): Spent => ({
  tokens: one.tokens + other.tokens,
  microUsd: one.microUsd + other.microUsd,
  unpriced: one.unpriced + other.unpriced,
});

export const version = command({
  help: ['helps.version'],
  parse: saying('version', '/v', 'show version', 'which version are you'),
  mayAnswer: 'question',
  run: async (_, { say }) => say('about.version', { version: VERSION, node: process.version }),
});
