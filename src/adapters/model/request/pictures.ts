import type OpenAI from 'openai';
import type { ModelMessage } from '../../../contracts/model.ts';

export const hasPictures = (messages: readonly ModelMessage[]): boolean =>
  messages.some((message) => message.role === 'user' && message.pictures?.length);

/** The same messages for a model that cannot see; it is told that there was a picture. */
export const withoutPictures = (messages: readonly ModelMessage[]): ModelMessage[] =>
  messages.map((message) => {
    if (message.role !== 'user' || !message.pictures?.length) return message;
    const count = message.pictures.length === 1 ? 'a picture' : `${message.pictures.length} pictures`;
    return {
      role: 'user',
      content: `${message.content}\n[This message came with ${count}. You cannot see pictures: say so if it matters.]`,
    };
  });

/** A user message on the wire. Pictures are inside the request, so that the endpoint need not fetch anything. */
export const userContent = ({
  content,
  pictures = [],
}: Extract<ModelMessage, { role: 'system' | 'user' }>): string | OpenAI.ChatCompletionContentPart[] =>
  pictures.length === 0
    ? content
    : [
        // an empty text is refused beside a picture, too
        ...(content.trim() === '' ? [] : [{ type: 'text' as const, text: content }]),
        ...pictures.map((data) => ({
          type: 'image_url' as const,
          image_url: { url: `data:image/jpeg;base64,${data}` },
        })),
      ];
