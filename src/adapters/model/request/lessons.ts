import { ModelError, type ModelFacts, type ModelRequest, type StepState } from '../model.ts';
import { INSIDE } from '../stream/calls.ts';
import { hasPictures } from './pictures.ts';
import { EFFORTS, effortFor } from './strict.ts';
import { strictThread } from './thread.ts';
import { limitName } from './wire.ts';

/** Facts about a model that a refusal shows. */
interface Lesson {
  /** a request takes no lesson twice */
  id: string;
  facts: ModelFacts;
  /** the refusal did not name the reason: only an answer to the changed request proves the facts */
  guess?: boolean;
  /** this request is asked again without what providers gave with its steps, and without an effort */
  plain?: boolean;
  /** asking again is no use; the sentence for the person, or null for that of the endpoint */
  tell?: string | null;
}

/** The refused request. */
interface Refused {
  request: ModelRequest;
  /** by which it was written */
  facts: ModelFacts;
  /** those that are not proven yet */
  guess: ModelFacts;
}

interface Row {
  /** the refusal, in the words of the named servers */
  says: RegExp;
  /** said in the same refusal */
  and?: RegExp;
  teaches(refused: Refused, words: RegExpExecArray): Omit<Lesson, 'id'> | null;
}

const facts = (taught: ModelFacts) => (): Omit<Lesson, 'id'> => ({ facts: taught });
const hasSteps = ({ messages }: ModelRequest): boolean => messages.some(({ role }) => role === 'assistant');
const overResponses = ({ facts: known }: Refused): boolean => known.wire === 'responses';
const leftOut = (field: string, { facts: known }: Refused): Omit<Lesson, 'id'> => ({
  facts: { omit: [...(known.omit ?? []), field] },
});
const OVER_RESPONSES = { facts: { wire: 'responses' }, guess: true } as const;
const OVER_CHAT = { facts: { wire: 'chat', effort: 'none' }, guess: true } as const;
const NO_TOOLS = 'This model takes no tools, and Fetch works with tools. Choose another one under Settings, Model.';

const otherWire = ({ request, facts: known }: Refused): Omit<Lesson, 'id'> | null => {
  if (known.wire === 'responses') return OVER_CHAT;
  return known.wire === undefined ? OVER_RESPONSES : request.tools.length > 0 ? { facts: { effort: 'none' } } : null;
};

