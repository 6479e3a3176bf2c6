import { endpointOf } from '../../../adapters/model/endpoint/endpoint.ts';
import type { Offer } from '../../../adapters/model/endpoint/offers.ts';
import type { Config } from '../../../config.ts';
import { isTooLong } from '../../../domain/chat/words/commands.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { nearest } from '../../../domain/text/nearest.ts';
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
  mayAnswer: true,
  run: async (_, { tx, config }) => {
    const { preferences } = await chosenIn(tx.now, tx.chatId);
    const latest = await latestModel(tx.now, tx.threadId);
    return [
      ...usualLines(config, preferences.model),
      ...(latest === null ? [] : [`The latest answer in this conversation is by ${latest}.`]),
      ...offerLines(await offers(config)),
    ].join('\n');
  },
});

function usualLines(config: Config, chosen: string | undefined): string[] {
  const endpoint = endpointOf(config);
  if (!endpoint)
    return [
      'The built-in practice model answers, because no real one is set up. Put in a key on my page, under Settings, Model.',
    ];
  const second = config.FETCH_FALLBACK_MODEL ? [`${config.FETCH_FALLBACK_MODEL} takes over when it fails.`] : [];
  const which = chosen
    ? `${chosen} of ${new URL(endpoint.baseUrl).host} answers in this chat`
    : `${config.AGENT_MODEL ?? 'The usual model'} of ${new URL(endpoint.baseUrl).host} answers`;
  return [
    `${which}. ${chosen ? '`model default` takes the usual one again.' : 'Another one is chosen on my page, under Settings, Model.'}`,
    ...second,
  ];
}

function offerLines(found: Offer[] | null): string[] {
  if (found === null) return [];
  if (found.length === 0) return ['The endpoint lists no models.'];
  const more = found.length > SHOWN ? [`and ${found.length - SHOWN} more; \`model NAME\` takes any of them`] : [];
  return ['There are:', ...found.slice(0, SHOWN).map(offerLine), ...more];
}

function offerLine({ name, tools, price }: Offer): string {
  const facts = [
    ...(tools === false ? ['calls no tools'] : []),
    ...(price ? [`$${price.input} in, $${price.output} out per million tokens`] : []),
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

async function take({ name, certain }: Chosen, { tx, config, owned }: CommandContext): Promise<string | null> {
  if (name.toLowerCase() === 'default') {
    if (!owned) return 'Only the owner chooses the model.';
    await choose(tx.now, tx.chatId, { model: null });
    return `${config.AGENT_MODEL ?? 'The usual model'} answers in this chat again.`;
  }
  const found = await offers(config);
  const meant = found && offerNamed(found, name);
  // "model trains" is about something else; a name has a figure or a sign in it
  if (!meant && !certain && !/[\d/:]/.test(name)) return null;
  if (!owned) return 'Only the owner chooses the model.';
  if (found && !meant) {
    const near = nearest(
      name,
      found.map((offer) => offer.name),
    );
    return `The endpoint has no model ${name}.${near.length > 0 ? ` Do you mean ${near.map((each) => inline(each, 120)).join(' or ')}?` : ''}`;
  }
  const taken = meant?.name ?? name;
  await choose(tx.now, tx.chatId, { model: taken });
  const warning = meant?.tools === false ? ' It calls no tools, so it can only talk.' : '';
  return `${taken} answers in this chat from the next step on.${warning}`;
}

/** By its whole name, or by the end of it that only one has: `gpt-5-mini` for `openai/gpt-5-mini`. */
function offerNamed(found: readonly Offer[], name: string): Offer | undefined {
  const wanted = name.toLowerCase();
  const ends = found.filter((offer) => offer.name.toLowerCase().endsWith(`/${wanted}`));
  return found.find((offer) => offer.name.toLowerCase() === wanted) ?? (ends.length === 1 ? ends[0] : undefined);
}
