import { moneyText, tokensText } from '../../../domain/model/price-book.ts';
import { VERSION } from '../../../installation.ts';
import type { Spent } from '../../../store/turns/steps/spending.ts';
import { cachedToday, type UsageTotal, usageTotals } from '../../../store/turns/steps/usage.ts';
import { command, saying } from './command.ts';

/** The release of this program, and the cost of its model. */

export const usage = command({
  help: ['helps.usage'],
  parse: saying('usage', '/u', 'show usage'),
  mayAnswer: true,
  run: async (_, { tx, config, owned, shared }) => {
    const { FETCH_TIME_ZONE: zone } = config;
    const here = usageLines('This chat', await usageTotals(tx.now, tx.chatId, zone));
    // others read along in a group
    const everywhere = owned && !shared ? usageLines('All chats', await usageTotals(tx.now, null, zone)) : [];
    const { cached, input } = await cachedToday(tx.now, tx.chatId, zone);
    const saved =
      cached > 0
        ? [`The cache of the endpoint had ${tokensText(cached)} of ${tokensText(input)} input tokens today.`]
        : [];
    return [
      ...here,
      ...everywhere,
      ...saved,
      `A day begins at midnight${zone === 'UTC' ? ' UTC' : ` in ${zone}`}.`,
    ].join('\n');
  },
});

const usageLines = (whose: string, { turns, tasks }: { turns: UsageTotal; tasks: UsageTotal }): string[] => [
  `${whose}, today: ${spentText(sumOf(turns.today, tasks.today), tasks.today)}`,
  `${whose}, in all: ${spentText(sumOf(turns.ever, tasks.ever), tasks.ever)}`,
];

const spentText = (all: Spent, tasks: Spent): string =>
  `${tokensText(all.tokens)} tokens, ${moneyText(all)}${tasks.tokens > 0 ? ` (coding tasks: ${tokensText(tasks.tokens)} tokens)` : ''}`;

const sumOf = (one: Spent, other: Spent): Spent => ({
  tokens: one.tokens + other.tokens,
  microUsd: one.microUsd + other.microUsd,
  unpriced: one.unpriced + other.unpriced,
});

export const version = command({
  help: ['helps.version'],
  parse: saying('version', '/v', 'show version', 'which version are you'),
  mayAnswer: true,
  run: async () => `Fetch ${VERSION}, on Node ${process.version}.`,
});
