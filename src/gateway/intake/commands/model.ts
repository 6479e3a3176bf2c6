import { endpointOf } from '../../../adapters/model/endpoint/endpoint.ts';
import type { Offer } from '../../../adapters/model/endpoint/offers.ts';
import type { Config } from '../../../config.ts';
import { isTooLong } from '../../../domain/chat/words/commands.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { nearest } from '../../../domain/text/nearest.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { choose, chosenIn } from '../../../store/chats/preferences.ts';
import { latestModel } from '../../../store/turns/steps/steps.ts';
import { type CommandContext, command, saying } from './command.ts';

/** Which model answers in this chat, which ones there are, and another one. */

/** The list is asked for while the chat waits. */
const LIST_MS = 2_500;
const SHOWN = 15;

export const model = command({
  help: ['helps.model'],
  parse: saying(
    'model',
    'models',
    'show model',
    'list models',
    'show models',
    'which model',
    'which model are you',
    'what model are you',
  ),
  mayAnswer: 'question',
  run: async (_, { tx, config, say }) => {
    const { preferences } = await chosenIn(tx.now, tx.chatId);
    const latest = await latestModel(tx.now, tx.threadId);
    return [
      ...usualLines(config, preferences.model, say),
      ...(latest === null ? [] : [say('model.latest', { name: latest })]),
      ...offerLines(await offers(config), say),
    ].join('\n');
  },
});

function usualLines(config: Config, chosen: string | undefined, say: Say): string[] {
  const endpoint = endpointOf(config);
  if (!endpoint) return [say('model.practice')];
  const { host } = new URL(endpoint.baseUrl);
  const { FETCH_FALLBACK_MODEL: second } = config;
  return [
    chosen
      ? say('model.here', { name: chosen, host })
      : say('model.usual', { name: config.AGENT_MODEL ?? say('model.theUsual'), host }),
    ...(second ? [say('model.second', { name: second })] : []),
  ];
}

function offerLines(found: Offer[] | null, say: Say): string[] {
  if (found === null) return [];
  if (found.length === 0) return [say('model.none')];
  const more = found.length > SHOWN ? [say('model.more', { count: found.length - SHOWN })] : [];
  return [say('model.thereAre'), ...found.slice(0, SHOWN).map((offer) => offerLine(offer, say)), ...more];
}

function offerLine({ name, tools, price }: Offer, say: Say): string {
  const facts = [
    ...(tools === false ? [say('model.noTools')] : []),
    ...(price ? [say('model.price', { input: `$${price.input}`, output: `$${price.output}` })] : []),
  ];
  return `- ${inline(name, 120)}${facts.length > 0 ? `: ${facts.join(', ')}` : ''}`;
}

/** Null: there is no endpoint, or it does not tell. */
async function offers(config: Config): Promise<Offer[] | null> {
  const endpoint = endpointOf(config);
  if (!endpoint) return null;
  // the library of the models takes 4 MB of a process that calls none
  const { offersOf } = await import('../../../adapters/model/endpoint/offers.ts');
  return await offersOf(endpoint, { price: config.FETCH_MODEL_PRICE, timeoutMs: LIST_MS }).catch(() => null);
}

interface Chosen {
  name: string;
  /** nothing else can be meant */
  certain: boolean;
}

function parseModel(text: string): Chosen | null {
  if (isTooLong(text)) return null;
  const [, slash, name] = /^(\/?)(?:use )?model ([\w.:/@+-]{1,120})$/i.exec(text.trim()) ?? [];
  return name === undefined ? null : { name, certain: slash === '/' };
}

export const chooseModel = command({
  help: [],
  parse: parseModel,
  run: (chosen, context) => take(chosen, context),
});

async function take({ name, certain }: Chosen, { tx, config, owned, say }: CommandContext): Promise<string | null> {
  if (name.toLowerCase() === 'default') {
    if (!owned) return say('owner.model');
    await choose(tx.now, tx.chatId, { model: null });
    return say('model.again', { name: config.AGENT_MODEL ?? say('model.theUsual') });
  }
  const found = await offers(config);
  const meant = found && offerNamed(found, name);
  // "model trains" is about something else; a name has a figure or a sign in it
  if (!meant && !certain && !/[\d/:]/.test(name)) return null;
  if (!owned) return say('owner.model');
  if (found && !meant) {
    const near = nearest(
      name,
      found.map((offer) => offer.name),
    );
    const either = new Intl.ListFormat(say.locale, { type: 'disjunction' });
    const names = either.format(near.map((each) => inline(each, 120)));
    return say('model.unknown', { name }) + (near.length > 0 ? say('model.near', { names }) : '');
  }
  const taken = meant?.name ?? name;
  await choose(tx.now, tx.chatId, { model: taken });
  return say('model.taken', { name: taken }) + (meant?.tools === false ? say('model.onlyTalks') : '');
}

/** By its whole name, or by the end of it that only one has: `gpt-5-mini` for `openai/gpt-5-mini`. */
function offerNamed(found: readonly Offer[], name: string): Offer | undefined {
  const wanted = name.toLowerCase();
  const ends = found.filter((offer) => offer.name.toLowerCase().endsWith(`/${wanted}`));
  return found.find((offer) => offer.name.toLowerCase() === wanted) ?? (ends.length === 1 ? ends[0] : undefined);
}
