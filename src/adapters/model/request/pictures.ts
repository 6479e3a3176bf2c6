import type OpenAI from 'openai';
import type { ModelMessage } from '../../../contracts/model.ts';
import { ModelError } from '../error.ts';

/** How endpoints say that a model takes no pictures, when they do not simply reject the request (OpenRouter 404, llama.cpp 500). */
const NO_PICTURES = /image|vision|multimodal|mmproj|modalit/i;

/** True when leaving the pictures out may help. Most endpoints only say that the request is wrong. */
export function refusesPictures(error: unknown, messages: readonly ModelMessage[]): boolean {
  if (!(error instanceof ModelError) || !hasPictures(messages)) return false;
  return error.type === 'ModelRejected' || ((error.status ?? 0) >= 400 && NO_PICTURES.test(error.message));
}

export const hasPictures = (messages: readonly ModelMessage[]): boolean => messages.some((message) => message.role === 'user' && message.pictures?.length);

/** The same messages for a model that cannot see; it is told that there was a picture. */
export const withoutPictures = (messages: readonly ModelMessage[]): ModelMessage[] =>
  messages.map((message) => {
    if (message.role !== 'user' || !message.pictures?.length) return message;
    const count = message.pictures.length === 1 ? 'a picture' : `${message.pictures.length} pictures`;
    return { role: 'user', content: `${message.content}\n[This message came with ${count}. You cannot see pictures: say so if it matters.]` };
  });

/** A user message on the wire. Pictures are inside the request, so that the endpoint need not fetch anything. */
export const userContent = ({ content, pictures = [] }: Extract<ModelMessage, { role: 'system' | 'user' }>): string | OpenAI.ChatCompletionContentPart[] =>
  pictures.length === 0
    ? content
    : [{ type: 'text', text: content }, ...pictures.map((data) => ({ type: 'image_url' as const, image_url: { url: `data:image/jpeg;base64,${data}` } }))];
