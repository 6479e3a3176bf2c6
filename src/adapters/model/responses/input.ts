import { storableJson } from '../../../domain/text/storable.ts';
import type { ModelMessage, ModelRequest } from '../model.ts';
import { type AssistantMessage, ownState } from '../request/ask.ts';
import { wireId } from '../request/identifiers.ts';
import { objectJson } from '../request/wire.ts';

/**
 * An item of a response or of a request. Items of a response are sent back unchanged, so unknown fields and kinds stay.
 */
export interface ResponseItem {
  type?: string;
  id?: string;
  call_id?: string;
  name?: string;
  arguments?: unknown;
  content?: unknown;
  summary?: unknown;
  encrypted_content?: unknown;
}

/**
 * The body of `POST /v1/responses`. Nothing is stored at the endpoint, so the items of each step are in it. `omit`:
 * fields that the model refuses, as `include` where it does not think, or `summary` where OpenAI has not verified the
 * organisation. Source: https://platform.openai.com/docs/guides/reasoning, "encrypted reasoning items".
 */
export function responsesBody(request: ModelRequest, endpoint: string, omit: readonly string[] = []): string {
  const { model, messages, tools, maxTokens, effort } = request;
  const instructions = messages.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n\n');
  const input = inputItems(messages, { endpoint, model });
  const reasoning = {
    ...(effort !== undefined && { effort }),
    ...(!omit.includes('summary') && effort !== 'none' && { summary: 'auto' }),
  };
  return storableJson({
    model,
    ...(instructions !== '' && { instructions }),
    input,
    stream: true,
    store: false,
    ...(!omit.includes('include') && { include: ['reasoning.encrypted_content'] }),
    // without `strict: false` the endpoint would want every property of a schema to be required
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })) }),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(maxTokens, LEAST_TOKENS) }),
  });
}

/** A lower limit is refused. */
const LEAST_TOKENS = 16;

function inputItems(messages: readonly ModelMessage[], asked: { endpoint: string; model: string }): object[] {
  /** ids that the endpoint gave, by ours */
  const callIds = new Map<string, string>();
  return messages.flatMap((message): object[] => {
    if (message.role === 'tool')
      return [
        {
          type: 'function_call_output',
          call_id: callIds.get(message.callId) ?? wireId(message.callId),
          output: message.content,
        },
      ];
    if (message.role !== 'assistant')
      return message.role === 'system' ? [] : [{ type: 'message', role: 'user', content: userParts(message) }];
    const own = ownItems(message, asked);
    if (!own) return foreignItems(message);
    const called = own.filter(isCall);
    message.calls?.forEach(({ id }, at) => {
      callIds.set(id, String(called[at]!.call_id));
    });
    return own;
  });
}

const userParts = ({ content, pictures = [] }: Extract<ModelMessage, { role: 'system' | 'user' }>): object[] => [
  { type: 'input_text', text: content },
  ...pictures.map((data) => ({ type: 'input_image', image_url: `data:image/jpeg;base64,${data}` })),
];

/** The items of a step as the endpoint gave them; null when it gave none that it would take back. */
function ownItems(message: AssistantMessage, asked: { endpoint: string; model: string }): ResponseItem[] | null {
  const data = ownState(message, { wire: 'responses', ...asked }) as { items?: unknown } | undefined;
  if (!Array.isArray(data?.items)) return null;
  const items = data.items as ResponseItem[];
  return items.filter(isCall).length === (message.calls?.length ?? 0) && items.every(isWhole) ? items : null;
}

export const isCall = (item: ResponseItem): boolean => item.type === 'function_call';

/** A thought whose content stayed at the endpoint cannot be sent back: nothing is stored there. */
export const isWhole = ({ type, encrypted_content, content }: ResponseItem): boolean =>
  type !== 'reasoning' || typeof encrypted_content === 'string' || (Array.isArray(content) && content.length > 0);

/** A step of another model or endpoint. */
const foreignItems = ({ content, calls = [] }: AssistantMessage): object[] => [
  ...(content === ''
    ? []
    : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: content, annotations: [] }] }]),
  ...calls.map((call) => ({
    type: 'function_call',
    call_id: wireId(call.id),
    name: call.name,
    arguments: objectJson(call.arguments),
  })),
];
