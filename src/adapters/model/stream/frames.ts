import { createParser } from 'eventsource-parser';
import { ModelError } from '../model.ts';
import type { WireChunk } from './accumulate.ts';
import { asChunk, errorOfOther } from './other-protocols.ts';

/**
 * What the bytes of an answer hold: chunks, an error in their place, and the word that the endpoint has said
 * everything.
 */
type Frame = { chunk: WireChunk } | { error: unknown } | 'done';

/**
 * Reads the body of an answer. It is an event stream, JSON in lines, or one JSON document, and its first character
 * tells which: the Content-Type of many gateways is wrong. Behind `done` nothing is read. Throws ModelStreamBroken for
 * data that cannot be read.
 */
export async function* framesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let frames: Frame[] = [];
  let reader: TextReader | undefined;
  let begin = '';
  const feed = (text: string) => {
    if (reader) return reader.feed(text);
    begin += text;
    const first = /\S/.exec(begin)?.[0];
    if (first === undefined) return;
    reader = (first === '{' || first === '[' ? jsonReader : first === '<' ? pageReader : eventReader)(
      (frame) => void frames.push(frame),
    );
    reader.feed(begin);
  };
  for await (const bytes of body) {
    feed(decoder.decode(bytes, { stream: true }));
    if (frames.length === 0) continue;
    const ready = frames;
    frames = [];
    yield* upToDone(ready);
    if (ready.includes('done')) return;
  }
  feed(decoder.decode());
  reader?.end();
  yield* upToDone(frames);
}

interface TextReader {
  feed(text: string): void;
  /** the body has ended */
  end(): void;
}

/** What has come with the last word is read, too, where it is no part of the text: some servers count tokens there. */
function* upToDone(frames: readonly Frame[]): Generator<Frame> {
  const end = frames.indexOf('done');
  if (end < 0) return yield* frames;
  yield* frames.slice(0, end);
  for (const frame of frames.slice(end + 1))
    if (typeof frame === 'object' && 'chunk' in frame && [frame.chunk.choices ?? []].flat().length === 0) yield frame;
  yield 'done';
}

function eventReader(put: (frame: Frame) => void): TextReader {
  const parser = createParser({
    onEvent: ({ event, data }) => readData(data, event, put),
    // an error that a server writes into the stream as it is, without "data:"
    onError: ({ line }) => {
      const bare = line === undefined ? undefined : parsed(line);
      if (bare) putAll(bare.value, undefined, put);
    },
  });
  // the last event may lack the blank line
  return { feed: (text) => parser.feed(text), end: () => parser.feed('\n\n') };
}

/** The data of one event. Servers that leave out the blank lines put several into one. */
function readData(data: string, event: string | undefined, put: (frame: Frame) => void): void {
  // some proxies write the name of the field twice
  const text = data.trim().replace(/^(?:data:\s*)+/, '');
  const whole = parsed(text);
  if (DONE.test(text)) put('done');
  else if (whole) putAll(whole.value, event, put);
  else if (text.includes('\n')) for (const line of text.split('\n')) readData(line, event, put);
  // other words are signs of life, such as "ping"
  else if (/^[{["]/.test(text)) throw unreadable();
  if (event !== undefined && DONE.test(event)) put('done');
}

const DONE = /^"?\[?(?:DONE|END|EOF)\]?"?$|^\{ ?"done" ?: ?true ?\}$/i;

function jsonReader(put: (frame: Frame) => void): TextReader {
  const documents: unknown[] = [];
  let several = false;
  let rest = '';
  let inLines = true;
  return {
    feed(text) {
      rest += text;
      if (!inLines || !text.includes('\n')) return;
      const lines = rest.split('\n');
      rest = lines.pop()!;
      for (const [at, line] of lines.entries()) {
        const one = line.trim() === '' ? undefined : parsed(line);
        if (one) documents.push(one.value);
        else if (line.trim() !== '') {
          inLines = false;
          rest = [...lines.slice(at), rest].join('\n');
          break;
        }
        several ||= documents.length > 1;
        if (several) for (const value of documents.splice(0)) putAll(value, undefined, put);
      }
    },
    end() {
      const last = rest.trim() === '' ? undefined : parsed(rest);
      if (!last && rest.trim() !== '') throw unreadable();
      for (const value of last ? [...documents, last.value] : documents) putAll(value, undefined, put);
      // a document that is a whole answer says by itself that nothing follows
      const [only, ...others] = last ? [...documents, last.value] : documents;
      if (!several && others.length === 0 && only !== undefined && !isPart(only)) put('done');
    },
  };
}

/** One line of a stream of JSON in lines, after which the connection was lost. */
function isPart(document: unknown): boolean {
  const { done, choices } = document as {
    done?: unknown;
    choices?: Array<{ delta?: unknown; finish_reason?: unknown }>;
  };
  const [choice] = Array.isArray(choices) ? choices : [];
  return done === false || (choice?.delta !== undefined && (choice.finish_reason ?? null) === null);
}

/** An error page of a proxy, with status 200. */
function pageReader(put: (frame: Frame) => void): TextReader {
  let page = '';
  return {
    feed: (text) => {
      page += text;
    },
    end: () => put({ error: page }),
  };
}

function putAll(value: unknown, event: string | undefined, put: (frame: Frame) => void): void {
  for (const each of Array.isArray(value) ? value : [value]) {
    if (typeof each !== 'object' || each === null) continue;
    const error = errorIn(each as Record<string, unknown>, event);
    put(error === undefined ? { chunk: asChunk(each as Record<string, unknown>) } : { error });
  }
}

/** The error that an object of the stream reports; undefined for a part of the answer. */
function errorIn(object: Record<string, unknown>, event: string | undefined): unknown {
  const { error, choices, message } = object;
  const inChoice = (Array.isArray(choices) ? (choices[0] as Record<string, unknown> | undefined) : undefined)?.error;
  const named = [error, inChoice, errorOfOther(object)].find((each) =>
    typeof each === 'object' && each !== null ? Object.keys(each).length > 0 : typeof each === 'string' && each !== '',
  );
  if (named !== undefined) return named;
  if (Array.isArray(choices) && choices.length > 0) return undefined;
  const { base_resp: minimax } = object as { base_resp?: { status_code?: number; status_msg?: string } };
  if (minimax?.status_code) return { code: minimax.status_code, message: minimax.status_msg };
  const { msg, error_msg, errors, detail } = object;
  const told =
    [message, msg, error_msg].some((each) => typeof each === 'string') ||
    (Array.isArray(errors) && errors.length > 0) ||
    detail !== undefined;
  return event === 'error' || (told && choices === undefined) ? object : undefined;
}

/** In a box, because null is a value. Servers in Python write numbers that JSON does not have. */
function parsed(text: string): { value: unknown } | undefined {
  for (const each of [text, text.replace(/([[:,]\s?)(?:NaN|-?Infinity)(?=\s?[\],}])/g, '$1null')]) {
    try {
      return { value: JSON.parse(each) };
    } catch {}
  }
  return undefined;
}

const unreadable = () => new ModelError('ModelStreamBroken', 'LLM error: the endpoint sent data that is no JSON');
