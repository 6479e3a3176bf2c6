import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { listModels } from '../src/adapters/model/endpoint/client.ts';
import { openModel } from '../src/adapters/model/endpoint/open-model.ts';
import type { Model, ModelAnswer, ModelMessage, ModelRequest, ModelUsage } from '../src/adapters/model/model.ts';
import { costOf, priceText } from '../src/domain/model/price-book.ts';

/**
 * `npm run wire -- --against URL [--model NAME] [--key-file FILE] [--long TOKENS]`: a few requests to a real endpoint,
 * as turns send them, and a line about each. It costs some thousand tokens. What the endpoint's refusals teach is kept
 * for this run only.
 */

export interface Against {
  url: string;
  model?: string | undefined;
  key?: string | undefined;
  /** tokens of the long prompt */
  long?: number;
}

/** One line of the report. `null`: it says something of the model, and neither is a fault. */
export interface Line {
  story: string;
  ok: boolean | null;
  said: string;
}

const TOOL = {
  name: 'file_read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};
const ANSWER_MS = 180_000;

/** Runs all stories in order, and gives each line to `print` as soon as it is known. */
export async function report(
  { url, model: name, key, long = 16_000 }: Against,
  print: (line: Line) => void,
): Promise<Line[]> {
  const lines: Line[] = [];
  const settings = {
    OPENAI_BASE_URL: url,
    OPENAI_API_KEY: key,
    OPENROUTER_API_KEY: undefined,
    AGENT_MODEL: name,
    FETCH_FALLBACK_MODEL: undefined,
  };
  const model = await openModel(settings);
  const asked = new Asked(model);
  for (const [story, run] of stories(model, asked, { key, long })) {
    const [ok, said] = await run().catch((error: Error): [boolean, string] => [false, error.message]);
    const line = { story, ok, said: said.replace(/\s+/g, ' ').trim() };
    lines.push(line);
    print(line);
  }
  await model.close();
  return lines;
}

type Story = [name: string, run: () => Promise<[ok: boolean | null, said: string]>];

function stories(model: Model, asked: Asked, { key, long }: { key: string | undefined; long: number }): Story[] {
  const read: ModelMessage = {
    role: 'user',
    content: 'Read the file a.txt with the tool file_read. Then tell me the word in it.',
  };
  let first: ModelAnswer | undefined;
  return [
    [
      'reachable',
      async () => {
        const begun = performance.now();
        const names = await listModels({ baseUrl: model.baseUrl, ...(key && { apiKey: key }) }, 15_000);
        return [true, `${names.length} models are listed, in ${Math.round(performance.now() - begun)} ms`];
      },
    ],
    [
      'model',
      async () => {
        const answer = await asked.ask([{ role: 'user', content: 'Reply with the single word: ready' }]);
        return [answer.text !== '', `${answer.model} says "${answer.text.slice(0, 60)}"`];
      },
    ],
    [
      'tools',
      async () => {
        first = await asked.ask([read], { tools: [TOOL] });
        const [call] = first.calls;
        return [
          call?.name === TOOL.name,
          call ? `it called ${call.name} ${call.arguments}` : `no call, but "${first.text.slice(0, 60)}"`,
        ];
      },
    ],
    [
      'second step',
      async () => {
        if (!first?.calls.length) return [false, 'not asked: the first step made no call'];
        const { text, calls, state } = first;
        const results = calls.map(
          ({ id }): ModelMessage => ({ role: 'tool', callId: id, content: 'The word is heron.' }),
        );
        const answer = await asked.ask(
          [read, { role: 'assistant', content: text, calls, ...(state && { state }) }, ...results],
          { tools: [TOOL] },
        );
        return [
          /heron/i.test(answer.text),
          `${state ? 'with' : 'without'} state of the provider; it says "${answer.text.slice(0, 60)}"`,
        ];
      },
    ],
    // a refusal of the steps above may have taught another one
    ['wire', async () => [true, (await model.facts(model.name)).wire ?? 'chat']],
    [
      'thoughts',
      async () => {
        const { reasoning, usage } = await asked.ask(
          [{ role: 'user', content: 'Is 391 a prime number? Answer in one word.' }],
          { effort: 'low' },
        );
        const shown = reasoning !== '' || usage.reasoningTokens > 0;
        return [null, shown ? `${usage.reasoningTokens} tokens, ${reasoning.length} characters are shown` : 'none'];
      },
    ],
    ['cancel', () => cancelled(asked)],
    [
      'picture',
      async () => {
        const red = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#ff0000' } })
          .jpeg()
          .toBuffer();
        const { text } = await asked.ask([
          { role: 'user', content: 'Which colour is this picture? One word.', pictures: [red.toString('base64')] },
        ]);
        const blind = (await model.facts(model.name)).noPictures;
        return [null, blind ? 'it takes none' : `red is "${text.slice(0, 60)}"`];
      },
    ],
    [
      'long context',
      async () => {
        const filler = 'The heron stands in the water and waits. '.repeat(Math.ceil(long / 9));
        const { text, usage } = await asked.ask([
          { role: 'user', content: `The password is kestrel.\n${filler}\nWhat is the password? One word.` },
        ]);
        const whole = /kestrel/i.test(text);
        return [
          whole,
          `${usage.inputTokens} tokens were counted; the beginning was ${whole ? 'read' : `lost: "${text.slice(0, 60)}"`}`,
        ];
      },
    ],
    [
      'price',
      async () => {
        const { inputTokens, outputTokens } = asked.spent;
        const { microUsd } = costOf([model.name], asked.spent, model.prices);
        return [
          null,
          `${inputTokens} + ${outputTokens} tokens, about $${(microUsd / 1e6).toFixed(4)}; ${priceText([model.name], model.prices)}`,
        ];
      },
    ],
  ];
}

async function cancelled(asked: Asked): Promise<[boolean, string]> {
  const stop = new AbortController();
  let at = 0;
  const reason = new Error('stopped');
  const asking = asked.ask([{ role: 'user', content: 'Count from 1 to 500, one number in a line.' }], {
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_MS)]),
    onPart: () => {
      at ||= performance.now();
      stop.abort(reason);
    },
  });
  const ended = await asking.catch((error: unknown) => error);
  if (ended !== reason)
    throw ended instanceof Error ? ended : new Error('the answer was there before it could be stopped');
  return [true, `it stopped ${Math.round(performance.now() - at)} ms after the first part`];
}