/** Refusals that name their reason. The first row that fits decides. */
const ROWS: readonly Row[] = [
  // OpenAI gpt-5.4 and later, Azure (openai/openai-openapi#541): also where no effort was sent. gpt-5-codex, o3-pro:
  // "only supported in v1/responses". A proxy may not have the Responses API, so only its answer proves it
  {
    says: /function tools with reasoning_effort|reasoning_effort to '?none|(only|use|in) (the )?`?\/?v1\/responses|\bresponses[ _-]?api\b|not supported (?:in|with|by|for) (?:the )?[\w/]{0,9}chat[ /_]completions|chat ?completions? operation does not work/i,
    teaches: otherWire,
  },
  {
    and: /reasoning|thinking/i,
    says: /\b(?:with|when|while|unless|alongside) (?:function |tool |using |the )?(?:tools?|call(?:s|ing))\b|\btools? (?:\w+ ){0,4}(?:with|when|while|unless) /i,
    teaches: otherWire,
  },
  {
    and: /reasoning|thinking/i,
    says: /(?:not|n't) (?:support|allow|be combined|available|compatible|possible)|\bincompatible|\bmust be ['"`]?(?:none|disabled|off)\b|\bunavailable|mutually exclusive|either/i,
    teaches: (refused, { input }) =>
      /\btools?\b|function/i.test(input) && !/_content|signature/i.test(input) ? otherWire(refused) : null,
  },
  // OpenAI's Responses API: models that do not think, and organisations that are not verified
  {
    says: /encrypted content is not supported/i,
    teaches: (refused) => (overResponses(refused) ? leftOut('include', refused) : null),
  },
  {
    says: /reasoning summar|reasoning\.summary/i,
    teaches: (refused) => (overResponses(refused) ? leftOut('summary', refused) : null),
  },
  // Gemini 2.0 and earlier, Gemma: "Thinking is not enabled for models/…", "thinking is not supported by this model"
  {
    says: /\bthinking\b/i,
    and: /not supported|not enabled|n't support/i,
    teaches: (refused) => (refused.facts.wire === 'gemini' ? leftOut('thinkingConfig', refused) : null),
  },
  // DeepSeek (earendil-works/pi#3636): "must be passed back"; Kimi (QuantumNous/new-api#3121): "reasoning_content is
  // missing"
  {
    says: /reasoning_content/i,
    and: /passed back|missing|required|\b(?:must|should|has to|needs?)\b(?! not)|lacks|(?<!un)expected|empty|absent|has no/i,
    teaches: ({ request }) => (hasSteps(request) ? { facts: { reasoningBack: true } } : null),
  },
  // Gemini (continuedev/continue#8865)
  {
    says: /thought_?signature/i,
    and: /missing|lacks|without|require|must/i,
    teaches: ({ request }) => (hasSteps(request) ? { facts: { skipSignature: true } } : null),
  },
  // an empty text in place of null: servers whose messages are checked by pydantic ("none is not an allowed value")
  {
    says: /\bcontent\b/i,
    and: /\bnull\b|\bnone\b|NoneType|valid string|missing|required/i,
    teaches: (refused) => (hasSteps(refused.request) && !overResponses(refused) ? leftOut('content', refused) : null),
  },
  // chat templates of Mistral, Gemma, Llama 2 (llama.cpp, vLLM, LM Studio); Perplexity: "should alternate with
  // assistant"
  {
    says: /roles? must alternate|(?:should|must) alternate|alternate between|requests alternate|(?:consecutive|successive) (?:user|messages|roles)|multiple ['"`]?user['"`]? (?:roles|messages)|immediately after a user turn/i,
    teaches: facts({ alternates: true }),
  },
  // Mistral: "Expected last role User or Tool … but got assistant", "Unexpected role 'user' after role 'tool'"
  {
    says: /unexpected role|expected last role|follow (?:a )?['"`]?tool|after role ['"`]?tool/i,
    teaches: facts({ alternates: true }),
  },
  // Gemma 2's template; Gemini's endpoint for Gemma: "Developer instruction is not enabled"; OpenAI's o1: "does not
  // support 'system' with this model"
  {
    says: /system role (is )?not supported|support ['"`]?system['"`]?(?: with| prompt| message| role)|role ['"`]?system['"`]? (?:is )?not|(?:invalid|unsupported|unknown|unexpected) (?:message )?role:? ['"`]?system|['"`]system['"`] is not one of|roles? must be (?:one of|either) ['"`[]*user['"`]*(?:,| or| and) ['"`]*assistant|only user and assistant roles|(system|developer) (role|instruction|message|prompt)s? (is|are) not (supported|enabled|allowed)/i,
    teaches: facts({ noSystem: true }),
  },
  // OpenAI: "Invalid 'tools': array too long. Expected an array with maximum length 128"
  {
    says: /(?:maximum (?:length|of|is|allowed is|number of \w+ is)|max(?:imum)?:?|at most|up to|limit(?: of| is|:)|not exceed|exceeds? the \w+ of|more than|less than or equal to|>|<=) ?(\d{1,4})(?!\d)/i,
    and: /\btools\b|functions/i,
    teaches: ({ request }, words) => {
      const most = Number(words[1]);
      return most > 0 && most < request.tools.length ? { facts: { maxTools: most }, tell: null } : null;
    },
  },
  // Ollama: "does not support tools"; OpenRouter 404: "support tool use"; vLLM: "requires --enable-auto-tool-choice";
  // llama.cpp: "requires --jinja"
  {
    says: /(not|n't) support (tools?|functions?)\b|no endpoints found that support tool use|(tools?|functions?)['"`]? (param(eter)? |calling |use )?(is|are) not (supported|enabled)|(not|n't) support (tool|function)[ -](use|call)|(not|n't) support param(?:eter)?s:? \[?['"`]tools\b|(?:cannot|can't|unable to) (?:use|call) (?:tools|functions)\b|(?:unsupported|unknown|unrecognized|unexpected)[\w ]{0,30}:? ['"`]?tools['"`]?(?![\w.[])|(?:^|[\s.:])tools: (?:extra|unexpected|unknown)/i,
    teaches: ({ request }) => (request.tools.length > 0 ? { facts: { noTools: true }, tell: NO_TOOLS } : null),
  },
  {
    says: /--enable-auto-tool-choice|requires? --jinja/i,
    teaches: ({ request }) => (request.tools.length > 0 ? { facts: { noTools: true }, tell: null } : null),
  },
  // templates of Llama 3 (vLLM, llama.cpp)
  {
    says: /(?:single|one) (?:tool|function)[ -]?calls?\b/i,
    and: /\bonly\b|at once|at a time|at most|multiple|parallel/i,
    teaches: ({ request }) =>
      request.messages.some((message) => message.role === 'assistant' && (message.calls?.length ?? 0) > 1)
        ? { facts: { singleCalls: true } }
        : null,
  },
  // OpenAI: "Supported values are: 'low', 'medium', and 'high'"; Groq: "must be one of `none` or `default`"
  {
    says: /supported values are|must be one of|allowed values|expected one of|input should be|\bnot in\b|available|choose from|valid values/i,
    teaches: ({ request, facts: known }, words) => {
      const sent = effortFor(request, known);
      const [before, behind] = [words.input.slice(0, words.index), words.input.slice(words.index)];
      const isMeant =
        /reasoning|effort|thinking/i.test(words.input) ||
        before.includes(`'${sent}'`) ||
        before.includes(`\`${sent}\``);
      const efforts = [...new Set(behind.toLowerCase().split(/[^a-z]+/))].filter(
        (each) => EFFORTS.includes(each) && each !== sent,
      );
      return efforts.length > 0 && sent !== undefined && isMeant ? { facts: { efforts } } : null;
    },
  },
];

/**
 * The state of a step is refused, as after a change of the key (OpenAI: "The encrypted content … could not be
 * verified"; Anthropic: "Invalid `signature` in
 * `thinking` block"; Gemini: "Corrupted thought signature"), or a step of another model stands in the open loop of a
 * model that thinks (Anthropic: "Expected
 * `thinking` or `redacted_thinking`, but found `tool_use`").
 */
const STATE =
  /encrypted.(?:content|data|reasoning)|signature|thinking`? blocks?\b|item with id|reasoning_details|decrypt|reasoning content/i;
const NOT_TAKEN =
  /could not|(?:is|are) invalid|\binvalid\b|\bbad\b|not valid|not found|corrupted|unknown |expired|malformed|mismatch|does not match|failed|cannot|unable|must|start/i;
const OPEN_LOOP = /expected `?thinking|reasoning' item|required following item/i;

function stateLesson(error: ModelError, { request }: Refused): Lesson | null {
  const stated =
    request.effort !== undefined ||
    request.messages.some((message) => message.role === 'assistant' && (message.state?.data ?? null) !== null);
  // our own words before the sentence say "invalid", too
  const said = error.message.replace(/^[^:]*: /, '');
  return stated && ((STATE.test(said) && NOT_TAKEN.test(said)) || OPEN_LOOP.test(said))
    ? { id: 'state', facts: {}, plain: true }
    : null;
}

/**
 * Names under which refusals speak of the thinking that was asked for. xAI: "Argument not supported on this model:
 * reasoningEffort".
 */
const EFFORT = /reasoning|effort\b|thinking/i;

/** What a refusal teaches of the model; null when it teaches nothing new, or is no refusal. */
export function lessonOf(error: unknown, refused: Refused, taken: ReadonlySet<string>): Lesson | null {
  if (!(error instanceof ModelError)) return null;
  const lacking = lacksResponses(error, refused);
  if (!isRefusal(error) && !lacking) return null;
  const rows = ROWS.flatMap(({ says, and, teaches }, at) => {
    // OpenAI names the field beside its sentence
    const words = and && !and.test(`${error.message} ${error.param ?? ''}`) ? null : says.exec(error.message);
    const lesson = words && teaches(refused, words);
    return lesson && isNew(lesson.facts, refused.facts) ? [{ ...lesson, id: `${at} ${refused.facts.wire ?? ''}` }] : [];
  });
  const lessons = [
    stateLesson(error, refused),
    ...rows,
    lacking ? { id: 'chat', ...OVER_CHAT } : null,
    fieldLesson(error, refused),
    ...guesses(error, refused),
  ];
  return lessons.find((lesson) => lesson !== null && !taken.has(lesson.id)) ?? null;
}

/** A proxy that has no Responses API says so in any words. */
const lacksResponses = (error: ModelError, { facts: known, guess }: Refused): boolean =>
  known.wire === 'responses' &&
  ([404, 405].includes(error.status ?? 0) ||
    (guess.wire !== undefined && (error.type === 'ModelRejected' || error.type === 'ModelStreamBroken')));

const isNew = (taught: ModelFacts, known: ModelFacts): boolean =>
  JSON.stringify({ ...known, ...taught }) !== JSON.stringify(known);

/** Servers put refusals under several states: Jinja's exceptions come as 500, missing abilities as 404. */
const isRefusal = ({ type, status }: ModelError): boolean =>
  type === 'ModelRejected' ||
  ((type === 'ModelUnavailable' || type === 'ModelNotFound') && (status ?? 0) >= 400 && status !== 429);

const UNSUPPORTED =
  /unsupported|not supported|n't support|not support|unknown|unrecogni[sz]ed|unexpected|not (permitted|allowed)|extra|invalid|does not exist|cannot/i;

/**
 * The refusal names an optional field of this request: `Unsupported parameter: 'max_tokens'`, `Unknown name "pattern"
 * at 'tools[0]`, `extra_forbidden`.
 */
function fieldLesson(error: ModelError, { request, facts: known }: Refused): Lesson | null {
  const clear = error.type === 'ModelRejected' || UNSUPPORTED.test(error.message);
  // a refusal that misses a field does not want it left out
  if (!clear || /passed back|\bmissing\b/i.test(error.message)) return null;
  const said = new Set(error.message.split(/\W/));
  const sent = sentFields(request, known);
  const field =
    sent.find((each) => said.has(each)) ??
    (sent.includes('stream_options') && said.has('include_usage') ? 'stream_options' : undefined);
  if (field !== undefined) {
    const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    const renamed: ModelFacts = field.startsWith('max_') ? { limitName: other } : {};
    return { id: field, facts: { omit: [...(known.omit ?? []), field], ...renamed } };
  }
  if (sent.includes('reasoning_effort') && EFFORT.test(error.message))
    return { id: 'reasoning_effort', facts: { omit: [...(known.omit ?? []), 'reasoning_effort'] } };
  const plain = error.message.replaceAll('\\', '');
  const quoted = (word: string) =>
    [`"${word}"`, `'${word}'`, `\`${word}\``, `keyword ${word}`, `keyword: ${word}`].some((each) =>
      plain.includes(each),
    ) || plain.split('.').some((sentence) => namedAfterReason(sentence).includes(word.toLowerCase()));
  const keyword = request.tools.length > 0 && UNSUPPORTED.test(plain) ? SCHEMA_WORDS.find(quoted) : undefined;
  return keyword !== undefined && !known.omit?.includes(keyword)
    ? { id: keyword, facts: { omit: [...(known.omit ?? []), keyword] } }
    : null;
}

/** The next words after what is refused: "Unsupported feature: minLength". */
function namedAfterReason(sentence: string): string[] {
  const at = sentence.search(/schema|unsupported|feature|field/i);
  return at < 0
    ? []
    : sentence
        .slice(at, at + 60)
        .toLowerCase()
        .split(/[^\w$]+/);
}

/** Keywords of a schema that say less when they are gone, and no more. */
const SCHEMA_WORDS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'pattern',
  'format',
  'default',
  'anyOf',
  'enum',
];

/** Optional fields that the request has, on its top and on messages. */
function sentFields({ messages, tools, effort, maxTokens }: ModelRequest, known: ModelFacts): string[] {
  const kept = messages.flatMap((message) =>
    message.role === 'assistant' && message.state?.wire === 'chat' ? fieldsOf(message.state) : [],
  );
  const limit = maxTokens === undefined ? undefined : limitName(known);
  const fields = [
    ...((known.wire ?? 'chat') === 'chat' ? ['stream_options'] : []),
    ...(effortFor({ tools, effort }, known) === undefined ? [] : ['reasoning_effort']),
    ...(limit === undefined ? [] : [limit]),
    ...(known.reasoningBack ? ['reasoning_content'] : []),
    ...(known.skipSignature ? ['extra_content'] : []),
    ...kept,
  ];
  return [...new Set(fields)].filter((field) => !known.omit?.includes(field));
}

function fieldsOf({ data }: StepState): string[] {
  const { message, calls } = (data ?? {}) as { message?: object; calls?: Array<object | null> };
  const inside = calls?.map((call) => (call as { [INSIDE]?: object } | null)?.[INSIDE] ?? null);
  return [message, ...(calls ?? []), ...(inside ?? [])].flatMap((part) => Object.keys(part ?? {}));
}

/**
 * How endpoints say that a model takes no pictures, when they do not simply reject the request (OpenRouter 404,
 * llama.cpp 500).
 */
const NO_PICTURES = /image|vision|multimodal|mmproj|modalit/i;

/** How endpoints say that they cannot read a tool's schema, without saying which word of it (llama.cpp 500). */
const SCHEMA = /schema|grammar|function_?declarations?|parse tools?|tools?\b.{0,40}\bparameters/i;

/** How refusals speak of the order of the messages, when they do not simply reject the request. */
const ORDER = /\brole|alternat|template|jinja|consecutive/i;
const INSTRUCTIONS = /system|developer|instruction|\brole|['"`]user['"`]/i;
const SEVERAL_CALLS = /\bcalls?\b|tool_calls|parallel/i;
/** A refusal that says nothing at all. */
const BARE =
  /^[^:]*: (?:no details given|(?:(?:bad|invalid|malformed) )?(?:request|input|parameters?|arguments?)(?: body)?|unprocessable entity)\.?$/i;

/**
 * Changes that may help where the refusal does not say clearly what it wants, those that it speaks of. Most endpoints
 * only say that the request is wrong.
 */
function guesses(error: ModelError, refused: Refused): Lesson[] {
  const { request, facts: known } = refused;
  const { messages, tools } = request;
  const rejected = error.type === 'ModelRejected';
  const says = (words: RegExp): boolean => words.test(error.message);
  const overChat = (known.wire ?? 'chat') === 'chat';
  const order = (more: ModelFacts) =>
    strictThread(messages, { ...known, ...more })
      .map(({ role }) => role)
      .join();
  const declared = JSON.stringify(tools.map(({ parameters }) => parameters));
  const words = SCHEMA_WORDS.filter((word) => declared.includes(`"${word}":`) && !known.omit?.includes(word));
  const calls = messages.map((message) => (message.role === 'assistant' ? (message.calls?.length ?? 0) : 0));
  const sent = sentFields(request, known).filter((field) => ['stream_options', 'reasoning_effort'].includes(field));
  const without = (...fields: string[]): ModelFacts => ({ omit: [...(known.omit ?? []), ...fields] });
  const all: Array<[id: string, fits: boolean, taught: ModelFacts]> = [
    ['schema', words.length > 0 && says(SCHEMA), without(...words)],
    ['pictures', !known.noPictures && hasPictures(messages) && (rejected || says(NO_PICTURES)), { noPictures: true }],
    [
      'thoughts',
      overChat && !known.reasoningBack && Math.max(...calls) > 0 && says(/reasoning_content/i),
      { reasoningBack: true },
    ],
    [
      'roles',
      (rejected || says(ORDER)) && !known.alternates && order({}) !== order({ alternates: true }),
      { alternates: true },
    ],
    [
      'system',
      !known.noSystem && messages.some(({ role }) => role === 'system') && says(INSTRUCTIONS),
      { noSystem: true },
    ],
    ['calls', !known.singleCalls && Math.max(...calls) > 1 && says(SEVERAL_CALLS), { singleCalls: true }],
    ...sent.map((field): [string, boolean, ModelFacts] => [`bare ${field}`, says(BARE), without(field)]),
  ];
  return all.flatMap(([id, fits, taught]) => (fits ? [{ id, facts: taught, guess: true }] : []));
}
