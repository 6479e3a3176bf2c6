import { endpointOf } from '../../adapters/model/endpoint.ts';
import type { Config } from '../../config.ts';
import { moneyText } from '../../domain/model/price-book.ts';
import { VERSION } from '../../installation.ts';
import type { Spent } from '../../store/steps/spending.ts';
import { latestModel } from '../../store/steps/steps.ts';
import { type UsageTotal, usageTotals } from '../../store/steps/usage-totals.ts';
import { command, saying } from './command.ts';

/** What this program is, which model answers, and what that has cost. */

export const usage = command({
  help: ['`usage` says how many tokens and how much money this chat has used, today and in all'],
  parse: saying('usage', '/u', 'show usage'),
  mayAnswer: true,
  run: async (_, { tx, owned, shared }) => {
    const here = usageLines('This chat', await usageTotals(tx.now, tx.chatId));
    // others read along in a group
    const everywhere = owned && !shared ? usageLines('All chats', await usageTotals(tx.now, null)) : [];
    return [...here, ...everywhere, 'A day begins at midnight UTC.'].join('\n');
  },
});

const usageLines = (whose: string, { turns, tasks }: { turns: UsageTotal; tasks: UsageTotal }): string[] => [
  `${whose}, today: ${spentText(sumOf(turns.today, tasks.today), tasks.today)}`,
  `${whose}, in all: ${spentText(sumOf(turns.ever, tasks.ever), tasks.ever)}`,
];

const spentText = (all: Spent, tasks: Spent): string =>
  `${all.tokens} tokens, ${moneyText(all)}${tasks.tokens > 0 ? ` (of that coding tasks: ${tasks.tokens} tokens, ${moneyText(tasks)})` : ''}`;

const sumOf = (one: Spent, other: Spent): Spent => ({
  tokens: one.tokens + other.tokens,
  microUsd: one.microUsd + other.microUsd,
  unpriced: one.unpriced + other.unpriced,
});

export const version = command({
  help: ['`version` says which release this is'],
  parse: saying('version', '/v', 'show version', 'which version are you'),
  mayAnswer: true,
  run: async () => `Fetch ${VERSION}, on Node ${process.version}.`,
});

export const model = command({
  help: ['`model` says which model answers'],
  parse: saying('model', 'show model', 'which model', 'which model are you', 'what model are you'),
  mayAnswer: true,
  run: async (_, { tx, config }) => [...modelLines(config), ...(await latestLine(tx.now, tx.threadId))].join('\n'),
});

function modelLines(config: Config): string[] {
  const endpoint = endpointOf(config);
  if (!endpoint)
    return [
      'The built-in practice model answers, because no real one is configured. Set OPENAI_API_KEY, OPENROUTER_API_KEY or OPENAI_BASE_URL, or run `fetch setup`.',
    ];
  const second = config.FETCH_FALLBACK_MODEL ? [`${config.FETCH_FALLBACK_MODEL} takes over when it fails.`] : [];
  return [`${config.AGENT_MODEL ?? 'The usual model'} of ${new URL(endpoint.baseUrl).host} answers. AGENT_MODEL names another.`, ...second];
}

async function latestLine(...at: Parameters<typeof latestModel>): Promise<string[]> {
  const latest = await latestModel(...at);
  return latest === null ? [] : [`The latest answer in this conversation is by ${latest}.`];
}