/** The requests of one run, and what they cost together. */
class Asked {
  readonly spent: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 };
  private readonly model: Model;
  private count = 0;

  constructor(model: Model) {
    this.model = model;
  }

  async ask(messages: ModelMessage[], more: Partial<ModelRequest> = {}): Promise<ModelAnswer> {
    this.count += 1;
    const answer = await this.model.complete({
      model: this.model.name,
      messages: [{ role: 'system', content: 'You are a helpful assistant. Answer briefly.' }, ...messages],
      tools: [],
      signal: AbortSignal.timeout(ANSWER_MS),
      onDelta: () => {},
      requestId: `wire/${this.count}`,
      ...more,
    });
    for (const part of ['inputTokens', 'outputTokens', 'cachedTokens', 'reasoningTokens'] as const)
      this.spent[part] += answer.usage[part];
    return answer;
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      against: { type: 'string' },
      model: { type: 'string' },
      'key-file': { type: 'string' },
      long: { type: 'string' },
    },
  });
  if (!values.against || !URL.canParse(values.against)) {
    console.error('npm run wire -- --against URL [--model NAME] [--key-file FILE] [--long TOKENS]');
    process.exit(2);
  }
  const key = values['key-file'] === undefined ? undefined : readFileSync(values['key-file'], 'utf8').trim();
  const against = {
    url: values.against,
    model: values.model,
    key,
    ...(values.long !== undefined && { long: Number(values.long) }),
  };
  const lines = await report(against, ({ story, ok, said }) =>
    console.log(`${ok === false ? 'FAIL' : ok ? 'ok  ' : '    '}  ${story.padEnd(13)} ${said}`),
  );
  process.exitCode = lines.some(({ ok }) => ok === false) ? 1 : 0;
}
